"""The scale of reported quantities: abilities of the calibration LMs have mean 0 and standard deviation 1.

Inside a model the unit of ability is that of its population, not of the LMs at hand. Reports use one affine map per
posterior draw, which takes the abilities of the calibration LMs to mean 0 and standard deviation 1 and everything
else along with them; no expected score changes. Chains and refits then speak of the same scale.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from bayes_irsl.encoding import Population

RULE = (
    "abilities of the calibration LMs have mean 0 and standard deviation 1 in every draw; difficulty is in the same "
    "unit, discrimination in logits per unit; slope, drift and walk are per unit of x (decade, year, ...)"
)

# Sites in units of ability, which the map divides by the spread of abilities.
_LENGTHS = frozenset({"scatter", "group_scale", "deviation_scale", "benchmark_deviation"})
# Sites per standard deviation of x, which become per unit of x.
_SLOPES = frozenset({"slope", "drift", "drift_scale"})
# Logs of discrimination, which grow by the log of the spread.
_LOG_SLOPES = frozenset({"log_discrimination_mean"})
# Dimensionless or in logits of the response: the map leaves them alone.
_UNTOUCHED = frozenset(
    {
        "curvature",
        "lower",
        "precision",
        "log_discrimination_between",
        "log_discrimination_within",
        "log_precision_mean",
        "log_precision_between",
        "log_precision_within",
        "threshold_mean",
        "threshold_between",
        "threshold_within",
        "lower_mean",
        "lower_within",
        "log_low_cut_mean",
        "log_low_cut_scale",
        "log_high_cut_mean",
        "log_high_cut_scale",
    }
)
_DIMS = {
    "ability": ("lm",),
    "trend": ("lm",),
    "benchmark_deviation": ("lm", "benchmark"),
    "difficulty": ("item",),
    "discrimination": ("item",),
    "lower": ("item",),
    "precision": ("item",),
    "drift": ("benchmark",),
    "group_scale": ("grouping",),
}
DERIVED = (
    "ability",
    "slope",
    "scatter",
    "trend",
    "difficulty",
    "discrimination",
    "lower",
    "precision",
    "benchmark_deviation",
)


def reported(values: Mapping[str, np.ndarray], population: Population, unit: float) -> xr.Dataset:
    """Put draws on the reported scale and name their dimensions.

    Parameters
    ----------
    values : mapping of str to np.ndarray
        Sites of the model and the quantities in `DERIVED`, dimensions (chain, draw, ...).
    population : Population
        Names of LMs, items, benchmarks and groups.
    unit : float
        Standard deviation of x in its own unit (decades, years, ...): slopes are reported per unit of x.
    """
    centre, spread = centre_and_spread(np.asarray(values["ability"]))

    def along(per_draw: np.ndarray, value: np.ndarray) -> np.ndarray:
        return per_draw.reshape(per_draw.shape + (1,) * (value.ndim - 2))

    out: dict[str, np.ndarray] = {}
    for name, raw in values.items():
        value = np.asarray(raw)
        if name in ("ability", "trend", "difficulty"):
            out[name] = (value - along(centre, value)) / along(spread, value)
        elif name == "discrimination":
            out[name] = value * along(spread, value)
        elif name in _LENGTHS or name.startswith("group_"):
            out[name] = value / along(spread, value)
        elif name in _SLOPES:
            out[name] = value / along(spread, value) / unit
        elif name == "walk_scale":
            out[name] = value * values["slope"] / spread / np.sqrt(unit)
        elif name in _LOG_SLOPES:
            out[name] = value + np.log(spread)
        elif name in _UNTOUCHED:
            out[name] = value
    return _labelled(out, population)


def centre_and_spread(ability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what the map takes to 0 and 1 in every draw; one LM alone stays where it is.

    Examples
    --------
    >>> centre, spread = centre_and_spread(np.array([[[1.0, 3.0]]]))
    >>> centre.item(), spread.item()
    (2.0, 1.0)
    """
    if ability.shape[-1] > 1:
        return ability.mean(-1), ability.std(-1)
    return np.zeros(ability.shape[:2]), np.ones(ability.shape[:2])


def _labelled(values: Mapping[str, np.ndarray], population: Population) -> xr.Dataset:
    coords: dict[str, list[str]] = {
        "lm": list(population.lms),
        "item": list(population.items),
        "benchmark": list(population.benchmarks),
        "grouping": list(population.groups),
    }
    dims = dict(_DIMS)
    for grouping, members in population.groups.items():
        dims[f"group_{grouping}"] = (grouping,)
        coords[grouping] = sorted(set(members))
    arrays = {}
    for name in sorted(values):
        inner = dims.get(name, ())
        value = values[name]
        if value.ndim != 2 + len(inner):
            inner = tuple(f"{name}_{axis}" for axis in range(value.ndim - 2))
        arrays[name] = xr.DataArray(
            value, dims=("chain", "draw", *inner), coords={dim: coords[dim] for dim in inner if dim in coords}
        )
    return xr.Dataset(arrays)
