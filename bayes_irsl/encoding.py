"""From named tables to the coded arrays of a `Design`, for a fit and for a prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaln

from bayes_irsl.numerals import texts
from irsl_models import Design, Dim, Grouping, Knots

# Enough knots for a quarter of a year over six years of release dates; more only cost time.
MOST_KNOTS = 25
# Benchmarks with fewer items than this have no deviation of their own: the precision of the items carries it.
FEWEST_ITEMS_FOR_DEVIATION = 3
FEWEST_ITEMS_FOR_POOLING = 2
# Cells that are laid out row by row cost a fraction of cells on their own.
FULL_ENOUGH = 0.25


@dataclass(frozen=True)
class Population:
    """LMs and items of a calibration table, with what a model needs to know of them.

    Parameters
    ----------
    lms, items, benchmarks : tuple of str
        Names, in the order of the codes.
    benchmark : np.ndarray
        Code of the benchmark of each item.
    chance : np.ndarray
        Score of blind guessing of each item, NaN where unknown.
    x : np.ndarray or None
        Standardised scaling variable of each LM, NaN where unknown; None without one.
    groups : dict of str to tuple of str
        For each grouping, the group of each LM.
    answered : np.ndarray
        Number of responses of each LM to each benchmark.
    """

    lms: tuple[str, ...]
    items: tuple[str, ...]
    benchmarks: tuple[str, ...]
    benchmark: np.ndarray
    chance: np.ndarray
    x: np.ndarray | None
    groups: dict[str, tuple[str, ...]]
    answered: np.ndarray


@dataclass(frozen=True)
class Newcomers:
    """LMs that only a prediction has.

    Parameters
    ----------
    x : np.ndarray or None
        Standardised scaling variable, NaN where unknown.
    groups : dict of str to tuple of str
        For each grouping of the fit, the group of each LM; a name the fit does not know is a new group.
    """

    x: np.ndarray | None
    groups: dict[str, tuple[str, ...]]
    count: int


def design(
    population: Population,
    lm: np.ndarray,
    item: np.ndarray,
    *,
    score: np.ndarray | None = None,
    successes: np.ndarray | None = None,
    trials: np.ndarray | None = None,
    newcomers: Newcomers | None = None,
) -> Design:
    """Build the arrays of a model.

    Parameters
    ----------
    population : Population
        The calibration table.
    lm, item : np.ndarray
        Codes of the cells; newcomers follow the LMs of the population.
    score, successes, trials : np.ndarray, optional
        Responses of the cells; without them the model draws them.
    newcomers : Newcomers, optional
        LMs beyond the calibration table.
    """
    known, new = len(population.lms), newcomers.count if newcomers else 0
    shape = known, len(population.items)
    rows = (score is not None or successes is not None) and is_dense(shape, lm, item)
    present: np.ndarray | None = None
    if rows:
        cell = lm * shape[1] + item
        score, successes, trials = (_laid_out(shape, cell, column) for column in (score, successes, trials))
        if len(cell) < shape[0] * shape[1]:
            present = np.zeros(shape[0] * shape[1], dtype=bool)
            present[cell] = True
    x = _with_newcomers(population.x, newcomers.x if newcomers else None, known, new)
    untrended = np.isnan(x) & (population.x is not None)
    numbers = np.where(untrended, np.cumsum(untrended) - 1, -1)
    guessable = population.chance > 0
    sizes = np.bincount(population.benchmark, minlength=len(population.benchmarks))
    eligible, n_eligible = _numbered(sizes >= FEWEST_ITEMS_FOR_DEVIATION)
    pools, n_pools = _numbered(sizes >= FEWEST_ITEMS_FOR_POOLING)
    answered = np.vstack([population.answered, np.tile(sizes, (new, 1))])[:, eligible >= 0].astype(float)
    guessing, n_guessing = _numbered(guessable)
    # NumPy's out here; they become JAX's where the model runs.
    arrays: dict[str, Any] = {
        "lm": None if rows else np.asarray(lm, dtype=np.int32),
        "item": None if rows else np.asarray(item, dtype=np.int32),
        "benchmark": population.benchmark.astype(np.int32),
        "x": np.nan_to_num(x),
        "untrended": numbers.astype(np.int32),
        "chance": np.where(guessable, population.chance, 0.0),
        "guessing": guessing,
        "pool": pools[population.benchmark],
        "spread": answered / np.maximum(answered.sum(1, keepdims=True), 1.0),
        "eligible": eligible,
        **_responses(score, successes, trials),
        "present": present,
    }
    return Design(
        **arrays,
        groupings=tuple(
            _grouping(name, groups, newcomers.groups[name] if newcomers else ())
            for name, groups in population.groups.items()
        ),
        knots=_knots(x, known),
        lms=Dim(known, new),
        untrended_lms=Dim(int(untrended[:known].sum()), int(untrended[known:].sum())),
        n_items=len(population.items),
        n_benchmarks=len(population.benchmarks),
        n_pools=n_pools,
        n_eligible=n_eligible,
        n_guessing=n_guessing,
        scaled=population.x is not None,
        rows=rows,
    )


def _responses(
    score: np.ndarray | None, successes: np.ndarray | None, trials: np.ndarray | None
) -> dict[str, np.ndarray | None]:
    """Responses, and logs of them that a density would take anew at every step."""
    log_score = log_rest = log_choose = None
    if score is not None:
        inside = np.where((score > 0) & (score < 1), score, 0.5)
        log_score, log_rest = np.log(inside), np.log1p(-inside)
    if successes is not None and trials is not None:
        log_choose = gammaln(trials + 1.0) - gammaln(successes + 1.0) - gammaln(trials - successes + 1.0)
    return {
        "score": score,
        "log_score": log_score,
        "log_rest": log_rest,
        "successes": successes,
        "trials": trials,
        "log_choose": log_choose,
    }


def is_dense(shape: tuple[int, int], lm: np.ndarray, item: np.ndarray) -> bool:
    """Tell whether cells are enough of all pairs, and no pair twice, to be laid out row by row."""
    pairs = shape[0] * shape[1]
    return len(lm) >= FULL_ENOUGH * pairs and len(np.unique(lm.astype(np.int64) * shape[1] + item)) == len(lm)


def _laid_out(shape: tuple[int, int], cell: np.ndarray, column: np.ndarray | None) -> np.ndarray | None:
    """Put a column of cells where rows have it; missing cells get a value that every density can take."""
    if column is None:
        return None
    filled = np.full(shape[0] * shape[1], 0.5 if column.dtype.kind == "f" else 1, dtype=column.dtype)
    filled[cell] = column
    return filled


def _with_newcomers(old: np.ndarray | None, fresh: np.ndarray | None, known: int, new: int) -> np.ndarray:
    if old is None:
        return np.zeros(known + new)
    return np.concatenate([old, np.full(new, np.nan) if fresh is None else fresh])


def _numbered(chosen: np.ndarray) -> tuple[np.ndarray, int]:
    """Number the chosen entries from 0, the others -1."""
    return np.where(chosen, np.cumsum(chosen) - 1, -1).astype(np.int32), int(chosen.sum())


def _grouping(name: str, known: Sequence[str], new: Sequence[str]) -> Grouping:
    levels = sorted(set(known))
    levels += sorted(set(new) - set(levels))
    code = {level: index for index, level in enumerate(levels)}
    n_known = len(set(known))
    codes: Any = np.asarray([code[level] for level in (*known, *new)], dtype=np.int32)
    return Grouping(
        code=codes,
        name=name,
        dim=Dim(n_known, len(levels) - n_known),
    )


def _knots(x: np.ndarray, known: int) -> Knots:
    """Lay equally spaced knots over the calibration LMs, and go on at the same spacing as far as needed."""
    inside = x[:known][~np.isnan(x[:known])]
    low, high = (inside.min(), inside.max()) if inside.size else (0.0, 0.0)
    count = int(np.clip(len(np.unique(inside)), 2, MOST_KNOTS))
    spacing = (high - low) / (count - 1) if high > low else 1.0
    place = np.nan_to_num((x - low) / spacing)
    before = int(np.ceil(max(0.0, -place.min()) - 1e-9))
    after = int(np.ceil(max(0.0, place.max() - (count - 1)) - 1e-9))
    left = np.clip(np.floor(place).astype(int), -before, count + after - 2)
    arrays: dict[str, Any] = {
        "left": (left + before).astype(np.int32),
        "weight": np.clip(place - left, 0.0, 1.0),
        "spacing": np.asarray(spacing),
    }
    return Knots(
        **arrays,
        dim=Dim(count, after),
        before=before,
    )


def population(
    cells: pd.DataFrame,
    lms: pd.DataFrame,
    items: pd.DataFrame,
    x: np.ndarray | None,
    groups: Sequence[str],
) -> Population:
    """Code the tables of a fit. Names are coded in sorted order, so the order of rows changes nothing."""
    lm_names, item_names = tuple(lms["lm"]), tuple(items["item"])
    benchmarks = tuple(sorted(set(items["benchmark"])))
    benchmark = pd.Index(benchmarks).get_indexer(items["benchmark"])
    answered = np.zeros((len(lm_names), len(benchmarks)), dtype=int)
    lm = pd.Index(lm_names).get_indexer(cells["lm"])
    np.add.at(answered, (lm, benchmark[pd.Index(item_names).get_indexer(cells["item"])]), 1)
    return Population(
        lms=lm_names,
        items=item_names,
        benchmarks=benchmarks,
        benchmark=benchmark,
        chance=items["chance"].to_numpy(dtype=float),
        x=x,
        groups={name: tuple(texts(lms[name])) for name in groups},
        answered=answered,
    )
