"""How far a mean of draws may be from the posterior's."""

from importlib import import_module
from typing import Any

import numpy as np
import xarray as xr


def standard_error(draws: xr.DataArray | np.ndarray) -> np.ndarray:
    """Monte Carlo standard error of the mean over chains and draws, by the effective number of draws."""
    if not isinstance(draws, xr.DataArray):
        names = [f"inner_{place}" for place in range(draws.ndim - 2)]
        draws = xr.DataArray(draws, dims=("chain", "draw", *names))
    # By name, for its functions carry no types.
    arviz: Any = import_module("arviz_stats")
    effective = arviz.ess(draws.to_dataset(name="q"))["q"]
    return np.asarray(draws.std(("chain", "draw")) / np.sqrt(effective))
