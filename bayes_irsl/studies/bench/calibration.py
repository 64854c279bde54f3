"""Whether the errors of the fast engine are as large as it says, and how far it is from HMC."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayes_irsl.studies.bench import ours
from bayes_irsl.studies.bench.plan import Plan, Size
from bayes_irsl.studies.bench.processes import Work, measured
from bayes_irsl.studies.tables import QUANTITIES, reported, simulated

SITES = ("ability", "log_discrimination", "log_precision", "threshold")


def calibration(plan: Plan, cache: Path) -> pd.DataFrame:
    """Fit many tables of every size; squared errors over posterior variances should be one on average."""
    return pd.concat([_of_size(plan, cache, size) for size in plan.calibrated], ignore_index=True)


def agreement(plan: Plan, cache: Path) -> pd.DataFrame:
    """Hold the fast engine against HMC on one table, parameter by parameter of the reported scale."""
    table = {"n_lms": plan.compared[0], "n_items": plan.compared[1], "seed": plan.seed}
    sample = {}
    for name in (ours.FAST, "hmc"):
        settings = dict(plan.engines.get(name, {}))
        found = measured(ours.prepared, {**table, "name": name, "settings": settings}, cache, rehearse=False).found
        sample[name] = _reported({site: found[f"site/{site}"] for site in SITES})
    rows = [
        {
            "LMs": plan.compared[0],
            "items": plan.compared[1],
            "method": ours.FAST,
            "quantity": quantity,
            **differences(sample[ours.FAST][quantity], sample["hmc"][quantity]),
        }
        for quantity in QUANTITIES
    ]
    return pd.DataFrame(rows)


def differences(approximate: np.ndarray, exact: np.ndarray) -> dict[str, float]:
    """Compare two samples, dimensions (draw, parameter): means in standard deviations, and ratios of these."""
    deviation = exact.std(0)
    off, ratio = (approximate.mean(0) - exact.mean(0)) / deviation, approximate.std(0) / deviation
    return {
        "mean off, RMS": float(np.sqrt(np.mean(off**2))),
        "mean off, largest": float(np.abs(off).max()),
        "sd ratio": float(np.exp(np.log(ratio).mean())),
        "sd ratio, least": float(ratio.min()),
        "sd ratio, largest": float(ratio.max()),
    }


def prepared(name: str, n_lms: int, n_items: int, seed: int, tables: int, settings: Mapping[str, Any]) -> Work:
    """Prepare fits of many tables of one size."""
    engine = ours.engine(name, settings)

    def work() -> Mapping[str, Any]:
        rows = []
        for number in range(tables):
            table = simulated(n_lms, n_items, seed + number)
            draws = engine.run(ours.MODEL, table.design, seed + number)
            rows.append(scores(_reported(draws.sites), reported(table.truth)))
        return {key: np.array([row[key] for row in rows]) for key in rows[0]}

    return work


def scores(drawn: Mapping[str, np.ndarray], truth: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Mean squares of errors over variances, and of errors, by quantity.

    Parameters
    ----------
    drawn : mapping of str to np.ndarray
        Reported quantities, dimensions (draw, ...).
    truth : mapping of str to np.ndarray
        What made the table.
    """
    found: dict[str, float] = {}
    for name in QUANTITIES:
        squared = np.square(drawn[name].mean(0) - truth[name])
        found |= {f"{name}/z": float((squared / drawn[name].var(0)).mean()), f"{name}/error": float(squared.mean())}
    return found


def _reported(sites: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Reported quantities of all chains together."""
    return reported({name: np.concatenate(list(sites[name])) for name in SITES})


def _of_size(plan: Plan, cache: Path, size: Size) -> pd.DataFrame:
    name = ours.FAST
    tables = {"n_lms": size[0], "n_items": size[1], "seed": plan.seed, "tables": plan.tables}
    run = {**tables, "name": name, "settings": dict(plan.engines.get(name, {}))}
    found = measured(prepared, run, cache, rehearse=False).found
    rows = [
        {
            "LMs": size[0],
            "items": size[1],
            "method": name,
            "quantity": quantity,
            "squared error over variance": float(found[f"{quantity}/z"].mean()),
            # Of the mean over tables, which are independent.
            "standard error": float(found[f"{quantity}/z"].std(ddof=1) / np.sqrt(plan.tables)),
            "RMSE": float(np.sqrt(found[f"{quantity}/error"].mean())),
        }
        for quantity in QUANTITIES
    ]
    return pd.DataFrame(rows)
