r"""One look at all responses: their log density, its slopes, and the Fisher information, from matrix products.

With B what abilities put on the nodes of a grid, D what responses give, and G the weights of a law at the nodes,

.. math:: \log p = \sum_{tj} (B^T D)_{tj}\, G_{tj}, \qquad
    \frac{\partial \log p}{\partial \theta_i} = \sum_t B_{it}\, (D G'^T)_{it} :

the first form has all that items want to know of LMs, the second all that LMs want to know of items. Slopes are
interpolated as they are: the slope of what interpolates the density would have its rounding errors, grown by the number
of nodes, in all LMs alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from bayes_irsl.engines.expansion.far import Far
from bayes_irsl.engines.expansion.grid import Basis, Points, basis, refined
from bayes_irsl.engines.expansion.table import Table
from irsl_models.curves import logit_mean
from irsl_models.law import Affine


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

    def span(self, reach: Float[Array, "end one"], quantities: Float[Array, "quantity item"]) -> Float[Array, " item"]:
        """Logits that items move through between two abilities."""
        low, high = self.logit(reach, quantities)
        return jnp.abs(high - low)

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
        What one response has about both, at the nodes of the common grid.
    """

    lm: Array
    item: Array
    between: Array


def sweep(
    response: Response,
    table: Table,
    stops: Int[Array, " grid_and_one"],
    points: Points,
    nodes: Sequence[int],
    steps: Float[Array, "step quantity item"],
) -> Sums:
    """Look at all responses once.

    Parameters
    ----------
    response : Response
        Log density of one response.
    table : Table
        The responses.
    stops : Int[Array, " grid_and_one"]
        First chunk of each grid, and the number of chunks.
    points : Points
        Where abilities are.
    nodes : sequence of int
        Number of nodes of each grid.
    steps : Float[Array, "step quantity item"]
        What items have, at points over which the mean is taken.
    """
    kind, wide = table.kind, steps.dtype
    grids = [basis(points, size) for size in nodes]

    def look(here: _Here, carry: tuple[Array, Array], number: Array) -> tuple[tuple[Array, Array], Array]:
        column, items, real = table.column[number], table.items[number], table.real[number].astype(kind)
        abilities, placed = here.mean[column], steps[:, :, items]
        exposure = None if table.exposure is None else table.exposure[number].astype(kind)
        count = abilities.sum(0)[:, None] if exposure is None else _product(abilities.T, exposure)
        numbers = [whole[number] for whole in table.numbers]
        weighed = [count, *(_product(abilities.T, given) for given in numbers)]
        of_all = table.totals.flat[:, items].astype(kind)

        def level(placed: Array) -> tuple[Array, tuple[Array, ...]]:
            def of_nodes(nodes: Array) -> tuple[Array, ...]:
                return jax.vmap(lambda at: response.weights(nodes, at, kind))(placed)

            weights, slopes = jax.jvp(of_nodes, (here.nodes,), (jnp.ones_like(here.nodes),))
            graded, even = weights[: len(weighed)], weights[len(weighed) :]
            total = jnp.zeros(len(placed), kind)
            for on_nodes, weight in zip(weighed, graded, strict=True):
                total += (on_nodes * weight).sum((1, 2))
            for all_lms, weight in zip(of_all, even, strict=True):
                total += (all_lms * weight[:, 0]).sum(1)
            return total.mean(), tuple(slope.mean(0) for slope in slopes[: len(weighed)])

        by_item, slopes = jax.grad(level, has_aux=True)(placed)
        totals, own = carry
        if exposure is None:
            # The same for all LMs: kept as a row of its own, which every LM reads.
            own = own.at[column].add((slopes[0] * real).sum(1, dtype=wide))
            lately = jnp.zeros(totals.shape[1:], kind)
        else:
            lately = _product(exposure, slopes[0].T)
        for given, slope in zip(numbers, slopes[1:], strict=True):
            lately += _product(given, slope.T)
        return (totals.at[column].add(lately.astype(wide)), own), by_item

    def start(here: _Here) -> tuple[Array, Array]:
        return jnp.zeros(here.mean.shape, wide), jnp.zeros((len(here.mean), len(here.nodes)), wide)

    totals, by_item = _over_chunks(look, start, table, stops, grids)
    by_lm = sum(
        jnp.einsum("cit,cit->ic", grid.mean, of_rows + own[:, None])
        for grid, (of_rows, own) in zip(grids, totals, strict=True)
    )
    sums = Sums(_by_lm(table, jnp.asarray(by_lm)), _placed(table, by_item))
    return sums if table.far is None else jax.tree.map(jnp.add, sums, _far(response, table.far, points, steps))


def _far(response: Response, far: Far, points: Points, steps: Float[Array, "step quantity item"]) -> Sums:
    """What responses add by their excess, some of them at a time."""

    def level(ability: Array, steps: Array, some: Far) -> Array:
        at = ability[:, some.lm, some.column]
        given = jax.vmap(lambda placed: response.beyond(at, some.excess, placed[:, some.item]))(steps)
        total: Array = jnp.tensordot(points.weights, given.mean(0), 1).sum()
        return total

    def add(sums: tuple[Array, Array], some: Far) -> tuple[tuple[Array, Array], None]:
        return jax.tree.map(jnp.add, sums, jax.grad(level, (0, 1))(points.ability, steps, some)), None

    nothing = jnp.zeros_like(points.ability), jnp.zeros_like(steps)
    by_point, by_item = jax.lax.scan(add, nothing, jax.tree.map(lambda part: part.reshape(-1, far.width), far))[0]
    return Sums(by_point.sum(0), by_item)


def information(
    response: Response,
    table: Table,
    stops: Int[Array, " grid_and_one"],
    points: Points,
    nodes: Sequence[int],
    common: int,
    quantities: Float[Array, "quantity item"],
) -> Information:
    """Fisher information of all responses: what they are does not matter, only which there are.

    Parameters
    ----------
    response, table, stops, points, nodes : Response, Table, Array, Points, sequence of int
        As in `sweep`.
    common : int
        Number of nodes of a grid for all chunks.
    quantities : Float[Array, "quantity item"]
        What items have.
    """
    kind, wide = table.kind, quantities.dtype
    grids, for_all = [basis(points, size) for size in nodes], basis(points, common).nodes[:, None].astype(kind)

    def look(here: _Here, carry: Array, number: Array) -> tuple[Array, tuple[Array, Array]]:
        column, real = table.column[number], table.real[number].astype(kind)
        given = quantities[:, table.items[number]].astype(kind)
        known = response.information(here.nodes.astype(kind), given) * real
        abilities = here.mean[column]
        if table.exposure is None:
            count, own = abilities.sum(0)[:, None], known[0, 0].sum(1)
        else:
            exposure = table.exposure[number].astype(kind)
            count, own = _product(abilities.T, exposure), _product(exposure, known[0, 0].T)
        if len(here.nodes) > common:
            between = response.information(for_all, given)[0, 1:]
        else:
            between = _product(refined(len(here.nodes), common).astype(kind), known[0, 1:])
        return carry.at[column].add(own.astype(wide)), ((known[1:, 1:] * count).sum(2), between)

    def start(here: _Here) -> Array:
        return jnp.zeros((len(here.mean), len(here.nodes)) if table.exposure is None else here.mean.shape, wide)

    totals, (of_item, between) = _over_chunks(look, start, table, stops, grids)
    by_lm = (
        jnp.einsum("cit,ct->ic", grid.mean, of_rows)
        if table.exposure is None
        else jnp.einsum("cit,cit->ic", grid.mean, of_rows)
        for grid, of_rows in zip(grids, totals, strict=True)
    )
    return Information(_by_lm(table, jnp.asarray(sum(by_lm))), _placed(table, of_item), _placed(table, between))


class _Here(NamedTuple):
    """A grid, as chunks want it: its nodes, and weights by row."""

    nodes: Float[Array, "node one"]
    mean: Float[Array, "column row node"]


def _over_chunks(
    look: Callable[[_Here, Any, Array], tuple[Any, Any]],
    start: Callable[[_Here], Any],
    table: Table,
    stops: Int[Array, " grid_and_one"],
    grids: Sequence[Basis],
) -> tuple[list[Any], Any]:
    """Look at all chunks, each on its grid: what adds up, by grid, and what was found, by chunk."""
    totals, found = [], None
    for number, grid in enumerate(grids):
        here = _Here(grid.nodes[:, None], grid.mean.astype(table.kind))
        if found is None:
            one = jax.eval_shape(look, here, start(here), table.column[0])[1]
            found = jax.tree.map(lambda part: jnp.zeros((len(table.column), *part.shape), part.dtype), one)

        def step(chunk: Array, state: tuple[Any, Any], here: _Here = here) -> tuple[Any, Any]:
            total, part = look(here, state[0], chunk)
            return total, jax.tree.map(lambda room, new: room.at[chunk].set(new), state[1], part)

        total, found = jax.lax.fori_loop(stops[number], stops[number + 1], step, (start(here), found))
        totals.append(total)
    return totals, found


def _placed(table: Table, parts: Float[Array, "chunk *any item"]) -> Float[Array, "*any item"]:
    """Put what was found chunk by chunk where its items are."""
    together = jnp.moveaxis(parts, 0, -2).reshape(*parts.shape[1:-1], -1)
    return jnp.take(together, table.place, axis=-1, mode="fill", fill_value=0.0).astype(float)


def _by_lm(table: Table, parts: Float[Array, "row column"]) -> Float[Array, "lm column"]:
    """Add up the rows of each LM."""
    return parts if table.lm is None else jnp.zeros((table.n_lms, parts.shape[1])).at[table.lm].add(parts)


def _pair(pairs: Mapping[tuple[str, str], Array], one: Any, other: Any) -> Any:
    return pairs.get((one, other), pairs.get((other, one), 0.0))


def _product(left: Array, right: Array) -> Array:
    return jnp.matmul(left, right, precision="highest")
