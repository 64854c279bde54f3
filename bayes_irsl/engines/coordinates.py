"""A posterior in coordinates that fit it: unconstrained, as centred as the data ask, whitened by the curvature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import prod

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpyro.distributions import biject_to
from numpyro.infer.util import constrain_fn, potential_energy

from bayes_irsl.engines import warm_start
from bayes_irsl.engines.base import structure
from bayes_irsl.engines.centring import SUFFIX, free
from bayes_irsl.engines.whitening import Whitening, whiten
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
    whitening : Whitening
        From whitened coordinates to unconstrained parameters.
    """

    design: Design
    shares: Mapping[str, Array]
    whitening: Whitening


@dataclass(frozen=True)
class Coordinates:
    """Coordinates of the posterior of a model, the same for all tables of one shape.

    Parameters
    ----------
    model : Model
        The model as written.
    shapes : tuple of (str, tuple of int)
        Sites of its partly centred form and their unconstrained shapes, in the order of the flat vector.
    """

    model: Model
    shapes: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum(prod(shape) for _, shape in self.shapes)

    def potential(self, place: Place, z: Float[Array, " parameter"]) -> Float[Array, ""]:
        """Negative log density at whitened coordinates, up to a constant."""
        return self.unwhitened(place.design, place.shares, place.whitening(z))

    def unwhitened(self, design: Design, shares: Mapping[str, Array], u: Float[Array, " parameter"]) -> Array:
        """Negative log density at unconstrained parameters."""
        energy: Array = potential_energy(free(self.model, shares), (design,), {}, self._unravel(u))
        return energy

    def sites(self, place: Place, z: Float[Array, "draw parameter"]) -> dict[str, np.ndarray]:
        """Values of the sites that the model samples and does not observe, by draw."""
        return {name: np.asarray(value) for name, value in _sites(self, place, z).items()}

    def whitened_at(self, place: Place, points: Float[Array, "point parameter"]) -> Place:
        """The place with coordinates that fit what the posterior is at some unconstrained points."""
        # Abilities meet one another only through the other parameters.
        marks = [np.full(prod(shape), name == "ability" + SUFFIX) for name, shape in self.shapes]
        arguments, diagonal = (place.design, place.shares), np.flatnonzero(np.concatenate(marks))
        return replace(place, whitening=whiten(partial(_arguments_first, self), arguments, points, diagonal))

    def pulled_in(self, place: Place, z: Float[Array, "chain parameter"]) -> Float[Array, "chain parameter"]:
        """Halve points that lie far above the level of typical ones until they do not.

        Far from the centre the coordinates may be wrong by so much that a chain starts thousands of nats up and falls
        into the neck of a funnel, out of which no later step leads. A typical point of n dimensions is n / 2 up.
        """
        for _ in range(_HALVINGS):
            z = _nearer(self, place, z)
        return z

    def _unravel(self, u: Array) -> dict[str, Array]:
        parts, first = {}, 0
        for name, shape in self.shapes:
            parts[name] = u[first : first + prod(shape)].reshape(shape)
            first += prod(shape)
        return parts


def find(model: Model, design: Design, seed: int) -> tuple[Coordinates, Place]:
    """Find coordinates of a posterior; their zero is a typical point."""
    start = warm_start.find(model, design, seed)
    sites = structure(free(model, start.shares), design)
    supports = {name: biject_to(sites[name]["fn"].support) for name in start.values}
    at = {name: supports[name].inv(jnp.asarray(value)) for name, value in sorted(start.values.items())}
    coordinates = Coordinates(model, tuple((name, jnp.shape(value)) for name, value in at.items()))
    centre = jnp.concatenate([jnp.ravel(value) for value in at.values()])
    place = Place(design, start.shares, Whitening.none(centre))
    return coordinates, coordinates.whitened_at(place, centre[None])


def _arguments_first(coordinates: Coordinates, arguments: tuple[Design, Mapping[str, Array]], u: Array) -> Array:
    return coordinates.unwhitened(*arguments, u)


@partial(jax.jit, static_argnums=0)
def _sites(coordinates: Coordinates, place: Place, z: Array) -> dict[str, Array]:
    model = free(coordinates.model, place.shares)
    names = {name.removesuffix(SUFFIX) for name, _ in coordinates.shapes}

    def one(z: Array) -> dict[str, Array]:
        parts = coordinates._unravel(place.whitening(z))
        values = constrain_fn(model, (place.design,), {}, parts, return_deterministic=True)
        return {name: value for name, value in values.items() if name in names}

    found: dict[str, Array] = jax.lax.map(one, z, batch_size=_AT_ONCE)
    return found


@partial(jax.jit, static_argnums=0)
def _nearer(coordinates: Coordinates, place: Place, z: Array) -> Array:
    level = coordinates.potential(place, jnp.zeros(coordinates.size)) + coordinates.size
    height = jax.lax.map(partial(coordinates.potential, place), z)
    return jnp.where((height < level)[:, None], z, z / 2.0)
