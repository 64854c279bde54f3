"""Responses as a matrix of LMs and items, looked at some items at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from bayes_irsl.engines.expansion.far import Far, far_of, kept_of
from bayes_irsl.programs import program
from irsl_models import Design
from irsl_models.law import Affine

# Items of a chunk, at most.
_WIDTH = 256

Chunk = tuple[Array, tuple[Array, ...]]


@partial(jax.tree_util.register_dataclass)
@dataclass(frozen=True)
class Table:
    """A table by rows; an LM that answered an item twice has two.

    Parameters
    ----------
    data : mapping of str to Array
        The numbers that responses give are made of these: one of each cell, row by row.
    present : Bool[Array, " cell"] or None
        Cells that there are; None if all.
    lm : Int[Array, " row"] or None
        LM of each row; None if they are the rows.
    items : Int[Array, "chunk item"]
        Items that are looked at together. They are asked for abilities of one column.
    real : Float[Array, "chunk item"]
        0 where an item of a chunk only fills it up.
    column : Int[Array, " chunk"]
        Column of the abilities of each chunk.
    far : Far or None
        What responses have beyond the bound of their numbers; None for a law that has no bound.
    n_lms, n_items : int
        Numbers of LMs and items.
    in_order : bool
        Whether the items of a chunk are neighbours.
    """

    data: Mapping[str, Any]
    present: Any
    lm: Any
    items: Int[Array, "chunk item"]
    real: Float[Array, "chunk item"]
    column: Int[Array, " chunk"]
    far: Far | None
    n_lms: int = field(metadata={"static": True})
    n_items: int = field(metadata={"static": True})
    in_order: bool = field(metadata={"static": True})

    @property
    def kind(self) -> Any:
        """Type that matrices are multiplied in."""
        kinds = [values.dtype for values in self.data.values() if jnp.issubdtype(values.dtype, jnp.floating)]
        return jnp.result_type(*kinds) if kinds else jnp.result_type(float)

    def is_even(self, affine: Affine) -> bool:
        """Whether all cells count the same."""
        return self.present is None and affine.exposure is None

    def chunk(self, affine: Affine, number: Array) -> tuple[Array | None, tuple[Array, ...]]:
        """Exposure of the cells of a chunk, None if all count the same, and what its responses give."""
        items, real = self.items[number], self.real[number].astype(self.kind)

        def taken(values: Array) -> Array:
            # Cut up here, where it costs nothing: outside of a program it would be a copy.
            values = values.reshape(-1, self.n_items)
            if self.in_order:
                return jax.lax.dynamic_slice_in_dim(values, items[0], items.size, axis=1)
            return values[:, items]

        data = {name: taken(values) for name, values in self.data.items()}
        weight = real if self.present is None else taken(self.present).astype(self.kind) * real
        columns = tuple(
            column.astype(self.kind) * weight for column in affine.columns(**{name: data[name] for name in affine.data})
        )
        if affine.exposure is not None:
            return data[affine.exposure].astype(self.kind) * weight, columns
        return (None if self.present is None else weight), columns


def lay_out(design: Design, affine: Affine, n_columns: int) -> Table:
    """Lay the responses of a design out.

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
    columns = {name: value if name == "value" else getattr(design, name) for name in wanted}
    lm: np.ndarray | None = None
    present: Any = None
    if design.rows:
        data = {name: jnp.asarray(column) for name, column in columns.items()}
        if design.present is not None:
            present = jnp.asarray(design.present)
    else:
        of_cell, item = map(np.asarray, design.codes)
        row, lm = _rows(of_cell, item, n_items)
        shape, at = (len(lm), n_items), (row, item)
        present = np.zeros(shape, dtype=bool)
        present[at] = True
        data = {}
        for name, column in columns.items():
            laid = np.full(shape, np.asarray(column)[0])
            laid[at] = column
            data[name] = jnp.asarray(laid.ravel())
        present = jnp.asarray(present.ravel())
        lm = None if np.array_equal(lm, np.arange(n_lms)) else lm
    of_item = np.asarray(design.benchmark) if n_columns > 1 else np.zeros(n_items, dtype=int)
    items, real, column, in_order = _chunks(of_item)
    return Table(
        data=data,
        present=present,
        lm=None if lm is None else jnp.asarray(lm),
        items=jnp.asarray(items),
        real=jnp.asarray(real),
        column=jnp.asarray(column),
        far=far_of(affine, data, present, lm, of_item),
        n_lms=n_lms,
        n_items=n_items,
        in_order=in_order,
    )


def thinned(table: Table, n_rows: int) -> Table:
    """Keep some rows, evenly spread, of a table that has at least twice as many, one for each LM."""
    if table.lm is not None or table.n_lms < 2 * n_rows:
        return table
    kept = np.linspace(0, table.n_lms - 1, n_rows).round().astype(int)
    data, present = _rows_of(table.n_items, (dict(table.data), table.present), jnp.asarray(kept))
    return replace(table, data=data, present=present, lm=jnp.asarray(kept), far=kept_of(table.far, kept))


@program(static=1)
def _rows_of(n_items: int, tree: Any, rows: Array) -> Any:
    return jax.tree.map(lambda values: values.reshape(-1, n_items)[rows].ravel(), tree)


def _chunks(of_item: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """Cut items into chunks of one width, each of one column: items, which are real, columns, and whether in order."""
    sizes = np.bincount(of_item)
    width = int(min(_WIDTH, 2 ** np.ceil(np.log2(sizes.max()))))
    if len(sizes) == 1:
        width = min(width, len(of_item))
        starts = np.arange(0, len(of_item), width)
        items = np.minimum(starts, len(of_item) - width)[:, None] + np.arange(width)
        return items, (items >= starts[:, None]).astype(float), np.zeros(len(items), dtype=int), True
    chunks, real, column = [], [], []
    for number in range(len(sizes)):
        members = np.flatnonzero(of_item == number)
        for first in range(0, len(members), width):
            part = members[first : first + width]
            chunks.append(np.pad(part, (0, width - len(part)), mode="edge"))
            real.append(np.arange(width) < len(part))
            column.append(number)
    return np.array(chunks), np.array(real, dtype=float), np.array(column), False


def _rows(lm: np.ndarray, item: np.ndarray, n_items: int) -> tuple[np.ndarray, np.ndarray]:
    """Row of every cell, and LM of every row: as many of an LM as it answered an item at most."""
    pair = lm.astype(np.int64) * n_items + item
    order = np.argsort(pair, kind="stable")
    first = np.searchsorted(pair[order], pair[order], side="left")
    layer = np.empty(len(pair), dtype=np.int64)
    layer[order] = np.arange(len(pair)) - first
    known, row = np.unique(np.stack([layer, lm.astype(np.int64)]), axis=1, return_inverse=True)
    return np.ravel(row), known[1]
