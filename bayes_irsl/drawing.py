"""Cells whose scores a fit is asked for: all draws of them, or a part at a time where only a summary is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import numpy as np
import pandas as pd
import xarray as xr

from bayes_irsl import encoding, prediction
from bayes_irsl.designs import unseen
from bayes_irsl.engines.base import sampled
from bayes_irsl.fitting import Fit, double_precision
from bayes_irsl.room import MOST_IN_MEMORY
from bayes_irsl.summaries import Kind, Rows, means, numbered
from irsl_models import Design

# Cells of a part, at most, unless one row of a summary alone has more: a few draws of them are computed at a time.
_MOST_CELLS = 2**20
_SITES = {"score": ("score", "successes"), "expected": ("expected",)}


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells to draw.

    Parameters
    ----------
    fit : Fit
        The fit.
    table : pandas.DataFrame
        ``lm``, ``item`` and, for counts, ``trials``.
    lms : pandas.DataFrame
        The LMs they are of, with the scaling variable.
    newcomers : Newcomers or None
        LMs that the fit does not know: those of `lms`, in their order. None where it knows them all.
    seed : int
        Seed of what is drawn.
    notes : tuple of str
        What a user should know of these draws.
    """

    fit: Fit
    table: pd.DataFrame
    lms: pd.DataFrame
    newcomers: encoding.Newcomers | None
    seed: int
    notes: tuple[str, ...] = ()

    def draws(self) -> xr.Dataset:
        """Draw all of them; on disk where they are large."""
        dims = ("chain", "draw", "cell")
        names, shares = (*_SITES["score"], *_SITES["expected"]), partial(_shares, self._total)
        with double_precision():
            drawn = prediction.evaluate(
                self.fit.model, self._design, self._sites, names, self.seed, part=1, reduction=shares
            )
        where = self._where()
        score = drawn["successes" if "successes" in drawn else "score"]
        return xr.Dataset(
            {"score": (dims, score), "expected": (dims, drawn["expected"])},
            coords={name: ("cell", column.to_numpy()) for name, column in where.items()},
            attrs={"notes": list(self.notes)},
        ).set_index(cell=["lm", "item"])

    def parts(self, by: Literal["item", "benchmark"], kind: Kind) -> Iterator[Rows]:
        """Draw the rows of a summary, so many at a time that their draws are at hand together.

        What is drawn of LMs is the same in all parts. A request that is small enough is one part, and the same draws as
        `draws` has.
        """
        keys, number = numbered(self._where(), by)
        sizes = self.fit.posterior.sizes
        most = max(1, MOST_IN_MEMORY // (sizes["chain"] * sizes["draw"]))
        cuts = _cuts(np.bincount(number), most)
        parts = [np.flatnonzero((number >= first) & (number < end)) for first, end in cuts]
        width = max(map(len, parts))
        for place, ((first, end), cells) in enumerate(zip(cuts, parts, strict=True), 1):
            # As many cells in each part, so that one compiled program serves all of them.
            filled = np.pad(cells, (0, width - len(cells)), mode="edge")
            rows = partial(_rows, self._total, cells, number[cells] - first)
            with double_precision():
                drawn = prediction.evaluate(
                    self.fit.model,
                    self._design.at(filled),
                    self._sites,
                    _SITES[kind],
                    self.seed,
                    part=place,
                    reduction=rows,
                )
            values = next(iter(drawn.values()))
            yield Rows(keys.iloc[first:end].reset_index(drop=True), values.reshape(-1, end - first))

    @property
    def _total(self) -> np.ndarray:
        """What a response is a share of: its trials, where it is a count."""
        return self.table["trials"].to_numpy() if "trials" in self.table else np.ones(len(self.table))

    @cached_property
    def _design(self) -> Design:
        names = self.lms["lm"].tolist() if self.newcomers else []
        return unseen(self.fit.population, self.table, self.newcomers, names)

    @cached_property
    def _sites(self) -> dict[str, np.ndarray]:
        """Draws of all sites but the responses: those of the fit, and new LMs and groups, which all parts share."""
        known = self.fit.sites
        new = [name for name in sampled(self.fit.model, self._design) if name not in (*known, *_SITES["score"])]
        if not new:
            return known
        return known | prediction.evaluate(self.fit.model, self._design.at([0]), known, new, self.seed)

    def _where(self) -> pd.DataFrame:
        """Where each cell lies: LM, item, benchmark, scaling variable and how far beyond the data that is."""
        benchmark = self.fit.responses.items.set_index("item")["benchmark"]
        where = self.table[["lm", "item"]].assign(benchmark=benchmark[self.table["item"]].to_numpy(), extrapolation=0.0)
        axis = self.fit.axis
        if axis is None:
            return where
        row = pd.Index(self.lms["lm"]).get_indexer(self.table["lm"])
        x = self.lms[axis.name]
        return where.assign(**{"extrapolation": axis.extrapolation(x)[row], axis.name: x.to_numpy()[row]})


def _cuts(sizes: np.ndarray, most: int) -> list[tuple[int, int]]:
    """Cut rows with so many cells each into parts of neither too many rows nor too many cells.

    Examples
    --------
    >>> _cuts(np.array([1, 1, 1, 1, 1]), most=2)
    [(0, 2), (2, 4), (4, 5)]
    >>> _cuts(np.array([2**19, 2**20, 2**19, 2**19]), most=100)
    [(0, 1), (1, 2), (2, 4)]
    """
    ends, cuts, first = np.cumsum(sizes), [], 0
    while first < len(sizes):
        before = ends[first - 1] if first else 0
        fitting = int(np.searchsorted(ends, before + _MOST_CELLS, side="right"))
        end = min(max(fitting, first + 1), first + most)
        cuts.append((first, end))
        first = end
    return cuts


def _shares(total: np.ndarray, values: np.ndarray) -> np.ndarray:
    shares: np.ndarray = values / total
    return shares


def _rows(total: np.ndarray, cells: np.ndarray, number: np.ndarray, values: np.ndarray) -> np.ndarray:
    return means(values[:, : len(cells)] / total[cells], number)
