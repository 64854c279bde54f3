"""NumPyro's no-U-turn sampler, on the model as written, in coordinates that fit the data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer import MCMC
from numpyro.infer import NUTS as Kernel

from bayes_irsl.engines.base import Draws, require
from bayes_irsl.engines.coordinates import find as coordinates_of
from irsl_models import Design, Model

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
        jitter_key, run_key = jax.random.split(jax.random.key(seed))
        coordinates, place = coordinates_of(model, jax.tree.map(jnp.asarray, design), seed)
        sampler = MCMC(
            Kernel(
                potential_fn=partial(coordinates.potential, place),
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
        z = coordinates.pulled_in(place, jax.random.normal(jitter_key, (self.chains, coordinates.size)))
        sampler.run(run_key, init_params=z if self.chains > 1 else z[0], extra_fields=tuple(_STATS))
        drawn = sampler.get_samples(group_by_chain=True)
        sites = coordinates.sites(place, drawn.reshape(-1, coordinates.size))
        shape = (self.chains, self.draws)
        extra = sampler.get_extra_fields(group_by_chain=True)
        return Draws(
            sites={name: value.reshape(shape + value.shape[1:]) for name, value in sites.items()},
            stats={ours: np.asarray(extra[theirs]) for theirs, ours in _STATS.items()},
        )
