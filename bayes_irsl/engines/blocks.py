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


def blocks(sites: Mapping[str, Any], shapes: tuple[tuple[str, tuple[int, ...]], ...], design: Design) -> np.ndarray:
    """Positions in the flat vector of what every LM has, or every item: of those that leave the fewer others.

    Parameters
    ----------
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
    """
    size = sum(prod(shape) for _, shape in shapes)
    levels = {"lm": design.lms.size, "item": design.n_items}
    rows: dict[str, list[np.ndarray]] = {kind: [np.zeros((0, n), dtype=int)] for kind, n in levels.items()}
    first = 0
    for name, shape in shapes:
        at = first + np.arange(prod(shape)).reshape(shape)
        first += at.size
        for plate, axis in _levels(sites[name], len(shape)):
            own = np.moveaxis(at, axis, -1).reshape(-1, shape[axis])
            if plate.number is not None:
                own = _spread_out(own, np.asarray(getattr(design, plate.number)), size)
            if own.shape[1] == levels[plate.kind]:
                rows[plate.kind].append(own)
    found = [np.concatenate(own) for own in rows.values()]
    return max(found, key=lambda own: int((own < size).sum()))


def _levels(site: Mapping[str, Any], n_dims: int) -> Iterator[tuple[_Plate, int]]:
    """The plate over LMs or items that a site is in, and the axis that it has there."""
    for frame in site["cond_indep_stack"]:
        if frame.name in _PLATES:
            yield _PLATES[frame.name], n_dims - site["fn"].event_dim + frame.dim


def _spread_out(own: np.ndarray, number: np.ndarray, size: int) -> np.ndarray:
    """From columns for some levels to columns for all; `number` is the column of a level, -1 where it has none."""
    return np.where(number < 0, size, own[:, np.maximum(number, 0)])
