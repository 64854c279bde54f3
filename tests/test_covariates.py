"""The scaling variable: scales, faults, missing values, and the way back."""

import json
from datetime import date

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayes_irsl.covariates import Axis, fit_axes, fit_axis, parse_axis
from bayes_irsl.door.reading import read_responses
from bayes_irsl.errors import InputError
from bayes_irsl.responses import Responses


def with_x(values: list[object], name: str = "flops", **options: str) -> Responses:
    ids = [f"m{n}" for n in range(len(values))]
    cells = pd.DataFrame({"lm": ids, "item": "q", "score": 0.5})
    return read_responses(cells, pd.DataFrame({"lm": ids, name: values}), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "values", "how"),
    [
        ("params", ["1e9", "2e9"], "log10"),
        ("tokens", ["1e9", "2e9"], "log10"),
        ("train_flops", ["1e9", "2e9"], "log10"),
        ("usd:log10", ["1e9", "2e9"], "log10"),
        ("years", ["3.5", "4"], "linear"),
        ("date", ["2024-01-31", "2024-03-01"], "date"),
        ("released", ["2024-01-31", "2024-03-01"], "date"),
    ],
)
def test_the_scale_follows_from_name_mark_and_values(name: str, values: list[object], how: str) -> None:
    axis, _, _ = fit_axis(with_x(values, name), name.removesuffix(":log10"))
    assert axis.how == how


def test_a_scale_that_is_given_wins() -> None:
    axis, x, _ = fit_axis(with_x([0.0, 2.0]), "flops:linear")
    assert (axis.how, axis.centre, axis.unit) == ("linear", 1.0, 1.0)
    assert x.tolist() == [-1.0, 1.0]
    with pytest.raises(InputError, match="log10, linear, date"):
        parse_axis("flops:log2")


def test_an_unknown_covariate_is_told_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"value 'compute'.*Known are flops"):
        fit_axis(with_x([1.0, 2.0]), "compute")


@given(st.lists(st.floats(-300, 300), min_size=2, max_size=8, unique_by=lambda v: round(v, 3)))
def test_x_is_standard_and_comes_back(decades: list[float]) -> None:
    values = [10.0**d for d in decades]
    lms = pd.DataFrame({"lm": [f"m{n}" for n in range(len(values))], "flops": values})
    cells = pd.DataFrame({"lm": lms.lm, "item": "q", "score": 0.5})
    items = pd.DataFrame({"item": ["q"], "benchmark": ["q"], "chance": [0.0]})
    axis, x, _ = fit_axis(Responses(cells, lms, items), "flops")
    assert abs(x.mean()) < 1e-9
    assert abs(x.std() - 1) < 1e-9
    np.testing.assert_allclose(np.log10(axis.decode(x)), decades, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(axis.extrapolation(values), 0.0)
    assert Axis.from_dict(json.loads(json.dumps(axis.to_dict()))) == axis


@given(st.lists(st.dates(date(1950, 1, 1), date(2200, 1, 1)), min_size=2, max_size=6, unique=True))
def test_dates_come_back_to_the_day(days: list[date]) -> None:
    axis, x, _ = fit_axis(with_x([day.isoformat() for day in days], "date"), "date")
    assert axis.decode(x).tolist() == days
    np.testing.assert_array_equal(axis.encode(days), x)


def test_typed_dates_read_as_texts_do() -> None:
    texts = fit_axis(with_x(["2024-01-31", "2024-03-01"], "date"), "date")[0]
    for values in (pd.to_datetime(["2024-01-31", "2024-03-01"]), [date(2024, 1, 31), date(2024, 3, 1)]):
        assert fit_axis(with_x(list(values), "date"), "date")[0] == texts
    assert texts.high == pytest.approx(2000 + 8826 / 365.25, abs=1e-12)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("2024", "no day"),
        ("2024-05", "no day"),
        ("2024-02-30", "no such day"),
        ("05/06/2024", "not written as YYYY-MM-DD"),
        ("May2024", "not written as YYYY-MM-DD"),
        ("20240501", "not written as YYYY-MM-DD"),
        ("2024-05-01 16:29", "a time of day"),
        ("", "--missing-x no-trend"),
    ],
)
def test_unclear_dates_are_told(value: str, says: str) -> None:
    with pytest.raises(InputError) as told:
        fit_axis(with_x(["2024-01-01", value, "2024-03-01"], "date"), "date")
    assert says in str(told.value)
    assert "LM m1" in str(told.value)
    assert len(told.value.faults) == 1


def test_years_as_numbers_are_no_dates() -> None:
    with pytest.raises(InputError, match="value '2024': the date has no day"):
        fit_axis(with_x(["2024", "2025"], "date"), "date")


def test_infinite_values_are_told() -> None:
    with pytest.raises(InputError, match="value 'inf': an infinity"):
        fit_axis(with_x([1e20, np.inf]), "flops")
    with pytest.raises(InputError, match="value 'inf': an infinity"):
        fit_axis(with_x(["1e20", "inf"]), "flops")


def test_declared_marks_within_numbers_hold_for_new_faults_as_well() -> None:
    read = with_x(["1,5", "2,5", "x"], decimal=",")
    with pytest.raises(InputError) as told:
        fit_axis(read, "flops")
    assert [fault.value for fault in told.value.faults if not isinstance(fault, str)] == ["x"]


def test_faults_of_several_covariates_come_together() -> None:
    lms = pd.DataFrame({"lm": ["a", "b"], "params": [0, 1], "tokens": [-1, 1]})
    read = read_responses(pd.DataFrame({"lm": ["a", "b"], "item": "q", "score": 0.5}), lms)
    with pytest.raises(InputError) as told:
        fit_axes(read, ["params", "tokens"])
    assert len(told.value.faults) == 2


def test_several_covariates_drop_the_same_lms() -> None:
    lms = pd.DataFrame({"lm": list("abcd"), "params": [1, 10, None, 100], "tokens": [1, None, 5, 100]})
    read = read_responses(pd.DataFrame({"lm": list("abcd"), "item": "q", "score": 0.5}), lms)
    axes, x, kept = fit_axes(read, ["params", "tokens"], "drop")
    assert kept.lms.lm.tolist() == ["a", "d"]
    assert x.tolist() == [[-1.0, -1.0], [1.0, 1.0]]
    assert [axis.n_values for axis in axes] == [2, 2]
    axes, x, kept = fit_axes(read, ["params", "tokens"], "no-trend")
    assert kept.lms.lm.tolist() == ["a", "b", "c", "d"]
    assert np.isnan(x).tolist() == [[False, False], [False, True], [True, False], [False, False]]
    assert axes[0].n_values == 3


def test_a_trend_needs_two_lms_with_different_values() -> None:
    with pytest.raises(InputError, match="1 LM: a trend needs at least two LMs"):
        fit_axis(with_x([1e20]), "flops")
    with pytest.raises(InputError, match="a trend needs at least two different values"):
        fit_axis(with_x([1e20, 1e20, 1e20]), "flops")
    with pytest.raises(InputError, match="1 LM with a value"):
        fit_axis(with_x([1e20, None]), "flops", "no-trend")
    with pytest.raises(InputError, match="no LM has a value of flops"):
        fit_axis(with_x([None, None]), "flops", "drop")
    with pytest.raises(InputError, match="error, no-trend or drop"):
        fit_axis(with_x([1.0, 2.0]), "flops", "impute")  # type: ignore[arg-type]


def test_new_values_meet_the_same_rules() -> None:
    axis = Axis("flops", "log10", 21.0, 2.0, 20.0, 22.0, 3)
    assert axis.encode(["1e23", None, 1e19]).tolist()[::2] == [1.0, -1.0]
    assert axis.extrapolation(["1e23", 1e19, 1e21]).tolist() == [1.0, 1.0, 0.0]
    with pytest.raises(InputError, match="x, row 0, column flops, value '0': log10 needs values above 0"):
        axis.encode([0.0])
