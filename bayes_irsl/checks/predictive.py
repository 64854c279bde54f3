"""Check that the model could have made the data."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bayes_irsl.checks.finding import Finding
from bayes_irsl.designs import unseen
from bayes_irsl.fitting import Fit, double_precision
from bayes_irsl.prediction import evaluate

PREDICTIVE = 0.9
COVERAGE = (0.8, 0.98)
_DRAWS = 200
_CELLS = 50_000


def coverage(fit: Fit) -> Finding | None:
    """Share of observed responses inside their own central 90% predictive interval.

    A tie between response and draws counts in parts, as it falls: otherwise intervals of counts and of answers
    that are right or wrong would always cover too much.
    """
    rng = np.random.default_rng(0)
    cells = fit.responses.cells
    if len(cells) > _CELLS:
        cells = cells.iloc[np.sort(rng.choice(len(cells), _CELLS, replace=False))]
    drawn = _replicated(fit, cells)
    observed = cells["successes" if "successes" in cells else "score"].to_numpy(dtype=float)
    below, equal = (drawn < observed).sum(0), (drawn == observed).sum(0)
    rank = (below + rng.random(len(cells)) * (equal + 1)) / (len(drawn) + 1)
    value = float((np.abs(rank - 0.5) <= PREDICTIVE / 2).mean())
    low, high = COVERAGE
    name, threshold = f"coverage of {PREDICTIVE:.0%} predictive intervals", f"{low} to {high}"
    if low <= value <= high:
        return Finding(name, value, threshold, "pass")
    way_out = "too narrow: try another likelihood, curve or trend" if value < low else "wider than the data need"
    return Finding(name, value, threshold, "review", f"intervals are {way_out}")


def _replicated(fit: Fit, cells: pd.DataFrame) -> np.ndarray:
    """Responses drawn anew at some cells, dimensions (draw, cell)."""
    with double_precision():
        names = ("score", "successes")
        drawn = evaluate(fit.model, unseen(fit.population, cells), fit.thinned(_DRAWS).sites, names, seed=0)
    value = next(iter(drawn.values()))
    return value.reshape(-1, value.shape[-1])
