"""A model as a prior of one flat vector, and a map from it to what the responses depend on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jaxtyping import Array, Float, Int
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.infer.initialization import init_to_median
from numpyro.infer.reparam import Reparam
from numpyro.infer.util import constrain_fn, potential_energy

from bayes_irsl.engines.base import structure
from bayes_irsl.engines.blocks import owned
from bayes_irsl.programs import program
from irsl_models import Design, Model
from irsl_models.item_responses import ItemResponses

_FREE = "_free"
_CELLS = ("lm", "item", "score", "log_score", "log_rest", "successes", "trials", "log_choose")


class Freed(Reparam):  # type: ignore[misc]
    """Levels that sum to zero without their constraint; on it, the density is the same."""

    def __call__(self, name: str, fn: Any, obs: Any) -> tuple[None, Array]:
        """Sample independent levels, one factor of their scale less."""
        with numpyro.plate("ability_level", fn.event_shape[0]):
            levels = numpyro.sample(name + _FREE, dist.Normal(0.0, fn.scale))
        numpyro.factor(name + "_sum", jnp.log(fn.scale))
        return None, levels


class Places(NamedTuple):
    """Where parameters are in the flat vector.

    Parameters
    ----------
    item : Int[Array, "item own"]
        Those that each item has of its own; beyond the end of the vector where it lacks one.
    lm : Int[Array, "lm own"]
        The same for LMs.
    rest : Int[Array, " rest"]
        Those that several LMs or items share.
    balanced : Float[Array, "sum lm own"]
        1 at levels of LMs whose sum must not change, one row for each sum.
    """

    item: Int[Array, "item own"]
    lm: Int[Array, "lm own"]
    rest: Int[Array, " rest"]
    balanced: Float[Array, "sum lm own"]


@dataclass(frozen=True)
class Posterior:
    """A model but for its responses, the same for all tables of one shape.

    The design it takes is that of `without_cells`: nothing of the size of the table is touched here.

    Parameters
    ----------
    model : Model
        The model as written.
    shapes : tuple of (str, tuple of int)
        Sites and their unconstrained shapes, in the order of the flat vector.
    sums : tuple of str
        Sites with a level per LM whose sum is zero. They are free here, and whoever moves them keeps their sum.
    """

    model: Model
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    sums: tuple[str, ...]

    @classmethod
    def of(cls, model: Model, bare: Design) -> Posterior:
        """Look at a model and a design without cells."""
        sums = tuple(
            name
            for name, site in structure(model, bare).items()
            if site["type"] == "sample"
            and isinstance(site["fn"], dist.ZeroSumNormal)
            and site["fn"].event_shape == (bare.lms.known,)
        )
        alone = cls(model, (), sums)
        shapes = tuple(
            (name, tuple(biject_to(site["fn"].support).inverse_shape(site["value"].shape)))
            for name, site in sorted(structure(alone.free, bare).items())
            if site["type"] == "sample" and not site["is_observed"]
        )
        return replace(alone, shapes=shapes)

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum(prod(shape) for _, shape in self.shapes)

    @property
    def free(self) -> Any:
        """The model without the constraint of sums over LMs."""
        return handlers.reparam(self.model, {name: Freed() for name in self.sums})

    def split(self, u: Array) -> dict[str, Array]:
        """Take the flat vector apart."""
        parts, first = {}, 0
        for name, shape in self.shapes:
            parts[name] = u[first : first + prod(shape)].reshape(shape)
            first += prod(shape)
        return parts

    def prior(self, bare: Design, u: Float[Array, " parameter"]) -> Float[Array, ""]:
        """Negative log density of the parameters."""
        energy: Array = _prior(self, bare, u)
        return energy

    def responses(self, bare: Design, u: Float[Array, " parameter"]) -> ItemResponses:
        """Distribution of the responses: abilities, and parameters of items."""
        sites = self._trace(bare, u).values()
        found: ItemResponses = next(site["fn"] for site in sites if isinstance(site.get("fn"), ItemResponses))
        return found

    def parts(
        self, bare: Design, u: Float[Array, " parameter"]
    ) -> tuple[Float[Array, "lm column"], Float[Array, "quantity item"]]:
        """Abilities, and what the density of a response has of its item: its curve, then its law."""
        found: tuple[Array, Array] = _parts(self, bare, u)
        return found

    def sites(self, bare: Design, u: Float[Array, " parameter"]) -> dict[str, Array]:
        """Values of the sites that the model as written samples and does not observe."""
        names = {name.removesuffix(_FREE) for name, _ in self.shapes}
        return {name: site["value"] for name, site in self._trace(bare, u).items() if name in names}

    def median(self, bare: Design) -> Float[Array, " parameter"]:
        """Middle of the prior."""
        found: Array = _median(self, bare)
        return found

    def places(self, bare: Design) -> Places:
        """Find out from its plates which parameter belongs to what."""
        sites = structure(self.free, bare)
        item, _ = owned("item", sites, self.shapes, bare)
        lm, names = owned("lm", sites, self.shapes, bare)
        rest = np.setdiff1d(np.arange(self.size), np.concatenate([item.ravel(), lm.ravel()]))
        balanced = np.array([[name == total + _FREE for name in names] for total in self.sums], dtype=float)
        sums = np.broadcast_to(balanced.reshape(len(self.sums), 1, len(names)), (len(self.sums), *lm.T.shape))
        return Places(*map(jnp.asarray, (item.T, lm.T, rest, sums)))

    def _trace(self, bare: Design, u: Array) -> dict[str, Any]:
        values = constrain_fn(self.free, (bare,), {}, self.split(u))
        own = {name.removesuffix(_FREE): value for name, value in values.items()}
        with handlers.seed(rng_seed=0), handlers.trace() as found, handlers.substitute(data=own):
            self.model(bare)
        return dict(found)


def without_cells(design: Design) -> Design:
    """Keep one cell of a table, for what does not depend on cells."""
    columns: dict[str, Any] = {
        name: None if (column := getattr(design, name)) is None else column[:1] for name in _CELLS
    }
    columns |= {name: np.zeros(1, dtype=int) for name in ("lm", "item")}
    kept: Design = jax.tree.map(jnp.asarray, replace(design, **columns, present=None, rows=False, blocks=1))
    return kept


# Programs of their own within others: the model, whose tracing takes long, is traced once for all of them.
@program(static=1)
def _prior(posterior: Posterior, bare: Design, u: Array) -> Array:
    alone = handlers.block(posterior.free, hide_fn=lambda site: isinstance(site.get("fn"), ItemResponses))
    energy: Array = potential_energy(alone, (bare,), {}, posterior.split(u))
    return energy


@program(static=1)
def _parts(posterior: Posterior, bare: Design, u: Array) -> tuple[Array, Array]:
    found = posterior.responses(bare, u)
    return found.ability, jnp.stack(jax.tree.leaves((found.items, dict(found.law.parameters))))


@program(static=1)
def _median(posterior: Posterior, bare: Design) -> Array:
    seeded = handlers.seed(posterior.free, rng_seed=0)
    found = handlers.trace(handlers.substitute(seeded, substitute_fn=init_to_median)).get_trace(bare)
    return jnp.concatenate(
        [jnp.ravel(biject_to(found[name]["fn"].support).inv(found[name]["value"])) for name, _ in posterior.shapes]
    )
