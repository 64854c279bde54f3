"""Engines of the package as pieces of work."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from bayes_irsl.engines.base import Draws, Engine
from bayes_irsl.engines.running import Running
from bayes_irsl.progress import Progress
from bayes_irsl.studies.bench.drawn import Gradients, packed
from bayes_irsl.studies.bench.processes import Work
from bayes_irsl.studies.tables import simulated
from irsl_models import Model, likelihoods

MODEL = Model(likelihood=likelihoods.beta)
FAST = "laplace"
"""Word of the engine for large tables."""
_CLASSES = {"hmc": "HMC", "laplace": "Laplace", "nuts": "NUTS", "svi": "SVI"}


def engine(name: str, settings: Mapping[str, Any] | None = None) -> Engine:
    """Engine by its word on the command line, with some settings changed.

    Examples
    --------
    >>> engine("hmc", {"draws": 20}).name
    'hmc'
    """
    made: Engine = getattr(import_module(f"bayes_irsl.engines.{name}"), _CLASSES[name])(**settings or {})
    return made


class _Counter:
    """Counts gradients of all chains from what a run says of itself, a chunk of steps at a time."""

    def __init__(self, chains: int) -> None:
        self.counted = Gradients()
        self._chains, self._before = chains, Progress("")

    def __call__(self, now: Progress) -> None:
        if now.steps_per_draw is None:
            return
        done = now.done - (self._before.done if now.phase == self._before.phase else 0)
        self.counted = self.counted.with_more(now.phase == "warm-up", done * now.steps_per_draw * self._chains)
        self._before = now


def prepared(
    name: str,
    n_lms: int,
    n_items: int,
    seed: int,
    settings: Mapping[str, Any] | None = None,
    missing: float = 0.0,
    dtype: str = "float64",
    run_seed: int | None = None,
) -> Work:
    """Prepare a run on a simulated table. Gradients of finding a start are in its time, not in its numbers.

    Parameters
    ----------
    name, settings : str, mapping
        The engine, as `engine` takes it.
    n_lms, n_items, seed, missing, dtype
        The table, as `simulated` takes it.
    run_seed : int, optional
        Seed of the run; that of the table if not given.
    """
    design = simulated(n_lms, n_items, seed, missing=missing, dtype=dtype).design
    chosen = engine(name, settings)
    counter = _Counter(getattr(chosen, "chains", 1))

    def work() -> Mapping[str, Any]:
        draws: Draws = chosen.run(MODEL, design, seed if run_seed is None else run_seed, Running(watch=counter))
        divergent = int(np.sum(draws.stats.get("diverging", 0)))
        return packed(draws.sites, counter.counted, divergent)

    return work


def prepared_summary(**settings: Any) -> Work:
    """Prepare a run of which nothing but the size of its draws is kept, for large tables."""
    work = prepared(**settings)

    def summary() -> Mapping[str, Any]:
        sites = {name: value for name, value in work().items() if name.startswith("site/")}
        return {"finite": all(np.isfinite(value).all() for value in sites.values())}

    return summary
