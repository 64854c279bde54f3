"""The model of the package on a table of one benchmark, written down in plain NumPyro.

This is what somebody writes who knows the model and NumPyro, and not this package: the same priors, identified in the
same way, centred, as suits many responses of every LM and item. The Beta density takes logs that were taken before,
because simulated scores may be rounded to 1 in the table, and because NumPyro's own Beta would take them at every step.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax.nn import sigmoid
from jax.scipy.special import betaln

from irsl_models import Design


def beta_linear(design: Design) -> None:
    """Beta scores, two parameters an item, ability linear in x."""
    ratio = numpyro.sample("scatter_ratio", dist.LogNormal(-0.7, 1.0))
    slope = 1.0 / jnp.sqrt(1.0 + ratio**2)
    with numpyro.plate("lm", design.lms.known):
        ability = numpyro.sample("ability", dist.Normal(slope * design.x, ratio * slope))
    log_discrimination_mean = numpyro.sample("log_discrimination_mean", dist.Normal(0.0, 0.7))
    log_discrimination_within = numpyro.sample("log_discrimination_within", dist.HalfNormal(0.5))
    threshold_mean = numpyro.sample("threshold_mean", dist.Normal(0.0, 1.5))
    threshold_within = numpyro.sample("threshold_within", dist.HalfNormal(1.5))
    log_precision_mean = numpyro.sample("log_precision_mean", dist.Normal(3.0, 1.5))
    log_precision_within = numpyro.sample("log_precision_within", dist.HalfNormal(0.7))
    with numpyro.plate("item", design.n_items):
        log_discrimination = numpyro.sample(
            "log_discrimination", dist.Normal(log_discrimination_mean, log_discrimination_within)
        )
        threshold = numpyro.sample("threshold", dist.Normal(threshold_mean, threshold_within))
        log_precision = numpyro.sample("log_precision", dist.Normal(log_precision_mean, log_precision_within))
    logit = jnp.exp(log_discrimination) * ability[:, None] - threshold
    right, wrong = (jnp.exp(log_precision) * sigmoid(sign * logit) for sign in (1.0, -1.0))
    log_score, log_rest = (jnp.asarray(logs).reshape(logit.shape) for logs in (design.log_score, design.log_rest))
    numpyro.factor("score", ((right - 1.0) * log_score + (wrong - 1.0) * log_rest - betaln(right, wrong)).sum())
