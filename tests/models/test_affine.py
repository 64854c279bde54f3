"""Laws as sums of products, against the laws themselves."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.special

from irsl_models import affine
from irsl_models.distributions import LogitBeta, OrderedBeta
from irsl_models.law import Affine
from irsl_models.special import trigamma

LAWS: dict[str, tuple[Affine, Any, dict[str, float]]] = {
    "bernoulli": (affine.BERNOULLI, dist.BernoulliLogits, {}),
    "beta": (affine.BETA, LogitBeta, {"precision": 6.0}),
    "ordered beta": (affine.ORDERED_BETA, OrderedBeta, {"precision": 6.0, "low": -1.5, "high": 2.0}),
}


def logs(value: jax.Array) -> dict[str, jax.Array]:
    inside = jnp.where((value <= 0.0) | (value >= 1.0), 0.5, value)
    return {"value": value, "log_score": jnp.log(inside), "log_rest": jnp.log1p(-inside)}


@pytest.mark.parametrize("name", LAWS)
def test_a_sum_of_products_is_the_log_density_but_for_what_responses_decide(name: str) -> None:
    law, distribution, parameters = LAWS[name]
    with jax.enable_x64(True):
        logit = jnp.linspace(-8.0, 8.0, 60)
        of_law = {name: jnp.full(60, value) for name, value in parameters.items()}
        value = distribution(logit / 4.0, **of_law).sample(jax.random.key(1)).astype(float)

        def total(logit: jax.Array) -> jax.Array:
            columns = law.columns(**{name: logs(value)[name] for name in law.data})
            first, *others = law.weights(logit, **of_law)
            return first + sum(d * g for d, g in zip(columns, others, strict=True))

        # The same response at another logit: what it decides alone drops out.
        ours = total(logit) - total(jnp.zeros(60))
        plain = distribution(logit, **of_law).log_prob(value) - distribution(jnp.zeros(60), **of_law).log_prob(value)
    np.testing.assert_allclose(ours, plain, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", LAWS)
def test_the_information_is_the_variance_of_the_score(name: str) -> None:
    law, distribution, parameters = LAWS[name]
    count = 200_000
    with jax.enable_x64(True):
        at = {"logit": jnp.full(count, 0.7)} | {name: jnp.full(count, value) for name, value in parameters.items()}
        value = distribution(**_renamed(name, at)).sample(jax.random.key(2)).astype(float)

        def density(at: dict[str, jax.Array]) -> jax.Array:
            return jnp.asarray(distribution(**_renamed(name, at)).log_prob(value).sum())

        scores = {name: np.asarray(slope) for name, slope in jax.grad(density)(at).items()}
        of_law = {name: jnp.asarray(value) for name, value in parameters.items()}
        told = law.information(jnp.asarray(0.7), **of_law)
    for one, mine in scores.items():
        for other, yours in scores.items():
            product = mine * yours
            expected = float(told.get((one, other), told.get((other, one), jnp.zeros(()))))
            # Five standard errors of a mean: one false alarm in a million.
            assert abs(product.mean() - expected) < 5.0 * product.std() / count**0.5 + 1e-12, (one, other)


def _renamed(name: str, at: dict[str, jax.Array]) -> dict[str, jax.Array]:
    return {"logits": at["logit"]} if name == "bernoulli" else at


def test_the_trigamma_function_is_that_of_scipy() -> None:
    points = np.geomspace(1e-6, 1e6, 200)
    with jax.enable_x64(True):
        np.testing.assert_allclose(trigamma(jnp.asarray(points)), scipy.special.polygamma(1, points), rtol=1e-13)
    single = trigamma(jnp.asarray(points, dtype=jnp.float32))
    np.testing.assert_allclose(single, scipy.special.polygamma(1, points), rtol=1e-6)
