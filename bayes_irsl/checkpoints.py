"""Folders from which a run goes on after it was stopped.

``run.json`` says which run it is. Arrays lie in files of one form: a line of JSON with a checksum, then the ``npz`` of
NumPy; nothing in them can be executed. ``start`` holds what the run begins with, ``state-N`` the sampler after N steps,
``draws-M-N`` the draws of the steps from M to N. Draws are written once; a state needs all draws before it.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bayes_irsl.errors import Fault, InputError
from bayes_irsl.files import replacing

SECONDS_BETWEEN = 10.0
"""Time between two checkpoints, at least."""

_RUN = "run.json"
_ENDING = ".arrays"
# The last state and the one before it, should the last one be damaged.
_STATES_KEPT = 2

Arrays = Mapping[str, np.ndarray]


class Position(NamedTuple):
    """Where a sampler is.

    Parameters
    ----------
    done : int
        Steps taken.
    state : sequence of np.ndarray
        Arrays of its state.
    draws : list of mapping of str to np.ndarray
        What was recorded of the draws so far, in pieces along the first dimension.
    """

    done: int
    state: Sequence[np.ndarray]
    draws: list[Arrays]


@dataclass(frozen=True)
class Checkpoint:
    """A folder of checkpoints, and the run they are of.

    Parameters
    ----------
    folder : Path
        The folder; made when there is something to write.
    run : mapping of str to object
        What decides the draws, as plain values: two runs that agree in it have the same draws.
    every : float
        Seconds between two checkpoints, at least.

    Examples
    --------
    >>> import tempfile
    >>> checkpoint = Checkpoint(Path(tempfile.mkdtemp()) / "run", {"seed": 1})
    >>> checkpoint.write("start", {"centre": np.zeros(2)})
    >>> checkpoint.read("start")
    {'centre': array([0., 0.])}
    """

    folder: Path
    run: Mapping[str, Any]
    every: float = SECONDS_BETWEEN

    @cached_property
    def _mark(self) -> str:
        """What marks the files of this run."""
        return _checksum(json.dumps(self.run, sort_keys=True).encode())

    def check(self) -> None:
        """Refuse the checkpoints of another run.

        Raises
        ------
        InputError
            If the folder holds another run; the message says in what it differs.
        """
        path = self.folder / _RUN
        if not path.exists():
            return
        try:
            there = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            raise _fault(self.folder, f"{_RUN} is damaged", "Delete the folder to begin anew") from None
        here = json.loads(json.dumps(self.run))
        differences = [
            "the table differs" if name == "data" else f"{name} was {there.get(name)!r} and is {here.get(name)!r}"
            for name in sorted({*here, *there})
            if here.get(name) != there.get(name)
        ]
        if differences:
            way_out = "Ask for that run again, name another folder, or delete this one to begin anew"
            raise _fault(self.folder, f"it holds another run: {'; '.join(differences)}", way_out)

    def write(self, name: str, arrays: Arrays) -> None:
        """Write a file of arrays, whole or not at all."""
        if not (self.folder / _RUN).exists():
            self.folder.mkdir(exist_ok=True)
            with replacing(self.folder / _RUN) as unfinished:
                unfinished.write_text(json.dumps(self.run, indent=1, sort_keys=True), encoding="utf-8")
        content = io.BytesIO()
        np.savez(content, allow_pickle=False, **dict(arrays))
        header = json.dumps({"run": self._mark, "sha256": _checksum(content.getbuffer())})
        with replacing(self._path(name)) as unfinished, unfinished.open("wb") as file:
            file.write(header.encode() + b"\n")
            file.write(content.getbuffer())

    def read(self, name: str) -> dict[str, np.ndarray] | None:
        """Read a file of arrays; None where it is missing, damaged, or of another run."""
        try:
            header, _, content = self._path(name).read_bytes().partition(b"\n")
            intact = json.loads(header) == {"run": self._mark, "sha256": _checksum(content)}
        except (OSError, ValueError):
            return None
        if not intact:
            return None
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return dict(arrays)

    def save(self, done: int, state: Sequence[np.ndarray], new_draws: Arrays, since: int) -> None:
        """Write the state of a sampler, and its draws of the steps after the first `since`, if there are any."""
        # The draws come first: a state without them is of no use, and draws beyond the last state do no harm.
        if new_draws:
            self.write(f"draws-{since:09}-{done:09}", new_draws)
        self.write(f"state-{done:09}", {f"{place:04}": value for place, value in enumerate(state)})
        for name in self._names("state")[:-_STATES_KEPT]:
            self._path(name).unlink()

    def latest(self, warmup: int) -> Position | None:
        """Read the last position whose files are intact; whatever was written after it is removed.

        Parameters
        ----------
        warmup : int
            Steps before the first draw.
        """
        for state_name in reversed(self._names("state")):
            done, state = int(state_name.split("-")[1]), self.read(state_name)
            draws = None if state is None else self._draws(warmup, done)
            if state is not None and draws is not None:
                self._remove_after(done)
                return Position(done, [state[place] for place in sorted(state)], draws)
        self._remove_after(0)
        return None

    def _draws(self, warmup: int, done: int) -> list[Arrays] | None:
        """Read the draws up to a step; None where some are missing."""
        found: list[Arrays] = []
        reached = warmup
        for name in self._names("draws"):
            first, last = map(int, name.split("-")[1:])
            if last > done:
                continue
            part = self.read(name)
            if part is None or first != reached:
                return None
            found.append(part)
            reached = last
        return found if reached == max(done, warmup) else None

    def _remove_after(self, done: int) -> None:
        for name in (*self._names("state"), *self._names("draws")):
            if int(name.split("-")[-1]) > done:
                self._path(name).unlink()

    def _names(self, kind: str) -> list[str]:
        return sorted(path.name.removesuffix(_ENDING) for path in self.folder.glob(f"{kind}-*{_ENDING}"))

    def _path(self, name: str) -> Path:
        return self.folder / (name + _ENDING)


def is_unfinished(folder: Path) -> bool:
    """Tell whether a run lies in a folder that can go on."""
    return (folder / _RUN).exists()


def check_folder(folder: Path, *, resume: bool) -> None:
    """Make sure that a run may put its checkpoints into a folder.

    Parameters
    ----------
    folder : Path
        The folder; it need not exist.
    resume : bool
        Whether a run that lies there may go on.

    Raises
    ------
    InputError
        If an unfinished run lies there that was not to go on, or things that are no checkpoints.
    """
    if not folder.exists():
        return
    is_run = is_unfinished(folder)
    if not folder.is_dir() or not (is_run or {*folder.iterdir()} <= {*_ours(folder)}):
        raise _fault(folder, "it is no folder of checkpoints", "Name another one")
    if is_run and not resume:
        way_out = "Go on with it (resume=True, --resume), or delete the folder to begin anew"
        raise _fault(folder, "an earlier run lies there", way_out)


def begin_or_resume(folder: Path, run: Mapping[str, Any], every: float, *, resume: bool) -> Checkpoint:
    """Get a folder ready for a run, or for the rest of one.

    Parameters
    ----------
    folder, run, every : Path, mapping, float
        As in `Checkpoint`.
    resume : bool
        Whether a run that lies there may go on.

    Raises
    ------
    InputError
        As in `check_folder`, if the folder cannot be made, and if it holds another run; the message says in what that
        differs.
    """
    if not folder.parent.is_dir():
        raise _fault(folder, f"there is no folder {folder.parent}", "Make it first, or name another one")
    check_folder(folder, resume=resume)
    checkpoint = Checkpoint(folder, run, every)
    checkpoint.check()
    return checkpoint


def remove(folder: Path) -> None:
    """Delete a folder of checkpoints; what else may lie in it stays."""
    # The name of the run goes last: until then the folder is known for what it is.
    for path in _ours(folder):
        path.unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _ours(folder: Path) -> list[Path]:
    """Files of checkpoints, among them those whose writing was cut short; last the one that names the run."""
    return [path for pattern in (f"*{_ENDING}", ".run.*.json", _RUN) for path in folder.glob(pattern)]


def _checksum(content: bytes | memoryview) -> str:
    return hashlib.sha256(content).hexdigest()


def _fault(folder: Path, rule: str, way_out: str) -> InputError:
    return InputError(Fault(f"checkpoint {folder}", "checkpoint", rule, way_out))
