"""The posterior of a simulated table as samplers of other packages want it: a function of a flat vector."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array
from numpyro.infer import init_to_median
from numpyro.infer.util import initialize_model

from bayes_irsl.studies.bench.ours import MODEL
from bayes_irsl.studies.bench.plain import centred, standardised
from irsl_models import Design

MODELS: Mapping[str, Callable[[Design], None]] = {
    "centred": centred,
    "standardised": standardised,
    "bayes-irsl": MODEL,
}
"""Models of one posterior: two in plain NumPyro, and that of the package, centred as it is written."""

SITES = (
    "ability",
    "log_discrimination",
    "log_discrimination_mean",
    "log_discrimination_within",
    "log_precision",
    "log_precision_mean",
    "log_precision_within",
    "scatter_ratio",
    "threshold",
    "threshold_mean",
    "threshold_within",
)
"""What all of them say of every draw."""


@dataclass(frozen=True)
class Flat:
    """A posterior of unconstrained parameters, as NumPyro makes it from a model, centred as it is written.

    Parameters
    ----------
    log_density : callable
        Of a flat vector, up to a constant.
    sites : callable
        Values of the sites by name at draws of it, dimensions (chain, draw, parameter).
    starts : Array
        Where chains start: medians of a few draws from the prior, as NumPyro does it.
    """

    log_density: Callable[[Array], Array]
    sites: Callable[[Any], dict[str, np.ndarray]]
    starts: Array


def flat(density: str, design: Design, seed: int, chains: int) -> Flat:
    """Turn a model on a table into a function."""
    model, design = MODELS[density], jax.tree.map(jnp.asarray, design)
    keys = jax.random.split(jax.random.key(seed), chains)
    infos = [initialize_model(key, model, model_args=(design,), init_strategy=init_to_median) for key in keys]
    potential, postprocess = infos[0].potential_fn, infos[0].postprocess_fn
    together = ravel_pytree(infos[0].param_info.z)[1]
    starts = jnp.stack([ravel_pytree(info.param_info.z)[0] for info in infos])

    def one(z: Array) -> dict[str, Array]:
        values = postprocess(together(z))
        return {name: values[name] for name in SITES}

    def sites(draws: Any) -> dict[str, np.ndarray]:
        draws = jnp.asarray(draws)
        found = jax.jit(lambda z: jax.lax.map(one, z))(draws.reshape(-1, draws.shape[-1]))
        return {name: np.asarray(value).reshape(*draws.shape[:2], *value.shape[1:]) for name, value in found.items()}

    return Flat(lambda z: -potential(together(z)), sites, starts)
