"""Running a sampler: in chunks of a second or so, between which it is watched, kept and stopped.

A sampler is a function that takes some steps, compiled once for any number of them up to `MOST`. How many it takes at a
time changes nothing in what it draws, so chunks may be as long as suits the clock, and a run that goes on from a
checkpoint draws bit for bit what it would have drawn.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from bayes_irsl.checkpoints import Arrays, Checkpoint, Position
from bayes_irsl.progress import Progress, Watcher

MOST = 50
"""Steps of one call of a compiled program, at most."""
# Long enough that calls cost nothing beside it, and short enough to wait for after Ctrl-C.
_SECONDS = 0.5


@dataclass(frozen=True)
class Steps:
    """A sampler as a sequence of steps.

    Parameters
    ----------
    warmup, draws : int
        Numbers of steps: first those that adapt and are not kept, then those that are.
    begin : callable
        Makes the state before the first step: a tree of arrays.
    advance : callable
        Takes state, number of steps taken and number of steps to take, at most `MOST` and never across a pause or
        the end of the warm-up. Gives the new state, and what was recorded of every step, as `taken` does.
    phases : tuple of str
        What warm-up and draws are called.
    pauses : tuple of int
        Numbers of steps beyond which no call goes, beside the end of the warm-up.
    """

    warmup: int
    draws: int
    begin: Callable[[], Any]
    advance: Callable[[Any, int, int], tuple[Any, dict[str, Any]]]
    phases: tuple[str, str] = ("warm-up", "draws")
    pauses: tuple[int, ...] = ()


@dataclass(frozen=True)
class Running:
    """How a run is watched and kept.

    Parameters
    ----------
    watch : callable
        Gets a `Progress` after every chunk.
    checkpoint : Checkpoint, optional
        Where the run is kept, and where it goes on from if something lies there.
    """

    watch: Watcher = lambda _: None
    checkpoint: Checkpoint | None = None

    def start(self, find: Callable[[], Mapping[str, Mapping[str, Any]]]) -> dict[str, dict[str, np.ndarray]]:
        """Find what a run begins with, or read what was found before it was stopped.

        It is kept rather than found again: finding takes long, and what is read back is the same to the last bit
        however many threads the machine has for it.

        Parameters
        ----------
        find : callable
            Finds named groups of named arrays.
        """
        self.watch(Progress("finding coordinates"))
        flat = None if self.checkpoint is None else self.checkpoint.read("start")
        if flat is None:
            flat = {
                f"{group}/{name}": np.asarray(value) for group, part in find().items() for name, value in part.items()
            }
            if self.checkpoint is not None:
                self.checkpoint.write("start", flat)
        found: dict[str, dict[str, np.ndarray]] = {}
        for path, value in flat.items():
            group, _, name = path.partition("/")
            found.setdefault(group, {})[name] = value
        return found

    def run(self, steps: Steps) -> tuple[Any, dict[str, np.ndarray]]:
        """Take all steps.

        Returns
        -------
        tree of arrays
            The state after the last step.
        dict of str to np.ndarray
            What was recorded of the draws, dimensions (draw, ...).

        Raises
        ------
        KeyboardInterrupt
            If the process was told to stop; where the sampler is has then been written.
        """
        begun = _on_host(steps.begin())
        form = jax.tree.structure(begun)
        at = Position(0, jax.tree.leaves(begun), [])
        if self.checkpoint is not None:
            at = self.checkpoint.latest(steps.warmup) or at
        keeper, pace = _Keeper(self.checkpoint, steps.warmup, at), _Pace()
        total, diverged = steps.warmup + steps.draws, _divergences(at.draws)
        with _signals_held_back() as signals:
            while at.done < total:
                end = min(end for end in (*steps.pauses, steps.warmup, total) if end > at.done)
                count = min(pace.next, end - at.done)
                begun_at = time.monotonic()
                state, record = steps.advance(jax.tree.unflatten(form, at.state), at.done, count)
                record = {name: np.asarray(value)[:count] for name, value in record.items()}
                new = [record] if at.done >= steps.warmup else []
                at = Position(at.done + count, jax.tree.leaves(_on_host(state)), [*at.draws, *new])
                pace.note(count, time.monotonic() - begun_at)
                diverged += _divergences(new)
                if keeper.is_due or signals or at.done == total:
                    keeper.save(at)
                if signals:
                    break
                self.watch(_progress(steps, at.done, record, diverged, pace.left(total - at.done)))
        if signals:
            raise KeyboardInterrupt
        return jax.tree.unflatten(form, at.state), _joined(at.draws)


ALONE = Running()
"""Not watched, not kept."""


def taken(
    step: Callable[[Any, Array], tuple[Any, dict[str, Array]]], state: Any, first: Array | int, count: Array | int
) -> tuple[Any, dict[str, Array]]:
    """Take steps within a compiled program, and record each.

    Parameters
    ----------
    step : callable
        Takes a state and the number of steps before; gives the next state and what is recorded.
    state : tree of arrays
        Where to begin.
    first, count : Array or int
        Steps taken before, and steps to take, at most `MOST`.

    Returns
    -------
    tree of arrays
        The state after them.
    dict of str to Array
        Records, dimensions (`MOST`, ...); those beyond `count` are zero.
    """
    shapes = jax.eval_shape(step, state, jnp.asarray(first))[1]
    record = {name: jnp.zeros((MOST, *shape.shape), shape.dtype) for name, shape in shapes.items()}

    def one(place: Array, carry: tuple[Any, dict[str, Array]]) -> tuple[Any, dict[str, Array]]:
        state, record = carry
        state, new = step(state, first + place)
        return state, {name: record[name].at[place].set(value) for name, value in new.items()}

    result: tuple[Any, dict[str, Array]] = jax.lax.fori_loop(0, count, one, (state, record))
    return result


class _Pace:
    """How long a step takes, and so how many are taken next."""

    def __init__(self) -> None:
        self.next = 1
        self._seconds: float | None = None
        self._is_first = True

    def note(self, count: int, seconds: float) -> None:
        """Take in how long a chunk took."""
        if self._is_first:  # it had to be compiled
            self._is_first = False
            return
        new = seconds / count
        self._seconds = new if self._seconds is None else 0.5 * (self._seconds + new)
        # Doubling at most: early steps are often the shortest.
        self.next = int(np.clip(_SECONDS / max(self._seconds, 1e-9), 1, min(2 * self.next, MOST)))

    def left(self, steps: int) -> float | None:
        """Seconds that so many steps will take."""
        return None if self._seconds is None else self._seconds * steps


class _Keeper:
    """Writes checkpoints, each draw once."""

    def __init__(self, checkpoint: Checkpoint | None, warmup: int, at: Position) -> None:
        self._checkpoint, self._warmup = checkpoint, warmup
        self._last, self._time = at, time.monotonic()

    @property
    def is_due(self) -> bool:
        """Whether the last checkpoint is old enough."""
        return self._checkpoint is not None and time.monotonic() - self._time >= self._checkpoint.every

    def save(self, at: Position) -> None:
        """Write where the sampler is."""
        if self._checkpoint is None or at.done == self._last.done:
            return
        new = _joined(at.draws[len(self._last.draws) :])
        self._checkpoint.save(at.done, at.state, new, since=max(self._last.done, self._warmup))
        self._last, self._time = at, time.monotonic()


@contextmanager
def _signals_held_back() -> Iterator[list[int]]:
    """Collect the signals that ask a process to stop, so that it can do so between two chunks.

    Only those that Python would answer anyway: what kills a process without asking Python still does. The second one
    is no longer held back.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came  # Python answers signals in the main thread alone
        return
    answers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def hold(number: int, frame: FrameType | None) -> None:
        answer = answers[signal.Signals(number)]
        if came and callable(answer):
            answer(number, frame)
        came.append(number)

    for number, answer in answers.items():
        if callable(answer):
            signal.signal(number, hold)
    try:
        yield came
    finally:
        for number, answer in answers.items():
            if callable(answer):
                signal.signal(number, answer)


def _progress(steps: Steps, done: int, record: Arrays, diverged: int, left: float | None) -> Progress:
    warm = done <= steps.warmup
    return Progress(
        steps.phases[0 if warm else 1],
        done if warm else done - steps.warmup,
        steps.warmup if warm else steps.draws,
        divergences=diverged if "diverging" in record else None,
        steps_per_draw=float(record["n_steps"].mean()) if "n_steps" in record else None,
        seconds_left=left,
    )


def _divergences(parts: Sequence[Arrays]) -> int:
    return sum(int(part["diverging"].sum()) for part in parts if "diverging" in part)


def _joined(parts: Sequence[Arrays]) -> dict[str, np.ndarray]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}


def _on_host(tree: Any) -> Any:
    """Arrays as NumPy has them: a state that was read and one that was computed look the same to compiled programs."""
    return jax.tree.map(np.asarray, tree)
