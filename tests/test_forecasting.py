"""Forecasts in Python: what is asked for is checked, and groups and dates mean what they mean in the fit."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayes_irsl as bi
from bayes_irsl.covariates import Axis


def new(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"lm": ["next"], "x": [0.5], "group": ["group-0"], **columns})


@pytest.mark.parametrize(
    ("lms", "told"),
    [
        ("no table", "they are not a DataFrame"),
        (new().drop(columns=["lm", "x"]), "2 faults in the input"),
        (new().iloc[:0], "there is no row"),
        (new(lm=[None]), "new LMs, row 0, column lm, value '': an id is blank"),
        (new(lm=[" next"]), "has blanks around it"),
        (new(lm=[1.5]), "ids are texts or whole numbers"),
        (new(lm=[("next",)]), "ids are texts or whole numbers, and this one has the type tuple"),
        (new(lm=["next\0"]), r"row 0, column lm, value 'next\\x00': a text holds no control characters"),
        (new(lm=["lm-00"]), "this LM is in the fit"),
        (new(x=[np.nan]), "new LMs, LM next, column x, value '': the value is missing, and the trend needs it"),
        (new(x=["tall"]), "new LMs, LM next, column x, value 'tall'"),
        (pd.concat([new(), new()]), "row 1, column lm, value 'next': the id stands on row 0 already"),
        (pd.concat([new(), new()[["x"]]], axis=1), "a column stands twice"),
    ],
)
def test_new_lms_are_checked(fit: bi.Fit, lms: Any, told: str) -> None:
    with pytest.raises(bi.InputError, match=told):
        bi.forecast(fit, lms)


@pytest.mark.parametrize("trials", [0, -3, 2.5, "a", True])
def test_trials_are_checked(fit: bi.Fit, trials: Any) -> None:
    with pytest.raises(bi.InputError, match="trials are a whole number from 1 on"):
        bi.forecast(fit, new(), trials=trials)
    with pytest.raises(bi.InputError, match="trials are a whole number from 1 on"):
        bi.predict(fit, trials=trials)


@pytest.mark.parametrize("seed", [-1, 2**63, 1.0, "a", None, True])
def test_seeds_are_checked_wherever_one_is_taken(fit: bi.Fit, seed: Any) -> None:
    model = bi.Model(likelihood=bi.likelihoods.beta)
    calls: list[Callable[[], Any]] = [
        lambda: bi.fit(model, fit.responses, seed=seed),
        lambda: bi.forecast(fit, new(), seed=seed),
        lambda: bi.predict(fit, seed=seed),
        lambda: bi.simulate(model, n_lms=3, n_items=2, seed=seed),
    ]
    for call in calls:
        with pytest.raises(bi.InputError, match=r"option seed, value .*: a seed is a whole number from 0 to 2\^63 - 1"):
            call()


def test_the_largest_seed_holds(fit: bi.Fit) -> None:
    largest = np.int64(2**63 - 1)
    drawn = bi.forecast(fit, new(), seed=largest)  # type: ignore[arg-type]
    assert not drawn["score"].equals(bi.forecast(fit, new(), seed=2**31 - 1)["score"])
    found = bi.fit(bi.Model(), fit.responses, bi.SVI(steps=20, draws=5), seed=largest)  # type: ignore[arg-type]
    assert found.tree.attrs["seed"] == 2**63 - 1


def test_items_are_checked(fit: bi.Fit) -> None:
    assert bi.forecast(fit, new(), items="item-03").sizes["cell"] == 1
    assert bi.forecast(fit, new(), items=["item-03", "item-03"]).sizes["cell"] == 1
    with pytest.raises(bi.InputError, match="no item is named"):
        bi.forecast(fit, new(), items=[])


def test_cells_to_predict_are_checked(fit: bi.Fit) -> None:
    with pytest.raises(bi.InputError, match="there is no column item"):
        bi.predict(fit, pd.DataFrame({"lm": ["lm-00"]}))
    with pytest.raises(bi.InputError, match="there is no row"):
        bi.predict(fit, pd.DataFrame({"lm": [], "item": []}))
    with pytest.raises(bi.InputError, match="the fit has no such lm"):
        bi.predict(fit, pd.DataFrame({"lm": ["nobody"], "item": ["item-03"]}))


def test_names_may_be_numbers(fit: bi.Fit) -> None:
    assert set(bi.forecast(fit, new(lm=[7]))["lm"].to_numpy()) == {"7"}


def dated(fit: bi.Fit) -> bi.Fit:
    """The fit as if its x were dates, from 2022 to 2024."""
    days = pd.date_range("2022-01-01", "2024-01-01", periods=len(fit.responses.lms)).strftime("%Y-%m-%d")
    lms = fit.responses.lms.assign(date=pd.Series(days, dtype="str")).drop(columns="x")
    axis = Axis("date", "date", 2023.0, 0.6, 2022.0, 2024.0, len(lms))
    return replace(fit, responses=replace(fit.responses, lms=lms), axis=axis)


@pytest.mark.parametrize(
    "day", ["2025-01-01", date(2025, 1, 1), pd.Timestamp("2025-01-01"), np.datetime64("2025-01-01")]
)
def test_days_may_be_written_in_any_type(fit: bi.Fit, day: Any) -> None:
    drawn = bi.forecast(dated(fit), pd.DataFrame({"lm": ["next"], "date": [day]}))
    np.testing.assert_allclose(drawn["extrapolation"], 1.0, atol=0.003)


def numbered(fit: bi.Fit) -> bi.Fit:
    """The fit as if its groups were the numbers 3 and 7."""
    lms = fit.responses.lms
    return replace(
        fit, responses=replace(fit.responses, lms=lms.assign(group=lms["group"].map({"group-0": 3.0, "group-1": 7.0})))
    )


@pytest.mark.parametrize("group", [3, 3.0, "3", "3.0"])
def test_numbers_are_the_same_groups_however_they_are_written(fit: bi.Fit, group: Any) -> None:
    drawn = bi.forecast(numbered(fit), new(group=[group]))
    assert drawn.attrs["notes"] == []
    same = bi.forecast(fit, new())
    np.testing.assert_array_equal(drawn["expected"], same["expected"])


def test_new_groups_are_said(fit: bi.Fit) -> None:
    notes = bi.forecast(fit, new(group=["ours"])).attrs["notes"]
    assert notes == ["group ours: not in the fit, so drawn like any other group"]
    for lms in (new(group=[None]), new().drop(columns="group")):
        notes = bi.forecast(fit, lms).attrs["notes"]
        assert notes == ["no group is given for next: each is a new group, drawn like any other"]


def test_a_random_walk_has_an_end(fit: bi.Fit) -> None:
    walk = replace(fit, model=bi.Model(trend=bi.trends.random_walk, likelihood=bi.likelihoods.beta))
    with pytest.raises(bi.InputError, match="random_walk reaches 40 times as far"):
        bi.forecast(walk, new(x=[1e30]))
