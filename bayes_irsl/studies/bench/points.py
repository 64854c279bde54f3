"""Errors of point estimates on simulated tables, and what they cost: the alternating fit beside the fast engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayes_irsl.studies.bench import alternating, ours
from bayes_irsl.studies.bench.plan import Plan, Size
from bayes_irsl.studies.bench.processes import Measured, Work, measured
from bayes_irsl.studies.tables import reported, simulated

QUANTITIES = ("ability", "difficulty", "log discrimination")
# Cells in single precision, which is how anybody runs the alternating fit.
_DTYPE = "float32"


def points(plan: Plan, cache: Path) -> pd.DataFrame:
    """Measure both on every size; errors are root mean squares on the scale of reports."""
    rows = []
    for size in plan.estimated:
        table = {"n_lms": size[0], "n_items": size[1], "seed": plan.seed}
        found = measured(prepared, {**table, "rounds": plan.rounds}, cache)
        rows.append(_row(size, "alternating AdamW", found, plan.seed))
        for name in plan.estimators:
            chosen = {"name": name, "settings": dict(plan.engines.get(name, {})), "dtype": _DTYPE}
            found = measured(ours.prepared, {**table, **chosen}, cache)
            rows.append(_row(size, name, found, plan.seed))
    return pd.DataFrame(rows)


def prepared(n_lms: int, n_items: int, seed: int, rounds: int) -> Work:
    """Prepare an alternating fit; what it returns has the form of a single draw."""
    design = simulated(n_lms, n_items, seed, dtype=_DTYPE).design

    def work() -> Mapping[str, Any]:
        found = alternating.fit(design, rounds=rounds)
        return {f"site/{name}": value[None, None] for name, value in found.items()}

    return work


def errors(sites: Mapping[str, np.ndarray], truth: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Root mean squared errors of posterior means, or of estimates that come as one draw.

    Parameters
    ----------
    sites : mapping of str to np.ndarray
        Draws, dimensions (draw, ...).
    truth : mapping of str to np.ndarray
        What the table was drawn with.
    """
    # The alternating fit knows no precision; it is not among the errors.
    both = [{**values, "log_precision": np.zeros(1)} for values in (sites, truth)]
    estimate, told = (reported(values) for values in both)
    return {
        f"RMSE {name}": float(np.sqrt(np.mean(np.square(estimate[name].mean(0) - told[name])))) for name in QUANTITIES
    }


def _row(size: Size, method: str, found: Measured, seed: int) -> dict[str, Any]:
    truth = simulated(*size, seed, dtype=_DTYPE).truth
    names = ("ability", "threshold", "log_discrimination")
    drawn = {name: found.found[f"site/{name}"] for name in names}
    sites = {name: np.concatenate(list(value)) for name, value in drawn.items()}
    return {
        "LMs": size[0],
        "items": size[1],
        "method": method,
        **errors(sites, truth),
        "CPU s": found.cpu_seconds,
        "s": found.seconds,
        "peak GB": found.peak_gb,
        "compiled": found.compiled,
    }
