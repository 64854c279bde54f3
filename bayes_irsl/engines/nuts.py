"""NumPyro's no-U-turn sampler, on the model as written, in coordinates that fit the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array
from numpyro.infer import MCMC, init_to_value
from numpyro.infer import NUTS as Kernel
from numpyro.infer.util import initialize_model

from bayes_irsl.engines import centring, warm_start
from bayes_irsl.engines.base import Draws, require, sampled
from bayes_irsl.engines.whitening import whiten
from bayes_irsl.errors import Fault, InputError
from irsl_models import Design, Model

_HALVINGS = 20
_STATS = {
    "num_steps": "n_steps",
    "diverging": "diverging",
    "accept_prob": "acceptance_rate",
    "energy": "energy",
}


@dataclass(frozen=True)
class NUTS:
    """No-U-turn sampler: the reference engine.

    Chains start from a quick approximate posterior, as far apart as it is wide; every level is sampled centred,
    non-centred or in between, as much data as it has; and the coordinates are whitened by the curvature there.
    None of this changes the posterior.

    Parameters
    ----------
    draws, warmup : int
        Draws kept and steps of adaptation, per chain.
    chains : int
        Number of chains; in parallel where JAX has as many devices, else side by side in one program.
    target_accept : float
        Mean acceptance aimed at; nearer to 1 takes smaller steps.
    max_tree_depth : int
        A trajectory has at most ``2**max_tree_depth - 1`` steps.

    Examples
    --------
    >>> NUTS(draws=500).chains
    4
    """

    draws: int = 1000
    warmup: int = 500
    chains: int = 4
    target_accept: float = 0.85
    max_tree_depth: int = 10

    def __post_init__(self) -> None:
        """Refuse settings that no sampler can have."""
        require(self, draws=1, warmup=0, chains=1, max_tree_depth=1)
        if not 0.0 < self.target_accept < 1.0:
            rule = "target_accept lies between 0 and 1"
            raise InputError(Fault("engine nuts", "setting", rule, "Correct it", repr(self.target_accept)))

    @property
    def name(self) -> str:
        """Word of the engine on the command line."""
        return "nuts"

    def run(self, model: Model, design: Design, seed: int, *, progress: bool = False) -> Draws:
        """Draw from the posterior.

        Parameters
        ----------
        model, design : Model, Design
            What to fit to what.
        seed : int
            Same seed, same draws, on the same machine and versions.
        progress : bool
            Show a bar with draws, step size and acceptance.
        """
        start_key, jitter_key, run_key = jax.random.split(jax.random.key(seed), 3)
        design = jax.tree.map(jnp.asarray, design)
        start = warm_start.find(model, design, seed)
        info = initialize_model(
            start_key,
            start.model,
            model_args=(design,),
            dynamic_args=True,
            init_strategy=init_to_value(values=start.values),
        )
        flat, unravel = ravel_pytree(info.param_info.z)
        whitening = whiten(
            lambda u: info.potential_fn(design)(unravel(u)),
            flat,
            # Abilities meet one another only through the other parameters, unless they must sum to zero.
            _positions(info.param_info.z, "ability" + centring.SUFFIX),
        )

        def potential(z: Any) -> Any:
            return info.potential_fn(design)(unravel(whitening(z)))

        sampler = MCMC(
            Kernel(
                potential_fn=potential,
                target_accept_prob=self.target_accept,
                max_tree_depth=self.max_tree_depth,
            ),
            num_warmup=self.warmup,
            num_samples=self.draws,
            num_chains=self.chains,
            chain_method="parallel" if jax.local_device_count() >= self.chains else "vectorized",
            progress_bar=progress,
        )
        # As far apart as the posterior is wide: were there several modes, chains should find them.
        z = _pulled_in(potential, jax.random.normal(jitter_key, (self.chains, flat.size)))
        sampler.run(run_key, init_params=z if self.chains > 1 else z[0], extra_fields=tuple(_STATS))
        names = sampled(model, design)

        @jax.jit
        def constrained(z: Any) -> Any:
            values = info.postprocess_fn(design)(unravel(whitening(z)))
            return {name: values[name] for name in names}

        drawn = sampler.get_samples(group_by_chain=True)
        sites = jax.lax.map(constrained, drawn.reshape(-1, flat.size), batch_size=32)
        shape = (self.chains, self.draws)
        extra = sampler.get_extra_fields(group_by_chain=True)
        return Draws(
            sites={name: np.asarray(value).reshape(shape + value.shape[1:]) for name, value in sites.items()},
            stats={ours: np.asarray(extra[theirs]) for theirs, ours in _STATS.items()},
        )


def _pulled_in(potential: Callable[[Array], Array], z: Array) -> Array:
    """Halve points that lie far above the level of typical ones until they do not.

    Far from the centre the coordinates may be wrong by so much that a chain starts thousands of nats up and falls
    into the neck of a funnel, out of which no later step leads. A typical point of n dimensions is n / 2 up.
    """

    @jax.jit
    def nearer(z: Array) -> Array:
        level = potential(jnp.zeros(z.shape[-1])) + z.shape[-1]
        height = jax.lax.map(potential, z)
        return jnp.where((height < level)[:, None], z, z / 2.0)

    for _ in range(_HALVINGS):
        z = nearer(z)
    return z


def _positions(parameters: dict[str, Any], site: str) -> np.ndarray:
    """Places of a site's values in the flat vector of all parameters."""
    marked = {name: jnp.full(jnp.shape(value), name == site) for name, value in parameters.items()}
    return np.flatnonzero(ravel_pytree(marked)[0])
