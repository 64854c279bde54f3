r"""Coordinates in which the posterior is near a standard normal.

At a typical point the negative log density has a Hessian with many small blocks D (levels that meet only
through the other parameters: LMs, or items) and a smaller dense rest B; so has the mean of Hessians at several,

.. math:: H = \begin{pmatrix} D & C \\ C^T & B \end{pmatrix}, \quad S = B - C^T D^{-1} C .

With :math:`u_B = S^{-1/2} z_B` and :math:`u_D = D^{-1/2} z_D - D^{-1} C u_B` the density of z is standard normal
to second order, at the cost of two thin matrix products.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from bayes_irsl.programs import program

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
    own : Int[Array, "own level"]
        Positions of the parameters of every level; beyond the end where a level lacks one.
    dense : Int[Array, " dense"]
        Positions of the others.
    axes : Float[Array, "own axis level"]
        :math:`D^{-1/2}`, the symmetric root of each block: an axis for each parameter, also where a level lacks one.
    coupling : Float[Array, "own*level dense"]
        :math:`D^{-1} C`.
    root : Float[Array, "dense dense"]
        A square root of the inverse of S.
    """

    centre: Array
    own: Array
    dense: Array
    axes: Array
    coupling: Array
    root: Array

    @classmethod
    def none(cls, centre: Float[Array, " parameter"]) -> Whitening:
        """No whitening: a shift alone."""
        size = centre.size
        unit, none, wide = jnp.ones((1, 1, size)), jnp.zeros((0, 0)), jnp.zeros((size, 0))
        return cls(centre, jnp.arange(size)[None], jnp.arange(0), unit, wide, none)

    def in_single(self) -> Whitening:
        """Nearly the same map, its products in single precision."""
        axes, coupling, root = (part.astype(jnp.float32) for part in (self.axes, self.coupling, self.root))
        return self._replace(axes=axes, coupling=coupling, root=root)

    @property
    def is_whole(self) -> bool:
        """Whether it knows how all parameters go together."""
        return self.dense.size > 0

    def __call__(self, z: Float[Array, " parameter"]) -> Float[Array, " parameter"]:
        """Map whitened coordinates to the parameters."""
        z = z.astype(self.root.dtype)
        dense = self.root @ z[self.dense]
        own = jnp.einsum("oal,al->ol", self.axes, _at(z, self.own))
        own = own - (self.coupling @ dense).reshape(own.shape)
        away = jnp.zeros_like(z).at[self.dense].set(dense).at[self.own].set(own, mode="drop")
        return self.centre + away

    def inverse(self, u: Float[Array, " parameter"]) -> Float[Array, " parameter"]:
        """Whitened coordinates of parameters."""
        away = u - self.centre
        dense = away[self.dense]
        own = _at(away, self.own)
        own = own + (self.coupling @ dense).reshape(own.shape)
        turned = jnp.linalg.solve(jnp.moveaxis(self.axes, -1, 0), own.T[..., None])[..., 0].T
        z = jnp.zeros_like(u).at[self.dense].set(jnp.linalg.solve(self.root, dense))
        return z.at[self.own].set(turned, mode="drop")


def whiten(
    potential: Callable[[Any, Float[Array, " parameter"]], Float[Array, ""]],
    arguments: Any,
    points: Float[Array, "point parameter"],
    own: Int[np.ndarray, "own level"],
) -> Whitening:
    """Expand a potential around a typical point, or around several and take the mean.

    Over the normal that is nearest to the posterior, the mean of the slope is zero and that of the curvature its
    precision (Opper and Archambeau 2009); curvature at one point depends on the point. So several are taken for draws
    from that normal, and say where its centre is. A single one is taken for the centre: a step along its slope would go
    to the mode, and scales of levels are zero there.

    Parameters
    ----------
    potential : callable
        Negative log density, of its arguments and the flat parameters. One and the same object for tables of one
        shape lets them share what is compiled.
    arguments : object
        The arguments.
    points : Float[Array, "point parameter"]
        Typical points.
    own : Int[np.ndarray, "own level"]
        Positions of the parameters of levels that do not interact with one another, as `blocks` gives them.
    """
    size, centre = points.shape[1], points.mean(0)
    dense = np.setdiff1d(np.arange(size), own)
    if len(dense) > MOST_DENSE:
        return Whitening.none(centre)
    # Levels do not mix: one product with ones in all places of a kind reads a column of every block.
    wide = len(own)
    ones = np.zeros((-(-(wide + len(dense)) // _CHUNK) * _CHUNK, size + 1))
    ones[np.arange(wide)[:, None], own] = 1.0
    ones[wide + np.arange(len(dense)), dense] = 1.0
    directions = jnp.asarray(ones[:, :size])
    slopes, products = zip(*(_products(potential, arguments, point, directions) for point in points), strict=True)
    slope, products = sum(slopes) / len(points), sum(products) / len(points)
    at = jnp.asarray(own), jnp.asarray(dense)
    axes, coupling, schur = _eliminated(products, *at)
    values, vectors = np.linalg.eigh(np.asarray(schur))
    root = vectors / np.sqrt(np.maximum(np.abs(values), FLATTEST))
    found = Whitening(centre, *at, axes, coupling, jnp.asarray(root))
    if len(points) == 1:
        return found
    return found._replace(centre=found(-jax.vjp(found.__call__, jnp.zeros_like(centre))[1](slope)[0]))


@program(static=1)
def _products(potential: Callable[..., Array], arguments: Any, point: Array, directions: Array) -> tuple[Array, Array]:
    """The gradient, and the Hessian times each direction."""
    slope = jax.grad(partial(potential, arguments))

    def product(direction: Array) -> Array:
        turned: Array = jax.jvp(slope, (point,), (direction,))[1]
        return turned

    found: Array = jax.lax.map(product, directions, batch_size=_CHUNK)
    return slope(point), found


@program()
def _eliminated(products: Array, own: Array, dense: Array) -> tuple[Array, Array, Array]:
    """Roots and coupling of the blocks, and S."""
    wide, size = len(own), products.shape[1]
    blocks = jnp.moveaxis(_at(products[:wide], own), -1, 0)
    # What a level lacks stands alone.
    lacks = (own >= size).T[:, :, None] & jnp.eye(wide, dtype=bool)
    values, vectors = jnp.linalg.eigh(jnp.where(lacks, 1.0, blocks))
    variances = 1.0 / jnp.maximum(jnp.abs(values), FLATTEST)[:, None, :]
    inverse, axes = ((vectors * power) @ vectors.swapaxes(1, 2) for power in (variances, jnp.sqrt(variances)))
    rows = products[wide : wide + dense.size]
    cross = jnp.moveaxis(_at(rows, own), 0, -1)
    coupling = jnp.einsum("lop,pld->old", inverse, cross)
    schur = rows[:, dense] - jnp.einsum("old,ole->de", cross, coupling)
    return jnp.moveaxis(axes, 0, -1), coupling.reshape(-1, dense.size), (schur + schur.T) / 2.0


def _at(values: Array, positions: Array) -> Array:
    """Entries along the last axis; zero beyond the end."""
    found: Array = jnp.take(values, positions, axis=-1, mode="fill", fill_value=0.0)
    return found
