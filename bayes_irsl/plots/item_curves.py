"""Item curves: the score expected of an LM of a given ability."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from numpy.typing import NDArray

from bayes_irsl import encoding, prediction, reporting
from bayes_irsl.designs import unseen
from bayes_irsl.fitting import Fit, double_precision
from bayes_irsl.plots import choosing, labels, palette

_POINTS = 61
_DRAWS = 500


def curves(fit: Fit, items: Sequence[str] | None = None, *, ax: Axes | None = None, prob: float = 0.9) -> Axes:
    """Draw the expected score of items against ability, with intervals.

    A curve is that of an LM without a deviation of its own on the benchmark, at the mean of the scaling variable.
    Ticks below are the abilities of the LMs of the fit.

    Parameters
    ----------
    fit : Fit
        What `fit` returned.
    items : sequence of str, optional
        Items to draw, six at most look well; by default well-answered ones from easy to hard.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    prob : float
        Probability inside the intervals.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If the fit does not know an item.

    Examples
    --------
    >>> import bayes_irsl as bi
    >>> truth = bi.simulate(bi.Model(likelihood=bi.likelihoods.beta), n_lms=8, n_items=3, seed=1)
    >>> fit = bi.fit(bi.Model(), truth.responses, bi.SVI(steps=200, draws=50), x="x:linear", seed=1)
    >>> curves(fit, ["item-1"]).get_xlabel()
    'ability (standard deviations)'
    """
    shown = choosing.chosen(fit, items, "item", choosing.spread_in_difficulty(fit, len(palette.COLOURS)))
    ability = fit.posterior["ability"].mean(("chain", "draw")).to_numpy()
    grid = np.linspace(ability.min() - 0.5, ability.max() + 0.5, _POINTS)
    drawn = expected_at(fit, grid, shown)
    tails = [(1 - prob) / 2, (1 + prob) / 2]
    if ax is None:
        _, ax = plt.subplots(figsize=(7.6, 4.6), layout="constrained", dpi=110)
    colours = [palette.COLOURS[place % len(palette.COLOURS)] for place in range(len(shown))]
    for place, colour in enumerate(colours):
        lower, upper = np.quantile(drawn[..., place], tails, axis=0)
        ax.fill_between(grid, lower, upper, color=colour, alpha=0.15, linewidth=0)
        ax.plot(grid, drawn[..., place].mean(0), color=colour, linewidth=1.8)
    ax.vlines(ability, -0.06, -0.03, color=palette.INK, linewidth=0.7, alpha=0.5)
    labels.ends(ax, grid[-1], shown, drawn[:, -1].mean(0).tolist(), colours, gap=0.05)
    palette.plain(ax)
    ax.set_xlim(grid[0], grid[-1])
    ax.set_ylim(-0.07, 1.05)
    ax.set_xlabel("ability (standard deviations)")
    ax.set_ylabel("expected score")
    ax.set_title(f"Item curves with {prob:.0%} intervals; ticks are LMs", loc="left")
    return ax


def expected_at(fit: Fit, ability: NDArray[np.float64], items: Sequence[str]) -> NDArray[np.float64]:
    """Expected scores of LMs whose reported ability is known, dimensions (draw, ability, item).

    The model itself is asked, as a forecast asks it, so every curve and likelihood is covered.
    """
    sites = fit.thinned(_DRAWS).sites
    # Back from the reported scale to that of the model.
    centre, spread = reporting.centre_and_spread(sites["ability"])
    n, shape = len(ability), centre.shape
    sites["ability_new"] = np.multiply.outer(spread, ability) + centre[..., None]
    for grouping in fit.groups:
        sites[f"group_{grouping}_new"] = np.zeros((*shape, 1))
    if "deviation" in sites:
        sites["deviation_new"] = np.zeros((*shape, n, sites["deviation"].shape[-1]))
    newcomers = encoding.Newcomers(
        x=None if fit.axis is None else np.zeros(n),
        groups={grouping: (" ",) * n for grouping in fit.groups},
        count=n,
    )
    names = [f" {place}" for place in range(n)]
    cells = pd.DataFrame({"lm": np.repeat(names, len(items)), "item": np.tile(list(items), n)})
    with double_precision():
        design = unseen(fit.population, cells, newcomers, names)
        drawn = prediction.evaluate(fit.model, design, sites, ("expected",), seed=0)["expected"]
    return np.asarray(drawn.reshape(-1, n, len(items)), dtype=np.float64)
