"""A posterior as a density of one flat vector of unconstrained parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import jax.numpy as jnp
from jaxtyping import Array, Float
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.infer import init_to_median
from numpyro.infer.util import constrain_fn, potential_energy

from bayes_irsl.engines.base import sampled, structure
from bayes_irsl.engines.centring import SUFFIX, free
from bayes_irsl.programs import program
from irsl_models import Design, Model

Shares = Mapping[str, Array]
Arguments = tuple[Design, Shares]


@dataclass(frozen=True)
class Density:
    """Posterior of a model, its hierarchical sites partly centred; one and the same for all tables of one shape.

    What depends on the data are its arguments: the table, and how centred the levels of each site are.

    Parameters
    ----------
    model : Model
        The model as written.
    shapes : tuple of (str, tuple of int)
        Sites of its partly centred form and their unconstrained shapes, in the order of the flat vector.
    """

    model: Model
    shapes: tuple[tuple[str, tuple[int, ...]], ...]

    @classmethod
    def of(cls, model: Model, arguments: Arguments) -> Density:
        """Look at a model and a table."""
        design, shares = arguments
        sites = structure(free(model, shares), design)
        names = sorted(sampled(free(model, shares), design))
        shapes = (biject_to(sites[name]["fn"].support).inverse_shape(sites[name]["value"].shape) for name in names)
        return cls(model, tuple(zip(names, map(tuple, shapes), strict=True)))

    def __call__(self, arguments: Arguments, u: Float[Array, " parameter"]) -> Float[Array, ""]:
        """Negative log density, up to a constant."""
        energy: Array = _energy(self, arguments, u)
        return energy

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum(prod(shape) for _, shape in self.shapes)

    def split(self, u: Array) -> dict[str, Array]:
        """Take the flat vector apart."""
        parts, first = {}, 0
        for name, shape in self.shapes:
            parts[name] = u[first : first + prod(shape)].reshape(shape)
            first += prod(shape)
        return parts

    def values(self, arguments: Arguments, u: Float[Array, " parameter"]) -> dict[str, Array]:
        """Values of the sites that the model samples and does not observe, in both forms."""
        design, shares = arguments
        values = constrain_fn(free(self.model, shares), (design,), {}, self.split(u), return_deterministic=True)
        names = {name for site, _ in self.shapes for name in (site, site.removesuffix(SUFFIX))}
        return {name: value for name, value in values.items() if name in names}

    def flat(self, arguments: Arguments, values: Mapping[str, Array]) -> Float[Array, " parameter"]:
        """Flat vector of values of the partly centred form."""
        flat: Array = _flat(self, arguments, values)
        return flat

    def median(self, arguments: Arguments) -> Float[Array, " parameter"]:
        """Middle of the prior."""
        design, shares = arguments
        seeded = handlers.seed(free(self.model, shares), rng_seed=0)
        found = handlers.trace(handlers.substitute(seeded, substitute_fn=init_to_median)).get_trace(design)
        return self.flat(arguments, {name: found[name]["value"] for name, _ in self.shapes})


# A program of its own within others: the model, whose tracing takes seconds, is traced once for all of them.
@program(static=1)
def _energy(density: Density, arguments: Arguments, u: Array) -> Array:
    design, shares = arguments
    energy: Array = potential_energy(free(density.model, shares), (design,), {}, density.split(u))
    return energy


@program(static=1)
def _flat(density: Density, arguments: Arguments, values: Mapping[str, Array]) -> Array:
    design, shares = arguments
    sites = structure(free(density.model, shares), design)
    parts = (biject_to(sites[name]["fn"].support).inv(values[name]) for name, _ in density.shapes)
    return jnp.concatenate([jnp.ravel(part) for part in parts])
