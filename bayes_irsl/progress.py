"""How far a long run is, and the one line on a terminal that says so."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Parameters
    ----------
    phase : str
        What is being done.
    done, total : int
        Steps of this phase; a total of 0 where nobody knows.
    divergences : int or None
        Divergent draws so far; None where there are none to count.
    steps_per_draw : float or None
        Steps of a trajectory, of late.
    seconds_left : float or None
        Estimate for the rest of the run, this phase and those after it.

    Examples
    --------
    >>> print(Progress("draws", 250, 1000, divergences=0, steps_per_draw=15.0, seconds_left=75.0))
    draws 250 of 1000, 0 divergences, 15 steps a draw, 1:15 left
    >>> print(Progress("finding coordinates"))
    finding coordinates
    """

    phase: str
    done: int = 0
    total: int = 0
    divergences: int | None = None
    steps_per_draw: float | None = None
    seconds_left: float | None = None

    def __str__(self) -> str:
        """Say it in a line."""
        parts = [f"{self.phase} {self.done} of {self.total}" if self.total else self.phase]
        if self.divergences is not None:
            parts.append(f"{self.divergences} divergence{'s' * (self.divergences != 1)}")
        if self.steps_per_draw is not None:
            parts.append(f"{self.steps_per_draw:.0f} steps a draw")
        if self.seconds_left is not None:
            parts.append(f"{_clock(self.seconds_left)} left")
        return ", ".join(parts)


Watcher = Callable[[Progress], None]


@contextmanager
def watching(progress: bool | Watcher, stream: TextIO | None = None) -> Iterator[Watcher]:
    """Give a watcher: the caller's own, one that writes a line, or one that looks away.

    Parameters
    ----------
    progress : bool or callable
        True for a line on a terminal that is written over; a callable gets every `Progress`.
    stream : file, optional
        Where the line is written; by default to standard error.
    """
    if callable(progress):
        yield progress
    elif progress:
        terminal = stream or sys.stderr
        try:
            yield lambda now: _overwrite(terminal, str(now))
        finally:
            _overwrite(terminal, "")
    else:
        yield lambda _: None


def _overwrite(terminal: TextIO, text: str) -> None:
    # A line that is too long would break, and the next one would not cover it.
    most = shutil.get_terminal_size().columns - 1
    terminal.write("\r" + text[:most] + "\x1b[K")
    terminal.flush()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
