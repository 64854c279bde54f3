"""Which parameters are whose: those of one LM, or of one item, which meet those of another through all the rest alone.

Read from the plates of a model, so that a site of a user's own counts as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from irsl_models import Design


@dataclass(frozen=True)
class _Plate:
    """A plate over LMs or items, or over some of them: `number` is the column of the design that counts those."""

    kind: str
    number: str | None = None


_PLATES = {
    "ability_level": _Plate("lm"),
    "deviation_level": _Plate("lm"),
    "untrended_level": _Plate("lm", "untrended"),
    "item": _Plate("item"),
    "guessing": _Plate("item", "guessing"),
}


# What an item has in most models: discrimination, threshold and precision.
_PER_ITEM = 3


def side(design: Design) -> str:
    """Which levels are taken together, ``lm`` or ``item``: those that leave the fewer other parameters."""
    per_lm = 1 + (design.n_eligible if design.n_eligible > 1 else 0)
    return "item" if design.lms.size * per_lm < design.n_items * _PER_ITEM else "lm"


Shapes = tuple[tuple[str, tuple[int, ...]], ...]


def blocks(sites: Mapping[str, Any], shapes: Shapes, design: Design) -> np.ndarray:
    """Positions in the flat vector of what every LM has, or every item, by the `side` of the table, as in `owned`."""
    return owned(side(design), sites, shapes, design)[0]


def owned(kind: str, sites: Mapping[str, Any], shapes: Shapes, design: Design) -> tuple[np.ndarray, list[str]]:
    """Positions in the flat vector of what every LM has, or every item.

    Parameters
    ----------
    kind : str
        ``lm`` or ``item``.
    sites : mapping of str to dict
        Structure of the model.
    shapes : tuple of (str, tuple of int)
        Its sites in the order of the flat vector, and their unconstrained shapes.
    design : Design
        The table.

    Returns
    -------
    np.ndarray
        Integers of dimensions (parameter, level); the length of the flat vector where a level has no such parameter.
        No rows where no parameter belongs to a level.
    list of str
        The site of each row.
    """
    size = sum(prod(shape) for _, shape in shapes)
    n_levels = design.n_items if kind == "item" else design.lms.size
    rows, names, first = [np.zeros((0, n_levels), dtype=int)], [], 0
    for name, shape in shapes:
        at = first + np.arange(prod(shape)).reshape(shape)
        first += at.size
        for plate, axis in _levels(sites[name], len(shape)):
            own = np.moveaxis(at, axis, -1).reshape(-1, shape[axis])
            if plate.kind != kind:
                continue
            if plate.number is not None:
                own = _spread_out(own, np.asarray(getattr(design, plate.number)), size)
            rows.append(own)
            names += [name] * len(own)
    return np.concatenate(rows), names


def _levels(site: Mapping[str, Any], n_dims: int) -> Iterator[tuple[_Plate, int]]:
    """The plate over LMs or items that a site is in, and the axis that it has there."""
    for frame in site["cond_indep_stack"]:
        if frame.name in _PLATES:
            yield _PLATES[frame.name], n_dims - site["fn"].event_dim + frame.dim


def _spread_out(own: np.ndarray, number: np.ndarray, size: int) -> np.ndarray:
    """From columns for some levels to columns for all; `number` is the column of a level, -1 where it has none."""
    return np.where(number < 0, size, own[:, np.maximum(number, 0)])
