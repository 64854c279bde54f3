"""Names beside what they name, moved apart where they would overlap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.text import Text

from bayes_irsl.plots import palette


def apart(wanted: Sequence[float], gap: float) -> list[float]:
    """Move places apart by no more than it takes, in their order.

    Examples
    --------
    >>> apart([0.0, 0.1, 1.0], 0.4)
    [-0.15000000000000002, 0.25, 1.0]
    """
    order = np.argsort(wanted, kind="stable")
    # Runs of places that touch share their mean: merging neighbours until none overlap is exact.
    runs: list[tuple[float, int]] = []
    for value in np.asarray(wanted, dtype=float)[order]:
        runs.append((float(value), 1))
        while len(runs) > 1 and runs[-1][0] - runs[-2][0] < gap * (runs[-1][1] + runs[-2][1]) / 2:
            (first, n_first), (second, n_second) = runs[-2:]
            runs[-2:] = [((first * n_first + second * n_second) / (n_first + n_second), n_first + n_second)]
    placed = [centre + gap * (place - (count - 1) / 2) for centre, count in runs for place in range(count)]
    out = np.empty(len(placed))
    out[order] = placed
    return [float(value) for value in out]


def on_white(text: Text) -> None:
    """Keep a name readable where it lies over lines."""
    text.set_path_effects([withStroke(linewidth=2.5, foreground="white")])


def points(ax: Axes, table: pd.DataFrame) -> None:
    """Name points (``lm, x, mean``) on their left."""
    low, high = ax.get_ylim()
    places = apart(table["mean"].tolist(), 0.05 * (high - low))
    # From the unit of the axis to points of print.
    unit = ax.bbox.height / (high - low) * 72.0 / ax.get_figure(root=True).dpi  # type: ignore[union-attr]
    for (_, row), place in zip(table.iterrows(), places, strict=True):
        text = ax.annotate(
            row["lm"],
            (row["x"], row["mean"]),
            xytext=(-28, (place - row["mean"]) * unit),
            textcoords="offset points",
            fontsize=palette.SMALL,
            color=palette.INK,
            ha="right",
            va="center",
            arrowprops={"arrowstyle": "-", "color": palette.QUIET, "linewidth": 0.6},
        )
        on_white(text)


def ends(ax: Axes, x: float, names: Sequence[str], y: Sequence[float], colours: Sequence[str], gap: float) -> None:
    """Name lines at their right end."""
    for name, place, colour in zip(names, apart(y, gap), colours, strict=True):
        ax.annotate(
            name,
            (x, place),
            xytext=(5, 0),
            textcoords="offset points",
            color=colour,
            fontsize=palette.SMALL,
            va="center",
            annotation_clip=False,
        )
