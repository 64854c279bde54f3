"""Responses as a matrix of rows and items, as a design has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from irsl_models import Design
from irsl_models.law import Affine


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


def _rows(lm: np.ndarray, item: np.ndarray, n_items: int) -> tuple[np.ndarray, np.ndarray]:
    """Row of every cell, and LM of every row: as many of an LM as it answered an item at most."""
    pair = lm.astype(np.int64) * n_items + item
    order = np.argsort(pair, kind="stable")
    first = np.searchsorted(pair[order], pair[order], side="left")
    layer = np.empty(len(pair), dtype=np.int64)
    layer[order] = np.arange(len(pair)) - first
    known, row = np.unique(np.stack([layer, lm.astype(np.int64)]), axis=1, return_inverse=True)
    return np.ravel(row), known[1]
