"""How many nodes chunks of items need, so that functions of ability are known to a millionth of their largest value."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from bayes_irsl.engines.expansion.table import Table

SIZES = (48, 128, 384)
"""Numbers of nodes that grids may have."""

# What a response has of its item and its LM at once is known at no more nodes: it decides about the direction of steps,
# and the few items that would want more of them have little of it.
_MOST_COMMON = 64

MANY_CHUNKS = 8
"""Fewer chunks than this share one grid, which is cheaper to compile than several."""

# Nodes for each logit that an item moves through over the grid.
_NODES_PER_LOGIT = 2.5
# Spans change while a search goes on.
_HEADROOM = 1.2

Sizes = Int[np.ndarray, " chunk"]
"""Number of the grid of each chunk among `SIZES`, in rising order."""


def least(table: Table) -> Sizes:
    """Sizes to begin with."""
    return np.zeros(len(table.column), dtype=int)


def enough(table: Table, span: Float[Array, " item"], before: Sizes | None = None) -> Sizes:
    """Sizes for some spans: those before, if they will do, and otherwise larger ones, with some headroom.

    Parameters
    ----------
    table : Table
        The table.
    span : Float[Array, " item"]
        Logits that items move through over the grid.
    before : Sizes, optional
        Sizes that were used.
    """
    if before is None:
        return _needed(table, _HEADROOM * np.asarray(span))
    if (_needed(table, np.asarray(span)) <= before).all():
        return before
    return np.maximum.accumulate(np.maximum(_needed(table, _HEADROOM * np.asarray(span)), before))


def _needed(table: Table, span: np.ndarray) -> Sizes:
    spans = span[np.asarray(table.items)].max(1)
    found = np.searchsorted(SIZES, _NODES_PER_LOGIT * spans)
    # One that is not finite, or too large for all, gets as many as there may be.
    found = np.maximum.accumulate(np.minimum(found, len(SIZES) - 1))
    return found if len(found) >= MANY_CHUNKS else np.full_like(found, found.max())


def grids_of(sizes: Sizes) -> tuple[tuple[int, ...], Int[Array, " grid_and_one"]]:
    """Numbers of nodes of the grids; and the first chunk of each, and the number of chunks.

    Many chunks have grids of all sizes, some of which no chunk may need, so that one program will do for them.
    """
    used = np.arange(len(SIZES)) if len(sizes) >= MANY_CHUNKS else sizes[:1]
    return tuple(SIZES[number] for number in used), jnp.asarray([*np.searchsorted(sizes, used), len(sizes)])


def widened[T](look: Callable[[Sizes], T], span: Callable[[T], Array], table: Table, sizes: Sizes) -> tuple[T, Sizes]:
    """Look, again with larger sizes as long as spans turn out to need them; and tell the sizes that did.

    Parameters
    ----------
    look : callable
        Takes sizes.
    span : callable
        Takes what a look found; gives the logits that items move through over the grid.
    table : Table
        The table.
    sizes : Sizes
        Sizes to try first.
    """
    while True:
        found = look(sizes)
        larger = enough(table, span(found), sizes)
        if larger is sizes:
            return found, sizes
        sizes = larger


def common(nodes: tuple[int, ...]) -> int:
    """Nodes of a grid for all chunks."""
    return min(max(nodes), _MOST_COMMON)
