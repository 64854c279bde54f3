"""Scores of exactly 0 or 1 among other scores: counted, and squeezed on request."""

import numpy as np
from numpy.typing import NDArray

from bayes_irsl.wording import counted

Scores = NDArray[np.float64]


def exact_zeros_and_ones(scores: Scores) -> NDArray[np.bool_]:
    """Find exact zeros and ones among scores that are not all of this kind.

    Parameters
    ----------
    scores : array of float64
        Scores as shares of 1; NaN is no score.

    Returns
    -------
    array of bool
        All False where every score is 0 or 1: such a table is binary and has no boundary.

    Examples
    --------
    >>> exact_zeros_and_ones(np.array([0.0, 0.5, 1.0])).tolist()
    [True, False, True]
    >>> exact_zeros_and_ones(np.array([0.0, 1.0])).tolist()
    [False, False]
    """
    exact: NDArray[np.bool_] = (scores == 0) | (scores == 1)
    if exact.sum() == np.isfinite(scores).sum():
        return np.zeros_like(exact)
    return exact


def boundary_note(scores: Scores) -> str:
    """Say how many scores are exactly 0 or 1.

    Examples
    --------
    >>> boundary_note(np.array([0.0, 0.5, 1.0, 1.0]))
    '3 of 4 responses are exactly 0 or 1 (1 zero, 2 ones)'
    """
    zeros, ones = int((scores == 0).sum()), int((scores == 1).sum())
    parts = f"{counted(zeros, 'zero')}, {counted(ones, 'one')}"
    verb = "is" if zeros + ones == 1 else "are"
    return f"{zeros + ones} of {int(np.isfinite(scores).sum())} responses {verb} exactly 0 or 1 ({parts})"


def squeeze(scores: Scores, n: int) -> Scores:
    """Pull scores into the open interval: ``(y (n - 1) + 0.5) / n``.

    Parameters
    ----------
    scores : array of float64
        Scores in [0, 1].
    n : int
        Number of responses in the table.

    Examples
    --------
    >>> squeeze(np.array([0.0, 1.0]), 12).round(7).tolist()
    [0.0416667, 0.9583333]
    """
    return (scores * (n - 1) + 0.5) / n
