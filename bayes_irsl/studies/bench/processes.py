"""One piece of work in a process of its own, so that its time and memory are its own.

Work is a function of plain settings that prepares everything and returns what is to be measured, a function without
arguments. Only this is timed: imports and tables are not. A rehearsal does the same in a process before, which leaves
the compiled programs in JAX's persistent cache; how many programs had to be compiled all the same is counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Work = Callable[[], Mapping[str, Any]]

_SETTINGS = {
    "JAX_NUM_CPU_DEVICES": "4",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "MPLBACKEND": "agg",
}


@dataclass(frozen=True)
class Measured:
    """What a piece of work gave and took.

    Parameters
    ----------
    found : mapping of str to np.ndarray
        What it returned.
    cpu_seconds, seconds : float
        Time of all cores, and time that passed.
    process_cpu_seconds : float
        Time of all cores from the start of the process on, with imports and preparation.
    peak_gb, before_gb : float
        Largest memory of the process, and what it had used at most before the work began.
    compiled : int
        Programs that were compiled within the work.
    """

    found: Mapping[str, np.ndarray]
    cpu_seconds: float
    seconds: float
    process_cpu_seconds: float
    peak_gb: float
    before_gb: float
    compiled: int


def measured(
    prepare: Callable[..., Work], settings: Mapping[str, Any], cache: Path, *, rehearse: bool = True
) -> Measured:
    """Do some work in a process of its own, after a rehearsal in another one.

    Parameters
    ----------
    prepare : callable
        Function of a module that takes settings by their names and returns the work.
    settings : mapping of str to Any
        Numbers, texts, and lists and mappings of them.
    cache : Path
        Folder for compiled programs.
    rehearse : bool
        Whether to rehearse. Where the work takes many minutes, compiling hardly counts.
    """
    for _ in range(rehearse):
        _in_a_process(prepare, settings, cache)
    return _in_a_process(prepare, settings, cache)


def _in_a_process(prepare: Callable[..., Work], settings: Mapping[str, Any], cache: Path) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "measured.npz"
        task = f"{prepare.__module__}:{prepare.__qualname__}"
        command = [sys.executable, "-m", "bayes_irsl.studies.bench.child", task, json.dumps(settings), str(out)]
        environment = {**_SETTINGS, **os.environ, "JAX_COMPILATION_CACHE_DIR": str(cache.resolve())}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{task} with {dict(settings)} failed:\n{done.stderr[-4000:]}")
        with np.load(out) as kept:
            found = {name: kept[name] for name in kept.files}
    costs = json.loads(str(found.pop("costs")))
    return Measured(found=found, **costs)
