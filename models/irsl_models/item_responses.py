r"""All responses of a table as one distribution, whose density and gradient are one pass over the cells.

A table that is at least a quarter full is laid out row by row, one row for each LM. The density is then
summed a few rows at a time, and the gradient of a block of rows is taken while its cells are at hand: nothing of
the size of the table is ever written. Other tables go by blocks of cells; their slopes are written, and summed
after the last block.

Where a design lays its rows out in blocks of items, and JAX is told of a mesh with an axis ``item``
(``jax.set_mesh``), every device sums its own blocks. Sums of densities and gradients of abilities then cross from one
device to another, and nothing else does; without such a mesh the blocks are summed one after the other.

Cells are computed in the type of their responses, sums are taken in the type of the parameters. Where JAX runs in
double precision, a design with columns in single precision has its cells computed in single precision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from jax.sharding import PartitionSpec
from jaxtyping import Array, Float
from numpyro import validation_enabled
from numpyro.distributions import constraints

from irsl_models.curves import Items, logit_mean
from irsl_models.design import Design
from irsl_models.law import Law

# Cells of a block: what it needs stays in the cache of one core, and the loop over blocks costs little.
_BLOCK = 2048

# What says where a cell on its own is.
_WHERE = ("lm", "item", "column")

Tree = Any


class ItemResponses(dist.Distribution):  # type: ignore[misc]
    r"""Independent responses, each by the law of its item at the logit of its mean.

    Parameters
    ----------
    law : Law
        Distribution of a response.
    items : Items
        Parameters of the item curves.
    ability : Float[Array, "lm benchmark"]
        Ability of each LM on each benchmark; one column where it is the same on all.
    design : Design
        The cells.
    """

    def __init__(
        self,
        law: Law,
        items: Items,
        ability: Float[Array, "lm benchmark"],
        design: Design,
        *,
        validate_args: bool | None = None,
    ) -> None:
        self.law, self.items, self.ability, self.design = law, items, ability, design
        lm, item = design.codes
        column = jnp.asarray(design.benchmark)[item] if ability.shape[1] > 1 else 0
        logit = logit_mean(_at(items, item), ability[lm, column])
        # Every cell on its own, of batch shape (cell,); what of it is not used is not computed either.
        self.cells = law.response(logit, **_at(law.parameters, item), **law.given(design))
        super().__init__(event_shape=(design.n_cells,), validate_args=validate_args)

    @property
    def support(self) -> Any:
        """The support of a response, for every cell."""
        return constraints.independent(self.cells.support, 1)

    @property
    def is_discrete(self) -> bool:
        """Whether responses are counts."""
        return bool(self.cells.is_discrete)

    def sample(self, key: Array, sample_shape: tuple[int, ...] = ()) -> Array:
        """Draw a response for every cell."""
        drawn: Array = self.cells.sample(key, sample_shape)
        return drawn

    @property
    def mean(self) -> Array:
        """Expected responses."""
        expected: Array = self.cells.mean
        return expected

    def pointwise(self, value: Array) -> Float[Array, " cell"]:
        """Log density of every response; 0 where the layout has a cell and the table has none."""
        density: Array = self.cells.log_prob(value)
        return density if self.design.present is None else jnp.where(self.design.present, density, 0.0)

    def log_prob(self, value: Array) -> Float[Array, ""]:
        """Log density of all responses, which are taken to be possible ones: at every step a check costs its part."""
        design, n_columns = self.design, self.ability.shape[1]
        data = {"value": value, **self.law.given(design)}
        if design.rows:
            if design.present is not None:
                data["present"] = design.present
            columns = jnp.ones((1, design.n_items))
            if n_columns > 1:
                columns = jax.nn.one_hot(design.benchmark, n_columns).T
            rows: tuple[int, ...] = (design.lms.known, design.width)
            if design.blocks > 1:
                rows, columns = (design.blocks, *rows), jnp.moveaxis(design.in_blocks(columns, -1), 1, 0)
            data = {name: column.reshape(rows) for name, column in data.items()}
            both = _by_rows(self.law.response)
            both = both if design.blocks == 1 else _by_blocks(both, design)
            given: tuple[Tree, ...] = (data, columns)
        else:
            lm, item = design.codes
            column = design.benchmark[item] if n_columns > 1 else jnp.zeros_like(item)
            data |= dict(zip(_WHERE, (lm, item, column), strict=True))
            both, given = _by_cells(self.law.response), (data,)
        per_item = self.items, dict(self.law.parameters)
        return _fused(both)(*jax.tree.map(jnp.asarray, (self.ability, per_item, given)))


def _kind(data: Mapping[str, Array], otherwise: Any) -> Any:
    """Type that cells are computed in: that of the responses where they are no whole numbers."""
    kinds = [column.dtype for column in data.values() if jnp.issubdtype(column.dtype, jnp.floating)]
    return jnp.result_type(*kinds) if kinds else otherwise


def _at(tree: Tree, item: Array) -> Tree:
    return jax.tree.map(lambda values: values[item], tree)


def _slopes(
    response: Callable[..., dist.Distribution],
    place: Callable[[Array], Array],
    ability: Array,
    per_item: tuple[Items, Mapping[str, Array]],
    data: Mapping[str, Array],
) -> tuple[Array, tuple[Array, Tree]]:
    """Log densities of some cells, with their slopes in ability and in what every cell's item has."""
    items, parameters = per_item
    shown = {name: column for name, column in data.items() if name not in ("value", "present")}

    def density(logit: Array, parameters: Mapping[str, Array]) -> Array:
        with validation_enabled(False):
            found: Array = response(logit, **parameters, **shown).log_prob(data["value"])
        return jnp.where(data["present"], found, 0.0) if "present" in data else found

    logit, back = jax.vjp(lambda ability, items: logit_mean(items, place(ability)), ability, items)
    found, slope = jax.vjp(density, logit, parameters)
    # Several sums read these, and each would compute them anew.
    by_logit, by_parameter = _barrier(slope(jnp.ones_like(found)))
    by_ability, by_items = back(by_logit)
    return found, (by_ability, (by_items, by_parameter))


def _by_rows(response: Callable[..., dist.Distribution]) -> Callable[..., tuple[Array, Tree]]:
    """Value and gradient of a table laid out by rows; `columns` takes abilities on benchmarks to items."""

    def of_rows(
        height: int, ability: Array, per_item: Tree, data: Mapping[str, Array], columns: Array
    ) -> tuple[Array, Tree]:
        n_items = columns.shape[1]
        kind, wide = _kind(data, ability.dtype), ability.dtype
        spread = jax.tree.map(lambda values: jnp.broadcast_to(values.astype(kind), (height, n_items)), per_item)
        across, ones = columns.astype(kind), jnp.ones((n_items, 1), kind)

        def step(sums: Tree, rows: tuple[Array, Tree]) -> tuple[Tree, Array]:
            # Products with few columns, because they read what they sum, and a sum would compute it anew.
            abilities, block = rows
            found, (by_lm, by_item) = _slopes(response, lambda at: _product(at, across), abilities, spread, block)
            return jax.tree.map(jnp.add, sums, (_product(found, ones), by_item)), by_lm

        def blocks(values: Array) -> Array:
            return values.reshape(-1, height, *values.shape[1:])

        start = jax.tree.map(lambda values: jnp.zeros(values.shape, wide), (jnp.zeros((height, 1)), spread))
        sums, by_lm = jax.lax.scan(step, start, (blocks(ability.astype(kind)), jax.tree.map(blocks, data)))
        total, by_item = jax.tree.map(lambda values: values.sum(0), sums)
        return total[0], (by_lm.reshape(ability.shape).astype(wide), by_item)

    def both(ability: Array, per_item: Tree, data: Mapping[str, Array], columns: Array) -> tuple[Array, Tree]:
        n_lms, n_items = data["value"].shape
        height = max(1, min(n_lms, _BLOCK // n_items))
        whole = n_lms // height * height
        total, (by_lm, by_item) = of_rows(height, ability[:whole], per_item, _cut(data, 0, whole), columns)
        if whole < n_lms:
            last = of_rows(n_lms - whole, ability[whole:], per_item, _cut(data, whole, n_lms), columns)
            total, by_item = total + last[0], jax.tree.map(jnp.add, by_item, last[1][1])
            by_lm = jnp.concatenate([by_lm, last[1][0]])
        return total, (by_lm, by_item)

    return both


def _by_blocks(both: Callable[..., tuple[Array, Tree]], design: Design) -> Callable[..., tuple[Array, Tree]]:
    """Value and gradient of rows in blocks of items, each block by `both`, on the device that has it."""

    def here(ability: Array, per_item: Tree, given: Tree) -> tuple[Array, Tree]:
        count = len(jax.tree.leaves(per_item)[0])
        blocks = [
            jax.tree.map(lambda values, number=number: values[number], (per_item, given)) for number in range(count)
        ]
        totals, slopes = zip(*(both(ability, of_items, *data) for of_items, data in blocks), strict=True)
        by_lm, by_item = zip(*slopes, strict=True)
        return sum(totals), (sum(by_lm), jax.tree.map(lambda *parts: jnp.stack(parts), *by_item))

    def everywhere(ability: Array, per_item: Tree, given: Tree) -> tuple[Array, Tree]:
        total, (by_lm, by_item) = here(ability, per_item, given)
        total, by_lm = jax.lax.psum((total, by_lm), "item")  # type: ignore[no-untyped-call]
        return total, (by_lm, by_item)

    def all_blocks(ability: Array, per_item: Tree, *given: Tree) -> tuple[Array, Tree]:
        run: Callable[..., tuple[Array, Tree]] = here
        if "item" in jax.sharding.get_abstract_mesh().axis_names:
            one, own = PartitionSpec(), PartitionSpec("item")  # type: ignore[no-untyped-call]
            run = jax.shard_map(
                everywhere,
                in_specs=(one, own, own),
                out_specs=(one, (one, own)),
                axis_names={"item"},
                check_vma=False,
            )
        total, (by_lm, by_item) = run(ability, jax.tree.map(design.in_blocks, per_item), given)
        return total, (by_lm, jax.tree.map(lambda values: values.reshape(-1)[: design.n_items], by_item))

    return all_blocks


def _by_cells(response: Callable[..., dist.Distribution]) -> Callable[..., tuple[Array, Tree]]:
    """Value and gradient of cells on their own, which say where they are: `lm`, `item` and `column` of the ability."""

    def of_cells(size: int, ability: Array, per_item: Tree, data: Mapping[str, Array]) -> tuple[Array, Tree]:
        kind, wide = _kind(data, ability.dtype), ability.dtype
        abilities, of_item = jax.tree.map(lambda values: values.astype(kind), (ability, per_item))

        def step(total: Array, block: dict[str, Array]) -> tuple[Array, Tree]:
            lm, item, column = (block.pop(name) for name in _WHERE)
            # Fetched before they are used, or else arithmetic goes cell by cell as well.
            placed, own = _barrier((abilities[lm, column], _at(of_item, item)))
            found, slopes = _slopes(response, lambda at: at, placed, own, block)
            return total + found.sum(), slopes

        blocks = {name: column.reshape(-1, size) for name, column in data.items()}
        total, slopes = jax.lax.scan(step, jnp.zeros((), wide), blocks)
        return total, jax.tree.map(jnp.ravel, slopes)

    def both(ability: Array, per_item: Tree, data: Mapping[str, Array]) -> tuple[Array, Tree]:
        count = len(data["value"])
        size = max(1, min(count, _BLOCK))
        whole = count // size * size
        total, slopes = of_cells(size, ability, per_item, _cut(data, 0, whole))
        if whole < count:
            more, last = of_cells(count - whole, ability, per_item, _cut(data, whole, count))
            total, slopes = total + more, jax.tree.map(lambda *parts: jnp.concatenate(parts), slopes, last)
        by_cell, by_own = jax.tree.map(lambda slope: slope.astype(ability.dtype), slopes)
        lm, item, column = (data[name] for name in _WHERE)
        by_lm = jnp.zeros_like(ability).at[lm, column].add(by_cell)
        by_item = jax.tree.map(lambda values, slope: jnp.zeros_like(values).at[item].add(slope), per_item, by_own)
        return total, (by_lm, by_item)

    return both


def _cut(data: Mapping[str, Array], begin: int, end: int) -> dict[str, Array]:
    return {name: column[begin:end] for name, column in data.items()}


def _barrier(values: Tree) -> Tree:
    """Have XLA write these down before anything is made of them."""
    return jax.lax.optimization_barrier(values)  # type: ignore[no-untyped-call]


def _product(left: Array, right: Array) -> Array:
    return jnp.matmul(left, right, precision="highest")


def _fused(both: Callable[..., tuple[Array, Tree]]) -> Callable[..., Array]:
    """Turn value and gradient that are computed together into a function that JAX differentiates.

    It takes all that it needs, `given` for `both` beside abilities and parameters of items: JAX may differentiate when
    those who called it are long done, and with them what it would have taken from around it.
    """

    @jax.custom_vjp
    def total(ability: Array, per_item: Tree, given: tuple[Tree, ...]) -> Array:
        return both(ability, per_item, *given)[0]

    def forward(ability: Array, per_item: Tree, given: tuple[Tree, ...]) -> tuple[Array, Tree]:
        return both(ability, per_item, *given)

    def backward(slopes: Tree, cotangent: Array) -> tuple[Array, Tree, None]:
        by_lm, by_item = jax.tree.map(lambda slope: cotangent * slope, slopes)
        return by_lm, by_item, None

    total.defvjp(forward, backward)
    return total
