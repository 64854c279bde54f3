"""Responses as a matrix of LMs and items, laid out some items at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from bayes_irsl.aligned import room, taken
from bayes_irsl.engines.expansion.far import Far, far_of
from bayes_irsl.engines.expansion.source import Source
from bayes_irsl.programs import program
from irsl_models.law import Affine

# Items of a chunk, at most.
_WIDTH = 256
# Cells that are laid out at a time.
_AT_ONCE = 1 << 20


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
    place : Int[Array, " item"]
        Where each item is among those of all chunks; beyond their end if it is not in the table.
    totals : Totals
        Sums over the table.
    far : Far or None
        What responses have beyond the bound of their numbers; None for a law that has no bound.
    n_lms : int
        Number of LMs, also of those that are not in it.
    """

    numbers: tuple[Float[Array, "chunk row item"], ...]
    exposure: Any
    lm: Any
    items: Int[Array, "chunk item"]
    real: Float[Array, "chunk item"]
    column: Int[Array, " chunk"]
    place: Int[Array, " item"]
    totals: Totals
    far: Far | None
    n_lms: int = field(metadata={"static": True})

    @property
    def kind(self) -> Any:
        """Type that matrices are multiplied in."""
        return self.numbers[0].dtype


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
    members, real, column = chunks(source.column[items])
    members, lm = items[members], source.lm if rows is None else source.lm[rows]
    laid = _Laid(source, members, lm)
    shape, is_real = members.shape, jnp.asarray(real.ravel() > 0.0)
    before: tuple[slice, Mapping[str, np.ndarray], _Part] | None = None
    for here, data, present in _parts(source, members.ravel(), rows):
        part = _cut(source.affine, shape, data, present, is_real)
        # While one part is computed, that before it is put away.
        if before is not None:
            laid.add(*before)
        before = here, data, part
    if before is not None:
        laid.add(*before)
    return Table(
        numbers=tuple(map(taken, laid.numbers)),
        exposure=None if laid.exposure is None else taken(laid.exposure),
        lm=None if np.array_equal(lm, np.arange(source.n_lms)) else jnp.asarray(lm),
        items=jnp.asarray(members),
        real=jnp.asarray(real),
        column=jnp.asarray(column),
        place=jnp.asarray(_place(members.ravel(), real.ravel(), len(source.column))),
        totals=laid.totals(real, column),
        far=laid.far(),
        n_lms=source.n_lms,
    )


class _Counts(NamedTuple):
    """How much the cells of some rows count: each, over rows by item, and over items by row and chunk."""

    exposure: Array
    of_item: Array
    of_row: Array


class _Part(NamedTuple):
    """Some rows of a table: as in `Table`, sums over rows by item, which cells are far out, and how much they count."""

    numbers: tuple[Array, ...]
    flat: Array
    is_far: Array | None
    counts: _Counts | None


class _Laid:
    """What is laid out so far: rows of a table, part by part."""

    def __init__(self, source: Source, members: np.ndarray, lm: np.ndarray) -> None:
        self.numbers: list[np.ndarray] = []
        self.exposure: np.ndarray | None = None
        self._source, self._order, self._lm = source, members.ravel(), lm
        self._shape = len(members), len(lm), members.shape[1]
        self._of_item: np.ndarray = np.zeros(members.size)
        self._flat: np.ndarray = np.zeros((source.affine.flat, members.size))
        self._of_row: list[np.ndarray] = []
        self._far: list[tuple[np.ndarray, ...]] = []

    def add(self, here: slice, data: Mapping[str, np.ndarray], part: _Part) -> None:
        """Put a part where it belongs."""
        affine = self._source.affine
        if not self.numbers:
            self.numbers = [room(self._shape, one.dtype) for one in part.numbers]
            if part.counts is not None:
                self.exposure = room(self._shape, part.counts.exposure.dtype)
        for filled, one in zip(self.numbers, part.numbers, strict=True):
            filled[:, here] = one
        if self.exposure is not None and part.counts is not None:
            self.exposure[:, here] = part.counts.exposure
            self._of_row.append(np.asarray(part.counts.of_row))
            self._of_item += np.asarray(part.counts.of_item)
        self._flat += np.asarray(part.flat)
        if part.is_far is not None:
            row, at = np.divmod(np.flatnonzero(part.is_far), len(self._order))
            item = self._order[at]
            cells = self._lm[here.start + row], item, self._source.column[item]
            self._far.append((*cells, *(data[name][row, at] for name in affine.data)))

    def totals(self, real: np.ndarray, column: np.ndarray) -> Totals:
        """Sums over the table, whose chunks have some real items and ask for some columns."""
        of_row, of_item = np.tile(real.sum(1), (len(self._lm), 1)), len(self._lm) * real.ravel()
        if self.exposure is not None:
            of_row, of_item = np.concatenate(self._of_row), self._of_item
        by_lm = np.zeros((self._source.n_lms, self._source.n_columns))
        np.add.at(by_lm, (self._lm[:, None], column), of_row)
        by_item = np.zeros((len(self._source.column), 1 + len(self._flat)))
        np.add.at(by_item, self._order, np.concatenate([of_item[None], self._flat]).T)
        return Totals(jnp.asarray(by_lm), jnp.asarray(by_item[:, 0]), jnp.asarray(by_item[:, 1:].T))

    def far(self) -> Far | None:
        """Responses that are far out; None where a law never goes far."""
        if self._source.affine.excess is None:
            return None
        return far_of(self._source.affine, *map(np.concatenate, zip(*self._far, strict=True)))


def _parts(
    source: Source, order: np.ndarray, rows: np.ndarray | None
) -> Iterator[tuple[slice, dict[str, np.ndarray], np.ndarray | None]]:
    """Read some rows after the other of items in some order: where, what they have, and which cells there are."""
    count = len(source.lm) if rows is None else len(rows)
    height = max(1, _AT_ONCE // len(order))
    with ThreadPoolExecutor() as pool:
        for first in range(0, count, height):
            here = slice(first, min(first + height, count))

            def read(values: np.ndarray, here: slice = here) -> np.ndarray:
                # Whole rows in one order are read much faster than some cells.
                return values[here].take(order, axis=1) if rows is None else values[np.ix_(rows[here], order)]

            present = None if source.present is None else pool.submit(read, source.present)
            data = dict(zip(source.data, pool.map(read, source.data.values()), strict=True))
            yield here, data, None if present is None else present.result()


@program(static=2)
def _cut(
    affine: Affine, shape: tuple[int, int], data: Mapping[str, Array], present: Array | None, is_real: Array
) -> _Part:
    wide = jnp.result_type(float)
    given = {name: data[name] for name in affine.data}
    columns = affine.columns(**given)
    kinds = [column.dtype for column in columns if jnp.issubdtype(column.dtype, jnp.floating)]
    kind = jnp.result_type(*kinds) if kinds else wide
    counted = is_real if present is None else is_real & present
    columns = tuple(jnp.where(counted, column, 0.0).astype(kind) for column in columns)
    count = len(columns) - affine.flat

    def in_chunks(values: Array) -> Array:
        return jnp.moveaxis(values.reshape(len(values), *shape), 1, 0)

    counts = None
    if present is not None or affine.exposure is not None:
        exposure = counted if affine.exposure is None else jnp.where(counted, data[affine.exposure], 0)
        chunked = in_chunks(exposure)
        counts = _Counts(chunked, exposure.sum(0, dtype=wide), chunked.sum(2, dtype=wide).T)
    return _Part(
        numbers=tuple(map(in_chunks, columns[:count])),
        flat=jnp.array([column.sum(0, dtype=wide) for column in columns[count:]]).reshape(-1, is_real.size),
        is_far=None if affine.excess is None else (affine.excess(**given) != 0.0) & counted,
        counts=counts,
    )


def chunks(of_item: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cut items into chunks of one width, each of one column: items, which are real, and columns."""
    most = int(np.bincount(of_item).max())
    width = math.ceil(most / math.ceil(most / _WIDTH))
    found, real, column = [], [], []
    for number in np.unique(of_item):
        members = np.flatnonzero(of_item == number)
        for first in range(0, len(members), width):
            part = members[first : first + width]
            found.append(np.pad(part, (0, width - len(part)), mode="edge"))
            real.append(np.arange(width) < len(part))
            column.append(number)
    return np.array(found), np.array(real, dtype=float), np.array(column)


def _place(order: np.ndarray, real: np.ndarray, n_items: int) -> np.ndarray:
    found = np.full(n_items, len(order))
    at = np.flatnonzero(real)
    found[order[at]] = at
    return found
