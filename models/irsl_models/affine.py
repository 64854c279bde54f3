r"""Laws whose log density is a sum of products: numbers that a response gives, times functions of its logit.

.. math:: \log p(y \mid \eta, \omega) = \text{exposure} \cdot g_0(\eta, \omega) + \sum_c d_c(y)\, g_c(\eta, \omega)
    + \text{what depends on y alone}

The response is met only in the :math:`d_c`. So the log density of many responses at many abilities is a matrix
product, whatever else the law computes. Where functions are known with an error, d is bounded, and what a response has
beyond the bound, by which the error would be multiplied, is a term of its own.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax.nn import softplus
from jaxtyping import Array

from irsl_models.distributions import sides
from irsl_models.law import Affine, Pairs
from irsl_models.special import log_gamma, log_sigmoid, trigamma

# Logits of responses beyond this, either way, are few.
_FAR = 64.0


def _count_columns(value: Array) -> tuple[Array, ...]:
    return (value,)


def _bernoulli_weights(logit: Array) -> tuple[Array, ...]:
    return -softplus(logit), logit


def _bernoulli_information(logit: Array) -> Pairs:
    up, down = sides(logit)
    return {("logit", "logit"): up * down}


def _beta_columns(log_score: Array, log_rest: Array) -> tuple[Array, ...]:
    logit = log_score - log_rest
    # log_rest + (logit - _FAR), where it is large, without its rounding.
    return jnp.clip(logit, -_FAR, _FAR), jnp.where(logit > _FAR, log_score - _FAR, log_rest)


def _beta_excess(log_score: Array, log_rest: Array) -> Array:
    logit = log_score - log_rest
    return logit - jnp.clip(logit, -_FAR, _FAR)


def _beta_beyond(logit: Array, excess: Array, precision: Array) -> Array:
    """Density that a response has by its excess: times the shape of the side that it is far from."""
    up, down = sides(logit)
    return -jnp.abs(excess) * precision * jnp.where(excess > 0.0, down, up)


def _beta_weights(logit: Array, precision: Array) -> tuple[Array, ...]:
    # Gamma functions of shapes one larger: the shapes themselves may be beyond all numbers, but their logs are not.
    flat = jnp.broadcast_to(precision, logit.shape)
    logs = log_sigmoid(logit) + log_sigmoid(-logit) + 2.0 * jnp.log(flat)
    first, second = (precision * side for side in sides(logit))
    return log_gamma(flat) - log_gamma(1.0 + first) - log_gamma(1.0 + second) + logs, first, flat


def _beta_information(logit: Array, precision: Array) -> Pairs:
    up, down = sides(logit)
    # Squares of the shapes, times the variances of the logs of gamma variables that have them.
    at_first, at_second = (1.0 + shape**2 * trigamma(1.0 + shape) for shape in (precision * up, precision * down))
    return {
        ("logit", "logit"): down**2 * at_first + up**2 * at_second,
        ("logit", "precision"): (down * at_first - up * at_second) / precision,
        ("precision", "precision"): (at_first + at_second) / precision**2 - trigamma(precision),
    }


def _ordered_columns(value: Array, log_score: Array, log_rest: Array) -> tuple[Array, ...]:
    zero, one = (value <= 0.0).astype(log_rest.dtype), (value >= 1.0).astype(log_rest.dtype)
    inside = 1.0 - zero - one
    return zero, one, *(inside * column for column in _beta_columns(log_score, log_rest))


def _ordered_excess(value: Array, log_score: Array, log_rest: Array) -> Array:
    return jnp.where((value > 0.0) & (value < 1.0), _beta_excess(log_score, log_rest), 0.0)


def _ordered_beyond(logit: Array, excess: Array, precision: Array, low: Array, high: Array) -> Array:
    del low, high
    return _beta_beyond(logit, excess, precision)


def _ordered_weights(logit: Array, precision: Array, low: Array, high: Array) -> tuple[Array, ...]:
    normaliser, first, flat = _beta_weights(logit, precision)
    above, below = logit - low, high - logit
    not_zero, not_one = log_sigmoid(above), log_sigmoid(below)
    inside = not_zero + not_one + jnp.log(-jnp.expm1(low - high)) + normaliser
    return inside, not_zero - above - inside, not_one - below - inside, first, flat


def _ordered_information(logit: Array, precision: Array, low: Array, high: Array) -> Pairs:
    (not_zero, zero), (not_one, one) = sides(logit - low), sides(high - logit)
    inside = not_zero * not_one * -jnp.expm1(low - high)
    crowded = 1.0 / jnp.expm1(high - low)
    nothing = jnp.zeros_like(logit)
    # Slopes of the log probability of a zero, of what lies inside, and of a one.
    slopes = {
        "logit": (-not_zero, zero - one, not_one),
        "low": (not_zero, -zero - crowded, nothing),
        "high": (nothing, one + crowded, -not_one),
    }
    found = {
        (name, other): zero * mine[0] * yours[0] + inside * mine[1] * yours[1] + one * mine[2] * yours[2]
        for name, mine in slopes.items()
        for other, yours in slopes.items()
        if (name, other) in (("logit", "logit"), ("logit", "low"), ("logit", "high"))
        or (name, other) in (("low", "low"), ("low", "high"), ("high", "high"))
    }
    for pair, of_beta in _beta_information(logit, precision).items():
        found[pair] = found.get(pair, 0.0) + inside * of_beta
    return found


BERNOULLI = Affine(_count_columns, _bernoulli_weights, _bernoulli_information)
BINOMIAL = Affine(_count_columns, _bernoulli_weights, _bernoulli_information, exposure="trials")
BETA = Affine(
    _beta_columns,
    _beta_weights,
    _beta_information,
    data=("log_score", "log_rest"),
    flat=1,
    excess=_beta_excess,
    beyond=_beta_beyond,
)
ORDERED_BETA = Affine(
    _ordered_columns,
    _ordered_weights,
    _ordered_information,
    data=("value", "log_score", "log_rest"),
    flat=1,
    excess=_ordered_excess,
    beyond=_ordered_beyond,
)
