r"""Hamiltonian Monte Carlo with trajectories of random length, all chains in one compiled program.

Chains move together: at every step each goes along its own trajectory of the same, jittered length. Nothing
is decided within a trajectory, so a step costs hardly more than its gradients. Step size, lengths and the place and
scale of every coordinate are learnt in the warm-up from all chains at once: the step size by dual averaging of the
acceptance (Hoffman and Gelman 2014), the others from the draws.

In coordinates that fit, the posterior is nearly a standard normal. A trajectory follows that normal exactly, as turns
of position and momentum, and between the turns is kicked by the slope of what is left of the posterior (Shahbaba,
Lan, Johnson and Neal 2014). Where nothing is left there is no error at all; elsewhere it is as small as what is left.

A quarter of a turn forgets where it began, and any further is in vain. Coordinates that do not fit so well turn more
slowly, and every other trajectory is as long as the slowest one asks for.
Gradients along a trajectory are taken in single precision: turns and kicks by any force that depends on the position
alone can be taken back and keep volume. Energies, by which its end is accepted, are in double precision.
Chains are spread over devices; only sums over them cross from one to another, and in the warm-up alone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Int

from bayes_irsl.engines.base import Draws, require
from bayes_irsl.engines.coordinates import Coordinates, Place
from bayes_irsl.engines.rounds import draw
from bayes_irsl.engines.running import ALONE, MOST, Running, taken
from bayes_irsl.engines.tuning import LONGEST, SHORTEST, Chains, Tuning, learn, rescaled, untuned
from bayes_irsl.engines.whitened import mesh_of, spread
from bayes_irsl.programs import program
from irsl_models import Design, Model

# Steps of a trajectory, at most: while coordinates may not fit, and when they do.
_ROUGH_STEPS, _MOST_STEPS = 64, 1000
_DIVERGENT = 1000.0
# How much longer the long ones may be: where coordinates fit, and where they were not found.
_SLOWEST, _SLOWEST_UNWHITENED = 2.5, 10.0
# Shares of the warm-up after which scales are learnt anew.
_SCALINGS = (0.3, 0.6)


State = tuple[Chains, Tuning]


class Stretch(NamedTuple):
    """Some steps to take.

    Parameters
    ----------
    key : Array
        Of all steps.
    taken, wanted : Array
        Numbers of steps before, and of these.
    is_adapting : Array
        Whether they belong to the warm-up.
    longest : Array
        Leapfrog steps of a trajectory, at most.
    jitter : Float[Array, " step"]
        Numbers between 0 and 1 that decide on the length of each trajectory.
    """

    key: Array
    taken: Array
    wanted: Array
    is_adapting: Array
    longest: Array
    jitter: Array


@dataclass(frozen=True)
class HMC:
    """Hamiltonian Monte Carlo with jittered trajectories: as exact as `NUTS`, and faster.

    Parameters
    ----------
    draws, warmup : int
        Draws kept and steps of adaptation, per chain.
    chains : int
        Number of chains; they share what they learn in the warm-up.
    target_accept : float
        Mean acceptance aimed at; nearer to 1 takes smaller steps.

    Examples
    --------
    >>> HMC(draws=500).chains
    4
    """

    draws: int = 1000
    warmup: int = 500
    chains: int = 4
    target_accept: float = 0.85

    def __post_init__(self) -> None:
        """Refuse settings that no sampler can have."""
        require(self, draws=1, warmup=0, chains=1)

    @property
    def name(self) -> str:
        """Word of the engine on the command line."""
        return "hmc"

    def run(self, model: Model, design: Design, seed: int, running: Running = ALONE) -> Draws:
        """Draw from the posterior; parameters as in `NUTS.run`."""
        return draw(self, model, design, seed, running)

    def mesh(self) -> Mesh:
        """As many devices as can have equally many chains, and a core each."""
        return mesh_of(_devices(self.chains))

    def begin(self, coordinates: Coordinates, place: Place, z: Array, key: Array) -> State:
        """State of chains that start at whitened coordinates z."""
        state: State = _begin(coordinates, place, z)
        return state

    def advance(
        self, coordinates: Coordinates, place: Place, state: State, key: Array, first: int, count: int, *, rough: bool
    ) -> tuple[State, dict[str, Array]]:
        """Take some steps after the first ones, adapting in the warm-up."""
        longest = jnp.asarray(_ROUGH_STEPS if rough else _MOST_STEPS)
        is_adapting = jnp.asarray(first < self.warmup)
        stretch = Stretch(key, jnp.asarray(first), jnp.asarray(count), is_adapting, longest, _halton(first, MOST))
        moved: tuple[State, dict[str, Array]] = _advance(coordinates, self, self.mesh(), place, state, stretch)
        return moved


def _devices(chains: int) -> int:
    most = min(jax.local_device_count(), chains)
    if jax.default_backend() == "cpu":
        most = min(most, os.cpu_count() or 1)
    return max(number for number in range(1, most + 1) if chains % number == 0)


def _halton(first: int, count: int) -> Array:
    """Numbers that fill (0, 1) evenly: the van der Corput sequence of base 2."""
    whole = np.arange(first + 1, first + count + 1)
    bits = (whole[:, None] >> np.arange(32)) & 1
    return jnp.asarray(bits @ (0.5 ** np.arange(1, 33)))


def _begin(coordinates: Coordinates, place: Place, z: Array) -> State:
    potential, gradient = coordinates.potentials(place, z), coordinates.gradients(place.in_single(), z)
    return Chains(z, gradient, potential), untuned(z.shape[1])


@program(static=3)
def _advance(
    coordinates: Coordinates, engine: HMC, mesh: Mesh, place: Place, state: State, stretch: Stretch
) -> tuple[State, dict[str, Array]]:
    """Take some steps."""

    def chains(
        place: Place, rough: Place, chains: Chains, tuning: Tuning, numbers: Array, stretch: Stretch
    ) -> tuple[Chains, Tuning, dict[str, Array]]:
        step = partial(_step, coordinates, engine, place, rough, numbers, stretch)
        (chains, tuning), record = taken(step, (chains, tuning), stretch.taken, stretch.wanted)
        return chains, tuning, record

    one, many, record = spread(), spread("chain"), spread(None, "chain")
    by_device = jax.shard_map(
        chains,
        mesh=mesh,
        in_specs=(one, one, many, one, many, one),
        out_specs=(many, one, record),
        check_vma=False,
    )
    moved, tuning, kept = by_device(place, place.in_single(), *state, jnp.arange(engine.chains), stretch)
    return (moved, tuning), kept


def _step(
    coordinates: Coordinates,
    engine: HMC,
    place: Place,
    rough: Place,
    numbers: Int[Array, " chain"],
    stretch: Stretch,
    state: State,
    before: Array,
) -> tuple[State, dict[str, Array]]:
    """Take one step of the chains of a device, after so many before."""
    now, tuning = state
    key, is_long, length = jax.random.fold_in(stretch.key, before), *_length(stretch.jitter[before - stretch.taken])
    # A key for each chain: what it draws does not depend on the devices.
    keys = jax.vmap(partial(jax.random.fold_in, key))(numbers)
    momentum_keys, accept_keys = jnp.moveaxis(jax.vmap(jax.random.split)(keys), 1, 0)
    momentum = jax.vmap(lambda key: jax.random.normal(key, now.z.shape[1:]))(momentum_keys)
    size = jnp.exp(jnp.where(stretch.is_adapting, tuning.log_step, tuning.log_step_mean))
    length = length * jnp.where(is_long, tuning.slowness, 1.0)
    n_steps = jnp.clip(jnp.ceil(length / size), 1, stretch.longest).astype(int)
    ahead, last = _trajectory(partial(coordinates.gradients, rough), now, momentum, length / n_steps, tuning, n_steps)
    ahead = ahead._replace(potential=coordinates.potentials(place, ahead.z))
    energy_before = now.potential + 0.5 * jnp.square(momentum).sum(1)
    error = ahead.potential + 0.5 * jnp.square(last).sum(1) - energy_before
    error = jnp.where(jnp.isnan(error), jnp.inf, error)
    acceptance = jnp.exp(jnp.minimum(0.0, -error))
    accepted = jax.vmap(jax.random.uniform)(accept_keys) < acceptance
    then: Chains = jax.tree.map(
        lambda new, old: jnp.where(accepted.reshape(-1, *(1,) * (new.ndim - 1)), new, old), ahead, now
    )
    rescaled_after = jnp.round(jnp.asarray(_SCALINGS) * engine.warmup)
    slowest = _SLOWEST if place.whitening.is_whole else _SLOWEST_UNWHITENED

    def learnt(tuning: Tuning) -> Tuning:
        weight = jnp.where(is_long, 0.0, acceptance)
        tuning = learn(tuning, engine.target_accept, now, ahead, then, acceptance, weight)
        anew = partial(rescaled, slowest)
        kept: Tuning = jax.lax.cond((rescaled_after == before + 1).any(), anew, lambda kept: kept, tuning)
        return kept

    tuning = jax.lax.cond(stretch.is_adapting, learnt, lambda kept: kept, tuning)
    record = {
        "z": then.z,
        "n_steps": jnp.broadcast_to(n_steps, acceptance.shape),
        "diverging": error > _DIVERGENT,
        "acceptance_rate": acceptance,
        "energy": energy_before,
    }
    return (then, tuning), record


def _length(number: Array) -> tuple[Array, Array]:
    """Whether a trajectory is a long one, and its length if it were a short one."""
    within = 2.0 * number
    return within >= 1.0, SHORTEST + (LONGEST - SHORTEST) * (within % 1.0)


def _trajectory(
    gradients: Any, start: Chains, momentum: Array, step: Array, tuning: Tuning, n_steps: Array
) -> tuple[Chains, Array]:
    """Turn and kick; positions and momenta are in units in which the normal of the learnt place and scale is standard.

    The potential at the end is not taken.
    """
    cosine, sine = jnp.cos(step), jnp.sin(step)

    def standard(z: Array) -> Array:
        return (z - tuning.place) / tuning.scale

    def slope_left(chains: Chains) -> Array:
        return tuning.scale * chains.gradient - standard(chains.z)

    def move(_: int, at: tuple[Chains, Array]) -> tuple[Chains, Array]:
        chains, momentum = at
        here = standard(chains.z)
        z = tuning.place + tuning.scale * (cosine * here + sine * momentum)
        chains = chains._replace(z=z, gradient=gradients(z))
        return chains, cosine * momentum - sine * here - step * slope_left(chains)

    last, momentum = jax.lax.fori_loop(0, n_steps, move, (start, momentum - 0.5 * step * slope_left(start)))
    return last, momentum + 0.5 * step * slope_left(last)
