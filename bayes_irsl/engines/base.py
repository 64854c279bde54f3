"""What every engine takes and returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import numpy as np
from numpyro import handlers

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

    def run(self, model: Model, design: Design, seed: int, *, progress: bool = False) -> Draws:
        """Draw from the posterior of `model` given the responses of `design`."""
        ...


def trace(
    model: Any, design: Design, values: Mapping[str, Any] | None = None, *, seed: int = 0
) -> dict[str, Any]:
    """Run a model once, with some sites set, and return what happened at every site."""
    given = handlers.substitute(model, dict(values)) if values else model
    with handlers.seed(rng_seed=jax.random.key(seed)):
        sites: dict[str, Any] = handlers.trace(given).get_trace(design)
    return sites


def sampled(sites: Mapping[str, Any]) -> list[str]:
    """Names of the unobserved sites of a trace."""
    return [name for name, site in sites.items() if site["type"] == "sample" and not site["is_observed"]]
