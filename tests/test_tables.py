"""Simulated tables: the moments of what they are drawn from, in the layout that a fit has."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from scipy.special import digamma, expit, polygamma

from bayes_irsl import encoding
from bayes_irsl.studies import tables
from bayes_irsl.studies.tables import Simulated, reported, simulated

N_LMS, N_ITEMS = 90, 70


def columns(table: Simulated) -> tuple[np.ndarray, np.ndarray]:
    shape = len(table.truth["ability"]), len(table.truth["threshold"])
    score, rest = table.design.log_score, table.design.log_rest
    assert score is not None
    assert rest is not None
    return np.asarray(score, dtype=float).reshape(shape), np.asarray(rest, dtype=float).reshape(shape)


@pytest.mark.parametrize("block", [1 << 20, 500], ids=["at once", "in blocks"])
def test_logs_have_the_moments_of_a_beta(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_BLOCK", block)
    table = simulated(N_LMS, N_ITEMS, seed=3)
    truth, logs = table.truth, columns(table)
    logit = truth["ability"][:, None] * np.exp(truth["log_discrimination"]) - truth["threshold"]
    precision = np.exp(truth["log_precision"])
    right, wrong = precision * expit(logit), precision * expit(-logit)
    # The logit of a score is a difference of two independent logs of gamma variables.
    z = (logs[0] - logs[1] - digamma(right) + digamma(wrong)) / np.sqrt(polygamma(1, right) + polygamma(1, wrong))
    # Four and a half standard errors; the tails are those of an exponential at most, whose squares vary by 8.
    assert abs(z.mean()) < 4.5 / np.sqrt(z.size)
    assert abs((z**2).mean() - 1.0) < 4.5 * np.sqrt(8.0 / z.size)
    score = np.exp(logs[0])
    z = (score - expit(logit)) / np.sqrt(expit(logit) * expit(-logit) / (1.0 + precision))
    assert abs(z.mean()) < 4.5 / np.sqrt(z.size)


def test_scores_next_to_the_bounds_are_not_rounded() -> None:
    log_score, log_rest = columns(simulated(N_LMS, N_ITEMS, seed=3))
    assert np.isfinite(log_score).all()
    assert np.isfinite(log_rest).all()
    # 1 - e^-40 is 1 in double precision.
    assert log_rest.min() < -40.0
    np.testing.assert_allclose(np.exp(log_score) + np.exp(log_rest), 1.0, rtol=0, atol=1e-12)


def test_single_precision_is_the_same_table() -> None:
    wide, narrow = (simulated(12, 9, seed=1, dtype=kind) for kind in (np.float64, np.float32))
    assert narrow.design.log_score is not None
    assert narrow.design.log_score.dtype == np.float32
    for ours, theirs in zip(columns(narrow), columns(wide), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_cells_are_missing_at_random_but_not_all_of_a_row_or_column() -> None:
    present = simulated(100, 80, seed=2, missing=0.3).design.present
    assert present is not None
    # 8000 cells, 100 of which are always there.
    assert abs(present.mean() - 0.7 - 0.3 * 100 / 8000) < 4.5 * np.sqrt(0.21 / 8000)
    for shape in ((5, 13), (13, 5)):
        sparse = simulated(*shape, seed=2, missing=0.999).design.present
        assert sparse is not None
        laid = np.asarray(sparse).reshape(shape)
        assert laid.any(0).all()
        assert laid.any(1).all()


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_the_design_is_that_of_a_fit(missing: float) -> None:
    """All but names, and the responses, which are kept as logs alone."""
    ours = simulated(9, 6, seed=4, missing=missing).design
    present = np.ones(54, dtype=bool) if ours.present is None else np.asarray(ours.present)
    lm, item = np.divmod(np.flatnonzero(present), 6)
    people = encoding.Population(
        lms=tuple(map(str, range(9))),
        items=tuple(map(str, range(6))),
        benchmarks=("all",),
        benchmark=np.zeros(6, dtype=int),
        chance=np.full(6, np.nan),
        x=np.asarray(ours.x),
        groups={},
        answered=np.bincount(lm)[:, None],
    )
    theirs = encoding.design(people, lm, item, score=np.full(len(lm), 0.5))
    for field in fields(ours):
        if field.name not in ("log_score", "log_rest", "knots"):
            here, there = getattr(ours, field.name), getattr(theirs, field.name)
            np.testing.assert_array_equal(np.asarray(here), np.asarray(there), err_msg=field.name)


def test_reports_leave_expected_scores_alone() -> None:
    truth = simulated(8, 5, seed=6).truth
    told = reported(truth)
    assert abs(told["ability"].mean()) < 1e-12
    assert told["ability"].std() == pytest.approx(1.0)
    logit = np.exp(truth["log_discrimination"]) * truth["ability"][:, None] - truth["threshold"]
    again = np.exp(told["log discrimination"]) * (told["ability"][:, None] - told["difficulty"])
    np.testing.assert_allclose(again, logit, rtol=1e-10)
