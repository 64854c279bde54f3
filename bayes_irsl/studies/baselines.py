"""What people do without a joint model: one forecast per benchmark, with an interval."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

Baseline = Callable[[np.ndarray, np.ndarray, np.ndarray, np.random.Generator], np.ndarray]
"""Scores and dates of the training data, dates of the forecasts, a generator -> draws (draw, forecast).

Dates are years after the end of the training data, negative before it.
"""

N_DRAWS = 2000
# Scores are kept this far from 0 and 1 before a logit is taken.
EDGE = 0.002


def recent_mean(score: np.ndarray, years: np.ndarray, target: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw from a normal with mean and spread of the scores of the last year of training data.

    Examples
    --------
    >>> draws = recent_mean(np.array([0.4, 0.6]), np.array([-0.5, 0.0]), np.array([1.0]), np.random.default_rng(0))
    >>> round(float(draws.mean()), 1)
    0.5
    """
    recent = score[years > -1.0]
    recent = recent if len(recent) > 1 else score
    drawn = rng.normal(recent.mean(), recent.std(ddof=1), (N_DRAWS, len(target)))
    return np.clip(drawn, 0.0, 1.0)


def logit_line(score: np.ndarray, years: np.ndarray, target: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw around a least-squares line of logit score in time, residuals and coefficients uncertain.

    The interval is the exact predictive one of normal linear regression: a Student t.

    Examples
    --------
    >>> years = np.array([0.0, 1.0, 2.0, 3.0])
    >>> score = 1.0 / (1.0 + np.exp(-(years - 1.5) + np.array([0.01, -0.01, 0.01, -0.01])))
    >>> draws = logit_line(score, years, np.array([4.0]), np.random.default_rng(0))
    >>> round(float(np.median(draws)), 2)  # logistic(2.5)
    0.92
    """
    inside = np.clip(score, EDGE, 1.0 - EDGE)
    logit = np.log(inside) - np.log1p(-inside)
    centre = years.mean()
    known = np.column_stack([np.ones(len(years)), years - centre])
    asked = np.column_stack([np.ones(len(target)), target - centre])
    coefficients, _, rank, _ = np.linalg.lstsq(known, logit, rcond=None)
    freedom = len(score) - int(rank)
    residual = logit - known @ coefficients
    variance = residual @ residual / freedom
    leverage = np.einsum("ij,jk,ik->i", asked, np.linalg.pinv(known.T @ known), asked)
    noise = rng.standard_t(freedom, (N_DRAWS, len(target)))
    return np.asarray(expit(asked @ coefficients + np.sqrt(variance * (1.0 + leverage)) * noise))


BASELINES: dict[str, Baseline] = {"recent mean": recent_mean, "logit line": logit_line}
