"""What a search works on: the model and the table, laid out, and where it begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from bayes_irsl.engines.expansion.posterior import Places, Posterior, without_cells
from bayes_irsl.engines.expansion.source import Source, source_of
from bayes_irsl.engines.expansion.sweep import Response
from bayes_irsl.engines.expansion.table import Table, lay_out
from irsl_models import Design, Model
from irsl_models.law import Affine

# The middle of the prior may be a point of symmetry, where a derivative is zero that is not so elsewhere.
_ASIDE = 0.05
# Parameters that are drawn in all, and pairs of opposite draws over which the prior is averaged.
_DRAWN, _PAIRS = 2**17, (16, 128)


@dataclass(frozen=True)
class Form:
    """What is the same for all tables of one shape.

    Parameters
    ----------
    posterior : Posterior
        The model but for its responses.
    response : Response
        The law of responses.
    """

    posterior: Posterior
    response: Response


class Setting(NamedTuple):
    """What depends on the table.

    Parameters
    ----------
    bare : Design
        The table without its cells.
    table : Table
        The cells.
    places : Places
        Where parameters are.
    lm_share : Float[Array, "column lm"]
        Exposures of LMs over the root of the exposure of the column: times that of an item, what both may have.
    item_share : Float[Array, " item"]
        The same for items.
    stops : Int[Array, " grid_and_one"]
        First chunk of each grid, and the number of chunks.
    column : Int[Array, " item"]
        Column of abilities that each item asks for.
    noise : Float[Array, "pair parameter"]
        Standard normal numbers of the draws over which the prior is averaged.
    """

    bare: Design
    table: Table
    places: Places
    lm_share: Array
    item_share: Array
    stops: Array
    column: Array
    noise: Array


def form_of(model: Model, bare: Design) -> Form | None:
    """Look at a model; None if its law is not affine."""
    posterior = Posterior.of(model, bare)
    found = {}

    def look(u: Array) -> Array:
        responses = posterior.responses(bare, u)
        found["affine"] = responses.law.affine
        found["form"] = jax.tree.structure((responses.items, dict(responses.law.parameters)))
        return u

    jax.eval_shape(look, jnp.zeros(posterior.size))
    affine = found["affine"]
    return Form(posterior, Response(affine, found["form"])) if isinstance(affine, Affine) else None


@dataclass(frozen=True)
class Whole:
    """A model and a table of which any part can be laid out.

    Parameters
    ----------
    source : Source
        The table.
    bare : Design
        The table without its cells.
    places : Places
        Where parameters are.
    noise : Float[Array, "pair parameter"]
        See `Setting`.
    """

    source: Source
    bare: Design
    places: Places
    noise: Array

    def laid_out(self, items: np.ndarray | None = None, rows: np.ndarray | None = None) -> Setting:
        """Lay some items and rows out; all of them if not given."""
        column = self.source.column
        table = lay_out(self.source, np.arange(len(column)) if items is None else items, rows)
        root = jnp.sqrt(jnp.maximum(table.totals.lm.sum(0), np.finfo(float).tiny))
        return Setting(
            bare=self.bare,
            table=table,
            places=self.places,
            lm_share=(table.totals.lm / root).T,
            item_share=table.totals.item / root[column],
            stops=jnp.asarray([0, len(table.column)]),
            column=jnp.asarray(column),
            noise=self.noise,
        )


def begin(form: Form, design: Design, key: Array) -> tuple[Whole, Array]:
    """Read a table; and say where the search starts.

    Parameters
    ----------
    form, design : Form, Design
        What to fit to what.
    key : Array
        Key of the draws over which the prior is averaged.
    """
    bare = without_cells(design)
    posterior = form.posterior
    u, places = posterior.median(bare), posterior.places(bare)
    source = source_of(design, form.response.affine, posterior.parts(bare, u)[0].shape[1])
    pairs = int(min(max(_DRAWN // posterior.size, _PAIRS[0]), _PAIRS[1]))
    noise = jax.random.normal(key, (pairs, posterior.size)).at[:, places.rest].set(0.0)
    own = jnp.concatenate([places.lm.ravel(), places.item.ravel()])
    return Whole(source, bare, places, noise), u.at[own].add(_ASIDE, mode="drop")
