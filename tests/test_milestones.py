"""Records: pace, monotone growth, and when a level is passed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayes_irsl as bi
from bayes_irsl.milestones import best_scores, passing_dates, records


@pytest.fixture
def record() -> xr.DataArray:
    best = np.array([[[0.5, 0.6, 0.9], [0.5, 0.85, 0.85], [0.5, 0.5, 0.7], [0.5, 0.5, 0.5]]])[..., None]
    days = pd.to_datetime(["2026-01-01", "2026-02-01", "2026-03-01"])
    return xr.DataArray(best, dims=("chain", "draw", "date", "item"), coords={"date": days, "item": ["q"]})


def test_best_scores_are_those_of_the_last_month_by_the_day(record: xr.DataArray) -> None:
    table = best_scores(record, ["2026-02-20"])
    assert table["mean"].tolist() == pytest.approx([(0.6 + 0.85 + 0.5 + 0.5) / 4])
    assert table["now"].tolist() == [0.5]


def test_half_the_draws_pass(record: xr.DataArray) -> None:
    row = passing_dates(record, 0.8, prob=0.5).iloc[0]
    assert not row["passed"]
    assert row["probability"] == 0.5
    # Months of passing, in order: February, March, never, never.
    assert (row["earliest"], row["median"], row["latest"]) == ("2026-03-01", "", "")


def test_a_level_reached_in_the_table_is_passed(record: xr.DataArray) -> None:
    row = passing_dates(record, 0.5).iloc[0]
    assert bool(row["passed"])
    assert row["probability"] == 1.0


def test_records_need_dates(fit: bi.Fit) -> None:
    with pytest.raises(bi.InputError, match="records are kept over time"):
        records(fit, ["item-00"], "2030-01-01")
