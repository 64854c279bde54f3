"""Distributions of a response against SciPy, quadrature and closed forms."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from numpyro.distributions import Distribution
from scipy.special import expit

from irsl_models.distributions import LogitBeta, LogitBetaBinomial, OrderedBeta, draw_log_gamma

LOGITS = [-30.0, -8.0, -1.0, 0.0, 0.3, 4.0, 30.0]
PRECISIONS = [0.1, 1.0, 7.0, 300.0, 1e4]
VALUES = [1e-300, 1e-12, 0.02, 0.4, 0.5, 0.97, 1.0 - 1e-12, 1.0 - 1e-16]
# (logit, precision, low, high) of ordered Betas whose density is bounded enough for quadrature.
ORDERED = [(0.0, 5.0, -4.0, 4.0), (1.5, 12.0, -1.0, 0.5), (-2.0, 60.0, -6.0, 0.01), (0.2, 2.5, 3.0, 3.5)]
# Five standard errors: a correct sampler fails one comparison in 1.7 million; the seeds are fixed besides.
SIGMAS = 5.0
DRAWS = 40_000


def test_beta_density() -> None:
    eta, phi, y = map(np.array, zip(*itertools.product(LOGITS, PRECISIONS, VALUES), strict=True))
    with jax.enable_x64(True):
        ours = LogitBeta(jnp.asarray(eta), jnp.asarray(phi)).log_prob(jnp.asarray(y))
    theirs = scipy.stats.beta.logpdf(y, phi * expit(eta), phi * expit(-eta))
    # Beyond rounding of the gamma functions, which grow as phi log phi, every digit agrees.
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-9)


def test_beta_density_in_single_precision() -> None:
    eta, phi, y = (
        np.array(column, dtype=np.float32)
        for column in zip(*itertools.product([-4.0, 0.0, 2.0], [1.0, 20.0], [0.01, 0.5, 0.9]), strict=True)
    )
    ours = LogitBeta(jnp.asarray(eta), jnp.asarray(phi)).log_prob(jnp.asarray(y))
    assert ours.dtype == jnp.float32
    wide = [np.float64(value) for value in (eta, phi, y)]
    theirs = scipy.stats.beta.logpdf(wide[2], wide[1] * expit(wide[0]), wide[1] * expit(-wide[0]))
    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("trials", [1, 3, 400, 14_000])
def test_beta_binomial_probability(trials: int) -> None:
    successes = np.unique([0, 1, trials // 3, trials - 1, trials])
    eta, phi, s = map(np.array, zip(*itertools.product(LOGITS, PRECISIONS, successes), strict=True))
    with jax.enable_x64(True):
        ours = LogitBetaBinomial(jnp.asarray(eta), jnp.asarray(phi), jnp.asarray(trials)).log_prob(jnp.asarray(s))
    theirs = scipy.stats.betabinom.logpmf(s, trials, phi * expit(eta), phi * expit(-eta))
    np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-8)


@pytest.mark.parametrize(
    ("eta", "phi", "trials"), [(-2.0, 0.1, 40), (0.5, 9.0, 300), (6.0, 1e4, 2_000), (-30.0, 5.0, 7)]
)
def test_beta_binomial_probabilities_sum_to_one(eta: float, phi: float, trials: int) -> None:
    with jax.enable_x64(True):
        counts = jnp.arange(trials + 1)
        total = jnp.exp(
            LogitBetaBinomial(jnp.asarray(eta), jnp.asarray(phi), jnp.asarray(trials)).log_prob(counts)
        ).sum()
    assert abs(float(total) - 1.0) < 1e-10


@pytest.mark.parametrize("parameters", ORDERED)
def test_ordered_beta_is_a_distribution_with_the_mean_it_says(parameters: tuple[float, ...]) -> None:
    # y = logistic(u): the trapezoid rule then converges exponentially.
    u = np.linspace(-36.0, 36.0, 20_001)
    inside = expit(u)
    weight = inside * expit(-u) * (u[1] - u[0])
    with jax.enable_x64(True):
        law = OrderedBeta(*(jnp.asarray(value) for value in parameters))
        density = np.exp(law.log_prob(jnp.asarray(inside)))
        zero, one = (float(jnp.exp(law.log_prob(jnp.asarray(edge)))) for edge in (0.0, 1.0))
        mean = float(law.mean)
    logit, _, low, high = parameters
    assert zero == pytest.approx(expit(low - logit), rel=1e-12)
    assert one == pytest.approx(expit(logit - high), rel=1e-12)
    assert zero + one + (density * weight).sum() == pytest.approx(1.0, abs=1e-7)
    assert one + (density * inside * weight).sum() == pytest.approx(mean, abs=1e-7)


def test_ordered_beta_inside_is_the_beta() -> None:
    eta, phi, y = map(np.array, zip(*itertools.product(LOGITS, PRECISIONS, VALUES), strict=True))
    low, high = -3.0, 4.0
    with jax.enable_x64(True):
        law = OrderedBeta(jnp.asarray(eta), jnp.asarray(phi), jnp.asarray(low), jnp.asarray(high))
        ours = law.log_prob(jnp.asarray(y))
    share = -np.logaddexp(0.0, low - eta) - np.logaddexp(0.0, eta - high) + np.log(-np.expm1(low - high))
    theirs = share + scipy.stats.beta.logpdf(y, phi * expit(eta), phi * expit(-eta))
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-9)


def draws(law: Distribution, seed: int) -> np.ndarray:
    return np.asarray(law.sample(jax.random.key(seed), (DRAWS,)), dtype=float)


def assert_mean(values: np.ndarray, mean: float, variance: float) -> None:
    assert abs(values.mean() - mean) < SIGMAS * np.sqrt(variance / len(values))


@pytest.mark.parametrize("x64", [True, False])
@pytest.mark.parametrize(("eta", "phi"), [(-3.0, 0.5), (0.4, 8.0), (6.0, 500.0)])
def test_beta_draws(eta: float, phi: float, x64: bool) -> None:
    with jax.enable_x64(x64):
        law = LogitBeta(jnp.asarray(eta), jnp.asarray(phi))
        values = draws(law, 1)
        assert float(law.mean) == pytest.approx(expit(eta), rel=1e-6)
    assert (values > 0).all()
    assert (values < 1).all()
    shapes = (phi * expit(eta), phi * expit(-eta))
    theory = scipy.stats.beta(*shapes)
    assert_mean(values, theory.mean(), theory.var())
    spread = (values - theory.mean()) ** 2
    fourth = theory.stats("k") + 3.0
    assert_mean(spread, theory.var(), theory.var() ** 2 * (fourth - 1.0))


@pytest.mark.parametrize("x64", [True, False])
@pytest.mark.parametrize(
    ("eta", "phi", "trials"), [(-30.0, 2.0, 50), (-3.0, 0.5, 1), (0.4, 8.0, 25), (2.0, 1e4, 14_000)]
)
def test_beta_binomial_draws(eta: float, phi: float, trials: int, x64: bool) -> None:
    with jax.enable_x64(x64):
        law = LogitBetaBinomial(jnp.asarray(eta), jnp.asarray(phi), jnp.asarray(trials))
        values = draws(law, 2)
        assert float(law.mean) == pytest.approx(trials * expit(eta), rel=1e-6)
    assert ((values >= 0) & (values <= trials) & (values == np.round(values))).all()
    rate = expit(eta)
    variance = trials * rate * (1 - rate) * (1 + (trials - 1) / (1 + phi))
    # A variance of 1e-12 rounds to no success in forty thousand draws.
    assert abs(values.mean() - trials * rate) < SIGMAS * np.sqrt(variance / DRAWS) + 1e-9


@pytest.mark.parametrize("parameters", ORDERED)
def test_ordered_beta_draws(parameters: tuple[float, ...]) -> None:
    logit, _, low, high = parameters
    with jax.enable_x64(True):
        law = OrderedBeta(*(jnp.asarray(value) for value in parameters))
        values = draws(law, 3)
        mean = float(law.mean)
    zero, one = expit(low - logit), expit(logit - high)
    assert_mean(values == 0, zero, zero * (1 - zero))
    assert_mean(values == 1, one, one * (1 - one))
    assert_mean(values, mean, float(values.var()))


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_beta_does_not_take_its_boundary(value: float) -> None:
    assert not LogitBeta.support(value)
    assert OrderedBeta.support(value)


@pytest.mark.parametrize("concentration", [0.3, 1.0, 1.7, 30.0, 1e5])
def test_gamma_draws(concentration: float) -> None:
    """Kolmogorov and Smirnov at one in a million, the seed fixed besides."""
    with jax.enable_x64(True):
        drawn = draw_log_gamma(jax.random.key(4), jnp.asarray(concentration), (DRAWS,))
    assert scipy.stats.kstest(np.exp(drawn), scipy.stats.gamma(concentration).cdf).pvalue > 1e-6


def test_gamma_draws_of_what_is_no_concentration_end() -> None:
    for wrong, expected in ((np.nan, np.nan), (-1.0, np.nan), (np.inf, np.inf), (0.0, -np.inf)):
        np.testing.assert_array_equal(draw_log_gamma(jax.random.key(0), jnp.asarray(wrong), (2,)), [expected] * 2)
