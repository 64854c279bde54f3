r"""What else ability is made of: scatter, groups, benchmark deviations and drifts, one function each.

Three kinds. *Shared* effects give one value per LM; a *residual* draws ability around trend and shared effects.
*Departures* give one value per LM and benchmark and are added to ability where that benchmark is answered.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jaxtyping import Array, Float
from numpyro import plate, sample
from numpyro.distributions import Distribution

from irsl_models.design import Design
from irsl_models.levels import contrasts, independent

__all__ = ["deviation", "drift", "groups", "scatter", "standard_scatter"]


def groups(design: Design, *, group_scale: Distribution = dist.HalfNormal(0.5)) -> Float[Array, " lm"]:
    r"""Deviations shared by the LMs of a family, data mix or run: :math:`\sum u_{\mathrm{group}(i)}`.

    Partially pooled, and summing to zero within each grouping of the calibration table.

    Parameters
    ----------
    design : Design
        The table; without groupings the effect is zero.
    group_scale : Distribution
        Standard deviation between the groups of one grouping, in units of ability.
    """
    total = jnp.zeros(design.lms.size)
    if not design.groupings:
        return total
    with plate("grouping", len(design.groupings)):
        scales: Array = sample("group_scale", group_scale)
    for scale, grouping in zip(scales, design.groupings, strict=True):
        total += contrasts(f"group_{grouping.name}", grouping.dim, scale)[grouping.code]
    return total


def scatter(
    design: Design,
    trend: Float[Array, " lm"],
    shared: Float[Array, " lm"],
    *,
    scatter_ratio: Distribution = dist.LogNormal(-0.7, 1.0),
) -> Float[Array, " lm"]:
    r"""Ability of each LM around what is expected of it: :math:`\theta_i \sim N(\beta g_i + u_i, \tau)`.

    The unit of ability is set here: :math:`\beta^2 + \tau^2 = 1`, so that LMs whose x has standard deviation one
    have abilities of standard deviation one, whether the trend explains much of it or nothing. A unit tied to the
    trend alone would stretch without bound where the trend is weak.

    Parameters
    ----------
    design : Design
        The table.
    trend, shared : Float[Array, " lm"]
        The trend with slope one in standardised x, and the deviations that several LMs share.
    scatter_ratio : Distribution
        :math:`\tau / \beta`: 1 means that LMs of the same x differ as much among themselves as the trend moves
        over one standard deviation of x.
    """
    ratio = sample("scatter_ratio", scatter_ratio)
    slope = numpyro.deterministic("slope", 1.0 / jnp.sqrt(1.0 + ratio**2))
    spread = numpyro.deterministic("scatter", ratio * slope)
    expected = numpyro.deterministic("trend", slope * trend)
    return independent("ability", design.lms, spread, loc=expected + shared)


def standard_scatter(design: Design, trend: Float[Array, " lm"], shared: Float[Array, " lm"]) -> Float[Array, " lm"]:
    r"""Ability where no trend gives it a unit: :math:`\sum_i \theta_i = 0` with standard deviation one.

    A single LM has nothing to sum to zero with; its ability is standard normal, told apart from the mean
    difficulty by the priors alone.
    """
    if design.lms.known == 1:
        residual = independent("residual", design.lms, jnp.asarray(1.0))
    else:
        residual = contrasts("residual", design.lms, 1.0)
    ability: Array = numpyro.deterministic("ability", trend + shared + residual)
    return ability


def deviation(
    design: Design, *, deviation_scale: Distribution = dist.HalfNormal(0.3)
) -> Float[Array, "lm benchmark"] | float:
    r"""What an LM has on one benchmark beyond its general ability: :math:`\delta_{ik}`.

    Weighted by the LM's responses, its deviations sum to zero over its benchmarks: general ability is their
    weighted mean. Zero unless at least two benchmarks have at least three items.

    Parameters
    ----------
    design : Design
        The table.
    deviation_scale : Distribution
        Standard deviation of :math:`\delta` before the constraint, in units of ability.
    """
    if design.n_eligible < 2:
        return 0.0
    scale = sample("deviation_scale", deviation_scale)
    with plate("eligible", design.n_eligible, dim=-1), plate("deviation_level", design.lms.known, dim=-2):
        free: Array = sample("deviation", dist.Normal(0.0, scale))
    if design.lms.new:
        with (
            plate("eligible_new", design.n_eligible, dim=-1),
            plate("deviation_level_new", design.lms.new, dim=-2),
        ):
            new: Array = sample("deviation_new", dist.Normal(0.0, scale))
        free = jnp.concatenate([free, new])
    weight = design.spread
    along = (weight * free).sum(1, keepdims=True) / jnp.maximum((weight**2).sum(1, keepdims=True), 1e-12)
    balanced = free - along * weight
    placed = jnp.where(design.eligible < 0, 0.0, balanced[:, jnp.maximum(design.eligible, 0)])
    kept: Array = numpyro.deterministic("benchmark_deviation", placed)
    return kept


def drift(design: Design, *, drift_scale: Distribution = dist.HalfNormal(0.25)) -> Float[Array, "lm benchmark"] | float:
    r"""A slope in x per benchmark around the common trend: :math:`\gamma_k x_i`, summing to zero over benchmarks.

    Benchmarks move differently with x: skills improve unevenly, and who is evaluated on a benchmark is not
    random.

    Parameters
    ----------
    design : Design
        The table.
    drift_scale : Distribution
        Standard deviation of :math:`\gamma` over benchmarks: units of ability per standard deviation of x.
    """
    if design.n_benchmarks < 2 or not design.scaled:
        return 0.0
    scale = sample("drift_scale", drift_scale)
    slope: Array = sample("drift", dist.ZeroSumNormal(scale, event_shape=(design.n_benchmarks,)))
    return design.x[:, None] * slope
