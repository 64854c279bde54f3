"""Settings that JAX and Matplotlib read once, when they are imported; worker and child processes inherit them."""

import os
from pathlib import Path

# float64 is left to the package: a test must not pass because the whole process runs in double precision.
for name, value in {
    "JAX_NUM_CPU_DEVICES": "2",
    "JAX_COMPILATION_CACHE_DIR": str(Path(__file__).parent / ".cache/jax"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "MPLBACKEND": "agg",
}.items():
    os.environ.setdefault(name, value)
