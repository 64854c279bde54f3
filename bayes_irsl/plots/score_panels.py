"""Scores against the scaling variable, with the forecast of a new LM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from bayes_irsl.covariates import Axis
from bayes_irsl.fitting import Fit
from bayes_irsl.forecasting import forecast
from bayes_irsl.plots import choosing, palette, scales
from bayes_irsl.summaries import summarise

By = Literal["item", "benchmark"]
_PANELS = 6
_STEPS = 30
_CROWDED = 60
# As many draws behind the end of an interval make a line without jags.
_DRAWS = 3000
# Probability, opacity within the data, opacity beyond them.
_BANDS = ((0.9, 0.22, 0.11), (0.5, 0.30, 0.15))


def scores(
    fit: Fit,
    names: Sequence[str] | None = None,
    *,
    by: By = "item",
    group: Mapping[str, str] | None = None,
    held: pd.DataFrame | None = None,
    beyond: float = 0.25,
    seed: int = 0,
) -> Figure:
    """Draw scores of items or benchmarks against the scaling variable.

    Bands are central intervals of the score that one evaluation of a new LM will report; the line is its
    expected score, between dashed ends of the interval of that expected score. Beyond the data all is paler.

    Parameters
    ----------
    fit : Fit
        A fit with a scaling variable.
    names : sequence of str, optional
        Items or benchmarks to draw; by default the six with the most responses.
    by : {"item", "benchmark"}
        What a panel is. A benchmark shows means over its items, and points of LMs that answered all of them.
    group : mapping of str to str, optional
        Group of the new LM in each grouping of the fit; by default a group not seen yet.
    held : pandas.DataFrame, optional
        Responses that the fit has not seen: ``lm``, ``item`` or ``benchmark``, ``score`` and the scaling variable.
    beyond : float
        How far the bands go on, as a share of the range of the data.
    seed : int
        Seed of the forecast.

    Returns
    -------
    matplotlib.figure.Figure
        One panel for each name.

    Raises
    ------
    InputError
        If the fit has no scaling variable or does not know a name.

    Examples
    --------
    >>> import bayes_irsl as bi
    >>> truth = bi.simulate(bi.Model(likelihood=bi.likelihoods.beta), n_lms=8, n_items=3, seed=1)
    >>> fit = bi.fit(bi.Model(), truth.responses, bi.SVI(steps=200, draws=50), x="x:linear", seed=1)
    >>> [ax.get_title(loc="left") for ax in scores(fit, ["item-1"]).axes]
    ['item-1']
    """
    axis = scales.needed(fit)
    shown = choosing.chosen(fit, names, by, choosing.most_answered(fit, by, _PANELS))
    draws = along_axis(fit, shown, by, scales.steps(axis, beyond, _STEPS), group or {}, seed)
    expected = summarise(draws, by=by, kind="expected", prob=_BANDS[0][0])
    reported = [summarise(draws, by=by, kind="score", prob=prob) for prob, _, _ in _BANDS]
    points = choosing.observed(fit, by)
    chance = fit.responses.items.groupby(by)["chance"].mean()
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    figure = plt.figure(figsize=(2.4 + 1.9 * columns, 1.0 + 2.1 * rows), layout="constrained", dpi=110)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for panel, name in zip(panels, shown, strict=False):
        tables = [table[table[by] == name] for table in (expected, *reported)]
        _panel(panel, axis, tables[0], tables[1:], chance[name])
        here = points[points[by] == name]
        _points(panel, axis, scales.known(fit, here["lm"]), here["score"], held=False)
        if held is not None:
            late = held[held[by] == name]
            _points(panel, axis, late[axis.name], late["score"], held=True)
        panel.set_title(name, loc="left", fontsize=9.5, color=palette.INK)
        palette.plain(panel)
    for unused in panels[len(shown) :]:
        unused.remove()
    for panel in panels[max(0, len(shown) - columns) : len(shown)]:
        panel.tick_params(labelbottom=True)
    scales.dress(panels[0], axis, ticks=5)
    panels[0].set_ylim(-0.02, 1.02)
    figure.supxlabel(scales.label(axis), fontsize=9.5)
    figure.supylabel("score" if by == "item" else "mean score", fontsize=9.5)
    figure.legend(
        handles=_keys(held is not None), loc="outside upper left", ncols=6, fontsize=palette.SMALL, frameon=False
    )
    return figure


def along_axis(
    fit: Fit, names: Sequence[str], by: By, at: NDArray[Any], group: Mapping[str, str], seed: int
) -> xr.Dataset:
    """Draw scores of new LMs at some values of the scaling variable, as `forecast` does.

    Where the fit has few draws, several LMs at each value stand for one with more draws.
    """
    axis = scales.needed(fit)
    table = fit.responses.items
    items = [name for wanted in names for name in table.loc[table[by] == wanted, "item"]]
    sizes = fit.posterior.sizes
    repeats = max(1, -(-_DRAWS // (sizes["chain"] * sizes["draw"])))
    lms = pd.DataFrame(
        {
            # A space first: no LM of a table has such a name.
            "lm": [f"forecast {place:04d}.{repeat}" for place in range(len(at)) for repeat in range(repeats)],
            axis.name: np.repeat(np.array(scales.as_column(at), dtype=object), repeats),
            **group,
        }
    )
    draws = forecast(fit, lms, items=items, seed=seed)
    parts = [draws.isel(cell=draws["lm"].isin(lms["lm"][repeat::repeats]).to_numpy()) for repeat in range(repeats)]
    first = parts[0]
    pooled = {
        kind: (first[kind].dims, np.concatenate([part[kind].to_numpy() for part in parts], axis=1))
        for kind in ("score", "expected")
    }
    return first.drop_vars(["score", "expected"]).assign(pooled)


def _panel(ax: Axes, axis: Axis, expected: pd.DataFrame, reported: Sequence[pd.DataFrame], chance: float) -> None:
    x = scales.place(axis, expected[axis.name])
    # Going through the scale and back may leave the end of the data a rounding beyond itself.
    beyond = expected["extrapolation"].to_numpy() > 1e-9
    # The last point within the data belongs to both parts, else there is a gap between them.
    last = int(np.flatnonzero(~beyond)[-1])
    parts = ((slice(0, last + 1), 0), (slice(last, None), 1))
    for table, (_, *opacity) in zip(reported, _BANDS, strict=True):
        low, high = table["lower"].to_numpy(), table["upper"].to_numpy()
        for part, which in parts:
            ax.fill_between(
                x[part], low[part], high[part], color=palette.MODEL, alpha=opacity[which], linewidth=0, zorder=1
            )
    for part, which in parts:
        for name, dashes, width in (("mean", "-", 1.6), ("lower", "--", 0.8), ("upper", "--", 0.8)):
            value = expected[name].to_numpy()[part]
            ax.plot(x[part], value, dashes, color=palette.MODEL, linewidth=width, alpha=(1.0, 0.55)[which], zorder=3)
    if beyond.any():
        ax.axvline(scales.edge(axis), color=palette.QUIET, linewidth=0.8, zorder=2)
    if chance > 0:
        ax.axhline(chance, color=palette.QUIET, linewidth=0.8, linestyle=":", zorder=2)


def _points(ax: Axes, axis: Axis, x: pd.Series, score: pd.Series, *, held: bool) -> None:
    crowded = len(score) > _CROWDED
    marker, colour, size = ("D", palette.HELD_OUT, 11) if held else ("o", palette.INK, 5 if crowded else 9)
    opacity = 0.45 if crowded else 0.8
    at = scales.place(axis, x)
    ax.scatter(at, score.to_numpy(), s=size, c=colour, marker=marker, linewidths=0, alpha=opacity, zorder=4)


def _keys(held: bool) -> list[Any]:
    (_, wide, _), (_, narrow, _) = _BANDS
    keys: list[Any] = [
        Line2D([], [], marker="o", color=palette.INK, markersize=4, linestyle="", label="observed"),
        Line2D([], [], color=palette.MODEL, linewidth=1.6, label="expected score (dashed: 90%)"),
        Patch(color=palette.MODEL, alpha=narrow + wide, linewidth=0, label="score of a new LM: 50%"),
        Patch(color=palette.MODEL, alpha=wide, linewidth=0, label="90%"),
        Line2D([], [], color=palette.QUIET, linewidth=0.8, label="end of data"),
    ]
    if held:
        late = Line2D([], [], marker="D", color=palette.HELD_OUT, markersize=4, linestyle="", label="held out")
        keys.insert(1, late)
    return keys
