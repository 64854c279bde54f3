r"""Gamma functions of positive arguments, by the shifted Stirling series.

XLA's own are correct on the whole line, and slow for it: here they would be most of the cost of a gradient.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

_HALF_LOG_TWO_PI = 0.9189385332046727
# Bernoulli numbers of the three asymptotic series.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760)
_TRIGAMMA = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730)
# Series of the log in double precision, and log 2 in two parts of which the first has no rounding in a product.
_LOG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
_LOG_TWO_HIGH, _LOG_TWO_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_SQRT_HALF_BITS = 0x3FE6A09E00000000


class Pieces(NamedTuple):
    r"""What the log of a gamma function and its derivative are made of, but for the log of the shifted argument z.

    .. math::

        \log\Gamma(x) = (x - \tfrac12)\log z - z + \tfrac12\log 2\pi + \text{tail} - \log\text{ratio},
        \qquad \psi(x) = \log z - \text{lag}

    Those who want both functions, or several that share a log, take it once.

    Parameters
    ----------
    tail : array
        End of Stirling's series.
    ratio : array
        Rising factorial x (x + 1) ... (z - 1) over the power of z that has as many factors; between 0 and 1.
    lag : array
        What the derivative lacks to the log of z.
    """

    tail: Array
    ratio: Array
    lag: Array


def shift(kind: Any) -> int:
    """How far z lies beyond x; the series is then as good as the type."""
    return 4 if kind == jnp.float32 else 8


def pieces(x: Float[Array, "*shape"]) -> Pieces:
    """Both functions at x > 0, however small or large: everything is in terms of 1/z, so that nothing overflows."""
    single = x.dtype == jnp.float32
    terms = 3 if single else 6
    inverse = 1.0 / (x + shift(x.dtype))
    square = inverse * inverse
    first, rest = x * inverse, 1.0 - inverse
    # x (x + s - 1), (x + 1) (x + s - 2), ... over z^2: the factors by pairs from both ends.
    pair = first * rest
    if single:
        second = pair + 2.0 * square
        ratio, pairs = pair * second, pair + second
    else:
        second, third, fourth = pair + 6.0 * square, pair + 10.0 * square, pair + 12.0 * square
        outer, inner = pair * second, third * fourth
        ratio, pairs = outer * inner, (pair + second) * inner + (third + fourth) * outer
    below = inverse * (first + rest) * pairs / ratio  # sum of 1/x, 1/(x + 1), ..., 1/(z - 1)
    return Pieces(
        tail=inverse * _horner(_STIRLING[:terms], square),
        ratio=ratio,
        lag=below + 0.5 * inverse + square * _horner(_DIGAMMA[:terms], square),
    )


@jax.custom_jvp
def log(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    r"""Natural log of positive normal numbers.

    In double precision XLA takes the log of one number at a time. This is the usual series in
    :math:`(m - 1)/(m + 1)`, m the mantissa, which runs in vectors.

    Examples
    --------
    >>> round(float(log(jnp.asarray(5.0))), 4)
    1.6094
    """
    if x.dtype != jnp.float64:
        return jnp.log(x)
    bits = jax.lax.bitcast_convert_type(x, jnp.int64)
    exponent = (bits - _SQRT_HALF_BITS) >> 52
    above = jax.lax.bitcast_convert_type(bits - (exponent << 52), x.dtype) - 1.0
    part = above / (2.0 + above)
    square = part * part
    half = 0.5 * above * above
    power = exponent.astype(x.dtype)
    low = part * (half + square * _horner(_LOG, square)) + power * _LOG_TWO_LOW
    return power * _LOG_TWO_HIGH - ((half - low) - above)


@jax.custom_jvp
def log_sigmoid(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    r""":math:`\log\mathrm{logistic}(x)`.

    Examples
    --------
    >>> round(float(log_sigmoid(jnp.asarray(0.0))), 4)  # log of one half
    -0.6931
    """
    return jnp.minimum(x, 0.0) - _log1p(jnp.exp(-jnp.abs(x)))


@jax.custom_jvp
def log_gamma(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    r""":math:`\log\Gamma(x)` for x > 0, to the precision of its type.

    Examples
    --------
    >>> round(float(log_gamma(jnp.asarray(5.0))), 4)  # log 24
    3.1781
    """
    z, at = x + shift(x.dtype), pieces(x)
    return (x - 0.5) * log(z) - z + _HALF_LOG_TWO_PI + at.tail - log(at.ratio)


@jax.custom_jvp
def digamma(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    r""":math:`\psi(x) = d\log\Gamma(x)/dx` for x > 0.

    Examples
    --------
    >>> round(float(digamma(jnp.asarray(1.0))), 4)  # minus Euler's constant
    -0.5772
    """
    return log(x + shift(x.dtype)) - pieces(x).lag


@jax.custom_jvp
def trigamma(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    r""":math:`\psi'(x)` for x > 0, to the precision of its type.

    Examples
    --------
    >>> round(float(trigamma(jnp.asarray(1.0))), 4)  # pi^2 / 6
    1.6449
    """
    inverse = 1.0 / (x + shift(x.dtype))
    square = inverse * inverse
    tail = inverse + 0.5 * square + inverse * square * _horner(_TRIGAMMA[: 3 if x.dtype == jnp.float32 else 6], square)
    for step in range(shift(x.dtype) - 1, -1, -1):
        tail += 1.0 / jnp.square(x + step)
    return tail


def log_gamma_excess(x: Float[Array, "*shape"]) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    r"""What precision x adds to the log of a Beta density, and the derivative of its log gamma over the log of x.

    .. math::

        \log\Gamma(x) - (x - 1)\log x + x + 2(s - \tfrac12\log 2\pi), \qquad \psi(x) - \log x

    with s the shift: what is left when the logs of `pieces` are taken of z / x, and grows as the log of x only.
    """
    at, step = pieces(x), shift(x.dtype)
    near = _log1p(step / x)
    value = (x - 0.5) * near + 0.5 * log(x) + at.tail - log(at.ratio) + step - _HALF_LOG_TWO_PI
    return value, near - at.lag


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
    z, low, high = x + shift(x.dtype), pieces(x), pieces(x + n)
    risen = (x + n - 0.5) * _log1p(n / z) - n
    return n * log(z) + risen + (high.tail - low.tail) - log(high.ratio / low.ratio)


@jax.custom_jvp
def digamma_rise(x: Float[Array, "*shape"], n: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    r""":math:`\psi(x + n) - \psi(x)`, the derivative of `log_rising` in x, and as safe.

    Examples
    --------
    >>> round(float(digamma_rise(jnp.asarray(2.0), jnp.asarray(3.0))), 4)  # 1/2 + 1/3 + 1/4
    1.0833
    """
    return _log1p(n / (x + shift(x.dtype))) - (pieces(x + n).lag - pieces(x).lag)


def _log1p(x: Array) -> Array:
    """Log of 1 + x for x >= 0 from one log, the rounding of 1 + x corrected; XLA's own takes several times as long."""
    above = 1.0 + x
    return log(above) - ((above - 1.0) - x) / above


def _horner(coefficients: tuple[float, ...], x: Array) -> Array:
    value = jnp.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = value * x + coefficient
    return value


log.defjvps(lambda tangent, _, x: tangent / x)
log_sigmoid.defjvps(lambda tangent, _, x: jax.nn.sigmoid(-x) * tangent)
log_gamma.defjvps(lambda tangent, _, x: digamma(x) * tangent)
digamma.defjvps(lambda tangent, _, x: trigamma(x) * tangent)
trigamma.defjvps(lambda tangent, _, x: jax.scipy.special.polygamma(2, x) * tangent)
log_rising.defjvps(lambda tangent, _, x, n: digamma_rise(x, n) * tangent, None)
digamma_rise.defjvps(lambda tangent, _, x, n: (trigamma(x + n) - trigamma(x)) * tangent, None)
