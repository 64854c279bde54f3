"""Centring changes coordinates and no posterior."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.infer.util import log_density

from bayes_irsl.engines.centring import SUFFIX, PartlyCentred, hierarchical, share_of_data

SHARE = np.array([0.0, 0.4, 1.0])


def levels() -> None:
    with numpyro.plate("level", 3):
        numpyro.sample("v", dist.Normal(2.0, 0.5))


def balanced() -> None:
    numpyro.sample("v", dist.ZeroSumNormal(0.5, event_shape=(3,)))


def test_levels_that_are_not_normal_are_left_alone() -> None:
    """The base of a log-normal is a normal, but its values are not."""

    def model() -> None:
        with numpyro.plate("level", 3):
            numpyro.sample("a", dist.LogNormal(0.0, 1.0))
            numpyro.sample("b", dist.TruncatedNormal(0.0, 1.0, low=0.0))
            numpyro.sample("c", dist.HalfNormal(1.0))
            numpyro.sample("d", dist.Normal(0.0, 1.0).mask(True))

    assert hierarchical(handlers.trace(handlers.seed(model, 0)).get_trace()) == ["d"]


def both_forms(model: Callable[[], None], share: np.ndarray) -> tuple[PartlyCentred, Any]:
    form = PartlyCentred(share)
    return form, handlers.reparam(model, {"v": form})


@pytest.mark.parametrize("model", [levels, balanced])
def test_hierarchical_sites_are_found(model: Callable[[], None]) -> None:
    trace = handlers.trace(handlers.seed(model, 0)).get_trace()
    assert hierarchical(trace) == ["v"]


def test_the_density_of_levels_is_the_same_but_for_the_change_of_scale() -> None:
    form, changed = both_forms(levels, SHARE)
    with jax.enable_x64(True):
        values = jnp.asarray([1.0, 2.5, 3.0])
        z = form.convert(dist.Normal(2.0, 0.5), values)
        ours = log_density(changed, (), {}, {"v" + SUFFIX: z})[0]
        plain = log_density(levels, (), {}, {"v": values})[0]
        trace = handlers.trace(handlers.substitute(handlers.seed(changed, 0), {"v" + SUFFIX: z})).get_trace()
    assert float(ours - plain) == pytest.approx(float(((1.0 - SHARE) * np.log(0.5)).sum()), abs=1e-12)
    np.testing.assert_allclose(trace["v"]["value"], values, rtol=1e-14)


@pytest.mark.parametrize("share", [np.zeros(3), SHARE, np.ones(3)])
def test_levels_that_sum_to_zero_keep_their_distribution(share: np.ndarray) -> None:
    _, changed = both_forms(balanced, share)
    drawn: Any = jax.vmap(lambda key: handlers.trace(handlers.seed(changed, key)).get_trace()["v"]["value"])
    values = np.asarray(drawn(jax.random.split(jax.random.key(0), 20_000)))
    np.testing.assert_allclose(values.sum(1), 0.0, atol=1e-6)
    expected = 0.25 * (np.eye(3) - 1.0 / 3.0)
    # An entry of a covariance of 20,000 draws has a standard error below 0.0017; nine of them at five.
    np.testing.assert_allclose(np.cov(values.T), expected, atol=0.0085)


def test_levels_that_sum_to_zero_come_back() -> None:
    form, changed = both_forms(balanced, SHARE)
    with jax.enable_x64(True):
        values = jnp.asarray([-1.0, 0.25, 0.75])
        z = form.convert(dist.ZeroSumNormal(0.5, event_shape=(3,)), values)
        trace = handlers.trace(handlers.substitute(handlers.seed(changed, 0), {"v" + SUFFIX: z})).get_trace()
    np.testing.assert_allclose(trace["v"]["value"], values, rtol=1e-14)


def test_a_level_is_as_centred_as_the_data_know_it() -> None:
    share = share_of_data(np.array([-1.0, 0.5, 1.0, 0.0]), np.array([0.05, 0.3, 0.05, 1.0]))
    assert share[0] > 0.95
    assert 0.2 < share[1] < share[0]
    assert share[3] == 0.0


@pytest.mark.parametrize("count", [2, 9, 1000])
def test_levels_that_may_be_one_are_not_centred(count: int) -> None:
    """Estimates no farther apart than their noise leave the scale anything from zero up."""
    noise = np.random.default_rng(0).normal(size=count)
    deviation = np.full(count, 0.1)
    assert share_of_data(0.1 * noise / np.sqrt(np.mean(noise**2)), deviation).max() < 0.2
