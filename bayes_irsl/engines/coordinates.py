"""A posterior in coordinates that fit it: unconstrained, as centred as the data ask, whitened by the curvature."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from bayes_irsl.engines import warm_start
from bayes_irsl.engines.base import structure
from bayes_irsl.engines.blocks import blocks
from bayes_irsl.engines.centring import SUFFIX, free
from bayes_irsl.engines.density import Arguments, Density, Shares
from bayes_irsl.engines.whitening import Whitening, whiten
from bayes_irsl.programs import program
from irsl_models import Design, Model

_HALVINGS = 20
# Draws that are turned into values of sites at a time.
_AT_ONCE = 32


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Place:
    """What depends on the data: an argument of compiled programs, so that one serves many tables of one shape.

    Parameters
    ----------
    design : Design
        The table.
    shares : mapping of str to array
        How centred the levels of each hierarchical site are.
    own : Int[Array, "own level"]
        Positions of the parameters of every LM or item, as `blocks` gives them.
    whitening : Whitening
        From whitened coordinates to unconstrained parameters.
    """

    design: Design
    shares: Shares
    own: Array
    whitening: Whitening

    def in_single(self) -> Place:
        """The same with cells and products in single precision: not for energies, but good for forces."""
        return replace(self, design=self.design.in_single(), whitening=self.whitening.in_single())

    @property
    def arguments(self) -> Arguments:
        """What the density takes beside the parameters."""
        return self.design, self.shares


@dataclass(frozen=True)
class Coordinates:
    """Coordinates of the posterior of a model, the same for all tables of one shape.

    Parameters
    ----------
    density : Density
        The posterior in unconstrained parameters.
    """

    density: Density

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.density.size

    def potential(self, place: Place, z: Float[Array, " parameter"]) -> Float[Array, ""]:
        """Negative log density at whitened coordinates, up to a constant."""
        return self.density(place.arguments, place.whitening(z))

    def sites(self, place: Place, z: Float[Array, "draw parameter"]) -> dict[str, np.ndarray]:
        """Values of the sites that the model samples and does not observe, by draw."""
        return {name: np.asarray(value) for name, value in _sites(self, place, z).items()}

    def whitened_at(self, place: Place, points: Float[Array, "point parameter"]) -> Place:
        """The place with coordinates that fit what the posterior is at some unconstrained points."""
        return replace(place, whitening=whiten(self.density, place.arguments, points, np.asarray(place.own)))

    def potentials(self, place: Place, z: Float[Array, "chain parameter"]) -> Float[Array, " chain"]:
        """Potentials at some points."""
        found: Array = _potentials(self, place, z)
        return found

    def gradients(self, place: Place, z: Float[Array, "chain parameter"]) -> Float[Array, "chain parameter"]:
        """Gradients of the potential at some points."""
        found: Array = _gradients(self, place, z)
        return found

    def pulled_in(self, place: Place, z: Float[Array, "chain parameter"]) -> Float[Array, "chain parameter"]:
        """Halve points that lie far above the level of typical ones until they do not.

        Far from the centre the coordinates may be wrong by so much that a chain starts thousands of nats up and falls
        into the neck of a funnel, out of which no later step leads. A typical point of n dimensions is n / 2 up.
        """
        level = self.potentials(place, jnp.zeros_like(z)) + self.size
        for _ in range(_HALVINGS):
            is_near = self.potentials(place, z) < level
            if is_near.all():
                break
            z = jnp.where(is_near[:, None], z, z / 2.0)
        return z


def find(model: Model, design: Design, seed: int) -> tuple[Coordinates, Place]:
    """Find coordinates of a posterior; their zero is a typical point."""
    start = warm_start.find(model, design, seed)
    shares = {name: jnp.asarray(share) for name, share in start.shares.items()}
    density = Density.of(model, (design, shares))
    centre = density.flat((design, shares), start.values)
    own = jnp.asarray(blocks(structure(free(model, shares), design), density.shapes, design))
    coordinates = Coordinates(density)
    return coordinates, coordinates.whitened_at(Place(design, shares, own, Whitening.none(centre)), centre[None])


@program(static=1)
def _sites(coordinates: Coordinates, place: Place, z: Array) -> dict[str, Array]:
    names = {name.removesuffix(SUFFIX) for name, _ in coordinates.density.shapes}

    def one(z: Array) -> dict[str, Array]:
        values = coordinates.density.values(place.arguments, place.whitening(z))
        return {name: value for name, value in values.items() if name in names}

    found: dict[str, Array] = jax.lax.map(one, z, batch_size=_AT_ONCE)
    return found


# One by one: all at once takes a quarter longer, for products of a matrix with a few vectors are slow.
@program(static=1)
def _potentials(coordinates: Coordinates, place: Place, z: Array) -> Array:
    found: Array = jax.lax.map(partial(coordinates.potential, place), z)
    return found


@program(static=1)
def _gradients(coordinates: Coordinates, place: Place, z: Array) -> Array:
    found: Array = jax.lax.map(jax.grad(partial(coordinates.potential, place)), z)
    return found
