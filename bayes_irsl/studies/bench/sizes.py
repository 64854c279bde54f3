"""Time and memory by the size of the table, in single precision."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from bayes_irsl.studies.bench import ours
from bayes_irsl.studies.bench.plan import Plan, Size
from bayes_irsl.studies.bench.processes import measured

# Settings that a point of the figure needs: draws of hundred thousand parameters are not what is measured.
_DRAWS = {"laplace": {"draws": 200}, "svi": {"draws": 200}}
# Above this many cells a rehearsal would take longer than what it spares.
_REHEARSED = 20_000_000


def sizes(plan: Plan, cache: Path) -> pd.DataFrame:
    """Measure the fast engine on every size, and HMC up to its limit."""
    return pd.DataFrame(list(_rows(plan, cache)))


def _rows(plan: Plan, cache: Path) -> Iterator[dict[str, Any]]:
    for size in plan.grown:
        yield _row(plan, cache, ours.FAST, size)
    yield _row(plan, cache, ours.FAST, plan.grown[-1], plan.missing)
    for size in plan.grown:
        if size[0] * size[1] <= plan.sampled_up_to:
            yield _row(plan, cache, "hmc", size)


def _row(plan: Plan, cache: Path, name: str, size: Size, missing: float = 0.0) -> dict[str, Any]:
    cells = size[0] * size[1]
    settings = {**_DRAWS.get(name, {}), **plan.engines.get(name, {})}
    table = {"n_lms": size[0], "n_items": size[1], "seed": plan.seed, "missing": missing, "dtype": "float32"}
    run = {**table, "name": name, "settings": settings}
    found = measured(ours.prepared_summary, run, cache, rehearse=cells <= _REHEARSED)
    return {
        "LMs": size[0],
        "items": size[1],
        "method": f"{name}, {missing:.0%} missing" if missing else name,
        "cells": cells,
        "s": found.seconds,
        "CPU s": found.cpu_seconds,
        "peak GB": found.peak_gb,
        "GB before": found.before_gb,
        "compiled": found.compiled,
        "all finite": float(found.found["finite"]),
    }
