"""nutpie on a log density of JAX, with its own adaptation, a chain on each core."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import jax
import numpy as np

from bayes_irsl.studies.bench.densities import flat
from bayes_irsl.studies.bench.drawn import Gradients, packed
from bayes_irsl.studies.bench.processes import Work
from bayes_irsl.studies.tables import simulated


def prepared(n_lms: int, n_items: int, seed: int, density: str, warmup: int, draws: int, chains: int = 2) -> Work:
    """Prepare a run on a simulated table."""
    nutpie: Any = import_module("nutpie")
    from_function: Any = import_module("nutpie.compiled_pyfunc").from_pyfunc
    posterior = flat(density, simulated(n_lms, n_items, seed).design, seed, chains)
    size = posterior.starts.shape[1]

    # One for all chains, so that it is traced once.
    both = jax.jit(jax.value_and_grad(posterior.log_density))

    def density_and_gradient(z: np.ndarray) -> tuple[float, np.ndarray]:
        # nutpie calls from threads of its own, and the precision of JAX is set thread by thread.
        with jax.enable_x64(True):
            value, slope = both(z)
            return float(value), np.asarray(slope)

    def make_expand(*_: Any) -> Callable[[np.ndarray], dict[str, np.ndarray]]:
        return lambda z: {"z": np.asarray(z)}

    def start(seed: int) -> np.ndarray:
        return np.asarray(posterior.starts[seed % chains])

    def work() -> Mapping[str, Any]:
        density_and_gradient(start(0))  # two chains at once would both compile it
        model = from_function(
            size,
            lambda: density_and_gradient,
            make_expand,
            [np.dtype(np.float64)],
            [(size,)],
            ["z"],
            make_initial_point_fn=start,
        )
        tree = nutpie.sample(
            model, draws=draws, tune=warmup, chains=chains, cores=chains, seed=seed, progress_bar=False
        )
        before, stats = (tree[name]["n_steps"].to_numpy().sum() for name in ("warmup_sample_stats", "sample_stats"))
        divergent = int(tree["sample_stats"]["diverging"].to_numpy().sum())
        return packed(
            posterior.sites(tree["posterior"]["z"].to_numpy()), Gradients(float(before), float(stats)), divergent
        )

    return work
