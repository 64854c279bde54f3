r"""Gamma functions of positive arguments, by the shifted Stirling series.

XLA's own are correct on the whole line, and slow for it: here they would be most of the cost of a gradient.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

_SHIFT = 8
_HALF_LOG_TWO_PI = 0.9189385332046727
# Bernoulli numbers of the two asymptotic series.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760)


@jax.custom_jvp
def log_gamma(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    r""":math:`\log\Gamma(x)` for x > 0, to the precision of its type.

    Examples
    --------
    >>> round(float(log_gamma(jnp.asarray(5.0))), 4)  # log 24
    3.1781
    """
    low = x < _SHIFT
    z = jnp.where(low, x + _SHIFT, x)
    inverse = 1.0 / z
    square = inverse * inverse
    tail = inverse * _horner(_STIRLING, square)
    stirling = (z - 0.5) * jnp.log(z) - z + _HALF_LOG_TWO_PI + tail
    rising, _ = _rising(jnp.where(low, x, 1.0))
    return stirling - jnp.where(low, jnp.log(rising), 0.0)


@jax.custom_jvp
def digamma(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    r""":math:`\psi(x) = d\log\Gamma(x)/dx` for x > 0.

    Examples
    --------
    >>> round(float(digamma(jnp.asarray(1.0))), 4)  # minus Euler's constant
    -0.5772
    """
    low = x < _SHIFT
    z = jnp.where(low, x + _SHIFT, x)
    inverse = 1.0 / z
    square = inverse * inverse
    tail = square * _horner(_DIGAMMA, square)
    rising, slope = _rising(jnp.where(low, x, 1.0))
    return jnp.log(z) - 0.5 * inverse - tail - jnp.where(low, slope / rising, 0.0)


def _rising(x: Array) -> tuple[Array, Array]:
    """Rising factorial x (x + 1) ... (x + 7) and its derivative, by pairs from both ends: one division serves all."""
    pair = x * (x + 7.0)
    second, third, fourth = pair + 6.0, pair + 10.0, pair + 12.0
    outer, inner = pair * second, third * fourth
    return outer * inner, (2.0 * x + 7.0) * ((pair + second) * inner + (third + fourth) * outer)


def _horner(coefficients: tuple[float, ...], x: Array) -> Array:
    value = jnp.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = value * x + coefficient
    return value


log_gamma.defjvps(lambda tangent, _, x: digamma(x) * tangent)
digamma.defjvps(lambda tangent, _, x: jax.scipy.special.polygamma(1, x) * tangent)
