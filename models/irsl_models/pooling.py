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
    centre, inner = sample(f"{name}_mean", mean), sample(f"{name}_within", within)
    level, alone = _by_benchmark(name, design, centre, between)
    with plate("item", design.n_items):
        drawn: Array = sample(name, dist.Normal(level, jnp.hypot(inner, alone)))
    return drawn


def pooled_level(name: str, design: Design, mean: Distribution, between: Distribution) -> Float[Array, " item"]:
    """Draw the level around which the items of a benchmark lie, for every item; sites as in `pooled`."""
    return _by_benchmark(name, design, sample(f"{name}_mean", mean), between)[0]


def _by_benchmark(
    name: str, design: Design, centre: Float[Array, ""], between: Distribution
) -> tuple[Float[Array, " item"], Float[Array, " item"]]:
    """Level of every item, and what the scale between benchmarks adds to one that is a benchmark of its own."""
    level = jnp.broadcast_to(centre, (design.n_items,))
    if design.n_pools < 2:
        return level, jnp.zeros(design.n_items)
    outer = sample(f"{name}_between", between)
    with plate("pool", design.n_pools):
        shift: Array = sample(f"{name}_benchmark", dist.Normal(0.0, outer))
    alone = design.pool < 0
    return level + jnp.where(alone, 0.0, shift[jnp.maximum(design.pool, 0)]), jnp.where(alone, outer, 0.0)
