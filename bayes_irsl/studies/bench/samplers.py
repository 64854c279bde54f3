"""Samplers on one and the same posterior: what their draws are worth, and what they cost.

The engines of the package run with the settings that users get. NumPyro's NUTS runs on the model in plain NumPyro,
and, as those of other packages, on the density of the package, so that samplers can be told from kernels. A draw is
worth the smaller number of bulk and tail effective draws of what mixes worst: over all parameters of the model, and
over reported quantities alone, abilities with mean 0 and standard deviation 1. The two may be far apart, because where
all abilities and all items lie is known much worse than how they lie to one another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayes_irsl.studies.bench import blackjax_nuts, drawn, numpyro_nuts, nutpie_nuts, ours
from bayes_irsl.studies.bench.plan import Plan, Size
from bayes_irsl.studies.bench.processes import Measured, Work, measured

BASELINE = "NumPyro NUTS, standardised"
# Cells up to which runs are short enough for compiling to count, and to be rehearsed.
_SHORT = 50_000


@dataclass(frozen=True)
class Sampler:
    """A sampler, and the settings that it takes beside the table."""

    prepare: Callable[..., Work]
    settings: Mapping[str, Any] = field(default_factory=dict)


def samplers(plan: Plan, cache: Path) -> pd.DataFrame:
    """Measure all of them on every size.

    Raises
    ------
    ModuleNotFoundError
        If a package of the dependency group ``bench`` is not installed.
    """
    if missing := [name for name in ("blackjax", "nutpie") if not find_spec(name)]:
        raise ModuleNotFoundError(f"no {' and no '.join(missing)}: pip install -c constraints.txt --group bench")
    return pd.concat([_of_size(plan, cache, size) for size in plan.sampled], ignore_index=True)


def all_of(plan: Plan) -> dict[str, Sampler]:
    """Samplers by what they are called."""
    lengths = {"warmup": plan.warmup, "draws": plan.draws}
    own = {name: {"name": name, "settings": dict(plan.engines.get(name, {}))} for name in ("hmc", "nuts")}
    return {
        BASELINE: Sampler(numpyro_nuts.prepared, {**lengths, "density": "standardised"}),
        "NumPyro NUTS, centred": Sampler(numpyro_nuts.prepared, {**lengths, "density": "centred"}),
        "NumPyro NUTS, our density": Sampler(numpyro_nuts.prepared, {**lengths, "density": "bayes-irsl"}),
        "BlackJAX NUTS, our density": Sampler(blackjax_nuts.prepared, {**lengths, "density": "bayes-irsl"}),
        "nutpie, our density": Sampler(nutpie_nuts.prepared, {**lengths, "density": "bayes-irsl"}),
        "HMC": Sampler(ours.prepared, own["hmc"]),
        "NUTS": Sampler(ours.prepared, own["nuts"]),
    }


def _of_size(plan: Plan, cache: Path, size: Size) -> pd.DataFrame:
    table = {"n_lms": size[0], "n_items": size[1], "seed": plan.seed}
    long = {"name": "nuts", "settings": dict(plan.reference), "run_seed": plan.seed + 1}
    reference = drawn.flat(measured(ours.prepared, {**table, **long}, cache, rehearse=False).found)
    rows = []
    for name, sampler in all_of(plan).items():
        rehearse = sampler.prepare is ours.prepared or size[0] * size[1] <= _SHORT
        found = measured(sampler.prepare, {**table, **sampler.settings}, cache, rehearse=rehearse)
        rows.append({"LMs": size[0], "items": size[1], "method": name, **figures(found, reference)})
    return with_ratios(pd.DataFrame(rows))


def figures(found: Measured, reference: xr.DataArray) -> dict[str, float]:
    """What a run gave and took.

    Parameters
    ----------
    found : Measured
        A run, packed as by `drawn.packed`.
    reference : xarray.DataArray
        Draws of a long run.
    """
    draws = drawn.flat(found.found)
    least = float(drawn.effective(draws).min())
    least_reported = float(drawn.effective(drawn.reported(found.found)).min())
    off = drawn.apart(draws, reference)
    warmup, steps = float(found.found["gradients_warmup"]), float(found.found["gradients"])
    return {
        "draws": float(draws.sizes["chain"] * draws.sizes["draw"]),
        "least ESS": least,
        "least ESS, reported": least_reported,
        "R-hat": drawn.largest_rhat(draws),
        "divergences": float(found.found["divergences"]),
        "means off": off.means,
        "worst mean off": off.worst_mean,
        "sds off": off.deviations,
        "gradients, warm-up": warmup,
        "gradients, draws": steps,
        "CPU s": found.cpu_seconds,
        "s": found.seconds,
        "process CPU s": found.process_cpu_seconds,
        "peak GB": found.peak_gb,
        "compiled": float(found.compiled),
        "ESS per 1000 gradients": 1000.0 * least / (warmup + steps),
        "ESS per 1000 gradients, without warm-up": 1000.0 * least / steps,
        "ESS per CPU s": least / found.cpu_seconds,
        "reported ESS per 1000 gradients": 1000.0 * least_reported / (warmup + steps),
        "reported ESS per CPU s": least_reported / found.cpu_seconds,
    }


def with_ratios(table: pd.DataFrame) -> pd.DataFrame:
    """Set what gradients and CPU seconds give in relation to the run of `BASELINE`."""
    baseline = table.set_index("method").loc[BASELINE]
    names = [name for name in table if " per " in str(name)]
    ratios = {f"{name}, ratio": np.asarray(table[name], dtype=float) / float(baseline[name]) for name in names}
    return table.assign(**ratios)
