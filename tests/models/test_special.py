"""Gamma functions against SciPy, in both precisions."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from irsl_models.special import digamma, digamma_rise, log, log_gamma, log_gamma_excess, log_rising, log_sigmoid, shift

POINTS = np.unique(np.concatenate([np.geomspace(1e-30, 1e8, 400), np.linspace(0.01, 20.0, 400), [1.0, 2.0, 8.0]]))


@pytest.mark.parametrize(("ours", "theirs"), [(log_gamma, scipy.special.gammaln), (digamma, scipy.special.digamma)])
def test_double_precision(ours, theirs) -> None:  # type: ignore[no-untyped-def]
    with jax.enable_x64(True):
        error = np.abs(np.asarray(ours(jnp.asarray(POINTS))) - theirs(POINTS))
    assert (error / np.maximum(1.0, np.abs(theirs(POINTS)))).max() < 2e-14


@pytest.mark.parametrize(("ours", "theirs"), [(log_gamma, scipy.special.gammaln), (digamma, scipy.special.digamma)])
def test_single_precision(ours, theirs) -> None:  # type: ignore[no-untyped-def]
    points = POINTS.astype(np.float32)
    exact = theirs(points.astype(np.float64))
    found = np.asarray(ours(jnp.asarray(points)), dtype=np.float64)
    assert (np.abs(found - exact) / np.maximum(1.0, np.abs(exact))).max() < 4e-6


def test_derivatives_are_the_next_function() -> None:
    with jax.enable_x64(True):
        points = jnp.asarray(POINTS)
        slope = jax.vmap(jax.grad(log_gamma))(points)
        bend = jax.vmap(jax.grad(digamma))(points)
        rise = jax.vmap(jax.grad(log_rising), (0, None))(points, 7.0)
        bent = jax.vmap(jax.grad(digamma_rise), (0, None))(points, 7.0)
    np.testing.assert_allclose(slope, scipy.special.digamma(POINTS), rtol=2e-14, atol=2e-14)
    np.testing.assert_allclose(bend, scipy.special.polygamma(1, POINTS), rtol=1e-11)
    steps = POINTS[:, None] + np.arange(7)
    np.testing.assert_allclose(rise, (1 / steps).sum(1), rtol=1e-12)
    few = POINTS < 1e4  # a difference of two trigammas, which serves coordinates and not densities
    np.testing.assert_allclose(bent[few], -(1 / steps[few] ** 2).sum(1), rtol=1e-10)


COUNTS = (0, 1, 3, 40, 1000, 300_000)


def exact_rise(term: Callable[[np.ndarray], np.ndarray], x: float, n: int) -> float:
    return float(term(np.longdouble(x) + np.arange(n)).sum())


@pytest.mark.parametrize(
    ("ours", "term"), [(log_rising, np.log), (digamma_rise, np.reciprocal)], ids=["log_rising", "digamma_rise"]
)
@pytest.mark.parametrize(("kind", "tolerance"), [(np.float64, 2e-14), (np.float32, 2e-6)])
def test_rising_factorials_against_their_sums(ours, term, kind, tolerance) -> None:  # type: ignore[no-untyped-def]
    """Up to shapes of 1e20, where a difference of two log gammas would be off by thousands."""
    points = np.concatenate([np.geomspace(1e-30, 1e20, 60), np.linspace(0.5, 9.0, 18)]).astype(kind)
    with jax.enable_x64(kind is np.float64):
        for n in COUNTS:
            found = np.asarray(ours(jnp.asarray(points), jnp.asarray(n, kind)), dtype=np.float64)
            exact = np.array([exact_rise(term, float(x), n) for x in points])
            size = max(n, 1) * np.maximum(1.0, np.abs(np.log(points.astype(np.float64))))
            scale = size if ours is log_rising else np.maximum(np.abs(exact), 1e-30)
            assert (np.abs(found - exact) / scale).max() < tolerance * (1 if ours is log_rising else 10), n


@pytest.mark.parametrize("x64", [True, False])
def test_the_smallest_arguments_stay_finite(x64: bool) -> None:
    with jax.enable_x64(x64):
        kind = jnp.zeros(()).dtype
        tiny = jnp.asarray(np.finfo(kind).tiny * 1e6, kind)
        assert np.isfinite(log_gamma(tiny))
        assert np.isfinite(digamma(tiny))


def test_log() -> None:
    """To the last two digits of it, and near 1 of the distance to 1, over all normal numbers."""
    edges = np.finfo(np.float64)
    near = 1.0 + np.concatenate([-np.geomspace(1e-16, 0.5, 200), np.geomspace(1e-15, 1.0, 200)])
    points = np.concatenate([np.geomspace(edges.tiny, edges.max / 2.0, 2001), near, [1.0, np.sqrt(0.5), np.sqrt(2.0)]])
    with jax.enable_x64(True):
        found = np.asarray(log(jnp.asarray(points)))
        slope = np.asarray(jax.vmap(jax.grad(log))(jnp.asarray(near)))
    np.testing.assert_allclose(found, np.log(points), rtol=3e-16)
    np.testing.assert_allclose(slope, 1.0 / near, rtol=1e-15)


def test_log_of_the_logistic() -> None:
    points = np.concatenate([-np.geomspace(1e-20, 700.0, 300), [0.0], np.geomspace(1e-20, 700.0, 300)])
    with jax.enable_x64(True):
        found = np.asarray(log_sigmoid(jnp.asarray(points)))
        slope = np.asarray(jax.vmap(jax.grad(log_sigmoid))(jnp.asarray(points)))
    np.testing.assert_allclose(found, scipy.special.log_expit(points), rtol=4e-16)
    np.testing.assert_allclose(slope, scipy.special.expit(-points), rtol=1e-15)


@pytest.mark.parametrize(("kind", "tolerance"), [(np.float64, 1e-14), (np.float32, 4e-6)])
def test_what_the_precision_adds_to_a_beta_density(kind, tolerance) -> None:  # type: ignore[no-untyped-def]
    points = np.geomspace(1e-3, 1e12, 200).astype(kind)
    with jax.enable_x64(kind is np.float64):
        value, slope = (np.asarray(found, dtype=np.longdouble) for found in log_gamma_excess(jnp.asarray(points)))
        rest = 2.0 * (shift(points.dtype) - 0.5 * np.log(2.0 * np.pi))
    x = points.astype(np.longdouble)
    # Stirling's series from x + 40 on: in 64-bit numbers the terms that cancel would leave nothing.
    z, below = x + 40, x[:, None] + np.arange(40)
    log_gamma_x = (
        (z - 0.5) * np.log(z) - z + 0.5 * np.log(2 * np.pi) + 1 / (12 * z) - 1 / (360 * z**3) + 1 / (1260 * z**5)
    )
    exact = log_gamma_x - np.log(below).sum(1) - (x - 1) * np.log(x) + x + rest
    bend = np.log1p(40 / x) - 0.5 / z - 1 / (12 * z**2) + 1 / (120 * z**4) - 1 / (252 * z**6) - (1 / below).sum(1)
    few = x < 1e4  # beyond, the comparison itself loses its digits
    assert (np.abs(value - exact) / np.maximum(1.0, np.abs(exact)))[few].max() < tolerance
    assert (np.abs(slope - bend) / np.abs(bend))[few].max() < 40 * tolerance
    np.testing.assert_allclose(
        value[~few].astype(float), (0.5 * np.log(x) + rest + 0.5 * np.log(2 * np.pi))[~few].astype(float), rtol=2e-5
    )
