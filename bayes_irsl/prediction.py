"""Any site of a model, for any design, given posterior draws of the sites that the fit knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
from numpyro import handlers

from bayes_irsl.programs import program
from bayes_irsl.room import Room
from irsl_models import Design, Model

# Values of one site that are computed at a time: bounds memory at a few hundred megabytes.
_MOST_VALUES = 4_000_000

Reduction = Callable[[np.ndarray], np.ndarray]


def evaluate(
    model: Model,
    design: Design,
    sites: Mapping[str, np.ndarray],
    names: Sequence[str],
    seed: int,
    *,
    part: int = 0,
    reduction: Reduction | None = None,
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
    part : int
        Another part, other random keys.
    reduction : callable, optional
        Applied to values of dimensions (draw, ...) as soon as they are there: what it leaves is all that is kept.

    Returns
    -------
    dict of str to np.ndarray
        Dimensions (chain, draw, ...); on disk where they are large (`Room`).
    """
    key = jax.random.fold_in(jax.random.key(seed), part)
    program = partial(_read_many, model, tuple(names), design)
    return _draw_by_draw(program, sites, _width(design), key, reduction)


def log_densities(model: Model, design: Design, sites: Mapping[str, np.ndarray]) -> np.ndarray:
    """Log density of every cell of a table with responses.

    Parameters
    ----------
    model, design, sites
        As in `evaluate`; the design has cells on their own.

    Returns
    -------
    np.ndarray
        Dimensions (chain, draw, cell); on disk where they are large.
    """
    program = partial(_weigh_many, model, design)
    return _draw_by_draw(program, sites, _width(design), jax.random.key(0))["log_density"]


def _width(design: Design) -> int:
    """Values of the largest site: one for each cell, or each LM and benchmark."""
    return max(design.n_cells, design.lms.size * design.n_benchmarks)


def _draw_by_draw(
    program: Callable[[Any, Mapping[str, np.ndarray]], Mapping[str, Any]],
    sites: Mapping[str, np.ndarray],
    width: int,
    key: Any,
    reduction: Reduction | None = None,
) -> dict[str, np.ndarray]:
    """Run a program, which takes keys and values of several draws, on all of them a chunk at a time."""
    shape = next(iter(sites.values())).shape[:2]
    n_draws = shape[0] * shape[1]
    flat = {name: value.reshape((n_draws, *value.shape[2:])) for name, value in sites.items()}
    keys = jax.random.split(key, n_draws)
    chunk = max(1, min(n_draws, _MOST_VALUES // width))
    rooms: dict[str, Room] = {}
    for first in range(0, n_draws, chunk):
        # The last chunk reaches back, so that one compiled program serves all of them.
        begin = max(0, min(first, n_draws - chunk))
        found = program(keys[begin : begin + chunk], {k: v[begin : begin + chunk] for k, v in flat.items()})
        for name, whole in found.items():
            values = np.asarray(whole)[first - begin :]
            values = values if reduction is None else reduction(values)
            if name not in rooms:
                rooms[name] = Room(shape + values.shape[1:], values.dtype)
            rooms[name].add(values)
    return {name: room.array() for name, room in rooms.items()}


@program(static=2)
def read(model: Any, names: tuple[str, ...], design: Design, key: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Run a model once, with some sites set, and return those of the named sites that it has."""
    with handlers.seed(rng_seed=key), handlers.trace() as trace, handlers.substitute(data=dict(values)):
        model(design)
    return {name: trace[name]["value"] for name in names if name in trace}


@program(static=2)
def _read_many(
    model: Any, names: tuple[str, ...], design: Design, keys: Any, values: Mapping[str, Any]
) -> dict[str, Any]:
    found: dict[str, Any] = jax.vmap(partial(read, model, names), in_axes=(None, 0, 0))(design, keys, values)
    return found


@program(static=1)
def _weigh_many(model: Any, design: Design, keys: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    def one(key: Any, values: Mapping[str, Any]) -> Any:
        with handlers.seed(rng_seed=key), handlers.trace() as trace, handlers.substitute(data=dict(values)):
            model(design)
        responses = trace["score" if "score" in trace else "successes"]
        return responses["fn"].pointwise(responses["value"])

    return {"log_density": jax.vmap(one)(keys, values)}
