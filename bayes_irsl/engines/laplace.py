"""Laplace's approximation: a normal around the mean, found in a few looks at the whole table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Array

from bayes_irsl.engines.base import Draws, require
from bayes_irsl.engines.expansion import arrow, mean
from bayes_irsl.engines.expansion.arrow import Arrow
from bayes_irsl.engines.expansion.posterior import Places, without_cells
from bayes_irsl.engines.expansion.setting import Form, form_of
from bayes_irsl.engines.running import ALONE, Running
from bayes_irsl.errors import Fault, InputError
from bayes_irsl.programs import SAFE, program
from bayes_irsl.progress import Progress
from irsl_models import Design, Model

# Values that are drawn at a time.
_VALUES_AT_ONCE = 2**21


@dataclass(frozen=True)
class Laplace:
    r"""Joint normal approximation around the posterior mean: fast on tables of any size.

    Abilities and parameters of items are at their means, scales at the mode of their marginal posterior; draws vary all
    of them together. Curvature is Fisher's information, so the precision is positive wherever the search is. The more
    responses each LM and each item has, the better the approximation. On small tables it may not settle, which a note
    says: take `HMC` there. The draws are independent and come as one chain, for which R-hat says nothing.

    It takes the likelihoods whose log density is a sum of products (`irsl_models.affine`): ``bernoulli``, ``binomial``,
    ``beta`` and ``ordered_beta``, with any trend and curve. Responses are looked at by matrix products on grids of
    abilities, the few that are next to 0 or 1 one by one. Large tables are placed by 512 LMs and 2,048 items first, and
    then looked at three to six times as a whole.

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
        form = form_of(model, without_cells(design))
        if form is None:
            rule = "it takes likelihoods bernoulli, binomial, beta and ordered_beta"
            name = getattr(model.likelihood, "__name__", "the likelihood")
            raise InputError(Fault("engine laplace", "likelihood", rule, "Take hmc or svi", name))
        find_key, draw_key = jax.random.split(jax.random.key(seed))
        found = mean.find(form, design, find_key, lambda step: running.watch(Progress("looks at the table", step)))
        running.watch(Progress("drawing"))
        parts = found.mean, found.arrow, found.places, found.bare
        sites = _drawn(form, self.draws, parts, draw_key)
        notes = ["engine laplace: a normal around the posterior mean; hmc is exact"]
        if not found.settled:
            notes.append("the search for the mean did not settle: take another engine")
        drawn = {name: np.asarray(value)[None] for name, value in sites.items()}
        return Draws(sites=drawn, stats={}, notes=tuple(notes))


@program(static=2, options=SAFE)
def _drawn(form: Form, count: int, parts: tuple[Array, Arrow, Places, Design], key: Array) -> dict[str, Any]:
    centre, factors, places, bare = parts

    def one(key: Array) -> dict[str, Array]:
        noise = jax.random.normal(key, centre.shape)
        return form.posterior.sites(bare, centre + arrow.drawn(factors, places, noise))

    at_once = max(1, min(count, _VALUES_AT_ONCE // centre.size))
    drawn: dict[str, Any] = jax.lax.map(one, jax.random.split(key, count), batch_size=at_once)
    return drawn
