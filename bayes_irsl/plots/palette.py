"""Colours that stay apart for colour-blind readers, and the look that all figures share."""

from __future__ import annotations

from matplotlib.axes import Axes

# Okabe and Ito (2008), without the yellow that white paper swallows.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MODEL = COLOURS[0]
HELD_OUT = COLOURS[1]
INK = "#222222"
QUIET = "#777777"
SMALL = 8.5


def plain(ax: Axes) -> None:
    """Leave two axis lines and a light grid behind everything."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(QUIET)
    ax.grid(color="#e6e6e6", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(labelsize=SMALL, colors=INK, color=QUIET)
