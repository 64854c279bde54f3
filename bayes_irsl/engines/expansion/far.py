"""Responses that are too far out for functions on a grid, kept by cell.

A function known at nodes is known to some share of its largest value. A response that nearly is 0 or 1 multiplies a
function by its logit, where that may be millions and the function next to nothing: their product is of order one, and
that of the error is not. So the numbers that responses give are bounded, and what few of them have beyond the bound is
looked at cell by cell.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from irsl_models.law import Affine

# Room for far responses comes in powers of two of the first, so that tables of one shape share programs; and as many as
# the second are looked at together, at most.
_ROOM, _WIDTH = 64, 1 << 16


class Far(NamedTuple):
    """Responses by cell.

    Parameters
    ----------
    lm, item, column : Int[Array, " response"]
        LM and item of each, and the column of abilities that the item asks for.
    excess : Float[Array, " response"]
        What they have beyond the bound; 0 where there is only room.
    """

    lm: Int[Array, " response"]
    item: Int[Array, " response"]
    column: Int[Array, " response"]
    excess: Float[Array, " response"]

    @property
    def width(self) -> int:
        """Number of responses to look at together."""
        return min(len(self.lm), _WIDTH)


def far_of(affine: Affine, lm: np.ndarray, item: np.ndarray, column: np.ndarray, *data: np.ndarray) -> Far:
    """Keep some responses, of which there are the data that a law is made of."""
    assert affine.excess is not None
    room = _ROOM
    while room < len(lm):
        room *= 2

    def padded(part: np.ndarray) -> Array:
        return jnp.asarray(np.pad(part, (0, room - len(lm))))

    excess = affine.excess(**{name: padded(part) for name, part in zip(affine.data, data, strict=True)})
    excess = jnp.where(jnp.arange(room) < len(lm), excess.astype(float), 0.0)
    lm_code, item_code, column_code = (padded(part.astype(np.int32)) for part in (lm, item, column))
    return Far(lm_code, item_code, column_code, excess)
