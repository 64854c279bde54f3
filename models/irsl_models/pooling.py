"""Partial pooling of item parameters: items within their benchmark, benchmarks within the whole."""

from __future__ import annotations

import jax.numpy as jnp
import numpyro.distributions as dist
from jaxtyping import Array, Float
from numpyro import plate, sample
from numpyro.distributions import Distribution

from irsl_models.design import Design


def pooled(
    name: str, design: Design, mean: Distribution, between: Distribution, within: Distribution
) -> Float[Array, " item"]:
    """Draw a parameter of every item, pooled within benchmarks and those within the whole.

    Sites: ``name_mean``; ``name_between`` and ``name_benchmark`` where at least two benchmarks have several
    items; ``name_within``; ``name``. With few benchmarks the scale between them is hardly more than its prior.
    """
    level: Array = jnp.broadcast_to(sample(f"{name}_mean", mean), (design.n_items,))
    inner = sample(f"{name}_within", within)
    spread: Array = jnp.broadcast_to(inner, (design.n_items,))
    if design.n_pools >= 2:
        outer = sample(f"{name}_between", between)
        with plate("pool", design.n_pools):
            shift: Array = sample(f"{name}_benchmark", dist.Normal(0.0, outer))
        alone = design.pool < 0
        level = level + jnp.where(alone, 0.0, shift[jnp.maximum(design.pool, 0)])
        spread = jnp.where(alone, jnp.hypot(inner, outer), inner)
    with plate("item", design.n_items):
        drawn: Array = sample(name, dist.Normal(level, spread))
    return drawn
