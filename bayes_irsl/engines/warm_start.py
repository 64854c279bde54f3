"""A quick approximate posterior, from which every sampler starts.

Mean-field variational inference in non-centred coordinates. It cannot collapse as a joint maximum does (the
scatter running to zero with all LMs on the trend), because it integrates over the levels while it estimates
their scales.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from numpyro import handlers
from numpyro.optim import Adam

from bayes_irsl.engines.base import structure
from bayes_irsl.engines.centring import SUFFIX, PartlyCentred, hierarchical, share_of_data
from bayes_irsl.engines.density import Arguments, Density, Shares
from bayes_irsl.engines.frame import Frame
from bayes_irsl.programs import program
from irsl_models import Design, Model


@dataclass(frozen=True)
class Start:
    """Where to start, and in which coordinates.

    Parameters
    ----------
    shares : mapping of str to array
        How centred the data ask the levels of each hierarchical site to be.
    values : mapping of str to array
        Value of every site of the model in that form.
    """

    shares: Mapping[str, Any]
    values: Mapping[str, Any]


def learning_rate(peak: float, steps: int) -> Any:
    """Fall from a peak to a fiftieth of it along half a cosine."""
    return lambda step: peak * (0.02 + 0.49 * (1.0 + jnp.cos(jnp.pi * jnp.minimum(step / steps, 1.0))))


def find(model: Model, design: Design, seed: int, *, steps: int = 2000) -> Start:
    """Approximate the posterior of a model, coarsely."""
    sites = structure(model, design)
    non_centred = {name: jnp.zeros(sites[name]["fn"].shape()) for name in hierarchical(sites)}
    arguments = design, non_centred
    density = Density.of(model, arguments)
    centre, deviation = _mean_field(density, steps, arguments, jax.random.key(seed))
    parts = density.split(centre), density.split(deviation)
    shares = {name: share_of_data(*(np.asarray(part[name + SUFFIX]) for part in parts)) for name in non_centred}
    return Start(shares, _converted(density, arguments, shares, centre))


@program(static=2)
def _mean_field(density: Density, steps: int, arguments: Arguments, key: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of every parameter under the nearest normal of independent ones."""
    optimiser = Adam(learning_rate(0.02, steps))

    def loss(params: tuple[Array, Array], key: Array) -> Array:
        centre, log_deviation = params
        drawn = centre + jnp.exp(log_deviation) * jax.random.normal(key, centre.shape)
        return density(arguments, drawn) - log_deviation.sum()

    def step(number: Array, state: Any) -> Any:
        slope = jax.grad(loss)(optimiser.get_params(state), jax.random.fold_in(key, number))
        is_finite = jnp.isfinite(slope[0]).all() & jnp.isfinite(slope[1]).all()
        return jax.tree.map(lambda new, old: jnp.where(is_finite, new, old), optimiser.update(slope, state), state)

    start = density.median(arguments)
    state = optimiser.init((start, jnp.full(start.shape, jnp.log(0.1))))
    centre, log_deviation = optimiser.get_params(jax.lax.fori_loop(0, steps, step, state))
    return centre, jnp.exp(log_deviation)


@program(static=1)
def _converted(density: Density, arguments: Arguments, shares: Shares, u: Array) -> dict[str, Array]:
    """Values of the model in its final form, at a point of the non-centred one."""
    design, non_centred = arguments
    values = density.values(arguments, u)
    own = {name: values[name] for name, _ in density.shapes}
    written = {name: values[name] for name in (name.removesuffix(SUFFIX) for name in own)}
    frame = Frame(design)
    with handlers.seed(rng_seed=0), handlers.trace() as found, frame, handlers.substitute(data=written):
        density.model(design)
    for name in non_centred:
        form = PartlyCentred(shares[name], frame.shift(name))
        own[name + SUFFIX] = form.convert(found[name]["fn"], written[name])
    return own
