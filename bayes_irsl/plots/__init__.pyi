"""The figures: read by type checkers, by editors and by `lazily.attach`."""

from bayes_irsl.plots.ability_chart import abilities
from bayes_irsl.plots.catalogue import FIGURES
from bayes_irsl.plots.item_curves import curves
from bayes_irsl.plots.score_panels import scores

__all__ = ["FIGURES", "abilities", "curves", "scores"]
