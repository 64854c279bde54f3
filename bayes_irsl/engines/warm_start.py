"""A quick approximate posterior, from which every sampler starts.

Mean-field variational inference in non-centred coordinates. It cannot collapse as a joint maximum does (the
scatter running to zero with all LMs on the trend), because it integrates over the levels while it estimates
their scales.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from numpyro.infer import SVI, Trace_ELBO, init_to_median
from numpyro.infer.autoguide import AutoNormal
from numpyro.optim import Adam

from bayes_irsl.engines.base import structure
from bayes_irsl.engines.centring import SUFFIX, PartlyCentred, hierarchical, share_of_data
from irsl_models import Design, Model


@dataclass(frozen=True)
class Start:
    """Where to start, and in which coordinates.

    Parameters
    ----------
    shares : mapping of str to array
        How centred the data ask the levels of each hierarchical site to be.
    values : mapping of str to array
        Value of every site of the model in that form.
    """

    shares: Mapping[str, Any]
    values: Mapping[str, Any]


def learning_rate(peak: float, steps: int) -> Any:
    """Fall from a peak to a fiftieth of it along half a cosine."""
    return lambda step: peak * (0.02 + 0.49 * (1.0 + jnp.cos(jnp.pi * jnp.minimum(step / steps, 1.0))))


def find(model: Model, design: Design, seed: int, *, steps: int = 2000) -> Start:
    """Approximate the posterior of a model, coarsely."""
    names = hierarchical(structure(model, design))
    free = handlers.reparam(model, {name: PartlyCentred(np.zeros(())) for name in names})
    guide = AutoNormal(free, init_loc_fn=init_to_median, init_scale=0.1)
    svi = SVI(free, guide, Adam(learning_rate(0.02, steps)), Trace_ELBO())
    params = svi.run(jax.random.key(seed), steps, design, progress_bar=False, stable_update=True).params
    found = {name: [np.asarray(params[f"{name}{SUFFIX}_auto_{what}"]) for what in ("loc", "scale")] for name in names}
    shares = {name: share_of_data(*found[name]) for name in names}
    forms = {name: PartlyCentred(share) for name, share in shares.items()}
    latent = {name.removesuffix("_auto_loc") for name in params if name.endswith("_auto_loc")}
    middle = {name: value for name, value in guide.median(params).items() if name in latent}
    return Start(shares, _converted(model, free, forms, design, middle))


def _converted(
    model: Model, free: Any, forms: Mapping[str, PartlyCentred], design: Design, values: Mapping[str, Any]
) -> dict[str, Any]:
    """Turn values of the non-centred model into those of its final form."""

    @jax.jit
    def convert(design: Design, values: Mapping[str, Any]) -> dict[str, Any]:
        with handlers.seed(rng_seed=0), handlers.trace() as found, handlers.substitute(data=dict(values)):
            free(design)
        own = {name: value for name, value in values.items() if not name.endswith(SUFFIX)}
        own |= {name: found[name]["value"] for name in forms}
        with handlers.seed(rng_seed=0), handlers.trace() as plain, handlers.substitute(data=own):
            model(design)
        final = {name: value for name, value in own.items() if name not in forms}
        return final | {name + SUFFIX: form.convert(plain[name]["fn"], own[name]) for name, form in forms.items()}

    result: dict[str, Any] = convert(design, values)
    return result
