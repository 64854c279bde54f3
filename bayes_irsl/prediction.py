"""Any site of a model, for any design, given posterior draws of the sites that the fit knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
from numpyro import handlers

from irsl_models import Design, Model

# Values of one site that are computed at a time: bounds memory at a few hundred megabytes.
_MOST_VALUES = 4_000_000


def evaluate(
    model: Model, design: Design, sites: Mapping[str, np.ndarray], names: Sequence[str], seed: int
) -> dict[str, np.ndarray]:
    """Run the model once per posterior draw and read off some sites.

    Sites in `sites` are set to the draw; every other site the design asks for (new LMs, new responses) is drawn
    from the model given them. Draws are taken a chunk at a time, which changes nothing beyond rounding, for each
    draw has a random key of its own.

    Parameters
    ----------
    model, design : Model, Design
        What to run, and on what.
    sites : mapping of str to np.ndarray
        Posterior draws, dimensions (chain, draw, ...).
    names : sequence of str
        Sites to read.
    seed : int
        Seed of whatever is drawn anew.

    Returns
    -------
    dict of str to np.ndarray
        Dimensions (chain, draw, ...).
    """
    shape = next(iter(sites.values())).shape[:2]
    n_draws = shape[0] * shape[1]
    flat = {name: value.reshape((n_draws, *value.shape[2:])) for name, value in sites.items()}
    keys = jax.random.split(jax.random.key(seed), n_draws)
    chunk = max(1, min(n_draws, _MOST_VALUES // max(1, design.lm.shape[0])))
    parts = []
    for first in range(0, n_draws, chunk):
        # The last chunk reaches back, so that one compiled program serves all of them.
        begin = max(0, min(first, n_draws - chunk))
        part = _read_many(
            model,
            tuple(names),
            design,
            keys[begin : begin + chunk],
            {k: v[begin : begin + chunk] for k, v in flat.items()},
        )
        parts.append({name: np.asarray(value)[first - begin :] for name, value in part.items()})
    return {
        name: np.concatenate([part[name] for part in parts]).reshape(shape + parts[0][name].shape[1:])
        for name in parts[0]
    }


@partial(jax.jit, static_argnums=(0, 1))
def read(model: Any, names: tuple[str, ...], design: Design, key: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Run a model once, with some sites set, and return those of the named sites that it has."""
    with handlers.seed(rng_seed=key), handlers.trace() as trace, handlers.substitute(data=dict(values)):
        model(design)
    return {name: trace[name]["value"] for name in names if name in trace}


@partial(jax.jit, static_argnums=(0, 1))
def _read_many(
    model: Any, names: tuple[str, ...], design: Design, keys: Any, values: Mapping[str, Any]
) -> dict[str, Any]:
    found: dict[str, Any] = jax.vmap(partial(read, model, names), in_axes=(None, 0, 0))(design, keys, values)
    return found
