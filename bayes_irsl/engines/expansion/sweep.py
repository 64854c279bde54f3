r"""One look at all responses: their log density, its slopes, and the Fisher information, from matrix products.

With B what abilities put on the nodes of a grid, D what responses give, and G the weights of a law at the nodes,

.. math:: \log p = \sum_{tj} (B^T D)_{tj}\, G_{tj}, \qquad
    \frac{\partial \log p}{\partial \theta_i} = \sum_t B_{it}\, (D G'^T)_{it} :

the first form has all that items want to know of LMs, the second all that LMs want to know of items. Slopes are
interpolated as they are: the slope of what interpolates the density would have its rounding errors, grown by the number
of nodes, in all LMs alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bayes_irsl.engines.expansion.far import Far
from bayes_irsl.engines.expansion.grid import POINT_WEIGHTS, Basis
from bayes_irsl.engines.expansion.table import Table
from irsl_models.curves import logit_mean
from irsl_models.law import Affine

# From as many chunks on, loops over them are worth a second program.
_MANY_CHUNKS = 8


@dataclass(frozen=True)
class Response:
    """Log density of single responses.

    Parameters
    ----------
    affine : Affine
        The law.
    form : object
        How what items have is arranged: a tree structure of their curve and the parameters of the law.
    """

    affine: Affine
    form: Any

    def logit(self, ability: Array, quantities: Float[Array, "quantity item"]) -> Array:
        """Logit of the mean where abilities meet items."""
        logit: Array = logit_mean(self._apart(quantities)[0], ability)
        return logit

    def weights(self, ability: Array, quantities: Float[Array, "quantity item"], kind: Any) -> tuple[Array, ...]:
        """Weights of the law where abilities meet items, in some type.

        Logits are found before they are rounded: abilities that are rounded shift all items alike, which adds up.
        """
        items, parameters = self._apart(quantities)
        logit = logit_mean(items, ability).astype(kind)
        given = {name: value.astype(kind) for name, value in parameters.items()}
        return tuple(jnp.broadcast_to(w, logit.shape) for w in self.affine.weights(logit, **given))

    def beyond(self, ability: Array, excess: Array, quantities: Float[Array, "quantity response"]) -> Array:
        """Log density that responses have by their excess, each with an item of its own."""
        assert self.affine.beyond is not None
        items, parameters = self._apart(quantities)
        return self.affine.beyond(logit_mean(items, ability), excess, **parameters)

    def information(
        self, ability: Array, quantities: Float[Array, "quantity item"]
    ) -> Float[Array, "variable variable node item"]:
        """Fisher information about the ability, which comes first, and what the item has."""
        parameters = self._apart(quantities)[1]
        logit = self.logit(ability, quantities)
        of_law = self.affine.information(logit, **parameters)
        slopes = [jax.jvp(lambda at: self.logit(at, quantities), (ability,), (jnp.ones_like(ability),))[1]]
        for number in range(len(quantities)):
            ahead = jnp.zeros_like(quantities).at[number].set(1.0)
            slopes.append(jax.jvp(lambda at: self.logit(ability, at), (quantities,), (ahead,))[1])
        # What an item has is either of its curve, which acts by the logit, or a parameter of the law.
        names = [None] * (1 + len(quantities) - len(parameters)) + sorted(parameters)

        def entry(one: int, other: int) -> Array:
            total = slopes[one] * slopes[other] * of_law["logit", "logit"]
            for mine, yours in ((one, other), (other, one)):
                if names[yours] is not None:
                    total += slopes[mine] * _pair(of_law, "logit", names[yours])
            if names[one] is not None and names[other] is not None:
                total += _pair(of_law, names[one], names[other])
            return jnp.broadcast_to(total, logit.shape)

        size = len(slopes)
        return jnp.stack([jnp.stack([entry(one, other) for other in range(size)]) for one in range(size)])

    def _apart(self, quantities: Array) -> tuple[Any, Mapping[str, Array]]:
        items, parameters = jax.tree.unflatten(self.form, list(quantities))
        return items, parameters


class Sums(NamedTuple):
    """Slopes of the log density of all responses in the mean over LMs and items.

    Parameters
    ----------
    by_lm : Float[Array, "lm column"]
        Slopes in abilities.
    by_item : Float[Array, "step quantity item"]
        Slopes in what items have, at each step.
    """

    by_lm: Array
    by_item: Array


class Information(NamedTuple):
    """Fisher information of all responses.

    Parameters
    ----------
    lm : Float[Array, "lm column"]
        About abilities.
    item : Float[Array, "quantity quantity item"]
        About what items have.
    between : Float[Array, "quantity node item"]
        What one response has about both, at the nodes.
    """

    lm: Array
    item: Array
    between: Array


def sweep(
    response: Response,
    table: Table,
    flat: Float[Array, "flat item"],
    basis: Basis,
    steps: Float[Array, "step quantity item"],
) -> Sums:
    """Look at all responses once.

    Parameters
    ----------
    response : Response
        Log density of one response.
    table : Table
        The responses.
    flat : Float[Array, "flat item"]
        Totals over LMs, see `totals`.
    basis : Basis
        Where abilities are.
    steps : Float[Array, "step quantity item"]
        What items have, at points over which the mean is taken.
    """
    affine, kind, wide = response.affine, table.kind, steps.dtype
    nodes, by_row = basis.nodes[:, None], _by_row(table, basis)
    given = {name: table.data[name] for name in affine.data}
    n_graded = len(jax.eval_shape(lambda data: affine.columns(**data), given)) - affine.flat

    def look(carry: tuple[Array, Array], number: Array) -> tuple[tuple[Array, Array], Array]:
        column, items, real = table.column[number], table.items[number], table.real[number].astype(kind)
        here, placed = by_row[column], steps[:, :, items]
        exposure, columns = table.chunk(affine, number)
        count = here.sum(0)[:, None] * real if exposure is None else _product(here.T, exposure)
        weighed = [count, *(_product(here.T, numbers) for numbers in columns[:n_graded])]
        of_all = flat[:, items].astype(kind) * real

        def level(placed: Array) -> tuple[Array, tuple[Array, ...]]:
            def of_nodes(nodes: Array) -> tuple[Array, ...]:
                return jax.vmap(lambda at: response.weights(nodes, at, kind))(placed)

            weights, slopes = jax.jvp(of_nodes, (nodes,), (jnp.ones_like(nodes),))
            graded, even = weights[: 1 + n_graded], weights[1 + n_graded :]
            total = jnp.zeros(len(placed), kind)
            for on_nodes, weight in zip(weighed, graded, strict=True):
                total += (on_nodes * weight).sum((1, 2))
            for all_lms, weight in zip(of_all, even, strict=True):
                total += (all_lms * weight[:, 0]).sum(1)
            return total.mean(), tuple(slope.mean(0) for slope in slopes[: 1 + n_graded])

        by_item, slopes = jax.grad(level, has_aux=True)(placed)
        totals, own = carry
        if exposure is None:
            # The same for all LMs: kept as a row of its own, which every LM reads.
            own = own.at[column].add((slopes[0] * real).sum(1, dtype=wide))
            lately = jnp.zeros(totals.shape[1:], kind)
        else:
            lately = _product(exposure, slopes[0].T)
        for numbers, slope in zip(columns[:n_graded], slopes[1:], strict=True):
            lately += _product(numbers, slope.T)
        return (totals.at[column].add(lately.astype(wide)), own), by_item

    start = jnp.zeros(by_row.shape, wide), jnp.zeros((len(by_row), len(nodes)), wide)
    (totals, own), by_item = _over_chunks(look, start, table)
    totals = _by_lm(table, totals) + own[:, None]
    by_lm = jnp.einsum("cit,cit->ic", basis.mean, totals)
    sums = Sums(by_lm, _placed(table, by_item.astype(wide)))
    return sums if table.far is None else jax.tree.map(jnp.add, sums, _far(response, table.far, basis, steps))


def _far(response: Response, far: Far, basis: Basis, steps: Float[Array, "step quantity item"]) -> Sums:
    """What responses add by their excess."""

    def level(points: Array, steps: Array) -> Array:
        at = points[:, far.lm, far.column]
        given = jax.vmap(lambda placed: response.beyond(at, far.excess, placed[:, far.item]))(steps)
        total: Array = jnp.tensordot(POINT_WEIGHTS, given.mean(0), 1).sum()
        return total

    by_point, by_item = jax.grad(level, (0, 1))(basis.points, steps)
    return Sums(by_point.sum(0), by_item)


def information(
    response: Response, table: Table, basis: Basis, quantities: Float[Array, "quantity item"]
) -> Information:
    """Fisher information of all responses: what they are does not matter, only which there are.

    Parameters
    ----------
    response, table, basis : Response, Table, Basis
        As in `sweep`.
    quantities : Float[Array, "quantity item"]
        What items have.
    """
    kind, wide = table.kind, quantities.dtype
    nodes, by_row = basis.nodes.astype(kind)[:, None], _by_row(table, basis)
    is_even = table.is_even(response.affine)

    def look(carry: Array, number: Array) -> tuple[Array, tuple[Array, Array]]:
        column, real = table.column[number], table.real[number].astype(kind)
        known = response.information(nodes, quantities[:, table.items[number]].astype(kind)) * real
        here = by_row[column]
        exposure, _ = table.chunk(response.affine, number)
        if exposure is None:
            count, own = here.sum(0)[:, None], known[0, 0].sum(1)
        else:
            count, own = _product(here.T, exposure), _product(exposure, known[0, 0].T)
        return carry.at[column].add(own.astype(wide)), ((known[1:, 1:] * count).sum(2), known[0, 1:])

    start = jnp.zeros((len(by_row), len(nodes)) if is_even else by_row.shape, wide)
    totals, (of_item, between) = _over_chunks(look, start, table)
    if is_even:
        of_lm = jnp.einsum("cit,ct->ic", basis.mean, totals)
    else:
        of_lm = jnp.einsum("cit,cit->ic", basis.mean, _by_lm(table, totals))
    return Information(of_lm, _placed(table, of_item.astype(wide)), _placed(table, between.astype(wide)))


class Totals(NamedTuple):
    """What of a table does not depend on where abilities and items are.

    Parameters
    ----------
    lm : Float[Array, "lm column"]
        Exposure of each LM.
    item : Float[Array, " item"]
        Exposure of each item.
    flat : Float[Array, "flat item"]
        Numbers of responses whose weights are the same for all LMs, added up over these.
    """

    lm: Array
    item: Array
    flat: Array


def totals(response: Response, table: Table, n_columns: int) -> Totals:
    """Add up what never changes."""
    affine = response.affine
    n_rows = table.n_lms if table.lm is None else len(table.lm)
    wide = jnp.result_type(float)

    def look(total: Array, number: Array) -> tuple[Array, tuple[Array, Array]]:
        given, columns = table.chunk(affine, number)
        if given is None:
            given = jnp.broadcast_to(table.real[number], (n_rows, table.items.shape[1]))
        flat = [numbers.sum(0, dtype=wide) for numbers in columns[len(columns) - affine.flat :]]
        of_items = given.sum(0, dtype=wide), jnp.array(flat).reshape(-1, given.shape[1])
        return total.at[:, table.column[number]].add(given.sum(1, dtype=wide)), of_items

    start = jnp.zeros((n_rows, n_columns), wide)
    rows, (item, flat) = _over_chunks(look, start, table)
    lm = rows if table.lm is None else jnp.zeros((table.n_lms, n_columns), wide).at[table.lm].add(rows)
    return Totals(lm, _placed(table, item), _placed(table, flat))


def _over_chunks(look: Callable[[Any, Array], tuple[Any, Any]], start: Any, table: Table) -> tuple[Any, Any]:
    """Scan over chunks, adding up from zero: large tables in two loops, each of which takes a core."""
    n_chunks = len(table.column)
    if n_chunks < _MANY_CHUNKS:
        return jax.lax.scan(look, start, jnp.arange(n_chunks))
    parts = jnp.arange(n_chunks // 2), jnp.arange(n_chunks // 2, n_chunks)
    totals, found = zip(*(jax.lax.scan(look, start, numbers) for numbers in parts), strict=True)
    return jax.tree.map(jnp.add, *totals), jax.tree.map(lambda *both: jnp.concatenate(both), *found)


def _by_row(table: Table, basis: Basis) -> Float[Array, "column row node"]:
    mean = basis.mean.astype(table.kind)
    return mean if table.lm is None else mean[:, table.lm]


def _placed(table: Table, parts: Float[Array, "chunk *any item"]) -> Float[Array, "*any item"]:
    """Put what was found chunk by chunk where its items are."""
    real = table.real.reshape(len(table.real), *(1,) * (parts.ndim - 2), -1)
    together = jnp.moveaxis(parts * real, 0, -2)
    return jnp.zeros((*parts.shape[1:-1], table.n_items), parts.dtype).at[..., table.items].add(together)


def _by_lm(table: Table, parts: Float[Array, "column row node"]) -> Float[Array, "column lm node"]:
    """Add up the rows of each LM."""
    if table.lm is None:
        return parts
    return jnp.zeros((len(parts), table.n_lms, parts.shape[-1])).at[:, table.lm].add(parts)


def _pair(pairs: Mapping[tuple[str, str], Array], one: Any, other: Any) -> Any:
    return pairs.get((one, other), pairs.get((other, one), 0.0))


def _product(left: Array, right: Array) -> Array:
    return jnp.matmul(left, right, precision="highest")
