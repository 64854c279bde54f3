"""A simulated table and its fit, made once for all tests of what comes after a fit."""

import pytest

import bayes_irsl as bi
from bayes_irsl.simulation import Truth


@pytest.fixture(scope="session")
def truth() -> Truth:
    model = bi.Model(trend=bi.trends.linear, likelihood=bi.likelihoods.beta)
    return bi.simulate(model, n_lms=24, n_items=12, n_benchmarks=3, n_groups=2, seed=4)


@pytest.fixture(scope="session")
def fit(truth: Truth) -> bi.Fit:
    model = bi.Model(trend=bi.trends.linear)
    return bi.fit(model, truth.responses, bi.NUTS(draws=300, warmup=300, chains=2), x="x", group="group", seed=1)
