"""Whether JAX runs where it best would, in a note for people."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# What drivers of accelerators leave in the file system.
_ACCELERATORS = {"/dev/nvidia0": "an NVIDIA GPU", "/dev/kfd": "an AMD GPU", "/dev/accel0": "a TPU"}
# GPUs for computing, whose double precision is at most a few times slower than single; others take 32 times as long.
_DOUBLES = re.compile(r"\b(P100|V100|A30|A100|A800|H100|H200|H800|GH200|B100|B200|GB200|MI[123]\d\dX?)\b")
_SMALL = 20_000


@dataclass(frozen=True)
class Machine:
    """What JAX has and what it could have.

    Parameters
    ----------
    backend : str
        Where JAX computes: ``cpu``, ``gpu``, ``tpu``.
    kind : str
        Name of its first device.
    devices : int
        Devices of this process.
    cores : int
        Cores that this process may use.
    accelerators : tuple of str
        Accelerators that the machine has, whether or not JAX can use them.
    """

    backend: str
    kind: str
    devices: int
    cores: int
    accelerators: tuple[str, ...]


def this_machine() -> Machine:
    """Look around; starts JAX."""
    import jax

    first = jax.local_devices()[0]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    found = tuple(name for path, name in _ACCELERATORS.items() if Path(path).exists())
    return Machine(jax.default_backend(), first.device_kind, jax.local_device_count(), cores, found)


def advice(machine: Machine, cells: int) -> Iterator[str]:
    """Say where a fit of so many cells would run better.

    Parameters
    ----------
    machine : Machine
        From `this_machine`.
    cells : int
        Responses of the table. A small fit is done before it matters.

    Examples
    --------
    >>> list(advice(Machine("cpu", "cpu", devices=1, cores=8, accelerators=()), cells=100_000))
    ['JAX has one device for 8 cores, so chains run one after the other: set JAX_NUM_CPU_DEVICES=4']
    """
    if machine.backend == "cpu" and machine.accelerators and cells > _SMALL:
        # A forced CPU is somebody's wish.
        wish = os.environ.get("JAX_PLATFORMS", "")
        if wish != "cpu":
            name = " and ".join(machine.accelerators)
            yield f"this machine has {name}, and JAX runs on the CPU: install JAX for it, or set JAX_PLATFORMS=cpu"
    if machine.backend == "cpu" and machine.devices == 1 and machine.cores > 1:
        wanted = min(4, machine.cores)
        yield (
            f"JAX has one device for {machine.cores} cores, so chains run one after the other: "
            f"set JAX_NUM_CPU_DEVICES={wanted}"
        )
    if machine.backend == "gpu" and not _DOUBLES.search(machine.kind):
        yield f"{machine.kind} is slow in double precision, in which fits are computed: JAX_PLATFORMS=cpu may be faster"
    if machine.backend != "cpu" and cells <= _SMALL:
        yield f"{cells:,} cells are few for {machine.kind}: JAX_PLATFORMS=cpu is likely faster"
