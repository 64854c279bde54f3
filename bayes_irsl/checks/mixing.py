"""Checks that chains agree and are long enough."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
import xarray as xr

from bayes_irsl.checks.finding import Finding
from bayes_irsl.fitting import Fit

RHAT = 1.01
ESS = 400
# Fewer draws of a chain cannot be compared with one another.
FEWEST = 4
TOO_FEW = "too few draws, or draws that never moved: raise draws"
# Spread below this share of a quantity's size is rounding, not posterior.
_ROUNDING = 1e-10


def finite(fit: Fit) -> Finding | None:
    """Every draw of every reported quantity is a number."""
    posterior = fit.posterior
    counts = {name: int((~np.isfinite(values)).sum()) for name, values in posterior.data_vars.items()}
    worst = max(counts, key=lambda name: counts[name])
    total = sum(counts.values())
    if not total:
        return Finding("non-finite draws", 0.0, "0", "pass")
    advice = f"most in {worst}: the sampler broke down; give another seed, or check priors and data"
    return Finding("non-finite draws", float(total), "0", "fail", advice)


def rhat(fit: Fit) -> Finding | None:
    """Chains that started apart ended in the same place: largest R-hat."""
    limit = f"< {RHAT}"
    if _independent(fit):
        advice = (
            f"says nothing of independent draws; check with nuts ({fit.tree.attrs['engine']} cannot see its own bias)"
        )
        return Finding("R-hat", np.nan, limit, "review", advice)
    varying = _varying(fit.posterior)
    if _too_few(varying):
        return Finding("R-hat", np.nan, limit, "fail", TOO_FEW)
    if varying.sizes["chain"] < 2:
        return Finding("R-hat", np.nan, limit, "review", "one chain cannot be compared: run two or more")
    value, worst = _extreme(_arviz().rhat(varying), np.nanargmax)
    if value < RHAT:
        return Finding("R-hat", value, limit, "pass")
    return Finding("R-hat", value, limit, "fail", f"{worst} has not mixed: raise warmup and draws")


def ess_bulk(fit: Fit) -> Finding | None:
    """Effective draws behind posterior means: the smallest number."""
    return _enough(fit, "bulk ESS", method="bulk")


def ess_tail(fit: Fit) -> Finding | None:
    """Effective draws behind the ends of 90% intervals: the smallest number."""
    return _enough(fit, "tail ESS", method="tail", prob=(0.05, 0.95))


def _enough(fit: Fit, name: str, **options: Any) -> Finding:
    if _independent(fit):
        # Known exactly; the estimate would be the same number with noise.
        value, worst = float(fit.posterior.sizes["chain"] * fit.posterior.sizes["draw"]), "every quantity"
    else:
        varying = _varying(fit.posterior)
        if _too_few(varying):
            return Finding(name, np.nan, f">= {ESS}", "fail", TOO_FEW)
        value, worst = _extreme(_arviz().ess(varying, **options), np.nanargmin)
    if value >= ESS:
        return Finding(name, value, f">= {ESS}", "pass")
    return Finding(name, value, f">= {ESS}", "fail", f"least in {worst}: raise draws")


def _too_few(varying: xr.Dataset) -> bool:
    """Whether nothing moved, or not often enough to be compared."""
    return not varying or varying.sizes["draw"] < FEWEST


def _arviz() -> Any:
    # Imported when needed, for it takes its time; by name, for its functions carry no types.
    return import_module("arviz_stats")


def _independent(fit: Fit) -> bool:
    """Whether the draws were made apart from one another, and not by a Markov chain."""
    return "energy" not in fit.tree["sample_stats"]


def _varying(posterior: xr.Dataset) -> xr.Dataset:
    """Quantities that vary and are finite, each array flattened to one dimension named after it."""
    kept = {}
    for name, values in posterior.data_vars.items():
        flat = values.to_numpy().reshape(*values.shape[:2], -1)
        with np.errstate(invalid="ignore"):
            varies = flat.std((0, 1)) > _ROUNDING * np.maximum(1.0, np.abs(flat).max((0, 1)))
        if varies.any():
            labels = np.array(list(_labels(str(name), values)), dtype=object)[varies]
            kept[name] = xr.DataArray(
                flat[..., varies], dims=("chain", "draw", f"{name}_label"), coords={f"{name}_label": labels}
            )
    return xr.Dataset(kept)


def _labels(name: str, values: xr.DataArray) -> Iterator[str]:
    """Names of the entries of an array: ``difficulty[gpqa]``."""
    inner = values.dims[2:]
    for place in np.ndindex(*(values.sizes[dim] for dim in inner)):
        words = (str(values[dim].to_numpy()[at]) for dim, at in zip(inner, place, strict=True))
        yield f"{name}[{', '.join(words)}]" if inner else name


def _extreme(table: xr.Dataset, place: Callable[[np.ndarray], np.intp]) -> tuple[float, str]:
    """Largest or smallest entry of all arrays, and its name."""
    values = np.concatenate([array.to_numpy() for array in table.data_vars.values()])
    names = np.concatenate([array[array.dims[0]].to_numpy() for array in table.data_vars.values()])
    at = place(values)
    return float(values[at]), str(names[at])
