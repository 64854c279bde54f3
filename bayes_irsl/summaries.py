"""Where draws become means and intervals: the one place that does so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import pandas as pd
import xarray as xr

from bayes_irsl.errors import Fault, InputError

Kind = Literal["score", "expected"]
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
    if not 0.0 < prob < 1.0:
        raise ValueError(f"prob is {prob}: it is a probability strictly between 0 and 1, such as 0.9")
    keys, values = collect(draws, by, kind)
    tail = (1.0 - prob) / 2.0
    lower, upper = np.quantile(values, [tail, 1.0 - tail], axis=0)
    numbers = {
        "mean": values.mean(0),
        "sd": values.std(0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1]),
        "lower": lower,
        "upper": upper,
        "prob": prob,
    }
    own = keys[["lm", by]].assign(kind=kind, **numbers)
    return pd.concat([own, keys.drop(columns=["lm", by])], axis=1)


def collect(draws: xr.Dataset, by: Literal["item", "benchmark"], kind: Kind) -> tuple[pd.DataFrame, np.ndarray]:
    """Draws of each row of a summary.

    Returns
    -------
    pandas.DataFrame
        ``lm``, `by`, ``extrapolation`` and the scaling variable of every row.
    np.ndarray
        Values, dimensions (draw, row), chains one after the other.
    """
    if by not in ("item", "benchmark"):
        raise ValueError(f"by is {by!r}: it is 'item' or 'benchmark'")
    if kind not in ("score", "expected"):
        raise ValueError(f"kind is {kind!r}: it is 'score' or 'expected'")
    values = draws[kind].transpose("chain", "draw", "cell").to_numpy()
    values = values.reshape(-1, values.shape[-1])
    along = draws["cell"].to_index().to_frame(index=False)
    others = [name for name in draws.coords if draws[name].dims == ("cell",) and name not in ("cell", "lm", "item")]
    along = along.assign(**{str(name): draws[name].to_numpy() for name in others})
    extra = [name for name in along.columns if name not in ("lm", "item", "benchmark")]
    if by == "item":
        return along[["lm", "item", *extra]], values
    groups = along.groupby(["lm", "benchmark"], sort=False)
    number = groups.ngroup().to_numpy()
    weights = np.zeros((len(number), number.max() + 1))
    weights[np.arange(len(number)), number] = 1.0
    return groups[extra].first().reset_index(), values @ (weights / weights.sum(0))


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
    keys, values = collect(draws, by, kind)
    if len(values) < FEWEST_DRAWS_TO_HAND_ON:
        rule = f"a table of draws has at least {FEWEST_DRAWS_TO_HAND_ON:,}"
        raise InputError(Fault("fit", "draws", rule, "Fit again with more draws", f"{len(values)} draws"))
    n_draws, n_rows = values.shape
    long = keys[["lm", by]].loc[np.repeat(np.arange(n_rows), n_draws)].reset_index(drop=True)
    return long.assign(draw=np.tile(np.arange(n_draws), n_rows), value=values.T.ravel())


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
