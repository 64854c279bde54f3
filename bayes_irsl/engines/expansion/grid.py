r"""Smooth functions of ability by their values at Chebyshev nodes.

A function of ability that is smooth is known everywhere from a few dozen values. So a sum over LMs of such a function
is a sum over nodes, weighted by what all LMs together put on each node.
"""

from __future__ import annotations

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
    """

    nodes: Float[Array, " node"]
    mean: Float[Array, "column lm node"]
    points: Float[Array, "point lm column"]


def basis(ability: Float[Array, "lm column"], spread: Float[Array, "lm column"], size: int) -> Basis:
    """Lay a grid over abilities, which are normal with some standard deviations.

    Parameters
    ----------
    ability, spread : Float[Array, "lm column"]
        Means and standard deviations.
    size : int
        Number of nodes.
    """
    reach = _POINTS[-1] * spread + _MARGIN
    low, high = (ability - reach).min(), (ability + reach).max()
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    order, at_node = jnp.arange(size), np.pi * (np.arange(size) + 0.5) / size
    # Values at the nodes to coefficients of Chebyshev polynomials.
    transform = (2.0 / size) * jnp.cos(order[:, None] * at_node).at[0].multiply(0.5)
    points = ability + jnp.multiply.outer(jnp.asarray(_POINTS), spread)
    angle = jnp.arccos((jnp.moveaxis(points, -1, 1) - middle) / half)[..., None]
    level = jnp.tensordot(POINT_WEIGHTS, jnp.cos(order * angle), 1)
    return Basis(middle + half * jnp.cos(at_node), level @ transform, points)
