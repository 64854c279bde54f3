r"""Centred or not, per site and per level, as the data ask.

A level :math:`v \sim N(m, s)` that is seen often is best sampled as it is; one that is seen seldom as its
distance from m in units of s; in between, as :math:`z = c\,m + (v - m)\,s^{c-1}` with c between 0 and 1. The
share that the data take off the prior variance is a good c, if it is taken where s is as small as the data leave
it: a scale that may be near zero makes a funnel, in which only the non-centred form can move.

Source of the partial form: Gorinova, Moore and Hoffman (2020), Automatic reparameterisation of probabilistic
programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpyro
import numpyro.distributions as dist
from jaxtyping import Array
from numpyro.infer.reparam import Reparam

SUFFIX = "_decentred"
# The scale of fewer levels than this may be anything from zero up, whatever the data say of the levels.
FEWEST_LEVELS = 10


class PartlyCentred(Reparam):  # type: ignore[misc]
    """Partly centred form of a site with a normal value per level.

    Parameters
    ----------
    share : array
        c of every level, or one for all of them.
    """

    def __init__(self, share: Any) -> None:
        self.share = share

    def __call__(self, name: str, fn: Any, obs: Any) -> tuple[None, Array]:
        """Sample the rescaled levels, and scale them back."""
        prior, share = _base(fn), self.share
        if _sums_to_zero(fn):
            share = share.mean()
            z = numpyro.sample(name + SUFFIX, dist.ZeroSumNormal(prior.scale**share, event_shape=fn.event_shape))
            return None, prior.scale ** (1.0 - share) * z
        z = numpyro.sample(name + SUFFIX, dist.Normal(share * prior.loc, prior.scale**share))
        return None, prior.loc + prior.scale ** (1.0 - share) * (z - share * prior.loc)

    def convert(self, fn: Any, value: Any) -> Any:
        """Rescaled levels that stand for some values: the inverse of what is sampled."""
        prior, share = _base(fn), self.share
        if _sums_to_zero(fn):
            return value / prior.scale ** (1.0 - share.mean())
        return share * prior.loc + (value - prior.loc) / prior.scale ** (1.0 - share)


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


def share_of_data(deviation: np.ndarray) -> np.ndarray:
    r"""Centring of the levels of a site.

    In non-centred coordinates the data turn the prior standard deviation 1 into :math:`d`: their information is
    :math:`d^{-2} - 1` at that scale and :math:`r^2` times that at a scale r times as large. K levels leave the
    log of their scale uncertain by at least :math:`1/\sqrt{2K}`; r is three such steps down.

    Parameters
    ----------
    deviation : np.ndarray
        d of every level.

    Examples
    --------
    >>> share_of_data(np.full(1000, 0.1)).round(2)[0], share_of_data(np.full(3, 0.1))[0]
    (np.float64(0.99), np.float64(0.0))
    """
    levels = deviation.size
    if levels < FEWEST_LEVELS:
        return np.zeros(deviation.shape)
    smallest = np.exp(-3.0 / np.sqrt(2.0 * levels))
    information = np.maximum(deviation**-2.0 - 1.0, 0.0) * smallest**2
    return np.asarray(information / (1.0 + information))


def _base(distribution: Any) -> Any:
    # A zero-sum normal is itself a transformed distribution, with a base that is not what it looks like.
    while hasattr(distribution, "base_dist") and not isinstance(distribution, dist.ZeroSumNormal):
        distribution = distribution.base_dist
    return distribution


def _sums_to_zero(distribution: Any) -> bool:
    return isinstance(_base(distribution), dist.ZeroSumNormal)
