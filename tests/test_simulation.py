"""Simulated tables: the prior itself, complete, repeatable, and ready to fit."""

import numpy as np
import pandas as pd
import pytest

import bayes_irsl as bi
from bayes_irsl.names import CURVES, LIKELIHOODS, TRENDS
from bayes_irsl.simulation import Truth, simulate

COVERING = [
    (trend, list(CURVES)[(i + j) % len(CURVES)], likelihood)
    for i, trend in enumerate(TRENDS)
    for j, likelihood in enumerate(LIKELIHOODS)
]


@pytest.mark.parametrize(("trend", "curve", "likelihood"), COVERING)
def test_every_model_simulates_a_whole_table(trend: str, curve: str, likelihood: str) -> None:
    model = bi.Model(trend=TRENDS[trend], curve=CURVES[curve], likelihood=LIKELIHOODS[likelihood])
    truth = simulate(model, n_lms=5, n_items=7, n_benchmarks=2, n_groups=2, trials=30, chance=0.25, seed=2)
    cells = truth.responses.cells
    assert len(cells) == 35
    assert not cells.isna().any(axis=None)
    if "score" in cells:
        inside = cells["score"].between(0, 1, inclusive="both" if likelihood == "ordered_beta" else "neither")
        assert inside.all()
    else:
        assert (cells["trials"] == (1 if likelihood == "bernoulli" else 30)).all()
        assert cells["successes"].between(0, cells["trials"]).all()
    assert all(np.isfinite(value).all() for value in truth.sites.values())
    reported = vars(truth)["values"]
    assert all(np.isfinite(reported[name]).all() for name in reported)
    assert ("lower" in reported) == (curve == "3pl")
    # Reported abilities are standard over the LMs.
    assert float(reported["ability"].mean()) == pytest.approx(0, abs=1e-12)
    assert float(reported["ability"].std()) == pytest.approx(1, abs=1e-12)


def test_one_seed_one_table(truth: Truth) -> None:
    model = bi.Model(likelihood=bi.likelihoods.beta)
    sizes = {"n_lms": 24, "n_items": 12, "n_benchmarks": 3, "n_groups": 2, "missing": 0.1}
    assert simulate(model, **sizes, seed=5).responses.hash() == truth.responses.hash()  # type: ignore[arg-type]
    assert simulate(model, **sizes, seed=6).responses.hash() != truth.responses.hash()  # type: ignore[arg-type]


def test_missing_cells_are_left_out_and_nobody_is_lost(truth: Truth) -> None:
    table = truth.responses
    assert 0.85 <= len(table.cells) / (24 * 12) <= 0.95
    assert (len(table.lms), len(table.items)) == (24, 12)
    model = bi.Model(likelihood=bi.likelihoods.beta)
    sparse = simulate(model, n_lms=9, n_items=6, missing=0.99, seed=0).responses
    assert (len(sparse.lms), len(sparse.items)) == (9, 6)


def test_x_is_kept_as_given() -> None:
    x = np.array([3.0, 1.0, 10.0])
    model = bi.Model(likelihood=bi.likelihoods.beta)
    lms = simulate(model, n_lms=3, n_items=2, x=x).responses.lms
    pd.testing.assert_series_equal(lms["x"], pd.Series(x, name="x"))
    assert (
        "x"
        not in simulate(
            bi.Model(trend=bi.trends.none, likelihood=bi.likelihoods.beta), n_lms=3, n_items=2
        ).responses.lms
    )
