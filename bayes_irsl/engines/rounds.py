"""Warm-up in rounds, after each of which the posterior is whitened anew by what its draws say.

A sampler begins in coordinates that were found by a quick approximation, and may have been found badly. Few draws of a
first round are enough to see the curvature where the posterior is, and a sampler whose coordinates fit takes a
fraction of the steps. Draws begin after the last round, in coordinates that no longer change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jaxtyping import Array, Float

from bayes_irsl.engines.base import Draws
from bayes_irsl.engines.coordinates import Coordinates, Place
from bayes_irsl.engines.running import ALONE, Running, Steps
from bayes_irsl.engines.whitened import coordinates_of, draws_of, spread, starts
from bayes_irsl.engines.whitening import Whitening
from bayes_irsl.programs import program
from irsl_models import Design, Model

# Shares of the warm-up after which coordinates are found anew, unless the first round were shorter than this.
_SHARES = (0.2, 0.5)
_SHORTEST = 20
# Draws at which the curvature is taken, of all chains together.
_POINTS = 8


class Sampler(Protocol):
    """A Markov chain in whitened coordinates, all of its chains at once."""

    @property
    def warmup(self) -> int:
        """Steps of adaptation."""
        ...

    @property
    def draws(self) -> int:
        """Draws kept of a chain."""
        ...

    @property
    def chains(self) -> int:
        """Number of chains."""
        ...

    def mesh(self) -> Mesh:
        """Devices that the chains are spread over."""
        ...

    def begin(self, coordinates: Coordinates, place: Place, z: Array, key: Array) -> Any:
        """State of chains that start at z: a tree of arrays."""
        ...

    def advance(
        self, coordinates: Coordinates, place: Place, state: Any, key: Array, first: int, count: int, *, rough: bool
    ) -> tuple[Any, dict[str, Array]]:
        """Take some steps after the first ones, adapting in the warm-up; record ``z``, and more, as `taken` does.

        In rounds before the last, `rough` ones, coordinates may not fit, and long trajectories are not worth while.
        """
        ...


class State(NamedTuple):
    """Where a run in rounds is.

    Parameters
    ----------
    whitening : Whitening
        Coordinates of this round.
    trail : Float[Array, "point chain parameter"]
        Draws of this round at which the next one will look.
    chains : tree of arrays
        State of the sampler.
    """

    whitening: Whitening
    trail: Float[np.ndarray, "point chain parameter"]
    chains: Any


@dataclass(frozen=True)
class Round:
    """A part of the steps of a run, from `first` until before `end`; the trail is taken at `marks`."""

    first: int
    end: int
    marks: tuple[int, ...]


def draw(sampler: Sampler, model: Model, design: Design, seed: int, running: Running) -> Draws:
    """Draw from a posterior: find coordinates, sample them, and read off the sites."""
    coordinates, place = coordinates_of(model, design, seed, running)
    return draws_of(coordinates, *sample(sampler, coordinates, place, jax.random.key(seed), running))


def sample(
    sampler: Sampler, coordinates: Coordinates, place: Place, key: Array, running: Running = ALONE
) -> tuple[Place, Mapping[str, np.ndarray]]:
    """Draw whitened coordinates.

    Returns
    -------
    Place
        With the coordinates that the draws are in.
    mapping of str to np.ndarray
        ``z`` and what is recorded of every draw, dimensions (chain, draw, ...).
    """
    start_key, run_key = jax.random.split(key)
    place = jax.device_put(place, NamedSharding(sampler.mesh(), spread()))
    rounds = _rounds(sampler)
    # One length of adaptation, and so one compiled program, for all rounds: what is learnt in the first ones is cut
    # short, and of no use in other coordinates.
    adapting: Sampler = replace(sampler, warmup=sampler.warmup - rounds[-1].first)  # type: ignore[type-var]

    def at(whitening: Whitening) -> Place:
        return replace(place, whitening=whitening)

    def entered(number: int, whitening: Whitening, z: Array) -> State:
        chains = adapting.begin(coordinates, at(whitening), z, jax.random.fold_in(run_key, number))
        return State(whitening, np.zeros((len(rounds[number].marks), *z.shape)), chains)

    def begin() -> State:
        return entered(0, place.whitening, starts(coordinates, place, start_key, sampler.chains))

    def advance(state: State, first: int, count: int) -> tuple[State, dict[str, Array]]:
        number = next(number for number, one in enumerate(rounds) if first < one.end)
        now, is_last = rounds[number], number + 1 == len(rounds)
        round_key, within = jax.random.fold_in(run_key, number), first - now.first
        chains, record = adapting.advance(
            coordinates, at(state.whitening), state.chains, round_key, within, count, rough=not is_last
        )
        trail = state.trail.copy()
        for point, mark in enumerate(now.marks):
            if first <= mark < first + count:
                trail[point] = record["z"][mark - first]
        if is_last or first + count < now.end:
            return State(state.whitening, trail, chains), record
        points = _unwhitened(state.whitening, trail.reshape(-1, coordinates.size))
        anew = coordinates.whitened_at(place, points).whitening
        last = _unwhitened(state.whitening, record["z"][count - 1])
        return entered(number + 1, anew, _whitened(anew, last)), record

    pauses = tuple(one.end for one in rounds)
    state, record = running.run(Steps(sampler.warmup, sampler.draws, begin, advance, pauses=pauses))
    return at(state.whitening), {name: np.moveaxis(value, 0, 1) for name, value in record.items()}


@program()
def _unwhitened(whitening: Whitening, z: Float[Array, "point parameter"]) -> Float[Array, "point parameter"]:
    return jax.vmap(whitening.__call__)(z)


@program()
def _whitened(whitening: Whitening, u: Float[Array, "point parameter"]) -> Float[Array, "point parameter"]:
    return jax.vmap(whitening.inverse)(u)


def _rounds(sampler: Sampler) -> list[Round]:
    """Rounds of the warm-up; the last one goes on to the last draw."""
    shares = _SHARES if sampler.warmup * _SHARES[0] >= _SHORTEST else ()
    ends = [round(share * sampler.warmup) for share in shares]
    per_chain, rounds, first = max(1, _POINTS // sampler.chains), [], 0
    for end in ends:
        # Over the second half: what comes before may be on its way still.
        gap = max(1, (end - first) // (2 * per_chain))
        rounds.append(Round(first, end, tuple(range(end - 1, first - 1, -gap)[:per_chain])))
        first = end
    return [*rounds, Round(first, sampler.warmup + sampler.draws, ())]
