"""Arrays that JAX takes as they are: a large table is then not in memory twice."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import DTypeLike

# Bytes of which the place of an array that JAX takes as it is must be a multiple.
_ALIGNED = 64


def room(shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """Make room for an array, to be filled before it is `taken`.

    Examples
    --------
    >>> room((2, 3), np.float32).shape
    (2, 3)
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.empty(size + _ALIGNED, np.uint8)
    first = -raw.ctypes.data % _ALIGNED
    return raw[first : first + size].view(dtype).reshape(shape)


def taken(values: np.ndarray) -> Any:
    """Give an array that is filled to JAX; nobody may write to it any more."""
    if jax.default_backend() != "cpu" or not values.size:
        return jnp.asarray(values)
    with jax.enable_x64(True):
        return jnp.from_dlpack(values)
