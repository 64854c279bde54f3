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

from bayes_irsl import prediction
from bayes_irsl.engines import centring
from bayes_irsl.engines.base import structure
from irsl_models import Design, Model


@dataclass(frozen=True)
class Start:
    """Where to start, and how far to look.

    Parameters
    ----------
    values : mapping of str to array
        Value of every site, as the model names it.
    centring : mapping of str to np.ndarray
        How centred each level is best sampled.
    """

    values: Mapping[str, Any]
    centring: centring.Centring


def learning_rate(peak: float, steps: int) -> Any:
    """Fall from a peak to a fiftieth of it along half a cosine."""
    return lambda step: peak * (0.02 + 0.49 * (1.0 + jnp.cos(jnp.pi * jnp.minimum(step / steps, 1.0))))


def find(model: Model, design: Design, seed: int, *, steps: int = 2000) -> Start:
    """Approximate the posterior of a model, coarsely."""
    names = centring.hierarchical(structure(model, design))
    free = handlers.reparam(model, centring.reparam(dict.fromkeys(names, 0.0)))
    guide = AutoNormal(free, init_loc_fn=init_to_median, init_scale=0.1)
    svi = SVI(free, guide, Adam(learning_rate(0.02, steps)), Trace_ELBO())
    result = svi.run(jax.random.key(seed), steps, design, progress_bar=False, stable_update=True)
    deviations = {
        name.removesuffix("_auto_scale"): np.asarray(value)
        for name, value in result.params.items()
        if name.endswith("_auto_scale")
    }
    medians = {name: value for name, value in guide.median(result.params).items() if name in deviations}
    # A site that was decentred is a deterministic one of the guide's model, and still has its value.
    wanted = (*(name for name in medians if not name.endswith(centring.SUFFIX)), *names)
    return Start(
        values=prediction.read(free, wanted, design, jax.random.key(seed), medians),
        centring=centring.share_of_prior(deviations, names),
    )
