r"""Ability expected at x: the trend :math:`g(x)`, one function each.

x is standardised over the calibration LMs, and every trend has slope one there (at the centre, or on average): it
gives the form, and `effects.scatter` the share of ability that follows it. That fixes location and scale of ability
by construction, on the side of the LMs; how strongly scores follow ability is carried by the discriminations.

A trend is a function of the design whose keywords are its priors; each keyword is the name of a sample site.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpyro.distributions as dist
from jaxtyping import Array, Float
from numpyro import plate, sample
from numpyro.distributions import Distribution

from irsl_models.design import Design
from irsl_models.levels import independent

__all__ = ["linear", "none", "power", "random_walk"]

# No table is explained by abilities of -1e13: beyond it the curve is held, so that a far-off draw stays a number.
_LARGEST_EXPONENT = 30.0


def none(design: Design) -> Float[Array, " lm"]:
    r"""No trend: :math:`g = 0`, every LM deviates from a common mean.

    Examples
    --------
    >>> from irsl_models import Model, trends
    >>> Model(trend=trends.none).trend.__name__
    'none'
    """
    return jnp.zeros(design.lms.size)


def linear(design: Design) -> Float[Array, " lm"]:
    r"""Ability rises in proportion to x: :math:`g(x) = x`.

    With compute on a log scale this is the item response scaling law: ability linear in log compute.

    Examples
    --------
    >>> from irsl_models import Model, trends
    >>> Model(trend=trends.linear).trend.__name__
    'linear'
    """
    return _trended(design, design.x)


def power(design: Design, *, curvature: Distribution = dist.HalfNormal(0.3)) -> Float[Array, " lm"]:
    r"""Saturating power law: :math:`g(x) = (1 - e^{-\lambda x}) / \lambda`.

    With x the log of compute this is a constant minus a power of compute; :math:`\lambda \to 0` is `linear`.

    Parameters
    ----------
    design : Design
        The table.
    curvature : Distribution
        :math:`\lambda`, per standard deviation of x: 0.3 means that each further standard deviation of x
        brings 26% less ability than the one before; 0 means no saturation.

    Examples
    --------
    >>> from irsl_models import Model, trends
    >>> Model(trend=trends.power).trend.__name__
    'power'
    """
    rate: Array = sample("curvature", curvature)
    bend = rate * design.x
    # Series near zero: the quotient and its gradient lose all digits there.
    small = jnp.abs(bend) < 1e-3
    safe_rate = jnp.where(rate > 1e-8, rate, 1.0)
    curved = -jnp.expm1(jnp.minimum(-jnp.where(small, 1.0, bend), _LARGEST_EXPONENT)) / safe_rate
    series = design.x * (1.0 - bend / 2.0 + bend**2 / 6.0)
    return _trended(design, jnp.where(small, series, curved))


def random_walk(design: Design, *, walk_scale: Distribution = dist.LogNormal(-1.2, 0.8)) -> Float[Array, " lm"]:
    r"""Local level with drift: :math:`dg = d\,dx + \omega\,dW`, W a Wiener process.

    Level and drift are flat a priori and pinned through the calibration LMs: there, the least-squares line
    through :math:`g` has slope one and passes through the origin. The part of the walk along that line is left
    to the prior, so the drift beyond the data is as uncertain as a walk of this length makes it, and intervals
    widen with distance.

    Parameters
    ----------
    design : Design
        The table; `design.knots` says where the walk may turn. Between knots g is straight.
    walk_scale : Distribution
        :math:`\omega`: standard deviation of the walk over one standard deviation of x. 1 means that a walk
        over that distance strays as far as the drift carries it.

    Examples
    --------
    >>> from irsl_models import Model, trends
    >>> Model(trend=trends.random_walk).trend.__name__
    'random_walk'
    """
    knots = design.knots
    step = sample("walk_scale", walk_scale) * jnp.sqrt(knots.spacing)
    with plate("walk_level", knots.dim.known - 1):
        within: Array = sample("walk", dist.Normal(0.0, 1.0))
    path = jnp.concatenate([jnp.zeros(1), jnp.cumsum(within)])
    if knots.before:
        with plate("walk_level_before", knots.before):
            before: Array = sample("walk_before", dist.Normal(0.0, 1.0))
        path = jnp.concatenate([jnp.cumsum(before[::-1])[::-1], path])
    if knots.dim.new:
        with plate("walk_level_new", knots.dim.new):
            after: Array = sample("walk_new", dist.Normal(0.0, 1.0))
        path = jnp.concatenate([path, path[-1] + jnp.cumsum(after)])
    level = path[knots.left] * (1.0 - knots.weight) + path[jnp.minimum(knots.left + 1, path.size - 1)] * knots.weight
    return _trended(design, design.x + step * _detrended(design, level))


def _detrended(design: Design, level: Float[Array, " lm"]) -> Float[Array, " lm"]:
    """Take from a path its least-squares line through the calibration LMs."""
    counted = (design.untrended[: design.lms.known] < 0).astype(level.dtype)
    x, y = design.x[: design.lms.known], level[: design.lms.known]
    total = counted.sum()
    x_mean, y_mean = (counted * x).sum() / total, (counted * y).sum() / total
    slope = (counted * (x - x_mean) * y).sum() / (counted * (x - x_mean) ** 2).sum()
    return level - y_mean - slope * (design.x - x_mean)


def _trended(design: Design, level: Float[Array, " lm"]) -> Float[Array, " lm"]:
    """Give LMs without x an ability of their own, spread as widely as x spreads those with it."""
    if not design.untrended_lms.size:
        return level
    free = independent("untrended", design.untrended_lms, jnp.asarray(1.0))
    return jnp.where(design.untrended < 0, level, free[jnp.maximum(design.untrended, 0)])
