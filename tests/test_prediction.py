"""Reading sites off a model, draw by draw."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import bayes_irsl as bi
from bayes_irsl import encoding, prediction
from bayes_irsl.designs import unseen
from bayes_irsl.fitting import double_precision

NEW = ("far-below", "inside", "far-above", "without-x")


@pytest.fixture(scope="module")
def newcomers() -> encoding.Newcomers:
    return encoding.Newcomers(np.array([-9.0, 0.3, 9.0, np.nan]), {"group": ("group-0", "new", "group-1", "new")}, 4)


def cells(fit: bi.Fit, names: tuple[str, ...] = ()) -> pd.DataFrame:
    lms = [*fit.population.lms, *names]
    return pd.MultiIndex.from_product([lms, fit.population.items], names=["lm", "item"]).to_frame(index=False)


def test_the_expected_score_is_the_curve_at_the_draws(fit: bi.Fit) -> None:
    with double_precision():
        design = unseen(fit.population, cells(fit))
        drawn = prediction.evaluate(fit.model, design, fit.sites, ("expected", "benchmark_deviation"), 0)
    sites = fit.sites
    benchmark = fit.population.benchmark
    x = design.x
    ability = (
        sites["ability"][..., :, None]
        + drawn["benchmark_deviation"][..., benchmark]
        + np.asarray(x)[:, None] * sites["drift"][..., None, benchmark]
    )
    eta = np.exp(sites["log_discrimination"])[..., None, :] * ability - sites["threshold"][..., None, :]
    np.testing.assert_allclose(drawn["expected"], expit(eta).reshape(drawn["expected"].shape), rtol=1e-9)
    assert drawn["expected"].dtype == np.float64


def test_sites_that_are_known_stay_as_they_are(fit: bi.Fit, newcomers: encoding.Newcomers) -> None:
    with double_precision():
        design = unseen(fit.population, cells(fit, NEW), newcomers, NEW)
        names = ("ability", "ability_new", "slope", "group_group", "expected", "score")
        drawn = prediction.evaluate(fit.model, design, fit.sites, names, 0)
    np.testing.assert_array_equal(drawn["ability"], fit.sites["ability"])
    assert drawn["ability_new"].shape == (2, 300, 4)
    assert drawn["score"].shape == drawn["expected"].shape == (2, 300, 28 * 12)
    assert all(np.isfinite(value).all() for value in drawn.values())
    assert (drawn["score"] >= 0).all()
    assert (drawn["score"] <= 1).all()
    middle = np.median(drawn["ability_new"], axis=(0, 1))
    assert middle[0] < middle[1] < middle[2]
    # Beyond its group and scatter an LM with x lies on the trend; one without is a draw of the population.
    away = drawn["ability_new"] - drawn["slope"][..., None] * np.array([-9.0, 0.3, 9.0, 0.0])
    assert np.abs(np.median(away, axis=(0, 1))).max() < 1.0


@pytest.mark.parametrize("most", [1, 336 * 7, 336 * 599])
def test_chunks_change_nothing(
    fit: bi.Fit, newcomers: encoding.Newcomers, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    names = ("score", "expected", "ability_new")
    with double_precision():
        design = unseen(fit.population, cells(fit, NEW), newcomers, NEW)
        whole = prediction.evaluate(fit.model, design, fit.sites, names, 3)
        monkeypatch.setattr(prediction, "_MOST_VALUES", most)
        chunked = prediction.evaluate(fit.model, design, fit.sites, names, 3)
    for name in names:
        # Programs of other sizes may round the last digits another way; every draw is the same.
        np.testing.assert_allclose(chunked[name], whole[name], rtol=1e-11, err_msg=name)


def test_seeds_matter_only_to_what_is_drawn_anew(fit: bi.Fit) -> None:
    with double_precision():
        design = unseen(fit.population, cells(fit))
        one, other = (prediction.evaluate(fit.model, design, fit.sites, ("score", "expected"), seed) for seed in (0, 1))
    np.testing.assert_array_equal(one["expected"], other["expected"])
    assert (one["score"] != other["score"]).mean() > 0.99


def test_what_a_model_does_not_have_is_left_out(fit: bi.Fit) -> None:
    with double_precision():
        drawn = prediction.evaluate(fit.model, unseen(fit.population, cells(fit)), fit.sites, ("lower", "trend"), 0)
    assert set(drawn) == {"trend"}


def test_thinned_draws_are_some_of_the_draws_evenly_spread(fit: bi.Fit) -> None:
    few = fit.thinned(100)
    kept = np.linspace(0, 299, 50).astype(int)
    np.testing.assert_array_equal(few.sites["ability"], fit.sites["ability"][:, kept])
    np.testing.assert_array_equal(few.posterior["slope"], fit.posterior["slope"][:, kept])
    assert few.notes == fit.notes
    assert fit.thinned(10_000).posterior.sizes["draw"] == 300
    assert fit.thinned(1).posterior.sizes["draw"] == 1
