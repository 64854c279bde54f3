"""What the best of the coming language models will score, and when a benchmark passes a level.

A forecast speaks of one new LM; a record is the best of many. So LMs are released at the pace of the last year of
the calibration table, each with an ability of its own around the trend, and evaluated on a benchmark as often as
LMs were in that year. The record is the best score so far, that of the table included.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import numpy as np
import pandas as pd
import xarray as xr

from bayes_irsl.covariates import Axis
from bayes_irsl.errors import Fault, InputError
from bayes_irsl.fitting import Fit
from bayes_irsl.forecasting import forecast


def records(fit: Fit, items: Sequence[str], until: str | date, *, draws: int = 2000, seed: int = 0) -> xr.DataArray:
    """Draw the best score so far on some items, month by month beyond the calibration table.

    Parameters
    ----------
    fit : Fit
        A fit over a release date.
    items : sequence of str
        Items, at least one of whose scores is from the last year of the table.
    until : str or date
        Last day of interest.
    draws : int
        Draws of the posterior that are used, at most: each stands for hundreds of new LMs.
    seed : int
        Seed of what is drawn.

    Returns
    -------
    xarray.DataArray
        Best score, dimensions (chain, draw, date, item); the first date is the end of the table.

    Raises
    ------
    InputError
        If the fit is not over a date, or an item had no new score for a year.
    """
    axis = fit.axis
    if axis is None or axis.how != "date":
        raise InputError(Fault("fit", "axis", "records are kept over time", "Fit with x a release date"))
    scores = _dated(fit, axis)
    pace = {item: _pace(scores[scores["item"] == item], axis) for item in items}
    if quiet := [item for item in items if not pace[item]]:
        rule = "no LM was evaluated on it in the last year of the table, so nothing tells its pace"
        raise InputError(*(Fault("items", "pace", rule, "Leave it out", item) for item in quiet))
    end = pd.Timestamp(axis.decode(np.array([(axis.high - axis.centre) / axis.unit]))[0])
    months = pd.date_range(end, until, freq="MS", inclusive="right")
    if len(months) == 0:
        rule = "records start a month after the last date of the table"
        raise InputError(Fault("until", "date", rule, "Ask for a later day", str(until)))
    most = int(np.ceil(max(pace.values())))
    lms = pd.DataFrame(
        {
            "lm": [f"release {month:%Y-%m} {number}" for month in months for number in range(most)],
            axis.name: [f"{month:%Y-%m-%d}" for month in months for _ in range(most)],
        }
    )
    drawn = forecast(fit.thinned(draws), lms, items=items, seed=seed)["score"].to_numpy()
    drawn = drawn.reshape(*drawn.shape[:2], len(months), most, len(items))
    start = scores.groupby("item")["score"].max().reindex(list(items)).to_numpy()
    best = np.empty((*drawn.shape[:2], len(months) + 1, len(items)))
    best[:, :, 0] = start
    rng = np.random.default_rng(seed)
    for column, item in enumerate(items):
        # A pace of 2.4 LMs a month is 2 LMs in some months and 3 in others.
        count = np.floor(pace[item] + rng.random(len(months))).astype(int)
        evaluated = np.arange(most) < count[:, None]
        best[:, :, 1:, column] = np.where(evaluated, drawn[..., column], 0.0).max(-1)
    return xr.DataArray(
        np.maximum.accumulate(best, axis=2),
        dims=("chain", "draw", "date", "item"),
        coords={"date": [end, *months], "item": list(items)},
        name="record",
    )


def best_scores(record: xr.DataArray, days: Sequence[str], prob: float = 0.9) -> pd.DataFrame:
    """Best score by some days: ``item, date, now, mean, lower, upper, prob``."""
    rows = []
    for day in days:
        then = record.sel(date=slice(None, day)).isel(date=-1)
        low, high = (then.quantile((1.0 + sign * prob) / 2.0, ("chain", "draw")) for sign in (-1, 1))
        rows.append(
            pd.DataFrame(
                {
                    "item": record["item"].to_numpy(),
                    "date": day,
                    "now": record.isel(date=0, chain=0, draw=0).to_numpy(),
                    "mean": then.mean(("chain", "draw")).to_numpy(),
                    "lower": low.to_numpy(),
                    "upper": high.to_numpy(),
                    "prob": prob,
                }
            )
        )
    return pd.concat(rows, ignore_index=True)


def passing_dates(record: xr.DataArray, level: float, prob: float = 0.9) -> pd.DataFrame:
    """Month in which a record passes a level.

    Parameters
    ----------
    record : xarray.DataArray
        From `records`.
    level : float
        Score to pass, such as 0.8.
    prob : float
        Probability inside the interval.

    Returns
    -------
    pandas.DataFrame
        ``item, level, passed`` (whether the table has it already), ``earliest, median, latest`` (ISO dates of the
        interval; blank where they lie beyond the last date drawn), ``probability`` of passing by the last date.

    Examples
    --------
    >>> dates = pd.to_datetime(["2026-01-01", "2026-02-01", "2026-03-01"])
    >>> best = xr.DataArray([[[[0.5], [0.7], [0.9]]]], dims=("chain", "draw", "date", "item"))
    >>> table = passing_dates(best.assign_coords(date=dates, item=["q"]), 0.8)
    >>> table[["passed", "median", "probability"]].values.tolist()
    [[False, '2026-03-01', 1.0]]
    """
    values = record.transpose("chain", "draw", "date", "item").to_numpy()
    above = values.reshape(-1, *values.shape[2:]) >= level
    ever, first = above.any(1), above.argmax(1)
    days = [f"{pd.Timestamp(day):%Y-%m-%d}" for day in record["date"].to_numpy()]
    rows = []
    for column, item in enumerate(record["item"].to_numpy()):
        position = np.where(ever[:, column], first[:, column], len(days))
        at = [int(np.quantile(position, share, method="higher")) for share in ((1 - prob) / 2, 0.5, (1 + prob) / 2)]
        passed = bool(above[:, 0, column].all())
        shown = ["" if passed or place >= len(days) else days[place] for place in at]
        rows.append([item, level, passed, *shown, float(ever[:, column].mean())])
    return pd.DataFrame(rows, columns=["item", "level", "passed", "earliest", "median", "latest", "probability"])


def _dated(fit: Fit, axis: Axis) -> pd.DataFrame:
    """Scores of the table with their date in years; counts as shares."""
    cells = fit.responses.cells
    score = cells["score"] if "score" in cells else cells["successes"] / cells["trials"]
    years = pd.Series(axis.transformed(fit.responses.lms[axis.name]), index=fit.responses.lms["lm"])
    return cells[["item"]].assign(score=score, years=years[cells["lm"]].to_numpy()).dropna()


def _pace(scores: pd.DataFrame, axis: Axis) -> float:
    """LMs evaluated per month over the last year of the table."""
    return float((scores["years"] > axis.high - 1.0).sum()) / 12.0
