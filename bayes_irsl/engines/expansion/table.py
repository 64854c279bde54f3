"""Responses as a matrix of LMs and items, laid out some items at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from bayes_irsl.aligned import room, taken
from bayes_irsl.engines.expansion.far import Far, far_of
from bayes_irsl.programs import program
from irsl_models import Design
from irsl_models.law import Affine

# Items of a chunk, at most.
_WIDTH = 256
# Cells that are laid out at a time.
_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Source:
    """A table as a design has it; an LM that answered an item twice has two rows.

    Parameters
    ----------
    affine : Affine
        What is wanted of its responses.
    data : mapping of str to Shaped[np.ndarray, "row item"]
        What the numbers that responses give are made of.
    present : Bool[np.ndarray, "row item"] or None
        Cells that there are; None if all.
    lm : Int[np.ndarray, " row"]
        LM of each row.
    column : Int[np.ndarray, " item"]
        Column of abilities that each item asks for.
    n_lms, n_columns : int
        Numbers of LMs and of columns.
    """

    affine: Affine
    data: Mapping[str, np.ndarray]
    present: np.ndarray | None
    lm: np.ndarray
    column: np.ndarray
    n_lms: int
    n_columns: int


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

    lm: Float[Array, "lm column"]
    item: Float[Array, " item"]
    flat: Float[Array, "flat item"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Table:
    """A table in chunks of items, which are asked for abilities of one column each.

    Parameters
    ----------
    numbers : tuple of Float[Array, "chunk row item"]
        What responses give, but for what does not depend on LMs; 0 where there is none.
    exposure : Shaped[Array, "chunk row item"] or None
        How much they count; None if all count the same.
    lm : Int[Array, " row"] or None
        LM of each row; None if they are the rows.
    items : Int[Array, "chunk item"]
        Items of each chunk.
    real : Float[Array, "chunk item"]
        0 where an item of a chunk only fills it up.
    column : Int[Array, " chunk"]
        Column of the abilities of each chunk.
    totals : Totals
        Sums over the table.
    far : Far or None
        What responses have beyond the bound of their numbers; None for a law that has no bound.
    n_lms, n_items : int
        Numbers of LMs and items, also of those that are not in it.
    """

    numbers: tuple[Float[Array, "chunk row item"], ...]
    exposure: Any
    lm: Any
    items: Int[Array, "chunk item"]
    real: Float[Array, "chunk item"]
    column: Int[Array, " chunk"]
    totals: Totals
    far: Far | None
    n_lms: int = field(metadata={"static": True})
    n_items: int = field(metadata={"static": True})

    @property
    def kind(self) -> Any:
        """Type that matrices are multiplied in."""
        return self.numbers[0].dtype


def source_of(design: Design, affine: Affine, n_columns: int) -> Source:
    """Read the responses of a design.

    Parameters
    ----------
    design : Design
        The responses.
    affine : Affine
        What is wanted of them.
    n_columns : int
        Number of columns of abilities.
    """
    n_lms, n_items = design.lms.known, design.n_items
    value = design.score if design.successes is None else design.successes
    wanted = dict.fromkeys((*affine.data, *((affine.exposure,) if affine.exposure else ())))
    columns = {name: np.asarray(value if name == "value" else getattr(design, name)) for name in wanted}
    if design.rows:
        lm = np.arange(n_lms)
        data = {name: column.reshape(n_lms, n_items) for name, column in columns.items()}
        present = None if design.present is None else np.asarray(design.present).reshape(n_lms, n_items)
    else:
        of_cell, item = map(np.asarray, design.codes)
        row, lm = _rows(of_cell, item, n_items)
        present = np.zeros((len(lm), n_items), dtype=bool)
        present[row, item] = True
        data = {}
        for name, column in columns.items():
            # Where there is no response stands that of another cell, which is a number and counts nothing.
            data[name] = np.full(present.shape, column[0])
            data[name][row, item] = column
    of_item = np.asarray(design.benchmark) if n_columns > 1 else np.zeros(n_items, dtype=int)
    return Source(affine, data, present, lm, of_item, n_lms, n_columns)


def lay_out(source: Source, items: np.ndarray, rows: np.ndarray | None = None) -> Table:
    """Lay some items of a table out in chunks of neighbours in a given order.

    Parameters
    ----------
    source : Source
        The table.
    items : Int[np.ndarray, " item"]
        The items, in the order in which they are to be looked at.
    rows : Int[np.ndarray, " row"], optional
        The rows; all of them if not given.
    """
    affine, n_items = source.affine, len(source.column)
    members, real, column = chunks(source.column[items])
    members, lm = items[members], source.lm if rows is None else source.lm[rows]
    shape = (len(members), len(lm), members.shape[1])
    order, real_cells = members.ravel(), jnp.asarray(real.ravel())
    has_exposure = source.present is not None or affine.exposure is not None
    numbers: list[np.ndarray] = []
    exposure: np.ndarray | None = None
    of_item: Any = 0.0
    of_row: list[np.ndarray] = []
    far: list[tuple[np.ndarray, ...]] = []

    def add(here: slice, data: Mapping[str, np.ndarray], part: _Part) -> None:
        nonlocal numbers, exposure, of_item
        if not here.start:
            numbers = [room(shape, one.dtype) for one in part.numbers]
            exposure = room(shape, part.exposure.dtype) if has_exposure else None
        for filled, one in zip(numbers, part.numbers, strict=True):
            filled[:, here] = one
        if exposure is not None:
            exposure[:, here] = part.exposure
        of_row.append(np.asarray(part.of_row))
        of_item = jax.tree.map(np.add, of_item, part.of_item) if here.start else part.of_item
        if affine.excess is not None:
            row, at = np.divmod(np.flatnonzero(part.is_far), order.size)
            cells = lm[here.start + row], order[at], source.column[order[at]]
            far.append((*cells, *(data[name][row, at] for name in affine.data)))

    before: tuple[slice, Mapping[str, np.ndarray], _Part] | None = None
    height = max(1, _AT_ONCE // order.size)
    for first in range(0, len(lm), height):
        here = slice(first, min(first + height, len(lm)))
        cells = np.ix_(np.arange(len(source.lm))[here] if rows is None else rows[here], order)
        cut = (lambda values: values[cells]) if rows is not None else (lambda values: values[here].take(order, axis=1))
        data = {name: cut(values) for name, values in source.data.items()}
        present = None if source.present is None else cut(source.present)
        # While one part is computed, that before it is put away.
        part = _cut(affine, shape[::2], data, present, real_cells)
        if before is not None:
            add(*before)
        before = here, data, part
    assert before is not None
    add(*before)
    by_item, flat = (_placed(n_items, order, np.asarray(one)) for one in of_item)
    return Table(
        numbers=tuple(map(taken, numbers)),
        exposure=None if exposure is None else taken(exposure),
        lm=None if np.array_equal(lm, np.arange(source.n_lms)) else jnp.asarray(lm),
        items=jnp.asarray(members),
        real=jnp.asarray(real),
        column=jnp.asarray(column),
        totals=Totals(_by_lm(source, lm, column, np.concatenate(of_row)), by_item, flat),
        far=far_of(affine, *map(np.concatenate, zip(*far, strict=True))) if far else None,
        n_lms=source.n_lms,
        n_items=n_items,
    )


class _Part(NamedTuple):
    """Some rows of a table: as in `Table`, with sums over rows by item and over items by row and chunk."""

    numbers: tuple[Array, ...]
    exposure: Array
    of_item: tuple[Array, Array]
    of_row: Array
    is_far: Array | None


@program(static=2)
def _cut(
    affine: Affine, shape: tuple[int, int], data: Mapping[str, Array], present: Array | None, real: Array
) -> _Part:
    wide = jnp.result_type(float)
    given = {name: data[name] for name in affine.data}
    columns = affine.columns(**given)
    kinds = [column.dtype for column in columns if jnp.issubdtype(column.dtype, jnp.floating)]
    kind = jnp.result_type(*kinds) if kinds else wide
    counted = jnp.broadcast_to(real > 0.0, columns[0].shape)
    counted = counted if present is None else counted & present
    exposure = counted if affine.exposure is None else jnp.where(counted, data[affine.exposure], 0)
    columns = tuple(jnp.where(counted, column, 0.0).astype(kind) for column in columns)
    count = len(columns) - affine.flat

    def in_chunks(values: Array) -> Array:
        return jnp.moveaxis(values.reshape(len(values), *shape), 1, 0)

    flat = jnp.stack([column.sum(0, dtype=wide) for column in columns[count:]]) if affine.flat else jnp.zeros((0, real.size))
    return _Part(
        numbers=tuple(map(in_chunks, columns[:count])),
        exposure=in_chunks(exposure),
        of_item=(exposure.sum(0, dtype=wide), flat),
        of_row=in_chunks(exposure).sum(2, dtype=wide).T,
        is_far=None if affine.excess is None else (affine.excess(**given) != 0.0) & counted,
    )


def _placed(n_items: int, order: np.ndarray, values: np.ndarray) -> Array:
    """Put sums where their items are; what only fills up is zero."""
    placed = np.zeros((*values.shape[:-1], n_items))
    np.add.at(placed, (..., order), values)
    return jnp.asarray(placed)


def _by_lm(source: Source, lm: np.ndarray, column: np.ndarray, of_row: np.ndarray) -> Array:
    found = np.zeros((source.n_lms, source.n_columns))
    np.add.at(found, (lm[:, None], column), of_row)
    return jnp.asarray(found)


def chunks(of_item: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cut items into chunks of one width, each of one column: items, which are real, and columns."""
    sizes = np.bincount(of_item)
    sizes = sizes[sizes > 0]
    width = -(-sizes.max() // -(-sizes.max() // _WIDTH))
    found, real, column = [], [], []
    for number in np.unique(of_item):
        members = np.flatnonzero(of_item == number)
        for first in range(0, len(members), width):
            part = members[first : first + width]
            found.append(np.pad(part, (0, width - len(part)), mode="edge"))
            real.append(np.arange(width) < len(part))
            column.append(number)
    return np.array(found), np.array(real, dtype=float), np.array(column)


def _rows(lm: np.ndarray, item: np.ndarray, n_items: int) -> tuple[np.ndarray, np.ndarray]:
    """Row of every cell, and LM of every row: as many of an LM as it answered an item at most."""
    pair = lm.astype(np.int64) * n_items + item
    order = np.argsort(pair, kind="stable")
    first = np.searchsorted(pair[order], pair[order], side="left")
    layer = np.empty(len(pair), dtype=np.int64)
    layer[order] = np.arange(len(pair)) - first
    known, row = np.unique(np.stack([layer, lm.astype(np.int64)]), axis=1, return_inverse=True)
    return np.ravel(row), known[1]
