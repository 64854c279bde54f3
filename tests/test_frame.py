"""Items in the frame of the abilities: other coordinates, the same posterior."""

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.infer.util import log_density

from bayes_irsl.engines.centring import SUFFIX, PartlyCentred, free
from bayes_irsl.engines.frame import Frame
from irsl_models import Dim

LMS, ITEMS = 5, 3
PLAIN = {
    "ability": np.array([-1.0, 0.2, 0.4, 1.0, 2.5]),
    "log_discrimination_mean": np.array(0.3),
    "log_discrimination": np.array([0.1, 0.4, 0.9]),
    "threshold_mean": np.array(-0.2),
    "threshold": np.array([-1.0, 0.0, 0.6]),
}
SHARES = {"log_discrimination": np.array([1.0, 0.6, 0.0]), "threshold": np.array([1.0, 1.0, 0.3])}
SCALE = 0.7


DESIGN: Any = SimpleNamespace(lms=Dim(LMS), n_items=ITEMS, n_eligible=0)
TALL: Any = SimpleNamespace(lms=Dim(3 * ITEMS), n_items=ITEMS, n_eligible=0)


def model(design: Any, prior: Any = dist.Normal(0.0, 1.0)) -> None:
    with numpyro.plate("lm", LMS):
        numpyro.sample("ability", dist.Normal(0.0, 1.0))
    for name in ("log_discrimination", "threshold"):
        mean = numpyro.sample(f"{name}_mean", prior)
        with numpyro.plate("item", ITEMS):
            numpyro.sample(name, dist.Normal(mean, SCALE))


def framed(plain: dict[str, Any], shares: dict[str, Any]) -> dict[str, Any]:
    """Values that are sampled, for some of the model as written."""
    frame = Frame(DESIGN)
    with frame, handlers.seed(rng_seed=0), handlers.substitute(data=plain), handlers.trace() as trace:
        model(DESIGN)
    found = {"ability": plain["ability"]}
    for name in ("log_discrimination", "threshold"):
        mean = f"{name}_mean"
        found[mean + SUFFIX] = plain[mean] + frame.shift(mean)
        form = PartlyCentred(shares[name], frame.shift(name))
        found[name + SUFFIX] = form.convert(trace[name]["fn"], plain[name])
    return found


def test_the_density_is_the_same_but_for_the_change_of_scale() -> None:
    with jax.enable_x64(True):
        ours, trace = log_density(free(model, SHARES), (DESIGN,), {}, framed(PLAIN, SHARES))
        plain = log_density(model, (DESIGN,), {}, PLAIN)[0]
    change = sum((1.0 - share).sum() for share in SHARES.values()) * np.log(SCALE)
    assert float(ours - plain) == pytest.approx(change, abs=1e-10)
    for name, value in PLAIN.items():
        np.testing.assert_allclose(trace[name]["value"], value, rtol=0, atol=1e-12)


def test_items_stay_where_they_are_while_abilities_are_moved_and_stretched() -> None:
    """With their discriminations and thresholds along, so that no expected score changes."""
    stretch, move = 1.7, 0.4
    slope, mean = np.exp(PLAIN["log_discrimination"]), np.exp(PLAIN["log_discrimination_mean"])
    moved = {
        "ability": stretch * PLAIN["ability"] + move,
        "log_discrimination_mean": PLAIN["log_discrimination_mean"] - np.log(stretch),
        "log_discrimination": PLAIN["log_discrimination"] - np.log(stretch),
        "threshold_mean": PLAIN["threshold_mean"] + mean * move / stretch,
        "threshold": PLAIN["threshold"] + slope * move / stretch,
    }
    shares = {name: np.ones(ITEMS) for name in SHARES}
    with jax.enable_x64(True):
        before, after = (framed(jax.tree.map(jnp.asarray, values), shares) for values in (PLAIN, moved))
    for name in before:
        if name != "ability":
            np.testing.assert_allclose(after[name], before[name], rtol=0, atol=1e-9, err_msg=name)


def test_a_mean_with_bounds_is_left_alone() -> None:
    def bounded(design: Any) -> None:
        model(design, dist.Uniform(-1.0, 1.0))

    with handlers.seed(rng_seed=0), handlers.trace() as trace:
        free(bounded, {})(DESIGN)
    assert trace["threshold_mean"]["type"] == "sample"
    assert "threshold_mean" + SUFFIX not in trace


def test_many_lms_need_no_frame() -> None:
    with handlers.seed(rng_seed=0), handlers.trace() as trace:
        free(model, {})(TALL)
    assert set(trace) == {*PLAIN, "lm", "item"}
