"""Draws of any sampler in one form, how well they mixed, and how far they are from a reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import xarray as xr

from bayes_irsl.studies import tables

_SITE = "site/"


@dataclass(frozen=True)
class Gradients:
    """Gradients that a run took, of all chains together; one for each step of a leapfrog.

    Parameters
    ----------
    warmup, draws : float
        Before the first draw, and from there on.
    """

    warmup: float = 0.0
    draws: float = 0.0

    def with_more(self, is_warmup: bool, count: float) -> Gradients:
        """Count some more."""
        return Gradients(self.warmup + count, self.draws) if is_warmup else Gradients(self.warmup, self.draws + count)


def packed(sites: Mapping[str, Any], gradients: Gradients, divergent: int) -> dict[str, Any]:
    """Put what a sampler returned into named arrays.

    Parameters
    ----------
    sites : mapping of str to array
        Draws, dimensions (chain, draw, ...).
    gradients : Gradients
        What they took.
    divergent : int
        Divergent draws of all chains.
    """
    counts = {"gradients_warmup": gradients.warmup, "gradients": gradients.draws, "divergences": divergent}
    return {_SITE + name: np.asarray(value) for name, value in sites.items()} | counts


def flat(values: Mapping[str, np.ndarray]) -> xr.DataArray:
    """All parameters of packed draws, dimensions (chain, draw, parameter), sites in the order of their names."""
    names = sorted(name for name in values if name.startswith(_SITE))
    parts = [np.reshape(values[name], (*values[name].shape[:2], -1)) for name in names]
    return xr.DataArray(np.concatenate(parts, axis=2), dims=("chain", "draw", "parameter"))


def reported(values: Mapping[str, np.ndarray]) -> xr.DataArray:
    """The same of reported quantities, to which it is all one where all abilities and all items lie."""
    names = ("ability", "log_discrimination", "log_precision", "threshold")
    found = tables.reported({name: values[_SITE + name] for name in names})
    return flat({_SITE + name: value for name, value in found.items()})


def effective(draws: xr.DataArray) -> np.ndarray:
    """Effective draws of every parameter: the smaller number of bulk and tail."""
    bulk, tail = _ess(draws, method="bulk"), _ess(draws, method="tail", prob=(0.05, 0.95))
    least: np.ndarray = np.minimum(bulk, tail)
    return least


def largest_rhat(draws: xr.DataArray) -> float:
    """Largest R-hat over all parameters; NaN where there is one chain."""
    if draws.sizes["chain"] < 2:
        return float("nan")
    return float(_arviz().rhat(draws.to_dataset(name="q"))["q"].max())


@dataclass(frozen=True)
class Apart:
    """How far two samples of one posterior are from one another, in Monte Carlo errors of the difference.

    Parameters
    ----------
    means, deviations : float
        Root mean square over parameters; near 1 where both are of the same posterior.
    worst_mean : float
        The largest of the means.
    """

    means: float
    deviations: float
    worst_mean: float


def apart(draws: xr.DataArray, reference: xr.DataArray) -> Apart:
    """Compare means and standard deviations of all parameters with those of a reference."""
    means, deviations = [], []
    for sample in (draws, reference):
        means.append((sample.mean(("chain", "draw")).to_numpy(), _error(sample, "mean")))
        deviations.append((sample.std(("chain", "draw"), ddof=1).to_numpy(), _error(sample, "sd")))
    of_means, of_deviations = (
        (here - there) / np.hypot(error, other) for (here, error), (there, other) in (means, deviations)
    )
    return Apart(_root_mean_square(of_means), _root_mean_square(of_deviations), float(np.abs(of_means).max()))


def _root_mean_square(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _ess(draws: xr.DataArray, **options: Any) -> np.ndarray:
    found: np.ndarray = _arviz().ess(draws.to_dataset(name="q"), **options)["q"].to_numpy()
    return found


def _error(draws: xr.DataArray, method: str) -> np.ndarray:
    found: np.ndarray = _arviz().mcse(draws.to_dataset(name="q"), method=method)["q"].to_numpy()
    return found


def _arviz() -> Any:
    # By name, for its functions carry no types.
    return import_module("arviz_stats")
