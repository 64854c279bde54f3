r"""Gamma functions of positive arguments, by the shifted Stirling series.

XLA's own are correct on the whole line, and slow for it: here they would be most of the cost of a gradient.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

_SHIFT = 8
_HALF_LOG_TWO_PI = 0.9189385332046727


@jax.custom_jvp
def log_gamma(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    r""":math:`\log\Gamma(x)` for x > 0, to the precision of its type.

    Examples
    --------
    >>> round(float(log_gamma(jnp.asarray(5.0))), 4)  # log 24
    3.1781
    """
    low = x < _SHIFT
    small = jnp.where(low, x, 1.0)
    rising = small
    for step in range(1, _SHIFT):
        rising = rising * (small + step)
    z = jnp.where(low, x + _SHIFT, x)
    inverse = 1.0 / z
    square = inverse * inverse
    tail = inverse * (
        1 / 12
        - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square * (1 / 1188 - square * 691 / 360360))))
    )
    stirling = (z - 0.5) * jnp.log(z) - z + _HALF_LOG_TWO_PI + tail
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
    small = jnp.where(low, x, 1.0)
    shifted = sum(1.0 / (small + step) for step in range(_SHIFT))
    z = jnp.where(low, x + _SHIFT, x)
    inverse = 1.0 / z
    square = inverse * inverse
    tail = square * (
        1 / 12
        - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square * (1 / 132 - square * 691 / 32760))))
    )
    return jnp.log(z) - 0.5 * inverse - tail - jnp.where(low, shifted, 0.0)


log_gamma.defjvps(lambda tangent, _, x: digamma(x) * tangent)
digamma.defjvps(lambda tangent, _, x: jax.scipy.special.polygamma(1, x) * tangent)
