"""What a search works on: the model and the table, laid out, and where it begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from bayes_irsl.engines.expansion.posterior import Places, Posterior, without_cells
from bayes_irsl.engines.expansion.sweep import Response, Totals, totals
from bayes_irsl.engines.expansion.table import Table, lay_out
from bayes_irsl.programs import SAFE, program
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
    exposure : Float[Array, " item"]
        Exposure of each item.
    flat : Float[Array, "flat item"]
        Totals over LMs, see `sweep`.
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
    exposure: Array
    flat: Array
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


def begin(form: Form, design: Design, key: Array) -> tuple[Setting, Array]:
    """Lay a table out; and say where the search starts."""
    bare = without_cells(design)
    posterior = form.posterior
    u, places = posterior.median(bare), posterior.places(bare)
    n_columns = posterior.parts(bare, u)[0].shape[1]
    table = lay_out(design, form.response.affine, n_columns)
    column = jnp.asarray(bare.benchmark) if n_columns > 1 else jnp.zeros(bare.n_items, int)
    pairs = int(min(max(_DRAWN // posterior.size, _PAIRS[0]), _PAIRS[1]))
    noise = jax.random.normal(key, (pairs, posterior.size)).at[:, places.rest].set(0.0)
    of_items = jnp.zeros(bare.n_items)
    nothing = jnp.zeros((n_columns, bare.lms.known)), of_items, of_items, of_items[:0]
    setting = with_table(form, Setting(bare, table, places, *nothing, column, noise), table)
    own = jnp.concatenate([places.lm.ravel(), places.item.ravel()])
    return setting, u.at[own].add(_ASIDE, mode="drop")


def with_table(form: Form, setting: Setting, table: Table) -> Setting:
    """The same with another table."""
    found = _totals(form.response, len(setting.lm_share), table)
    root = jnp.sqrt(found.lm.sum(0))
    shares = {"lm_share": (found.lm / root).T, "item_share": found.item / root[setting.column]}
    return setting._replace(table=table, exposure=found.item, flat=found.flat, **shares)


@program(static=2, options=SAFE)
def _totals(response: Response, n_columns: int, table: Table) -> Totals:
    return totals(response, table, n_columns)
