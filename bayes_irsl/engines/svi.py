"""Stochastic variational inference: fast, approximate, for a first look and for models nothing else covers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from numpyro import handlers
from numpyro.infer import ELBO, init_to_value
from numpyro.infer import SVI as Inference
from numpyro.infer.autoguide import AutoGuide, AutoLowRankMultivariateNormal
from numpyro.infer.svi import SVIState
from numpyro.infer.util import compute_log_probs
from numpyro.optim import Adam

from bayes_irsl.engines import centring, warm_start
from bayes_irsl.engines.base import Draws, require, sampled
from bayes_irsl.engines.density import Arguments, Shares
from bayes_irsl.engines.running import ALONE, Running, Steps, taken
from irsl_models import Design, Model


class InOrder(ELBO):  # type: ignore[misc]
    """Evidence lower bound whose terms are added in the order of the model.

    NumPyro adds them in the order of a set, which differs from process to process, and so compiles a new program in
    each.
    """

    def loss_with_mutable_state(
        self, rng_key: Array, param_map: Mapping[str, Array], model: Any, guide: Any, *args: Any, **kwargs: Any
    ) -> dict[str, Any]:
        """Negative bound of one draw, and no state that is changed on the way."""
        model_key, guide_key = jax.random.split(rng_key)
        of_guide, found = compute_log_probs(handlers.seed(guide, guide_key), args, kwargs, param_map)
        replayed = handlers.replay(handlers.seed(model, model_key), found)
        of_model, _ = compute_log_probs(replayed, args, kwargs, param_map)
        return {"loss": sum(of_guide.values()) - sum(of_model.values()), "mutable_state": None}


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
        # Data are arguments of all programs, so that those of one table serve others of its shape.
        arguments = design, jax.tree.map(jnp.asarray, start.get("shares", {}))

        def free(design: Design, shares: Shares) -> Any:
            return centring.free(model, shares)(design)

        guide = self.guide(free, init_loc_fn=init_to_value(values=start["values"]))
        optimiser = Adam(warm_start.learning_rate(self.learning_rate, self.steps))
        inference = Inference(free, guide, optimiser, InOrder())

        @jax.jit
        def some(state: SVIState, count: int, arguments: Arguments) -> tuple[SVIState, dict[str, Array]]:
            return taken(lambda state, _: (inference.stable_update(state, *arguments)[0], {}), state, 0, count)

        @jax.jit
        def drawn_from(params: dict[str, Array], arguments: Arguments) -> dict[str, Array]:
            drawn: dict[str, Array] = guide.sample_posterior(draw_key, params, *arguments, sample_shape=(self.draws,))
            return drawn

        state, _ = running.run(
            Steps(
                warmup=self.steps,
                draws=0,
                # The key as plain numbers: a state is to be arrays and nothing else.
                begin=lambda: inference.init(jax.random.key_data(fit_key), *arguments),
                advance=lambda state, first, count: some(state, count, arguments),
                phases=("fitting the guide", ""),
            )
        )
        drawn = drawn_from(inference.get_params(state), arguments)
        names = sampled(model, design)
        return Draws(
            sites={name: np.asarray(drawn[name])[None] for name in names},
            stats={},
            notes=("variational approximation: intervals may be too narrow; `nuts` is the reference",),
        )
