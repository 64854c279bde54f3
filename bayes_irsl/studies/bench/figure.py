"""Seconds against cells, on logarithmic axes."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from bayes_irsl.plots import palette


def seconds_by_cells(table: pd.DataFrame) -> Axes:
    """Draw what `sizes` measured, one colour a method, and a line along which time grows as the table does.

    Parameters
    ----------
    table : pandas.DataFrame
        ``method``, ``cells`` and ``s``.
    """
    _, ax = plt.subplots(figsize=(7.2, 4.4), layout="constrained", dpi=110)
    ax.set_xscale("log")
    ax.set_yscale("log")
    for colour, (method, part) in zip(palette.COLOURS, table.groupby("method", sort=False), strict=False):
        part = part.sort_values("cells")
        ax.plot(part["cells"], part["s"], color=colour, linewidth=1.6, marker="o", markersize=4.5)
        ax.annotate(
            str(method),
            (part["cells"].iloc[-1], part["s"].iloc[-1]),
            xytext=(0, 8),
            textcoords="offset points",
            color=colour,
            fontsize=palette.SMALL,
            fontweight="bold",
            ha="right",
        )
    cells = np.array([table["cells"].min(), table["cells"].max()], dtype=float)
    largest = table.loc[table["cells"].idxmax()]
    ax.plot(cells, float(largest["s"]) / cells[1] * cells, color=palette.QUIET, linewidth=1.0, linestyle=(0, (4, 3)))
    palette.plain(ax)
    ax.set_xlabel("cells (LMs × items)")
    ax.set_ylabel("seconds")
    ax.set_title("Time of a fit; dashed: in proportion to the cells", loc="left")
    return ax
