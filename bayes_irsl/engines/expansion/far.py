"""Responses that are too far out for functions on a grid, looked at one by one.

A function known at nodes is known to some share of its largest value. A response that nearly is 0 or 1 multiplies a
function by its logit, where that may be millions and the function next to nothing: their product is of order one, and
that of the error is not. What such logits have beyond a bound is kept here, by cell; there are few of them.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from bayes_irsl.programs import program
from irsl_models.law import Affine

# Cells that are searched at a time.
_AT_ONCE = 1 << 24
# Room for far responses comes in powers of two of this, so that tables of one shape share programs.
_ROOM = 64


class Far(NamedTuple):
    """Responses by cell.

    Parameters
    ----------
    lm, item, column : Int[Array, " response"]
        LM and item of each, and the column of abilities that the item asks for.
    excess : Float[Array, " response"]
        What they give beyond the bound; 0 where there is only room.
    """

    lm: Int[Array, " response"]
    item: Int[Array, " response"]
    column: Int[Array, " response"]
    excess: Float[Array, " response"]


def far_of(
    affine: Affine, data: dict[str, Array], present: Array | None, lm: np.ndarray | None, column: np.ndarray
) -> Far | None:
    """Search a table, which is laid out row by row; None where a law never goes far.

    Parameters
    ----------
    affine : Affine
        The law.
    data : mapping of str to Array
        What responses are made of.
    present : Bool[Array, " cell"] or None
        Cells that there are; None if all.
    lm : np.ndarray or None
        LM of each row; None if they are the rows.
    column : np.ndarray
        Column of abilities of each item.
    """
    if affine.excess is None:
        return None
    wanted = {name: data[name] for name in affine.data}
    n_cells = next(iter(wanted.values())).size
    cells, values = [], []
    for first in range(0, n_cells, _AT_ONCE):
        part = slice(first, min(first + _AT_ONCE, n_cells))
        excess = np.asarray(_excess(affine, {name: column[part] for name, column in wanted.items()}))
        if present is not None:
            excess = np.where(present[part], excess, 0.0)
        beyond = np.flatnonzero(excess)
        cells.append(first + beyond)
        values.append(excess[beyond].astype(float))
    cell, value = np.concatenate(cells), np.concatenate(values)
    row, item = np.divmod(cell, len(column))
    return _with_room(row if lm is None else lm[row], item, column[item], value)


def kept_of(far: Far | None, lms: np.ndarray) -> Far | None:
    """Those of some LMs."""
    if far is None:
        return None
    lm, item, column, value = map(np.asarray, far)
    mine = np.isin(lm, lms) & (value != 0.0)
    return _with_room(lm[mine], item[mine], column[mine], value[mine])


def _with_room(*parts: np.ndarray) -> Far:
    count = len(parts[0])
    room = _ROOM
    while room < count:
        room *= 2
    return Far(*(jnp.asarray(np.pad(part, (0, room - count))) for part in parts))


@program(static=1)
def _excess(affine: Affine, data: dict[str, Array]) -> Array:
    return affine.excess(**data)
