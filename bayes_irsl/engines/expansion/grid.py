r"""Smooth functions of ability by their values at Chebyshev nodes.

A function of ability that is smooth is known everywhere from a few dozen values. So a sum over LMs of such a function
is a sum over nodes, weighted by what all LMs together put on each node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

# Points and weights of a normal: its mean of polynomials up to the fifth degree.
_POINTS = np.array([-(3.0**0.5), 0.0, 3.0**0.5])
POINT_WEIGHTS = np.array([1.0, 4.0, 1.0]) / 6.0
# Beyond the outermost point, so that steps do not leave the grid, in units of ability.
_MARGIN = 0.25


class Basis(NamedTuple):
    """What abilities put on the nodes of a grid.

    Parameters
    ----------
    nodes : Float[Array, " node"]
        Abilities at which functions are known.
    mean : Float[Array, "column lm node"]
        Weights that give the mean of a function over the posterior of each ability.
    points : Float[Array, "point lm column"]
        Abilities over which that mean is taken, with `POINT_WEIGHTS`.
    reach : Float[Array, "end one"]
        Where the grid ends.
    """

    nodes: Float[Array, " node"]
    mean: Float[Array, "column lm node"]
    points: Float[Array, "point lm column"]
    reach: Float[Array, "end one"]


def bases(ability: Float[Array, "lm column"], spread: Float[Array, "lm column"], sizes: Sequence[int]) -> list[Basis]:
    """Lay grids over abilities, which are normal with some standard deviations.

    Parameters
    ----------
    ability, spread : Float[Array, "lm column"]
        Means and standard deviations.
    sizes : sequence of int
        Number of nodes of each grid.
    """
    reach = _POINTS[-1] * spread + _MARGIN
    low, high = (ability - reach).min(), (ability + reach).max()
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    ends = jnp.stack([low, high])[:, None]
    points = ability + jnp.multiply.outer(jnp.asarray(_POINTS), spread)
    angle = jnp.arccos((jnp.moveaxis(points, -1, 1) - middle) / half)[..., None]
    level = jnp.tensordot(POINT_WEIGHTS, jnp.cos(jnp.arange(max(sizes)) * angle), 1)
    return [
        Basis(middle + half * jnp.cos(_angles(size)), level[..., :size] @ _coefficients(size), points, ends)
        for size in sizes
    ]


def refined(size: int, finer: int) -> Float[Array, "finer node"]:
    """Weights that give the values of a function at the nodes of a finer grid."""
    return jnp.cos(_angles(finer)[:, None] * jnp.arange(size)) @ _coefficients(size)


def _angles(size: int) -> np.ndarray:
    return np.pi * (np.arange(size) + 0.5) / size


def _coefficients(size: int) -> Float[Array, "order node"]:
    """Weights that make coefficients of Chebyshev polynomials of values at the nodes."""
    return (2.0 / size) * jnp.cos(jnp.arange(size)[:, None] * _angles(size)).at[0].multiply(0.5)
