"""BlackJAX's NUTS after its window adaptation, a chain on each device."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array

from bayes_irsl.studies.bench.densities import flat
from bayes_irsl.studies.bench.drawn import Gradients, packed
from bayes_irsl.studies.bench.processes import Work
from bayes_irsl.studies.tables import simulated


def prepared(n_lms: int, n_items: int, seed: int, density: str, warmup: int, draws: int, chains: int = 2) -> Work:
    """Prepare a run on a simulated table."""
    blackjax: Any = import_module("blackjax")
    filtered: Any = import_module("blackjax.adaptation.base").get_filter_adapt_info_fn
    posterior = flat(density, simulated(n_lms, n_items, seed).design, seed, chains)

    def chain(start: Array, key: Array) -> tuple[Array, ...]:
        warm_key, draw_key = jax.random.split(key)
        kept = filtered(info_keys={"num_integration_steps"})
        adaptation = blackjax.window_adaptation(blackjax.nuts, posterior.log_density, adaptation_info_fn=kept)
        (state, parameters), before = adaptation.run(warm_key, start, num_steps=warmup)
        move = blackjax.nuts(posterior.log_density, **parameters).step

        def step(state: Any, key: Array) -> tuple[Any, tuple[Array, ...]]:
            state, info = move(key, state)
            return state, (state.position, info.num_integration_steps, info.is_divergent)

        _, (z, steps, divergent) = jax.lax.scan(step, state, jax.random.split(draw_key, draws))
        return z, before.info.num_integration_steps.sum(), steps.sum(), divergent.sum()

    def work() -> Mapping[str, Any]:
        along = PartitionSpec("chain")  # type: ignore[no-untyped-call]
        mesh = Mesh(np.array(jax.local_devices()[:chains]), ("chain",))
        # One by one within a device: side by side, every chain would wait for the longest trajectory.
        every = jax.shard_map(
            lambda starts, keys: jax.lax.map(lambda both: chain(*both), (starts, keys)),
            mesh=mesh,
            in_specs=(along, along),
            out_specs=along,
            check_vma=False,
        )
        keys = jax.random.split(jax.random.key(seed), chains)
        z, adapting, steps, divergent = jax.jit(every)(posterior.starts, keys)
        gradients = Gradients(float(adapting.sum()), float(steps.sum()))
        return packed(posterior.sites(z), gradients, int(divergent.sum()))

    return work
