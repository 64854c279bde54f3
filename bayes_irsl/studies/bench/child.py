"""The process that does a piece of work for `processes.measured`: ``child MODULE:FUNCTION SETTINGS OUT``."""

from __future__ import annotations

import json
import re
import resource
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import jax.monitoring
import numpy as np

from bayes_irsl.fitting import double_precision

_MISS = "/jax/compilation_cache/cache_misses"


def main(task: str, settings: str, out: str) -> None:
    """Prepare, do the work, and write what it gave and took."""
    module, _, function = task.partition(":")
    misses: list[str] = []
    jax.monitoring.register_event_listener(lambda event, **_: misses.append(event) if event == _MISS else None)
    with double_precision():
        work = getattr(import_module(module), function)(**json.loads(settings))
        before_gb, known = peak_gb(), len(misses)
        begun, cpu_begun = time.monotonic(), time.process_time()
        found = {name: np.asarray(value) for name, value in work().items()}  # waits for the results
        costs: dict[str, Any] = {
            "cpu_seconds": time.process_time() - cpu_begun,
            "seconds": time.monotonic() - begun,
            "process_cpu_seconds": time.process_time(),
            "peak_gb": peak_gb(),
            "before_gb": before_gb,
            "compiled": len(misses) - known,
        }
    arrays: dict[str, Any] = {"costs": json.dumps(costs), **found}
    np.savez(out, **arrays)


def peak_gb() -> float:
    """Largest memory that this process has used, in gigabytes."""
    try:
        # What getrusage says may be that of the process that started this one.
        found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        found = None
    if found:
        return int(found[1]) * 1024 / 1e9
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


if __name__ == "__main__":
    main(*sys.argv[1:])
