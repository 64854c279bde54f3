"""Laplace's approximation: a normal around the mean, found in a few looks at the whole table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Array

from bayes_irsl.engines.base import Draws, require
from bayes_irsl.engines.expansion import arrow, mean
from bayes_irsl.engines.expansion.mean import Form, Look, Setting
from bayes_irsl.engines.expansion.posterior import without_cells
from bayes_irsl.engines.running import ALONE, Running
from bayes_irsl.errors import Fault, InputError
from bayes_irsl.progress import Progress
from irsl_models import Design, Model


@dataclass(frozen=True)
class Laplace:
    """Joint normal approximation around the posterior mean.

    Parameters
    ----------
    draws : int
        Draws taken from the normal.

    Examples
    --------
    >>> Laplace(draws=500).name
    'laplace'
    """

    draws: int = 1000

    def __post_init__(self) -> None:
        """Refuse settings that make no sense."""
        require(self, draws=1)

    @property
    def name(self) -> str:
        """Word of the engine on the command line."""
        return "laplace"

    def run(self, model: Model, design: Design, seed: int, running: Running = ALONE) -> Draws:
        """Find the normal and draw from it; parameters as in `NUTS.run`."""
        form = mean.form_of(model, without_cells(design))
        if form is None:
            rule = "it takes likelihoods bernoulli, binomial, beta and ordered_beta"
            raise InputError(Fault("engine laplace", "likelihood", rule, "Take hmc or svi", "another"))
        find_key, draw_key = jax.random.split(jax.random.key(seed))
        found, setting = mean.find(form, design, find_key, lambda step: running.watch(Progress("steps to the mean", step)))
        running.watch(Progress("drawing"))
        sites = _drawn(form, self.draws, setting, found, draw_key)
        return Draws(sites={name: np.asarray(value)[None] for name, value in sites.items()}, stats={})


@partial(jax.jit, static_argnums=(0, 1))
def _drawn(form: Form, count: int, setting: Setting, found: Look, key: Array) -> dict[str, Any]:
    def one(key: Array) -> dict[str, Array]:
        noise = jax.random.normal(key, found.u.shape)
        u = found.u + arrow.drawn(found.arrow, setting.places, noise)
        return form.posterior.sites(setting.bare, u)

    drawn: dict[str, Any] = jax.lax.map(one, jax.random.split(key, count))
    return drawn
