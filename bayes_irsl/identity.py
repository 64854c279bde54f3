"""What a run is: everything that decides its draws, so that checkpoints of another one are known for that."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.distributions import Distribution

from bayes_irsl.covariates import Axis
from bayes_irsl.engines.base import Engine, settings
from bayes_irsl.responses import Responses
from irsl_models import Model, priors
from irsl_models.model import Part

DECIDING = ("bayes-irsl", "numpyro", "jax")
"""Packages whose versions may change the draws."""


def describe(
    model: Model, responses: Responses, axis: Axis | None, groups: tuple[str, ...], engine: Engine, seed: int
) -> dict[str, Any]:
    """Everything that decides the draws, as plain values."""
    parts = {f"part {place}": _qualified(part) for place, part in enumerate(model.parts)}
    own_priors = {f"prior {name}": _written(prior) for name, prior in model.priors.items()}
    options = {f"{engine.name} {name}": value for name, value in settings(engine).items()}
    return {
        **parts,
        **own_priors,
        **options,
        **{f"version of {name}": version(name) for name in (*DECIDING, "jaxlib", "numpy")},
        "data": responses.hash(),
        "x": None if axis is None else axis.to_dict(),
        "groups": list(groups),
        "engine": engine.name,
        "seed": seed,
        "float": str(jnp.result_type(float)),
        # Chains move apart or together by the number of devices, and so does the order of sums by that of threads.
        "devices (JAX_NUM_CPU_DEVICES)": f"{jax.local_device_count()} {jax.default_backend()}",
    }


def _qualified(part: Part) -> str:
    return f"{part.__module__}.{getattr(part, '__qualname__', repr(part))}"


def _written(prior: Distribution) -> str:
    """Write a prior, as text where it has one."""
    try:
        return priors.to_text(prior)
    except ValueError:
        leaves, form = jax.tree.flatten(prior)
        return f"{form} {[np.asarray(leaf).tolist() for leaf in leaves]}"
