"""Where draws become means and intervals: the one place that does so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import xarray as xr

from bayes_irsl.errors import Fault, InputError
from bayes_irsl.room import Room

Kind = Literal["score", "expected"]
# Values of which means and intervals are taken at a time.
_MOST_VALUES = 2**24
FEWEST_DRAWS_TO_HAND_ON = 1_000
"""A table of draws promises as many, so that tails of intervals can be read from it."""


def summarise(
    draws: xr.Dataset,
    by: Literal["item", "benchmark"] = "item",
    kind: Kind = "score",
    prob: float = 0.9,
) -> pd.DataFrame:
    """Means and central intervals of forecast scores.

    Parameters
    ----------
    draws : xarray.Dataset
        From `forecast` or `predict`.
    by : {"item", "benchmark"}
        One row per LM and item, or per LM and benchmark: there the mean over the items that were drawn, item
        by item in the same draw.
    kind : {"score", "expected"}
        What one evaluation will report, its noise included; or E[score] under the model. Two different
        intervals: the first is wider.
    prob : float
        Probability inside the interval, equally much outside on both sides.

    Returns
    -------
    pandas.DataFrame
        ``lm, item|benchmark, kind, mean, sd, lower, upper, prob, extrapolation`` and the scaling variable.

    Examples
    --------
    >>> import numpy as np, xarray as xr
    >>> values = np.linspace(0.0, 1.0, 101).reshape(1, 101, 1)
    >>> coords = {"lm": ("cell", ["a"]), "item": ("cell", ["q"]), "benchmark": ("cell", ["b"])}
    >>> draws = xr.Dataset({"score": (("chain", "draw", "cell"), values)}, coords=coords)
    >>> table = summarise(draws.set_index(cell=["lm", "item"]), prob=0.8)
    >>> table[["lm", "item", "mean", "lower", "upper"]].round(3).values.tolist()
    [['a', 'q', 0.5, 0.1, 0.9]]
    """
    return rows_of(draws, by, kind).summary(kind, prob)


@dataclass(frozen=True, eq=False)
class Rows:
    """Draws of the rows of a summary.

    Parameters
    ----------
    keys : pandas.DataFrame
        ``lm``, ``item`` or ``benchmark``, then ``extrapolation`` and the scaling variable of every row.
    drawn : np.ndarray
        Dimensions (draw, row), chains one after the other.
    """

    keys: pd.DataFrame
    drawn: np.ndarray

    def summary(self, kind: Kind, prob: float) -> pd.DataFrame:
        """Means and central intervals, as `summarise` has them."""
        if not 0.0 < prob < 1.0:
            raise ValueError(f"prob is {prob}: it is a probability strictly between 0 and 1, such as 0.9")
        names = ["mean", "sd", "lower", "upper"]
        numbers = dict(zip(names, _statistics(self.drawn, prob), strict=True))
        own = self.keys.iloc[:, :2].assign(kind=kind, **numbers, prob=prob)
        return pd.concat([own, self.keys.iloc[:, 2:]], axis=1)

    def long(self) -> pd.DataFrame:
        """Every draw of every row, as `draws_table` has them."""
        n_draws, n_rows = self.drawn.shape
        if n_draws < FEWEST_DRAWS_TO_HAND_ON:
            rule = f"a table of draws has at least {FEWEST_DRAWS_TO_HAND_ON:,}"
            raise InputError(Fault("fit", "draws", rule, "Fit again with more draws", f"{n_draws} draws"))
        long = self.keys.iloc[:, :2].loc[np.repeat(np.arange(n_rows), n_draws)].reset_index(drop=True)
        return long.assign(draw=np.tile(np.arange(n_draws), n_rows), value=self.drawn.T.ravel())


def rows_of(draws: xr.Dataset, by: Literal["item", "benchmark"], kind: Kind) -> Rows:
    """Draws of each row of a summary; on disk where they are large."""
    if kind not in ("score", "expected"):
        raise ValueError(f"kind is {kind!r}: it is 'score' or 'expected'")
    values = draws[kind].transpose("chain", "draw", "cell").to_numpy()
    values = values.reshape(-1, values.shape[-1])
    where = draws["cell"].to_index().to_frame(index=False)
    others = [name for name in draws.coords if draws[name].dims == ("cell",) and name not in ("cell", "lm", "item")]
    keys, number = numbered(where.assign(**{str(name): draws[name].to_numpy() for name in others}), by)
    if by == "item":
        return Rows(keys, values)
    room = Room((len(values), len(keys)), values.dtype)
    for chunk in _slices(*values.shape):
        room.add(means(values[chunk], number))
    return Rows(keys, room.array())


def numbered(where: pd.DataFrame, by: Literal["item", "benchmark"]) -> tuple[pd.DataFrame, np.ndarray]:
    """Keys of the rows of a summary, and the row that each cell belongs to.

    Parameters
    ----------
    where : pandas.DataFrame
        ``lm``, ``item`` and ``benchmark`` of every cell, and what else its row is to show.
    by : {"item", "benchmark"}
        As in `summarise`.
    """
    if by not in ("item", "benchmark"):
        raise ValueError(f"by is {by!r}: it is 'item' or 'benchmark'")
    extra = [name for name in where.columns if name not in ("lm", "item", "benchmark")]
    if by == "item":
        return where[["lm", "item", *extra]], np.arange(len(where))
    groups = where.groupby(["lm", "benchmark"], sort=False)
    return groups[extra].first().reset_index(), groups.ngroup().to_numpy()


def means(values: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Mean over the cells of each row, draw by draw.

    Examples
    --------
    >>> means(np.array([[1.0, 5.0, 3.0]]), np.array([0, 1, 0])).tolist()
    [[2.0, 5.0]]
    """
    size = np.bincount(number)
    if len(size) == len(number) and (number == np.arange(len(number))).all():
        return values
    order = np.argsort(number, kind="stable")
    sums: np.ndarray = np.add.reduceat(values[:, order], np.cumsum(size) - size, axis=1)
    return sums / size


def _statistics(values: np.ndarray, prob: float) -> np.ndarray:
    """Mean, standard deviation and ends of the interval of every column, some columns at a time."""
    tail = (1.0 - prob) / 2.0
    found = np.empty((4, values.shape[1]))
    for columns in _slices(values.shape[1], values.shape[0]):
        some = np.ascontiguousarray(values[:, columns].T)
        found[0, columns] = some.mean(1)
        found[1, columns] = some.std(1, ddof=1) if some.shape[1] > 1 else 0.0
        found[2:, columns] = np.quantile(some, [tail, 1.0 - tail], axis=1, overwrite_input=True)
    return found


def _slices(count: int, size: int) -> Iterator[slice]:
    """Cut so many things of a size into slices that hold a bounded number of values."""
    step = max(1, _MOST_VALUES // max(1, size))
    return (slice(first, min(count, first + step)) for first in range(0, count, step))


def draws_table(draws: xr.Dataset, by: Literal["item", "benchmark"] = "item", kind: Kind = "score") -> pd.DataFrame:
    """Draws as a long table, for programs that take their own means.

    Parameters
    ----------
    draws : xarray.Dataset
        From `forecast` or `predict`.
    by, kind : str
        As in `summarise`.

    Returns
    -------
    pandas.DataFrame
        ``lm, item|benchmark, draw, value``; draws are numbered from 0, chain after chain.

    Raises
    ------
    InputError
        If there are fewer than 1,000 draws, too few for the tail of an interval.

    Examples
    --------
    >>> import numpy as np, xarray as xr
    >>> coords = {"lm": ("cell", ["a"]), "item": ("cell", ["q"]), "benchmark": ("cell", ["b"])}
    >>> values = np.linspace(0.0, 1.0, 1001).reshape(1, 1001, 1)
    >>> draws = xr.Dataset({"score": (("chain", "draw", "cell"), values)}, coords=coords)
    >>> draws_table(draws.set_index(cell=["lm", "item"])).iloc[500].to_dict() == {
    ...     "lm": "a", "item": "q", "draw": 500, "value": 0.5}
    True
    """
    return rows_of(draws, by, kind).long()


def summarise_parameters(posterior: xr.Dataset, prob: float = 0.9) -> pd.DataFrame:
    """Means and central intervals of the parameters that are single numbers, or one number for each grouping.

    Parameters
    ----------
    posterior : xarray.Dataset
        Posterior of a fit.
    prob : float
        Probability inside the interval.

    Returns
    -------
    pandas.DataFrame
        ``parameter, mean, sd, lower, upper, prob``.

    Examples
    --------
    >>> import numpy as np, xarray as xr
    >>> posterior = xr.Dataset({"slope": (("chain", "draw"), np.linspace(0.0, 1.0, 101)[None])})
    >>> summarise_parameters(posterior, prob=0.8).round(2).values.tolist()
    [['slope', 0.5, 0.29, 0.1, 0.9, 0.8]]
    """
    single = dict(_single_numbers(posterior))
    tail = (1.0 - prob) / 2.0
    return pd.DataFrame(
        [
            (name, drawn.mean(), drawn.std(ddof=1), *np.quantile(drawn, [tail, 1.0 - tail]), prob)
            for name, drawn in single.items()
        ],
        columns=["parameter", "mean", "sd", "lower", "upper", "prob"],
    )


def _single_numbers(posterior: xr.Dataset) -> Iterator[tuple[str, np.ndarray]]:
    for name, value in posterior.data_vars.items():
        if value.dims[2:] == ("grouping",):
            for grouping in value["grouping"].to_numpy():
                yield f"{name}[{grouping}]", value.sel(grouping=grouping).to_numpy()
        elif value.ndim == 2:
            yield str(name), value.to_numpy()
