"""Simulated tables of scores, drawn from a Beta model with a linear trend and kept as exact logs, with their truth.

A score is a ratio of gamma variables, and these are drawn as logs: a score next to 0 or 1 is rounded neither in the
log of itself nor in that of what it lacks to 1, in single precision no more than in double. Tables are drawn a few
rows at a time, so that one of 250 million cells takes little more memory than its columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from bayes_irsl import encoding
from bayes_irsl.aligned import room, taken
from irsl_models import Design

QUANTITIES = ("ability", "difficulty", "log discrimination", "log precision")
"""What `reported` gives."""

# Cells that are drawn at a time.
_BLOCK = 1 << 20


class Simulated(NamedTuple):
    """A table, and what made it.

    Parameters
    ----------
    design : Design
        The table, laid out by rows. ``score`` is one half everywhere and takes no memory: densities read the logs.
    truth : mapping of str to np.ndarray
        Sites of the model by their names: ``ability``, ``log_discrimination``, ``threshold``, ``log_precision``.
    """

    design: Design
    truth: Mapping[str, np.ndarray]


def simulated(n_lms: int, n_items: int, seed: int, *, missing: float = 0.0, dtype: DTypeLike = np.float64) -> Simulated:
    """Draw a table.

    Parameters
    ----------
    n_lms, n_items : int
        Its size. LMs are equally spaced in x, and trend and scatter share the variance of ability.
    seed : int
        Same seed and arguments, same table.
    missing : float
        Probability that a cell is missing. Every LM and item keeps at least one.
    dtype : dtype
        Type of the columns of responses.

    Examples
    --------
    >>> table = simulated(4, 3, seed=0)
    >>> table.design.log_score.shape, table.truth["ability"].shape
    ((12,), (4,))
    """
    rng = np.random.default_rng(seed)
    x = np.linspace(-1.0, 1.0, n_lms)
    x = (x - x.mean()) / x.std()
    truth = {
        "ability": np.sqrt(0.5) * (x + rng.normal(size=n_lms)),
        "log_discrimination": rng.normal(0.2, 0.4, n_items),
        "threshold": rng.normal(0.3, 1.0, n_items),
        "log_precision": rng.normal(2.7, 0.5, n_items),
    }
    columns: dict[str, Any] = {name: room((n_lms, n_items), dtype) for name in ("log_score", "log_rest")}
    present = np.ones((n_lms, n_items), dtype=bool) if missing else None
    height = max(1, _BLOCK // n_items)
    for first in range(0, n_lms, height):
        rows = slice(first, first + height)
        columns["log_score"][rows], columns["log_rest"][rows] = _responses(truth, rows, rng)
        if present is not None:
            present[rows] = _kept(first, min(height, n_lms - first), n_lms, n_items, missing, rng)
            for column in columns.values():
                column[rows][~present[rows]] = np.log(0.5)
    given = {name: taken(column.reshape(-1)) for name, column in columns.items()}
    return Simulated(_design(x, n_items, given, present), truth)


def reported(sites: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Put draws on the scale of reports, abilities with mean 0 and standard deviation 1 in each.

    Parameters
    ----------
    sites : mapping of str to np.ndarray
        The sites of a `Simulated` truth, dimensions (..., lm or item).
    """
    ability = sites["ability"]
    centre, spread = ability.mean(-1, keepdims=True), ability.std(-1, keepdims=True)
    difficulty = sites["threshold"] / np.exp(sites["log_discrimination"])
    return {
        "ability": (ability - centre) / spread,
        "difficulty": (difficulty - centre) / spread,
        "log discrimination": sites["log_discrimination"] + np.log(spread),
        "log precision": np.asarray(sites["log_precision"]),
    }


def _responses(truth: Mapping[str, np.ndarray], rows: slice, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Logs of the scores of some LMs, and of what they lack to 1."""
    logit = truth["ability"][rows, None] * np.exp(truth["log_discrimination"]) - truth["threshold"]
    precision = np.exp(truth["log_precision"])
    right, wrong = (_log_gammas(precision / (1.0 + np.exp(sign * logit)), rng) for sign in (-1.0, 1.0))
    total = np.logaddexp(right, wrong)
    return right - total, wrong - total


def _log_gammas(shape: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Logs of gamma variables, however small their shapes are."""
    # Uniform on (0, 1]: the logarithm of 0 is none.
    logs: np.ndarray = np.log(rng.standard_gamma(shape + 1.0)) + np.log1p(-rng.random(shape.shape)) / shape
    return logs


def _kept(first: int, height: int, n_lms: int, n_items: int, missing: float, rng: np.random.Generator) -> np.ndarray:
    """Which cells of some rows the table has; on a diagonal that meets every row and column it has all."""
    kept: np.ndarray = rng.random((height, n_items)) >= missing
    lm, item = np.arange(first, first + height), np.arange(n_items)
    kept[np.arange(height), lm % n_items] = True
    kept |= lm[:, None] == item % n_lms
    return kept


def _design(x: np.ndarray, n_items: int, columns: Mapping[str, Any], present: np.ndarray | None) -> Design:
    n_lms = len(x)
    answered = np.full((n_lms, 1), n_items) if present is None else present.sum(1, keepdims=True)
    people = encoding.Population(
        lms=tuple(f"lm-{i}" for i in range(n_lms)),
        items=tuple(f"item-{j}" for j in range(n_items)),
        benchmarks=("all",),
        benchmark=np.zeros(n_items, dtype=int),
        chance=np.full(n_items, np.nan),
        x=x,
        groups={},
        answered=answered,
    )
    # All but the cells, which would be sorted to see that none is there twice.
    corner = encoding.design(people, np.zeros(1, dtype=int), np.zeros(1, dtype=int), score=np.full(1, 0.5))
    cells: dict[str, Any] = {
        "lm": None,
        "item": None,
        "score": np.broadcast_to(np.asarray(0.5, columns["log_score"].dtype), (n_lms * n_items,)),
        **columns,
        "present": None if present is None else present.reshape(-1),
    }
    return replace(corner, rows=True, **cells)
