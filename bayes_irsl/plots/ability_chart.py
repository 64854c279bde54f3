"""Abilities of LMs: against the scaling variable, or as a list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from bayes_irsl.fitting import Fit
from bayes_irsl.plots import labels, palette, scales

# Longer lists cannot be read.
_LISTED = 40
_NAMED = 3


def abilities(fit: Fit, *, ax: Axes | None = None, prob: float = 0.9) -> Axes:
    """Draw the ability of every LM with its interval.

    With a scaling variable, abilities lie against it, around the band of the trend at the LMs of the fit, and
    the best are named. Without one, they are a list from the best down (the 40 best of a longer one). Colours are
    the groups of the first grouping of the fit.

    Parameters
    ----------
    fit : Fit
        What `fit` returned.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    prob : float
        Probability inside the intervals.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import bayes_irsl as bi
    >>> truth = bi.simulate(bi.Model(likelihood=bi.likelihoods.beta), n_lms=8, n_items=3, seed=1)
    >>> fit = bi.fit(bi.Model(), truth.responses, bi.SVI(steps=200, draws=50), x="x:linear", seed=1)
    >>> abilities(fit).get_xlabel()
    'x'
    """
    table = _table(fit, "ability", prob)
    table["colour"], groups = _colours(fit)
    if fit.axis is None:
        return _list(ax, table.sort_values("mean"), groups, prob)
    table["x"] = scales.place(fit.axis, fit.responses.lms[fit.axis.name])
    trend = _table(fit, "trend", prob).assign(x=table["x"])
    if ax is None:
        _, ax = plt.subplots(figsize=(7.6, 4.8), layout="constrained", dpi=110)
    known = table[table["x"].notna()]
    line = trend[trend["x"].notna()].drop_duplicates("x").sort_values("x")
    ax.fill_between(line["x"], line["lower"], line["upper"], color=palette.MODEL, alpha=0.18, linewidth=0)
    ax.plot(line["x"], line["mean"], color=palette.MODEL, linewidth=1.6)
    crowded = len(known) > 100
    for colour, part in known.groupby("colour", sort=False):
        ax.vlines(part["x"], part["lower"], part["upper"], color=colour, linewidth=0.8, alpha=0.3 if crowded else 0.7)
        ax.scatter(part["x"], part["mean"], s=7 if crowded else 18, color=colour, linewidths=0, zorder=3)
    scales.dress(ax, fit.axis, ticks=8)
    palette.plain(ax)
    ax.set_xlabel(scales.label(fit.axis))
    ax.set_ylabel("ability (standard deviations)")
    left_out = len(table) - len(known)
    title = f"Abilities with {prob:.0%} intervals, and the trend"
    ax.set_title(title + (f" ({left_out} LMs without {fit.axis.name} not shown)" if left_out else ""), loc="left")
    labels.points(ax, known.nlargest(_NAMED, "mean"))
    _name_groups(ax, groups)
    return ax


def _table(fit: Fit, name: str, prob: float) -> pd.DataFrame:
    values = fit.posterior[name].to_numpy().reshape(-1, len(fit.responses.lms))
    lower, upper = np.quantile(values, [(1 - prob) / 2, (1 + prob) / 2], axis=0)
    return pd.DataFrame({"lm": fit.responses.lms["lm"], "mean": values.mean(0), "lower": lower, "upper": upper})


def _colours(fit: Fit) -> tuple[list[str], dict[str, str]]:
    """Colour of every LM, and of every group that has one: the largest, the others share a grey."""
    if not fit.groups:
        return [palette.INK] * len(fit.responses.lms), {}
    names = fit.responses.lms[fit.groups[0]].astype(str)
    counts = names.value_counts()
    largest = sorted(counts.index, key=lambda name: (-counts[name], name))[: len(palette.COLOURS) - 1]
    # The first colour is the trend's.
    colours = dict(zip(sorted(largest), palette.COLOURS[1:], strict=False))
    return [colours.get(name, palette.QUIET) for name in names], colours | (
        {"other": palette.QUIET} if len(counts) > len(largest) else {}
    )


def _list(ax: Axes | None, table: pd.DataFrame, groups: dict[str, str], prob: float) -> Axes:
    shown = table.tail(_LISTED)
    if ax is None:
        _, ax = plt.subplots(figsize=(7.2, 1.2 + 0.19 * len(shown)), layout="constrained", dpi=110)
    at: Any = np.arange(len(shown))
    ax.hlines(at, shown["lower"], shown["upper"], color=shown["colour"], linewidth=1.2, alpha=0.7)
    ax.scatter(shown["mean"], at, s=16, c=shown["colour"], linewidths=0, zorder=3)
    palette.plain(ax)
    ax.set_yticks(at, shown["lm"], fontsize=palette.SMALL)
    ax.set_ylim(-0.7, len(shown) - 0.3)
    ax.set_xlabel("ability (standard deviations)")
    which = f"The {len(shown)} best of {len(table)} LMs" if len(shown) < len(table) else "Abilities"
    ax.set_title(f"{which}, with {prob:.0%} intervals", loc="left")
    _name_groups(ax, groups)
    return ax


def _name_groups(ax: Axes, groups: dict[str, str]) -> None:
    for row, (name, colour) in enumerate(groups.items()):
        # Good LMs stand at the top right in either form; the other corner is free.
        text = ax.annotate(
            name,
            (0.015, 0.975),
            xytext=(0, -13 * row),
            xycoords="axes fraction",
            textcoords="offset points",
            color=colour,
            fontsize=9.5,
            fontweight="bold",
            va="top",
        )
        labels.on_white(text)
