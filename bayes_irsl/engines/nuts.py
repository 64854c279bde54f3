"""NumPyro's no-U-turn sampler, on the model as written, in coordinates that fit the data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jaxtyping import Array
from numpyro.infer.hmc import HMCState, hmc

from bayes_irsl.engines.base import Draws, require
from bayes_irsl.engines.coordinates import Coordinates, Place
from bayes_irsl.engines.rounds import draw
from bayes_irsl.engines.running import ALONE, Running, taken
from bayes_irsl.engines.whitened import mesh_of, spread
from bayes_irsl.programs import program
from irsl_models import Design, Model

_RECORD = {
    "z": "z",
    "num_steps": "n_steps",
    "diverging": "diverging",
    "accept_prob": "acceptance_rate",
    "energy": "energy",
}


@dataclass(frozen=True)
class NUTS:
    """No-U-turn sampler: the reference engine.

    Chains start from a quick approximate posterior, as far apart as it is wide; every level is sampled centred,
    non-centred or in between, as much data as it has; and the coordinates are whitened by the curvature there, and anew
    in the warm-up by that at the draws. None of this changes the posterior.

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

    def run(self, model: Model, design: Design, seed: int, running: Running = ALONE) -> Draws:
        """Draw from the posterior.

        Parameters
        ----------
        model, design : Model, Design
            What to fit to what.
        seed : int
            Same seed, same draws, on the same machine and versions.
        running : Running
            How the run is watched and kept.
        """
        return draw(self, model, design, seed, running)

    def mesh(self) -> Mesh:
        """One device for each chain where there are as many, else one for all."""
        return mesh_of(self.chains if jax.local_device_count() >= self.chains else 1)

    def begin(self, coordinates: Coordinates, place: Place, z: Array, key: Array) -> HMCState:
        """State of chains that start at whitened coordinates z."""
        # Keys as plain numbers: a state is to be arrays and nothing else.
        keys = jax.random.key_data(jax.random.split(key, self.chains))
        state: HMCState = _begin(coordinates, self, place, z, keys)
        return state

    def advance(
        self,
        coordinates: Coordinates,
        place: Place,
        state: HMCState,
        key: Array,
        first: int,
        count: int,
        *,
        rough: bool,
    ) -> tuple[HMCState, dict[str, Array]]:
        """Take some steps; the state knows the key and what was taken before, and a trajectory how far it goes."""
        moved: tuple[HMCState, dict[str, Array]] = _advance(coordinates, self, self.mesh(), place, state, count)
        return moved


def _kernel(coordinates: Coordinates, engine: NUTS, place: Place, z: Array, key: Array) -> tuple[HMCState, Any]:
    """NumPyro's sampler: its first state, and the function from a state to the next.

    The function knows its settings only after the first state was made, so both are made together.
    """
    begin, move = hmc(potential_fn=partial(coordinates.potential, place), algo="NUTS")
    state = begin(
        z,
        num_warmup=engine.warmup,
        target_accept_prob=engine.target_accept,
        max_tree_depth=engine.max_tree_depth,
        rng_key=key,
    )
    return state, move


@program(static=2)
def _begin(coordinates: Coordinates, engine: NUTS, place: Place, z: Array, keys: Array) -> HMCState:
    state: HMCState = jax.vmap(lambda z, key: _kernel(coordinates, engine, place, z, key)[0])(z, keys)
    return state


@program(static=3)
def _advance(
    coordinates: Coordinates, engine: NUTS, mesh: Mesh, place: Place, state: HMCState, count: int
) -> tuple[HMCState, dict[str, Array]]:
    """Take some steps."""

    def chains(place: Place, state: HMCState, count: Array) -> tuple[HMCState, dict[str, Array]]:
        _, move = _kernel(coordinates, engine, place, state.z[0], state.rng_key[0])
        # One chain by itself need not take both sides of every decision.
        every = jax.vmap(move) if len(state.i) > 1 else partial(jax.lax.map, move)

        def step(state: HMCState, _: Array) -> tuple[HMCState, dict[str, Array]]:
            state = every(state)
            return state, {ours: getattr(state, theirs) for theirs, ours in _RECORD.items()}

        return taken(step, state, 0, count)

    one, many, record = spread(), spread("chain"), spread(None, "chain")
    by_device = jax.shard_map(chains, mesh=mesh, in_specs=(one, many, one), out_specs=(many, record), check_vma=False)
    result: tuple[HMCState, dict[str, Array]] = by_device(place, state, jnp.asarray(count))
    return result
