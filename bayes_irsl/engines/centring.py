r"""Centred or not, per site and per level, as the data ask.

A level :math:`v \sim N(m, s)` that is seen often is best sampled as it is; one that is seen seldom as its
distance from m in units of s; in between, as :math:`z = c\,m + (v - m)\,s^{c-1}` with c between 0 and 1. The
share that the data take off the prior variance is a good c, if it is taken where s is as small as the data leave
it: a scale that may be near zero makes a funnel, in which only the non-centred form can move.

Levels that sum to zero are sampled as independent ones, less their mean. The distribution is the same, the mean that
is taken off says nothing of the data, and every level can be as centred as its own data ask.

Source of the partial form: Gorinova, Moore and Hoffman (2020), Automatic reparameterisation of probabilistic
programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jaxtyping import Array
from numpyro import handlers
from numpyro.infer.reparam import Reparam

from bayes_irsl.engines.frame import Frame, Shifted
from irsl_models import Design

SUFFIX = "_decentred"
# A scale this improbably small is not met in a run.
SMALLEST = 0.01
# Scales that are tried, in units of the one that was estimated.
_SCALES = np.geomspace(1e-3, 10.0, 400)


class PartlyCentred(Reparam):  # type: ignore[misc]
    """Partly centred form of a site with a normal value per level.

    Parameters
    ----------
    share : array
        c of every level, or one for all of them.
    shift : array
        How far off levels are sampled that are centred (see `frame`).
    """

    def __init__(self, share: Any, shift: Any = 0.0) -> None:
        self.share, self.shift = share, shift

    def __call__(self, name: str, fn: Any, obs: Any) -> tuple[None, Array]:
        """Sample the rescaled levels, and scale them back."""
        prior, share = _base(fn), self.share
        if _sums_to_zero(fn):
            spread = jnp.broadcast_to(prior.scale**share, fn.event_shape)
            z = numpyro.sample(name + SUFFIX, dist.Normal(0.0, spread).to_event(1))
            levels = prior.scale ** (1.0 - share) * z
            return None, levels - levels.mean()
        centre = share * (prior.loc + self.shift)
        z = numpyro.sample(name + SUFFIX, dist.Normal(centre, prior.scale**share))
        return None, prior.loc + prior.scale ** (1.0 - share) * (z - centre)

    def convert(self, fn: Any, value: Any) -> Any:
        """Rescaled levels that stand for some values: the inverse of what is sampled."""
        prior, share = _base(fn), self.share
        if _sums_to_zero(fn):
            return value / prior.scale ** (1.0 - share)
        return share * (prior.loc + self.shift) + (value - prior.loc) / prior.scale ** (1.0 - share)


def free(model: Any, shares: Mapping[str, Any]) -> Any:
    """The model with every hierarchical site as centred as it is told, and items in the frame of the abilities."""

    def run(design: Design) -> None:
        frame = Frame(design)

        def form(site: Any) -> Reparam | None:
            name = site["name"]
            if name in shares:
                return PartlyCentred(shares[name], frame.shift(name))
            return Shifted(frame.shift(name), SUFFIX) if frame.moves(site) else None

        with frame, handlers.reparam(config=form):
            model(design)

    return run


def hierarchical(sites: Mapping[str, Any]) -> list[str]:
    """Sites with a normal value per level of something, in the structure of a model."""
    return [
        name
        for name, site in sites.items()
        if site["type"] == "sample"
        and not site["is_observed"]
        and (type(_base(site["fn"])) is dist.Normal or _sums_to_zero(site["fn"]))
        and site["fn"].shape()
    ]


def share_of_data(mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    r"""Centring of the levels of a site.

    In non-centred coordinates the data turn a standard normal prior into one with mean m and standard deviation d.
    That is what an estimate :math:`v = m / (1 - d^2)` of the level with the information :math:`w = d^{-2} - 1` does,
    and an estimate is :math:`N(0, r^2 + 1/w)` where the scale is r times what it was taken for. So the levels say
    together how small r may be, and each is centred by the share :math:`r^2 w / (1 + r^2 w)` there.

    Parameters
    ----------
    mean, deviation : np.ndarray
        m and d of every level.

    Examples
    --------
    Three levels that differ beyond doubt, and three that may well be one:

    >>> share_of_data(np.array([-1.0, 0.0, 1.0]), np.full(3, 0.05)).round(2)
    array([0.99, 0.99, 0.99])
    >>> share_of_data(np.array([-0.1, 0.0, 0.1]), np.full(3, 0.5)).round(2)
    array([0., 0., 0.])
    """
    information = np.maximum(np.maximum(deviation, 1e-8) ** -2.0 - 1.0, 0.0)
    seen = information > 0
    if not seen.any():
        return np.zeros(deviation.shape)
    noise = 1.0 / information[seen]
    variance = np.square(_SCALES)[:, None] + noise
    log_weight = -0.5 * (np.square(mean[seen] * (1.0 + noise)) / variance + np.log(variance)).sum(1)
    # Every scale is as likely as any other beforehand; the grid has equal steps in its logarithm.
    weight = np.exp(log_weight - log_weight.max()) * _SCALES
    smallest = _SCALES[np.searchsorted(np.cumsum(weight) / weight.sum(), SMALLEST)]
    gained = smallest**2 * information
    return np.asarray(gained / (1.0 + gained))


def _base(distribution: Any) -> Any:
    # Only what leaves values as they are: the base of a log-normal is a normal, and so is that of a truncated one.
    while isinstance(distribution, (dist.Independent, dist.ExpandedDistribution, dist.MaskedDistribution)):
        distribution = distribution.base_dist
    return distribution


def _sums_to_zero(distribution: Any) -> bool:
    return isinstance(_base(distribution), dist.ZeroSumNormal)
