"""The bound that variational inference raises."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jaxtyping import Array
from numpyro.infer import Trace_ELBO
from numpyro.infer.autoguide import AutoNormal

from bayes_irsl.engines.svi import InOrder

NAMES = ("level", "slope", "spread", "start", "end")


def model(score: Array) -> None:
    """A model of several sites."""
    total = sum(numpyro.sample(name, dist.LogNormal(0.1 * place, 1.0)) for place, name in enumerate(NAMES))
    numpyro.sample("score", dist.Normal(total, 1.0), obs=score)


def bounds(kind: type) -> tuple[Array, str]:
    """Value of a bound, and the program that computes it."""
    guide, score = AutoNormal(model), jnp.linspace(0.0, 2.0, 4)
    with numpyro.handlers.seed(rng_seed=0), numpyro.handlers.trace() as found:
        guide(score)
    params = {name: site["value"] for name, site in found.items() if site["type"] == "param"}

    def loss(params: dict[str, Array]) -> Array:
        value: Array = kind().loss_with_mutable_state(jax.random.key(3), params, model, guide, score)["loss"]
        return value

    return loss(params), str(jax.make_jaxpr(loss)(params))


def test_the_bound_is_that_of_numpyro() -> None:
    np.testing.assert_allclose(bounds(InOrder)[0], bounds(Trace_ELBO)[0], rtol=1e-5)


def test_the_program_is_the_same_in_every_process() -> None:
    """Whatever the order of sets is: or else no cache of compiled programs would know it."""
    code = "import test_svi; print(test_svi.bounds(test_svi.InOrder)[1])"
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    texts = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": path},
        ).stdout
        for seed in ("1", "2")
    ]
    assert texts[0] == texts[1]
    assert "log" in texts[0]
