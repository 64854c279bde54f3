"""What every engine takes and returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol

import jax
import numpy as np
from numpyro import handlers

from bayes_irsl.engines.running import ALONE, Running
from bayes_irsl.errors import Fault, InputError
from irsl_models import Design, Model


@dataclass(frozen=True)
class Draws:
    """Posterior draws of the sites a model samples.

    Parameters
    ----------
    sites : mapping of str to np.ndarray
        Values with dimensions (chain, draw, ...), on the scale of the model.
    stats : mapping of str to np.ndarray
        What the sampler recorded of every draw, dimensions (chain, draw).
    notes : tuple of str
        What a user should know of how the draws were made.
    """

    sites: Mapping[str, np.ndarray]
    stats: Mapping[str, np.ndarray]
    notes: tuple[str, ...] = ()


class Engine(Protocol):
    """Settings of a way to the posterior."""

    @property
    def name(self) -> str:
        """Word of the engine on the command line."""
        ...

    def run(self, model: Model, design: Design, seed: int, running: Running = ALONE) -> Draws:
        """Draw from the posterior of `model` given the responses of `design`."""
        ...


def require(engine: Any, **least: int) -> None:
    """Refuse settings that are no whole number, or a smaller one than there must be."""
    faults = [
        Fault(
            f"engine {engine.name}", "setting", f"{name} is a whole number from {bound} on", "Correct it", repr(value)
        )
        for name, bound in least.items()
        if type(value := getattr(engine, name)) is not int or value < bound
    ]
    target = getattr(engine, "target_accept", 0.5)
    if not 0.0 < target < 1.0:
        rule = "target_accept lies between 0 and 1"
        faults.append(Fault(f"engine {engine.name}", "setting", rule, "Correct it", repr(target)))
    if faults:
        raise InputError(*faults)


def settings(engine: Any) -> dict[str, str | int | float | bool | None]:
    """Settings of an engine as plain values; a class or function by its name."""
    plain = (str, int, float, bool, type(None))
    values = {field.name: getattr(engine, field.name) for field in fields(engine)}
    return {
        name: value if isinstance(value, plain) else getattr(value, "__name__", repr(value))
        for name, value in values.items()
    }


def structure(model: Any, design: Design) -> dict[str, Any]:
    """Find out which sites a model has, without computing anything: their types, distributions and shapes."""
    sites: dict[str, Any] = {}

    def run(design: Design) -> None:
        with handlers.seed(rng_seed=0):
            sites.update(handlers.trace(model).get_trace(design))

    jax.eval_shape(run, design)
    return sites


def sampled(model: Any, design: Design) -> list[str]:
    """Names of the sites that a model samples and does not observe."""
    sites = structure(model, design).items()
    return [name for name, site in sites if site["type"] == "sample" and not site["is_observed"]]
