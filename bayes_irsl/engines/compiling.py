"""How programs of engines are compiled."""

from __future__ import annotations

from importlib.metadata import version

# From 0.10.2 on XLA hands sums of products on a CPU to a library that reads beyond the end of arrays of some shapes,
# which ends the process (github.com/jax-ml/jax/issues/39257 and 40412). Without it they are as fast.
_FIRST_WITH_LIBRARY = (0, 10, 2)


def _has_library() -> bool:
    parts = version("jaxlib").split(".")[:3]
    return tuple(int("".join(filter(str.isdigit, part)) or 0) for part in parts) >= _FIRST_WITH_LIBRARY


SAFE: dict[str, str] = {"xla_cpu_experimental_ynn_fusion_type": ""} if _has_library() else {}
"""Options of the compiler, for ``jax.jit``."""
