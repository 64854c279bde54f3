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
    low, z = _shifted(x)
    stirling = (z - 0.5) * jnp.log(z) - z + _HALF_LOG_TWO_PI + _stirling_tail(z)
    outer, inner = _rising(jnp.where(low, x, 1.0))
    return stirling - jnp.where(low, jnp.log(outer * inner), 0.0)


@jax.custom_jvp
def digamma(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    r""":math:`\psi(x) = d\log\Gamma(x)/dx` for x > 0.

    Examples
    --------
    >>> round(float(digamma(jnp.asarray(1.0))), 4)  # minus Euler's constant
    -0.5772
    """
    low, z = _shifted(x)
    shift = _rising_slope(jnp.where(low, x, 1.0))
    return jnp.log(z) - 0.5 / z - _digamma_tail(z) - jnp.where(low, shift, 0.0)


@jax.custom_jvp
def log_rising(x: Float[Array, "*shape"], n: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    r""":math:`\log\Gamma(x + n) - \log\Gamma(x)`, the log of the rising factorial x (x + 1) ... (x + n - 1).

    Where x is large, two log gammas agree in every digit they have, and their difference is noise. Here the
    difference is taken term by term in the series; its error is that of n log x, and about 1e-14 where that is less.

    Parameters
    ----------
    x : array
        Above 0.
    n : array
        A count, not below 0. It is data: there is no derivative in it.

    Examples
    --------
    >>> round(float(log_rising(jnp.asarray(2.0), jnp.asarray(3.0))), 4)  # log(2 * 3 * 4)
    3.1781
    """
    low, z = _shifted(x)
    series = n * jnp.log(z) + ((z + n - 0.5) * _log1p(n / z) - n) + (_stirling_tail(z + n) - _stirling_tail(z))
    (outer, inner), (outer_risen, inner_risen) = (_rising(jnp.where(low, at, 1.0)) for at in (x, x + n))
    # Apart, because x may be so small and n so large that the quotient of the outer pairs is no number any more.
    return series - (jnp.log(outer_risen) - jnp.log(outer) + jnp.log(inner_risen / inner))


@jax.custom_jvp
def digamma_rise(x: Float[Array, "*shape"], n: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    r""":math:`\psi(x + n) - \psi(x)`, the derivative of `log_rising` in x, and as safe.

    Examples
    --------
    >>> round(float(digamma_rise(jnp.asarray(2.0), jnp.asarray(3.0))), 4)  # 1/2 + 1/3 + 1/4
    1.0833
    """
    low, z = _shifted(x)
    stirling = _log1p(n / z) + 0.5 * (n / z) / (z + n) - (_digamma_tail(z + n) - _digamma_tail(z))
    shift = _rising_slope(jnp.where(low, x + n, 1.0)) - _rising_slope(jnp.where(low, x, 1.0))
    return stirling - jnp.where(low, shift, 0.0)


def _log1p(x: Array) -> Array:
    """Log of 1 + x for x >= 0 from one log, the rounding of 1 + x corrected; XLA's own takes several times as long."""
    above = 1.0 + x
    return jnp.log(above) - ((above - 1.0) - x) / above


def _shifted(x: Array) -> tuple[Array, Array]:
    """Where x is too small for the series, and x moved to where it is not."""
    low = x < _SHIFT
    return low, jnp.where(low, x + _SHIFT, x)


def _stirling_tail(z: Array) -> Array:
    inverse = 1.0 / z
    return inverse * _horner(_STIRLING, inverse * inverse)


def _digamma_tail(z: Array) -> Array:
    square = 1.0 / (z * z)
    return square * _horner(_DIGAMMA, square)


def _rising(x: Array) -> tuple[Array, Array]:
    """Rising factorial x (x + 1) ... (x + 7) by pairs from both ends, as two factors."""
    pair = x * (x + 7.0)
    return pair * (pair + 6.0), (pair + 10.0) * (pair + 12.0)


def _rising_slope(x: Array) -> Array:
    """Derivative of the log of that factorial: one division serves two pairs, and no product outgrows its type."""
    pair = x * (x + 7.0)
    second, third, fourth = pair + 6.0, pair + 10.0, pair + 12.0
    return (2.0 * x + 7.0) * ((pair + second) / (pair * second) + (third + fourth) / (third * fourth))


def _horner(coefficients: tuple[float, ...], x: Array) -> Array:
    value = jnp.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = value * x + coefficient
    return value


def _trigamma(x: Array) -> Array:
    return jax.scipy.special.polygamma(1, x)


log_gamma.defjvps(lambda tangent, _, x: digamma(x) * tangent)
digamma.defjvps(lambda tangent, _, x: _trigamma(x) * tangent)
log_rising.defjvps(lambda tangent, _, x, n: digamma_rise(x, n) * tangent, None)
digamma_rise.defjvps(lambda tangent, _, x, n: (_trigamma(x + n) - _trigamma(x)) * tangent, None)
