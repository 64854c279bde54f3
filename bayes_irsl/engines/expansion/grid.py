r"""Smooth functions of ability by their values at Chebyshev nodes.

A function of ability that is smooth is known everywhere from a few dozen values. So a sum over LMs of such a function
is a sum over nodes, weighted by what all LMs together put on each node.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

# Points and weights of a normal: its mean of polynomials up to the fifth degree.
_POINTS = np.array([-(3.0**0.5), 0.0, 3.0**0.5])
_POINT_WEIGHTS = np.array([1.0, 4.0, 1.0]) / 6.0
# Beyond the outermost point, so that steps do not leave the grid, in units of ability.
_MARGIN = 0.25


class Basis(NamedTuple):
    """What abilities put on the nodes of a grid.

    Parameters
    ----------
    nodes : Float[Array, " node"]
        Abilities at which functions are known.
    mean : Float[Array, "column row node"]
        Weights that give the mean of a function over the posterior of each ability.
    """

    nodes: Float[Array, " node"]
    mean: Float[Array, "column row node"]


class Points(NamedTuple):
    """Points that stand for abilities.

    Parameters
    ----------
    ability : Float[Array, "point lm column"]
        The points.
    row : Float[Array, "point row column"]
        The same by the rows of a table.
    reach : Float[Array, "end one"]
        Where grids begin and end.
    """

    ability: Float[Array, "point lm column"]
    row: Float[Array, "point row column"]
    reach: Float[Array, "end one"]

    @property
    def weights(self) -> np.ndarray:
        """Weights of the points."""
        return _POINT_WEIGHTS if len(self.ability) > 1 else np.ones(1)

    @property
    def by_lm(self) -> Points:
        """The same for LMs in the place of rows; those without a row may be beyond the grid."""
        return self._replace(row=self.ability)


def points_of(
    ability: Float[Array, "lm column"], spread: Float[Array, "lm column"] | None, lm: Int[Array, " row"] | None
) -> Points:
    """Represent abilities, which are normal, or are known.

    Parameters
    ----------
    ability, spread : Float[Array, "lm column"]
        Means and standard deviations; none where they are known.
    lm : Int[Array, " row"] or None
        LM of each row; None if they are the rows.
    """
    points = ability[None] if spread is None else ability + jnp.multiply.outer(jnp.asarray(_POINTS), spread)
    row = points if lm is None else points[:, lm]
    return Points(points, row, jnp.stack([row.min() - _MARGIN, row.max() + _MARGIN])[:, None])


def basis(points: Points, size: int) -> Basis:
    """Lay a grid with a number of nodes over points."""
    low, high = points.reach[:, 0]
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    at = jnp.moveaxis((points.row - middle) / half, -1, 1)
    mean: Array = sum(
        (weight * _weights(one, size) for weight, one in zip(points.weights, at, strict=True)), jnp.zeros(())
    )
    return Basis(middle + half * _nodes(size), mean)


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
    share = jnp.asarray((-1.0) ** np.arange(size) * np.sin(_angles(size)))
    share = share / jnp.where(gap == 0.0, np.finfo(float).tiny, gap)
    return share / share.sum(-1, keepdims=True)
