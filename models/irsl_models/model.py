"""A model: ability effects, an item curve and a likelihood, put together from plain functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro.distributions import Distribution
from numpyro.distributions.constraints import real

from irsl_models import curves, effects, trends
from irsl_models.curves import Curve, Items
from irsl_models.design import Design
from irsl_models.item_responses import ItemResponses

Part = Callable[..., Any]

_BELOW_ZERO = -np.logspace(-6, 6, 49)


@dataclass(frozen=True, eq=False)
class Model:
    r"""Item response scaling law: what explains a response.

    .. math::

        \mu_{ij} = c_j + (1 - c_j)\,\mathrm{logistic}(a_j(\theta_i + \delta_{ik} + \gamma_k x_i - b_j)),
        \qquad \theta_i \sim N(\beta g(x_i) + \textstyle\sum u_{\mathrm{group}(i)}, \tau)

    A model is a NumPyro model: call it with a `Design`. Given responses it is the joint density, without them
    the simulator, and with some sites set to posterior draws the forecast.

    Parameters
    ----------
    trend : callable
        Ability expected at x, from `trends`.
    shared : tuple of callable
        Deviations that several LMs share, one value per LM.
    residual : callable, optional
        How abilities lie around trend and shared deviations, and what their unit is: `effects.scatter` with a
        trend, `effects.standard_scatter` without one.
    departures : tuple of callable
        What an LM has beyond its ability on single benchmarks, one value per LM and benchmark.
    curve : Curve
        Which parameters an item has, from `curves`.
    likelihood : callable, optional
        Distribution of a response, from `likelihoods`; None leaves the choice to the data.
    priors : mapping of str to Distribution
        Priors that differ from the defaults, by the name of their site; see `with_priors`.

    Examples
    --------
    >>> import numpyro.distributions as dist
    >>> from irsl_models import likelihoods
    >>> model = Model(trend=trends.power, curve=curves.three_pl, likelihood=likelihoods.beta)
    >>> model.with_priors(curvature=dist.HalfNormal(0.1)).keywords()["curvature"].scale
    0.1
    """

    trend: Part = trends.linear
    shared: tuple[Part, ...] = (effects.groups,)
    residual: Part | None = None
    departures: tuple[Part, ...] = (effects.deviation, effects.drift)
    curve: Curve = curves.two_pl
    likelihood: Part | None = None
    priors: Mapping[str, Distribution] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        """Refuse priors of sites this model does not have."""
        object.__setattr__(self, "priors", MappingProxyType(dict(self.priors)))
        known = self._defaults()
        for name in self.priors:
            if name not in known:
                raise TypeError(f"this model has no prior {name!r}; it has: {', '.join(sorted(known))}")
            if problem := _misfit(self.priors[name], known[name]):
                raise TypeError(f"the prior of {name!r} {problem}")

    def __call__(self, design: Design) -> None:
        """Draw, or condition on, everything the design speaks of."""
        trend = self._draw(self.trend, design)
        shared = sum((self._draw(effect, design) for effect in self.shared), jnp.zeros(design.lms.size))
        ability = self._draw(self.residuals, design, trend, shared)
        placed = ability[:, None]
        for departure in self.departures:
            placed = placed + self._draw(departure, design)
        items = Items(**{name: self._draw(part, design) for name, part in self.curve.parts.items()})
        numpyro.deterministic("difficulty", items.threshold / items.discrimination)
        numpyro.deterministic("discrimination", items.discrimination)
        if items.lower is not None:
            numpyro.deterministic("lower", items.lower)
        if self.likelihood is None:
            raise TypeError("the model has no likelihood yet: give one, or let `fit` choose it from the data")
        responses = ItemResponses(self._draw(self.likelihood, design), items, placed, design)
        site, observed = ("successes", design.successes) if responses.is_discrete else ("score", design.score)
        numpyro.sample(site, responses, obs=observed)
        if not design.observed:
            numpyro.deterministic("expected", responses.mean)

    @property
    def residuals(self) -> Part:
        """How abilities lie around their expectation."""
        if self.residual is not None:
            return self.residual
        return effects.standard_scatter if self.trend is trends.none else effects.scatter

    @property
    def parts(self) -> tuple[Part, ...]:
        """Every function the model is made of."""
        likelihood = () if self.likelihood is None else (self.likelihood,)
        return (
            self.trend,
            *self.shared,
            self.residuals,
            *self.departures,
            *self.curve.parts.values(),
            *likelihood,
        )

    def keywords(self) -> dict[str, Distribution]:
        """Priors of the model by the name of their site, as they stand."""
        return self._defaults() | dict(self.priors)

    def with_priors(self, **priors: Distribution) -> Model:
        """Return the model with some priors exchanged; the keyword is the name of the site.

        Raises
        ------
        TypeError
            If the model has no such site, the message lists those it has; or if the prior is not a distribution of
            one continuous number, or reaches below zero where the site has no meaning there.
        """
        return replace(self, priors={**self.priors, **priors})

    def _defaults(self) -> dict[str, Distribution]:
        return {
            name: parameter.default
            for part in self.parts
            for name, parameter in inspect.signature(part).parameters.items()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        }

    def _draw(self, part: Part, *arguments: Any) -> Any:
        wanted = inspect.signature(part).parameters
        return part(*arguments, **{name: prior for name, prior in self.priors.items() if name in wanted})


def _misfit(prior: object, usual: Distribution) -> str | None:
    """Say why a prior cannot take the place of the usual one, if it cannot."""
    if not isinstance(prior, Distribution):
        return f"is a distribution such as HalfNormal(0.5), not {prior!r}"
    if prior.shape() or prior.support.is_discrete:
        return "is not a distribution of one continuous number"
    if usual.support is not real and np.any(prior.support(_BELOW_ZERO)):
        return "reaches below zero, where the site has no meaning"
    return None
