"""Stochastic variational inference: fast, approximate, for a first look and for models nothing else covers."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from numpyro.infer import SVI as Inference
from numpyro.infer import Trace_ELBO, init_to_value
from numpyro.infer.autoguide import AutoGuide, AutoLowRankMultivariateNormal
from numpyro.infer.svi import SVIState
from numpyro.optim import Adam

from bayes_irsl.engines import centring, warm_start
from bayes_irsl.engines.base import Draws, require, sampled
from bayes_irsl.engines.running import ALONE, Running, Steps, taken
from irsl_models import Design, Model


@dataclass(frozen=True)
class SVI:
    """Variational inference with one of NumPyro's guides.

    Intervals of a variational fit tend to be too narrow, most for scales; compare with `NUTS` before relying on
    them. The draws are independent and come as one chain, for which R-hat says nothing.

    Parameters
    ----------
    draws : int
        Draws taken from the fitted guide.
    steps : int
        Steps of the optimiser after the warm start.
    guide : type
        Family of approximations; the default allows correlations of low rank.
    learning_rate : float
        Peak step size of Adam.

    Examples
    --------
    >>> SVI(steps=2000).draws
    2000
    """

    draws: int = 2000
    steps: int = 5000
    guide: type[AutoGuide] = AutoLowRankMultivariateNormal
    learning_rate: float = 0.01

    def __post_init__(self) -> None:
        """Refuse settings that no optimiser can have."""
        require(self, draws=1, steps=1)

    @property
    def name(self) -> str:
        """Word of the engine on the command line."""
        return "svi"

    def run(self, model: Model, design: Design, seed: int, running: Running = ALONE) -> Draws:
        """Fit the guide and draw from it; parameters as in `NUTS.run`."""
        fit_key, draw_key = jax.random.split(jax.random.key(seed))
        design = jax.tree.map(jnp.asarray, design)
        start = running.start(lambda: vars(warm_start.find(model, design, seed)))
        free = centring.free(model, start.get("shares", {}))
        guide = self.guide(free, init_loc_fn=init_to_value(values=start["values"]))
        inference = Inference(free, guide, Adam(warm_start.learning_rate(self.learning_rate, self.steps)), Trace_ELBO())

        def step(state: SVIState, _: Array) -> tuple[SVIState, dict[str, Array]]:
            return inference.stable_update(state, design)[0], {}

        @jax.jit
        def some(state: SVIState, count: int) -> tuple[SVIState, dict[str, Array]]:
            return taken(step, state, 0, count)

        state, _ = running.run(
            Steps(
                warmup=self.steps,
                draws=0,
                # The key as plain numbers: a state is to be arrays and nothing else.
                begin=lambda: inference.init(jax.random.key_data(fit_key), design),
                advance=lambda state, first, count: some(state, count),
                phases=("fitting the guide", ""),
            )
        )
        params = inference.get_params(state)
        drawn = guide.sample_posterior(draw_key, params, design, sample_shape=(self.draws,))
        names = sampled(model, design)
        return Draws(
            sites={name: np.asarray(drawn[name])[None] for name in names},
            stats={},
            notes=("variational approximation: intervals may be too narrow; `nuts` is the reference",),
        )
