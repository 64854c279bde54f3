"""NumPyro's own `MCMC` with `NUTS`, as its users run it: chains in parallel, settings left as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from numpyro.infer import MCMC, NUTS, init_to_median

from bayes_irsl.studies.bench.densities import MODELS, SITES
from bayes_irsl.studies.bench.drawn import Gradients, packed
from bayes_irsl.studies.bench.processes import Work
from bayes_irsl.studies.tables import simulated

_FIELDS = ("num_steps", "diverging")


def prepared(n_lms: int, n_items: int, seed: int, density: str, warmup: int, draws: int, chains: int = 2) -> Work:
    """Prepare a run on a simulated table."""
    table = simulated(n_lms, n_items, seed).design

    def work() -> Mapping[str, Any]:
        design = jax.tree.map(jnp.asarray, table)
        sampler = MCMC(
            NUTS(MODELS[density], init_strategy=init_to_median),
            num_warmup=warmup,
            num_samples=draws,
            num_chains=chains,
            chain_method="parallel",
            progress_bar=False,
        )
        sampler.warmup(jax.random.key(seed), design, collect_warmup=True, extra_fields=_FIELDS)
        adapting = sampler.get_extra_fields()["num_steps"].sum()
        sampler.run(sampler.post_warmup_state.rng_key, design, extra_fields=_FIELDS)
        extra, drawn = sampler.get_extra_fields(), sampler.get_samples(group_by_chain=True)
        gradients = Gradients(float(adapting), float(extra["num_steps"].sum()))
        return packed({name: drawn[name] for name in SITES}, gradients, int(extra["diverging"].sum()))

    return work
