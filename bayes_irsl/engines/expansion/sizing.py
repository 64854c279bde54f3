"""How many nodes chunks of items need, so that functions of ability are known to a millionth of their largest value."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from bayes_irsl.engines.expansion.table import Table

SIZES = (48, 128, 512)
"""Numbers of nodes that grids may have."""
# What a response has of its item and its LM at once is known at no more nodes: those few items that would want more of
# them are a little less well known by it.
_MOST_COMMON = 128

MANY_CHUNKS = 8
"""Fewer chunks than this share one grid, and not the smallest: every other number of grids is another program."""

# Nodes for each logit that an item moves through over the grid.
_NODES_PER_LOGIT = 2.5
# The smallest grid that few chunks get.
_FEW_CHUNKS = 0

Sizes = Int[np.ndarray, " chunk"]
"""Number of the grid of each chunk among `SIZES`, in rising order."""


def least(table: Table) -> Sizes:
    """Sizes to begin with."""
    return np.full(len(table.column), _FEW_CHUNKS)


def needed(table: Table, span: Float[Array, " item"], before: Sizes | None = None) -> Sizes:
    """Sizes that are enough for some spans, and no smaller than those before.

    Parameters
    ----------
    table : Table
        The table.
    span : Float[Array, " item"]
        Logits that items move through over the grid.
    before : Sizes, optional
        Sizes that were used.
    """
    spans = np.asarray(span)[np.asarray(table.items)].max(1)
    found = np.searchsorted(SIZES, _NODES_PER_LOGIT * spans)
    # One that is not finite, or too large for all, gets as many as there may be.
    found = np.maximum.accumulate(np.minimum(found, len(SIZES) - 1))
    if len(found) < MANY_CHUNKS:
        found = np.full_like(found, max(found.max(), _FEW_CHUNKS))
    return found if before is None else np.maximum.accumulate(np.maximum(found, before))


def grids_of(sizes: Sizes) -> tuple[tuple[int, ...], Int[Array, " grid_and_one"]]:
    """Numbers of nodes of the grids; and the first chunk of each, and the number of chunks.

    Many chunks have grids of all sizes, some of which no chunk may need, so that one program will do for them.
    """
    used = np.arange(len(SIZES)) if len(sizes) >= MANY_CHUNKS else sizes[:1]
    return tuple(SIZES[number] for number in used), jnp.asarray([*np.searchsorted(sizes, used), len(sizes)])


def common(nodes: tuple[int, ...]) -> int:
    """Nodes of a grid for all chunks."""
    return min(max(nodes), _MOST_COMMON)
