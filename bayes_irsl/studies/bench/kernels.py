"""Log density and gradient of a table beside NumPyro's Beta, on one core."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from bayes_irsl.studies import kernel
from bayes_irsl.studies.bench.plan import Plan
from bayes_irsl.studies.bench.processes import Work, measured


def kernels(plan: Plan, cache: Path) -> pd.DataFrame:
    """Time every size."""
    found = []
    for n_lms, n_items in plan.kernels:
        settings = {"n_lms": n_lms, "n_items": n_items, "repeats": plan.repeats}
        timed = measured(prepared, settings, cache, rehearse=False).found
        columns = {name: timed[name].tolist() for name in timed}
        found.append(pd.DataFrame({"LMs": n_lms, "items": n_items, "method": columns.pop("method"), **columns}))
    return pd.concat(found, ignore_index=True)


def prepared(n_lms: int, n_items: int, repeats: int) -> Work:
    """Prepare the pairs of one size."""
    if hasattr(os, "sched_setaffinity"):
        # Before JAX counts the cores: the kernel is that of one core, and so is the comparison.
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    def work() -> Mapping[str, Any]:
        table = kernel.measure(n_lms, n_items, repeats).drop(columns="size")
        named = table.assign(method="bits " + table["bits"]).drop(columns="bits")
        return {name: named[name].to_numpy(dtype=str if name == "method" else float) for name in named}

    return work
