r"""From the logit of the expected response to the distribution of the response, one function each.

A likelihood draws what items need beside their curve, such as precisions, and returns the `Law` of a response. Its
keywords are its priors. Those of counts are discrete and are held against successes of trials; a binary
response is one success of one trial.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpyro.distributions as dist
from jaxtyping import Array, Float
from numpyro import deterministic, plate, sample
from numpyro.distributions import Distribution

from irsl_models import affine
from irsl_models.design import Design
from irsl_models.distributions import LogitBeta, LogitBetaBinomial, OrderedBeta
from irsl_models.law import Law
from irsl_models.pooling import pooled, pooled_level

__all__ = ["bernoulli", "beta", "beta_binomial", "binomial", "ordered_beta"]

# Added to the square of an overdispersion, for 0 has no reciprocal: a million trials scatter by half a percent more.
_LEAST_VARIANCE = 1e-8


def bernoulli(design: Design) -> Law:
    r"""Right or wrong: :math:`y \sim \mathrm{Bernoulli}(\mu)`."""
    return Law(dist.BernoulliLogits, affine=affine.BERNOULLI)


def binomial(design: Design) -> Law:
    r"""Successes of n independent trials: :math:`s \sim \mathrm{Binomial}(n, \mu)`.

    Leaves no room for what makes an LM better at one item than curve and ability say; with many trials that
    room is needed, and `beta_binomial` has it.
    """
    return Law(_binomial, data=("trials",), affine=affine.BINOMIAL)


def beta_binomial(
    design: Design,
    *,
    log_precision_mean: Distribution = dist.Normal(4.0, 2.0),
    log_precision_between: Distribution = dist.HalfNormal(0.7),
) -> Law:
    r"""Successes of n trials whose rate scatters around the curve: :math:`p \sim \mathrm{Beta}(\mu\phi, (1-\mu)\phi)`.

    What is pooled is the overdispersion :math:`\omega = \phi^{-1/2}`: normal around 0 within a benchmark, its
    standard deviation :math:`e^{-\ell/2}` partially pooled over benchmarks by its level :math:`\ell`. It enters by
    its square, so that its sign means nothing, and passes smoothly through the point where counts scatter no more
    than a binomial. With a log precision in its place a few such items would wander over a plateau without end, and
    take the population with them. Such a prior penalises leaving the simpler model (Simpson et al. 2017).

    Parameters
    ----------
    design : Design
        The table.
    log_precision_mean, log_precision_between : Distribution
        Mean over benchmarks of :math:`\log\phi` at one standard deviation of overdispersion, and its standard
        deviation between them. :math:`\phi = 100` scatters a rate of one half by 0.05.
    """
    level = pooled_level("log_precision", design, log_precision_mean, log_precision_between)
    with plate("item", design.n_items):
        overdispersion: Array = sample("overdispersion", dist.Normal(0.0, jnp.exp(-level / 2.0)))
    precision = 1.0 / (_LEAST_VARIANCE + jnp.square(overdispersion))
    return Law(LogitBetaBinomial, _reported(precision), ("trials", "log_choose"))


def beta(
    design: Design,
    *,
    log_precision_mean: Distribution = dist.Normal(3.0, 1.5),
    log_precision_between: Distribution = dist.HalfNormal(0.7),
    log_precision_within: Distribution = dist.HalfNormal(0.7),
) -> Law:
    r"""Scores strictly between 0 and 1: :math:`y \sim \mathrm{Beta}(\mu\phi, (1-\mu)\phi)`.

    Parameters
    ----------
    design : Design
        The table.
    log_precision_mean, log_precision_between, log_precision_within : Distribution
        Mean of :math:`\log\phi` over items, and its standard deviations between and within benchmarks.
        :math:`\phi = 20` scatters a score of one half by 0.11.
    """
    log_precision = pooled("log_precision", design, log_precision_mean, log_precision_between, log_precision_within)
    return Law(LogitBeta, _reported(jnp.exp(log_precision)), ("log_score", "log_rest"), affine.BETA)


def ordered_beta(
    design: Design,
    *,
    log_precision_mean: Distribution = dist.Normal(3.0, 1.5),
    log_precision_between: Distribution = dist.HalfNormal(0.7),
    log_precision_within: Distribution = dist.HalfNormal(0.7),
    log_low_cut_mean: Distribution = dist.Normal(1.4, 0.4),
    log_low_cut_scale: Distribution = dist.HalfNormal(0.3),
    log_high_cut_mean: Distribution = dist.Normal(1.4, 0.4),
    log_high_cut_scale: Distribution = dist.HalfNormal(0.3),
) -> Law:
    r"""Scores in [0, 1] with exact zeros and ones, whose share follows the curve.

    The cutpoints lie at :math:`-e^{\lambda}` and :math:`+e^{\upsilon}` logits, :math:`\lambda` and
    :math:`\upsilon` partially pooled over benchmarks; a boundary that was never observed keeps nearly its prior.

    Parameters
    ----------
    design : Design
        The table.
    log_precision_mean, log_precision_between, log_precision_within : Distribution
        As in `beta`.
    log_low_cut_mean, log_low_cut_scale : Distribution
        Mean and standard deviation over benchmarks of :math:`\lambda`: at 1.4, half of the LMs whose curve is
        at :math:`\mathrm{logistic}(-4)` score exactly 0.
    log_high_cut_mean, log_high_cut_scale : Distribution
        The same for exact ones.
    """
    log_precision = pooled("log_precision", design, log_precision_mean, log_precision_between, log_precision_within)
    low = -jnp.exp(_by_benchmark("log_low_cut", design, log_low_cut_mean, log_low_cut_scale))
    high = jnp.exp(_by_benchmark("log_high_cut", design, log_high_cut_mean, log_high_cut_scale))
    cuts = {"low": low[design.benchmark], "high": high[design.benchmark]}
    return Law(OrderedBeta, _reported(jnp.exp(log_precision)) | cuts, ("log_score", "log_rest"), affine.ORDERED_BETA)


def _reported(precision: Array) -> dict[str, Array]:
    """Precisions of items as the parameter of a law, and as a quantity that fits report."""
    return {"precision": deterministic("precision", precision)}


def _binomial(logit: Array, trials: Array) -> Distribution:
    return dist.BinomialLogits(logit, trials)


def _by_benchmark(name: str, design: Design, mean: Distribution, scale: Distribution) -> Float[Array, " benchmark"]:
    """Draw one value per benchmark around a common mean."""
    centre, spread = sample(f"{name}_mean", mean), sample(f"{name}_scale", scale)
    with plate("benchmark", design.n_benchmarks):
        drawn: Array = sample(name, dist.Normal(centre, spread))
    return drawn
