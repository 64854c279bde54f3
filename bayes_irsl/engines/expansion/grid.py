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
    at = jnp.moveaxis((points - middle) / half, -1, 1)
    return [
        Basis(middle + half * _nodes(size), jnp.tensordot(POINT_WEIGHTS, _weights(at, size), 1), points, ends)
        for size in sizes
    ]


def refined(size: int, finer: int) -> Float[Array, "finer node"]:
    """Weights that give the values of a function at the nodes of a finer grid."""
    return _weights(jnp.asarray(_nodes(finer)), size)


def _nodes(size: int) -> np.ndarray:
    return np.cos(_angles(size))


def _angles(size: int) -> np.ndarray:
    return np.pi * (np.arange(size) + 0.5) / size


def _weights(at: Float[Array, "*point"], size: int) -> Float[Array, "*point node"]:
    """Weights that give the values of a function from those at the nodes, by the barycentric formula."""
    gap = at[..., None] - _nodes(size)
    # At a node itself, its weight is beyond all others.
    share = (-1.0) ** np.arange(size) * np.sin(_angles(size)) / jnp.where(gap == 0.0, np.finfo(float).tiny, gap)
    return share / share.sum(-1, keepdims=True)
