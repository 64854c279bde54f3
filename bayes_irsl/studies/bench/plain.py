"""The model of the package on a table of one benchmark, written down in plain NumPyro.

This is what somebody writes who knows the model and NumPyro, and not this package: the same priors, centred, as suits
many responses of every LM and item. The Beta density takes logs that were taken before, because simulated scores may be
rounded to 1 in the table, and because NumPyro's own Beta would take them at every step.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax.nn import sigmoid
from jax.scipy.special import betaln
from jaxtyping import Array
from numpyro.distributions import Distribution

from irsl_models import Design


class Priors(NamedTuple):
    """Priors of abilities and of item parameters, given what they are pooled by."""

    ability: Distribution
    log_discrimination: Distribution
    threshold: Distribution
    log_precision: Distribution


def centred(design: Design) -> None:
    """Beta scores, two parameters an item, ability linear in x: every parameter is sampled as it is.

    Where all abilities and all items lie is known much worse than how they lie to one another, and a sampler that
    looks at parameters one by one goes there slowly.
    """
    priors = _priors(design)
    with numpyro.plate("lm", design.lms.known):
        ability = numpyro.sample("ability", priors.ability)
    with numpyro.plate("item", design.n_items):
        log_discrimination = numpyro.sample("log_discrimination", priors.log_discrimination)
        threshold = numpyro.sample("threshold", priors.threshold)
        log_precision = numpyro.sample("log_precision", priors.log_precision)
    _score(design, jnp.exp(log_discrimination) * ability[:, None] - threshold, log_precision)


def standardised(design: Design) -> None:
    """The same posterior, items sampled as they are where abilities have mean 0 and standard deviation 1.

    The responses then say nothing of where all abilities lie, nor how far apart, and the prior alone does. Each item is
    shifted by what depends on abilities only, so that volumes stay what they are.
    """
    priors = _priors(design)
    n_lms, n_items = design.lms.known, design.n_items
    # Shapes only: the masked densities are none.
    centre = numpyro.sample("centre", dist.Normal(0.0, 1.0).mask(False))
    contrast = numpyro.sample("contrast", dist.ZeroSumNormal(jnp.asarray(1.0), event_shape=(n_lms,)).mask(False))
    with numpyro.plate("item", n_items):
        log_slope = numpyro.sample("log_slope", dist.Normal(0.0, 1.0).mask(False))
        level = numpyro.sample("level", dist.Normal(0.0, 1.0).mask(False))
        log_precision = numpyro.sample("log_precision", priors.log_precision)
    spread = jnp.std(contrast)
    ability = numpyro.deterministic("ability", centre + contrast)
    log_discrimination = numpyro.deterministic("log_discrimination", log_slope - jnp.log(spread))
    threshold = numpyro.deterministic("threshold", level + jnp.exp(log_discrimination) * centre)
    numpyro.factor("ability_prior", priors.ability.log_prob(ability).sum())
    numpyro.factor("log_discrimination_prior", priors.log_discrimination.log_prob(log_discrimination).sum())
    numpyro.factor("threshold_prior", priors.threshold.log_prob(threshold).sum())
    _score(design, jnp.exp(log_slope) * (contrast / spread)[:, None] - level, log_precision)


def _priors(design: Design) -> Priors:
    ratio = numpyro.sample("scatter_ratio", dist.LogNormal(-0.7, 1.0))
    slope = 1.0 / jnp.sqrt(1.0 + ratio**2)
    return Priors(
        ability=dist.Normal(slope * design.x, ratio * slope),
        log_discrimination=_pooled("log_discrimination", dist.Normal(0.0, 0.7), dist.HalfNormal(0.5)),
        threshold=_pooled("threshold", dist.Normal(0.0, 1.5), dist.HalfNormal(1.5)),
        log_precision=_pooled("log_precision", dist.Normal(3.0, 1.5), dist.HalfNormal(0.7)),
    )


def _pooled(name: str, mean: Distribution, within: Distribution) -> Distribution:
    return dist.Normal(numpyro.sample(f"{name}_mean", mean), numpyro.sample(f"{name}_within", within))


def _score(design: Design, logit: Array, log_precision: Array) -> None:
    right, wrong = (jnp.exp(log_precision) * sigmoid(sign * logit) for sign in (1.0, -1.0))
    log_score, log_rest = (jnp.asarray(logs).reshape(logit.shape) for logs in (design.log_score, design.log_rest))
    numpyro.factor("score", ((right - 1.0) * log_score + (wrong - 1.0) * log_rest - betaln(right, wrong)).sum())
