"""How levels of a dimension are drawn: independent ones and contrasts, known and new."""

from __future__ import annotations

import jax.numpy as jnp
import numpyro.distributions as dist
from jaxtyping import Array, Float
from numpyro import plate, sample

from irsl_models.design import Dim


def independent(
    name: str, dim: Dim, scale: Float[Array, ""], *, loc: Float[Array, " level"] | float = 0.0
) -> Float[Array, " level"]:
    """Draw one normal value for every level; new levels come from the same population.

    Parameters
    ----------
    name : str
        Site and plate name of the known levels; the new ones are ``name + "_new"``.
    dim : Dim
        Numbers of levels.
    scale, loc : array
        Standard deviation and mean of the population; ``loc`` may differ by level.
    """
    centre = jnp.broadcast_to(loc, (dim.size,))
    known = centre[:0]
    if dim.known:
        with plate(f"{name}_level", dim.known):
            known = sample(name, dist.Normal(centre[: dim.known], scale))
    if not dim.new:
        return known
    with plate(f"{name}_level_new", dim.new):
        new: Array = sample(f"{name}_new", dist.Normal(centre[dim.known :], scale))
    return jnp.concatenate([known, new])


def contrasts(name: str, dim: Dim, scale: Float[Array, ""] | float) -> Float[Array, " level"]:
    """Draw deviations of the known levels that sum to zero; a new level deviates freely.

    The sum is fixed because the mean of the levels belongs to the effect above them: left free, the two would
    trade places without changing a single expected score.
    """
    if dim.known > 1:
        known: Array = sample(name, dist.ZeroSumNormal(scale, event_shape=(dim.known,)))
    else:
        known = jnp.zeros(dim.known)
    if not dim.new:
        return known
    with plate(f"{name}_level_new", dim.new):
        new: Array = sample(f"{name}_new", dist.Normal(0.0, scale))
    return jnp.concatenate([known, new])
