"""What is measured, at which sizes and lengths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bayes_irsl.studies.bench.ours import FAST

Size = tuple[int, int]


@dataclass(frozen=True)
class Plan:
    """Sizes (LMs and items) and lengths of all measurements.

    Parameters
    ----------
    seed : int
        Of tables and runs.
    engines : mapping of str to mapping
        Settings of engines of the package that differ from what their users get.
    kernels : tuple of Size
        Tables whose log density and gradient are timed, in `repeats` pairs.
    sampled : tuple of Size
        Tables that all samplers draw from.
    warmup, draws : int
        Lengths of the chains of other packages.
    reference : mapping of str to int
        Settings of the long run of `NUTS` that all are compared with.
    estimated : tuple of Size
        Tables for point estimates, from `rounds` rounds of the alternating fit and from the `estimators`.
    grown : tuple of Size
        Tables by which time and memory grow; the last one once more with a `missing` share.
    sampled_up_to : int
        Cells up to which HMC is timed there as well.
    calibrated : tuple of Size
        Sizes of which `tables` tables each are fitted, to hold errors against variances.
    compared : Size
        Table on which the fast engine is held against HMC.
    """

    seed: int = 0
    engines: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    kernels: tuple[Size, ...] = ((100, 500), (500, 2000), (2000, 5000))
    repeats: int = 15
    sampled: tuple[Size, ...] = ((60, 300), (150, 1000))
    warmup: int = 500
    draws: int = 1000
    reference: Mapping[str, int] = field(default_factory=lambda: {"draws": 2000})
    estimated: tuple[Size, ...] = ((100, 500), (500, 2000))
    rounds: int = 50
    estimators: tuple[str, ...] = field(default_factory=lambda: (FAST,))
    grown: tuple[Size, ...] = ((100, 100), (100, 500), (500, 2000), (2000, 5000), (3000, 20000), (6612, 37682))
    missing: float = 0.3
    sampled_up_to: int = 50_000
    calibrated: tuple[Size, ...] = ((100, 500), (500, 2000), (2000, 5000))
    tables: int = 20
    compared: Size = (60, 300)


SMALL = Plan(
    engines={
        "hmc": {"draws": 100, "warmup": 100, "chains": 2},
        "nuts": {"draws": 100, "warmup": 100, "chains": 2},
        "svi": {"draws": 200, "steps": 500},
    },
    kernels=((20, 50),),
    repeats=3,
    sampled=((12, 20),),
    warmup=100,
    draws=100,
    reference={"draws": 200, "warmup": 100, "chains": 2},
    estimated=((30, 60),),
    rounds=5,
    grown=((20, 20), (30, 60)),
    sampled_up_to=1000,
    calibrated=((20, 40),),
    tables=2,
    compared=(20, 40),
)
"""All of it, to see that it works; its figures mean nothing."""
