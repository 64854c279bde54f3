"""Settings that JAX and Matplotlib read once, when they are imported; and room for many compiled programs."""

import os
import sys
from pathlib import Path

import pytest

# float64 is left to the package: a test must not pass because the whole process runs in double precision.
# Worker and child processes inherit these.
for name, value in {
    "JAX_NUM_CPU_DEVICES": "2",
    "JAX_COMPILATION_CACHE_DIR": str(Path(__file__).parent / ".cache/jax"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "MPLBACKEND": "agg",
}.items():
    os.environ.setdefault(name, value)

# Each compiled program maps memory some dozen times, and Linux ends a process that has 65,530 mappings.
_MANY_MAPPINGS = 30_000
_MAPPINGS = Path("/proc/self/maps")


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Let go of compiled programs where there are many: those that are asked for again are on disk."""
    if (
        "bayes_irsl.programs" in sys.modules
        and _MAPPINGS.exists()
        and _MAPPINGS.read_bytes().count(b"\n") > _MANY_MAPPINGS
    ):
        sys.modules["bayes_irsl.programs"].clear()
