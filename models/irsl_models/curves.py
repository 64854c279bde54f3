r"""From ability to the expected response: item curves, and the parameters they are made of.

.. math:: \mu = c + (1 - c)\,\mathrm{logistic}(a\,\theta - \kappa), \qquad \kappa = a\,b

Items are drawn as :math:`(\log a, \kappa)`, because an item that is flat over all LMs pins neither a difficulty
nor a slope, but very well the level :math:`-\kappa` at which it is flat. They are reported as difficulty b and
discrimination a. Each parameter is one function of the design whose keywords are its priors. It is partially
pooled: items within their benchmark, benchmarks within the whole; an item that is a benchmark of its own pools
directly to the whole.

A `Curve` says which parameters there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpyro.distributions as dist
from jax.nn import sigmoid
from jaxtyping import Array, Float
from numpyro import plate, sample
from numpyro.distributions import Distribution

from irsl_models.design import Design
from irsl_models.pooling import pooled
from irsl_models.special import log_sigmoid

__all__ = ["CURVES", "one_pl", "three_pl", "two_pl"]

ItemParameter = Callable[..., Float[Array, " item"]]


class Items(NamedTuple):
    r"""Parameters of every item: discrimination a, threshold :math:`\kappa`, lower asymptote c if the curve has one."""

    discrimination: Float[Array, " item"]
    threshold: Float[Array, " item"]
    lower: Float[Array, " item"] | None = None


@dataclass(frozen=True)
class Curve:
    r"""An item curve: the functions that draw its parameters.

    Parameters
    ----------
    discrimination, threshold : callable
        Draw a and :math:`\kappa` of every item from the design.
    lower : callable, optional
        Draws the lower asymptote; 0 without it.
    """

    discrimination: ItemParameter
    threshold: ItemParameter
    lower: ItemParameter | None = None

    @property
    def parts(self) -> dict[str, ItemParameter]:
        """The functions that are there, by the parameter they draw."""
        parts = {"discrimination": self.discrimination, "threshold": self.threshold, "lower": self.lower}
        return {name: part for name, part in parts.items() if part is not None}


def common_discrimination(
    design: Design, *, log_discrimination_mean: Distribution = dist.Normal(0.0, 0.7)
) -> Float[Array, " item"]:
    r"""One discrimination for all items.

    Parameters
    ----------
    design : Design
        The table.
    log_discrimination_mean : Distribution
        :math:`\log a`; a is in logits per unit of ability.
    """
    slope: Array = jnp.exp(sample("log_discrimination_mean", log_discrimination_mean))
    return jnp.broadcast_to(slope, (design.n_items,))


def discrimination(
    design: Design,
    *,
    log_discrimination_mean: Distribution = dist.Normal(0.0, 0.7),
    log_discrimination_between: Distribution = dist.HalfNormal(0.4),
    log_discrimination_within: Distribution = dist.HalfNormal(0.5),
) -> Float[Array, " item"]:
    r"""A discrimination per item.

    Parameters
    ----------
    design : Design
        The table.
    log_discrimination_mean, log_discrimination_between, log_discrimination_within : Distribution
        Mean of :math:`\log a`, and its standard deviations between and within benchmarks. The penalty is on
        :math:`\log a`, never on :math:`a^2`: steep and flat are equally far from the mean.
    """
    return jnp.exp(
        pooled(
            "log_discrimination",
            design,
            log_discrimination_mean,
            log_discrimination_between,
            log_discrimination_within,
        )
    )


def threshold(
    design: Design,
    *,
    threshold_mean: Distribution = dist.Normal(0.0, 1.5),
    threshold_between: Distribution = dist.HalfNormal(1.0),
    threshold_within: Distribution = dist.HalfNormal(1.5),
) -> Float[Array, " item"]:
    r"""A threshold :math:`\kappa = a b` per item, in logits: minus the logit of the score at the centre of x.

    Parameters
    ----------
    design : Design
        The table.
    threshold_mean, threshold_between, threshold_within : Distribution
        Mean of :math:`\kappa`, and its standard deviations between and within benchmarks.
    """
    return pooled("threshold", design, threshold_mean, threshold_between, threshold_within)


def lower(
    design: Design,
    *,
    lower_mean: Distribution = dist.Normal(0.0, 0.2),
    lower_within: Distribution = dist.HalfNormal(0.2),
) -> Float[Array, " item"]:
    r"""A lower asymptote for items with a chance level; 0 where chance is 0 or unknown.

    Parameters
    ----------
    design : Design
        The table.
    lower_mean, lower_within : Distribution
        Mean and standard deviation of :math:`\mathrm{logit}\,c - \mathrm{logit}\,\mathrm{chance}`: chance is
        the centre of the prior, not a floor, since weak LMs often score below it.
    """
    if not design.n_guessing:
        return jnp.zeros(design.n_items)
    guessable = design.guessing >= 0
    shift, spread = sample("lower_mean", lower_mean), sample("lower_within", lower_within)
    chance = design.chance[jnp.nonzero(guessable, size=design.n_guessing)[0]]
    with plate("guessing", design.n_guessing):
        logit: Array = sample("logit_lower", dist.Normal(jnp.log(chance) - jnp.log1p(-chance) + shift, spread))
    return jnp.where(guessable, sigmoid(logit)[jnp.maximum(design.guessing, 0)], 0.0)


one_pl = Curve(common_discrimination, threshold)
two_pl = Curve(discrimination, threshold)
three_pl = Curve(discrimination, threshold, lower)

CURVES = {"1pl": one_pl, "2pl": two_pl, "3pl": three_pl}
"""Item curves by the word the field has for them."""


def logit_mean(items: Items, ability: Float[Array, "*cell"]) -> Float[Array, "*cell"]:
    r"""Logit of the expected response, items and abilities broadcast against each other.

    With a lower asymptote :math:`\mathrm{logit}\,\mu = \log(c + e^{\eta}) - \log(1 - c)`, which is exact and
    safe where :math:`\mu` itself rounds to 0 or 1.
    """
    core = items.discrimination * ability - items.threshold
    if items.lower is None:
        return core
    floor = items.lower
    log_floor = jnp.log(jnp.where(floor > 0, floor, 1.0))
    return jnp.where(floor > 0, log_floor - log_sigmoid(log_floor - core) - jnp.log1p(-floor), core)
