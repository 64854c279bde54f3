r"""Coordinates in which the posterior is near a standard normal.

At a typical point the negative log density has a Hessian with one large diagonal block A (levels that meet
only through the other parameters: the abilities) and a smaller dense rest B; so has the mean of Hessians at several,

.. math:: H = \begin{pmatrix} D & C \\ C^T & B \end{pmatrix}, \quad S = B - C^T D^{-1} C .

With :math:`u_B = S^{-1/2} z_B` and :math:`u_A = D^{-1/2} z_A - D^{-1} C u_B` the density of z is standard normal
to second order, at the cost of two thin matrix products.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

# Least curvature that is believed: a direction that the data hardly bend is taken for 1.8 wide, not for any width.
FLATTEST = 0.3
# Beyond this many dense parameters the matrix products cost more than they save.
MOST_DENSE = 2500
# Products with the Hessian that are taken at a time.
_CHUNK = 8


class Whitening(NamedTuple):
    """The map u = centre + L z.

    Parameters
    ----------
    centre : Float[Array, " parameter"]
        The point around which the posterior was expanded, or the mean of several.
    diagonal, dense : Int[Array, ...]
        Positions of the two blocks.
    scale : Float[Array, " diagonal"]
        :math:`D^{-1/2}`.
    root : Float[Array, "dense dense"]
        A square root of the inverse of S.
    coupling : Float[Array, "diagonal dense"]
        :math:`D^{-1} C`.
    """

    centre: Array
    diagonal: Array
    dense: Array
    scale: Array
    root: Array
    coupling: Array

    @classmethod
    def none(cls, centre: Float[Array, " parameter"]) -> Whitening:
        """No whitening: a shift alone."""
        size = centre.size
        none, wide = jnp.zeros((0, 0)), jnp.zeros((size, 0))
        return cls(centre, jnp.arange(size), jnp.arange(0), jnp.ones(size), none, wide)

    @property
    def is_whole(self) -> bool:
        """Whether it knows how all parameters go together."""
        return self.dense.size > 0

    def __call__(self, z: Float[Array, " parameter"]) -> Float[Array, " parameter"]:
        """Map whitened coordinates to the parameters."""
        dense = self.root @ z[self.dense]
        diagonal = self.scale * z[self.diagonal] - self.coupling @ dense
        return self.centre.at[self.dense].add(dense).at[self.diagonal].add(diagonal)

    def inverse(self, u: Float[Array, " parameter"]) -> Float[Array, " parameter"]:
        """Whitened coordinates of parameters."""
        dense, diagonal = (u - self.centre)[self.dense], (u - self.centre)[self.diagonal]
        z = jnp.zeros_like(u).at[self.dense].set(jnp.linalg.solve(self.root, dense))
        return z.at[self.diagonal].set((diagonal + self.coupling @ dense) / self.scale)


def whiten(
    potential: Callable[[Any, Float[Array, " parameter"]], Float[Array, ""]],
    arguments: Any,
    points: Float[Array, "point parameter"],
    diagonal: np.ndarray,
) -> Whitening:
    """Expand a potential around a typical point, or around several and take the mean.

    The mean of the curvature over a normal is its precision if it is the normal nearest to the posterior (Opper and
    Archambeau 2009); that at one point depends on the point.

    Parameters
    ----------
    potential : callable
        Negative log density, of its arguments and the flat parameters. One and the same object for tables of one
        shape lets them share what is compiled.
    arguments : object
        The arguments.
    points : Float[Array, "point parameter"]
        Typical points.
    diagonal : np.ndarray
        Positions of parameters that do not interact with one another.
    """
    size, centre = points.shape[1], points.mean(0)
    dense = np.setdiff1d(np.arange(size), diagonal)
    if len(dense) > MOST_DENSE:
        return Whitening.none(centre)
    # Entries of a diagonal block do not mix: one product with ones in all its places reads them all.
    directions = np.zeros((-(-(len(dense) + 1) // _CHUNK) * _CHUNK, size))
    directions[0, diagonal] = 1.0
    directions[1 + np.arange(len(dense)), dense] = 1.0
    products = sum(_products(potential, arguments, point, jnp.asarray(directions)) for point in points)
    at = jnp.asarray(diagonal), jnp.asarray(dense)
    scale, coupling, schur = _schur(products / len(points), *at)
    values, vectors = np.linalg.eigh(np.asarray(schur))
    root = vectors / np.sqrt(np.maximum(np.abs(values), FLATTEST))
    return Whitening(centre, *at, scale, jnp.asarray(root), coupling)


@partial(jax.jit, static_argnums=0)
def _products(potential: Callable[..., Array], arguments: Any, point: Array, directions: Array) -> Array:
    """Hessian times each direction."""
    slope = jax.grad(partial(potential, arguments))

    def product(direction: Array) -> Array:
        turned: Array = jax.jvp(slope, (point,), (direction,))[1]
        return turned

    found: Array = jax.lax.map(product, directions, batch_size=_CHUNK)
    return found


@jax.jit
def _schur(products: Array, diagonal: Array, dense: Array) -> tuple[Array, Array, Array]:
    """Scale and coupling of the diagonal block, and S."""
    curvature, rows = products[0, diagonal], products[1 : 1 + dense.size]
    scale = 1.0 / jnp.sqrt(jnp.maximum(jnp.abs(curvature), FLATTEST))
    cross = rows[:, diagonal].T
    coupling = cross * (scale**2)[:, None]
    schur = rows[:, dense] - cross.T @ coupling
    return scale, coupling, (schur + schur.T) / 2.0
