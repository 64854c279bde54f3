"""Every figure by the name it has on the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from matplotlib.figure import Figure

from bayes_irsl.fitting import Fit
from bayes_irsl.plots.ability_chart import abilities
from bayes_irsl.plots.item_curves import curves
from bayes_irsl.plots.score_panels import scores


def _abilities(fit: Fit) -> Figure:
    return cast(Figure, abilities(fit).get_figure(root=True))


def _curves(fit: Fit) -> Figure:
    return cast(Figure, curves(fit).get_figure(root=True))


FIGURES: dict[str, Callable[[Fit], Figure]] = {"abilities": _abilities, "curves": _curves, "scores": scores}
"""Functions of a fit that return a figure, everything else at its default."""
