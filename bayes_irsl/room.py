"""Room for arrays: in memory, or on disk where they are large."""

from __future__ import annotations

import math
import tempfile

import numpy as np

MOST_IN_MEMORY = 2**26
"""Values of an array in memory, at most: half a gigabyte in double precision. Larger ones lie on disk."""


class Room:
    """An array that is filled from its first value to its last.

    On disk it is a file without a name in the folder for temporary files (the environment variable ``TMPDIR``). It
    goes when the last array that shows it goes.

    Parameters
    ----------
    shape : tuple of int
        Its shape.
    dtype : np.dtype
        Type of its values.

    Examples
    --------
    >>> room = Room((2, 3), np.dtype(float))
    >>> room.add(np.zeros(4)), room.add(np.ones(2))
    (None, None)
    >>> room.array().tolist()
    [[0.0, 0.0, 0.0], [0.0, 1.0, 1.0]]
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self._shape, self._dtype, self._filled = shape, dtype, 0
        self._file = tempfile.TemporaryFile() if math.prod(shape) > MOST_IN_MEMORY else None  # noqa: SIM115
        self._values = np.empty(0 if self._file else math.prod(shape), dtype)

    def add(self, values: np.ndarray) -> None:
        """Put values behind those that are there already."""
        values = np.ascontiguousarray(values, dtype=self._dtype).ravel()
        if self._file:
            # Written and not mapped: a disk that is full is then an error, and not the end of the process.
            self._file.write(values.data)
        else:
            self._values[self._filled : self._filled + values.size] = values
        self._filled += values.size

    def array(self) -> np.ndarray:
        """Give all values away, once the last one is there."""
        assert self._filled == math.prod(self._shape)
        if not self._file:
            return self._values.reshape(self._shape)
        with self._file as file:
            file.flush()
            # The mapping outlives the file that it is made from.
            return np.asarray(np.memmap(file, dtype=self._dtype, mode="r", shape=self._shape))
