"""Gamma functions against SciPy, in both precisions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from irsl_models.special import digamma, log_gamma

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
    np.testing.assert_allclose(slope, scipy.special.digamma(POINTS), rtol=2e-14, atol=2e-14)
    np.testing.assert_allclose(bend, scipy.special.polygamma(1, POINTS), rtol=1e-11)


@pytest.mark.parametrize("x64", [True, False])
def test_the_smallest_arguments_stay_finite(x64: bool) -> None:
    with jax.enable_x64(x64):
        kind = jnp.zeros(()).dtype
        tiny = jnp.asarray(np.finfo(kind).tiny * 1e6, kind)
        assert np.isfinite(log_gamma(tiny))
        assert np.isfinite(digamma(tiny))
