"""What samplers in whitened coordinates share: how they begin, and what becomes of their draws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array

from bayes_irsl.engines.base import Draws
from bayes_irsl.engines.coordinates import Coordinates, Place, find
from bayes_irsl.engines.density import Density
from bayes_irsl.engines.running import Running
from bayes_irsl.engines.whitening import Whitening
from irsl_models import Design, Model


def coordinates_of(model: Model, design: Design, seed: int, running: Running) -> tuple[Coordinates, Place]:
    """Find coordinates of a posterior as `coordinates.find` does, unless this run had found them before."""
    design = jax.tree.map(jnp.asarray, design)
    kept = running.start(lambda: _described(*find(model, design, seed)))
    shapes = tuple((name, tuple(map(int, shape))) for name, shape in kept["shapes"].items())
    shares = {name: jnp.asarray(value) for name, value in kept.get("shares", {}).items()}
    whitening = Whitening(**{name: jnp.asarray(value) for name, value in kept["whitening"].items()})
    return Coordinates(Density(model, shapes)), Place(design, shares, jnp.asarray(kept["blocks"]["own"]), whitening)


def mesh_of(devices: int) -> Mesh:
    """Devices over which chains are spread."""
    return Mesh(np.array(jax.local_devices()[:devices]), ("chain",))


def spread(*axes: str | None) -> PartitionSpec:
    """Which axes of an array are spread over devices."""
    return PartitionSpec(*axes)  # type: ignore[no-untyped-call]


def starts(coordinates: Coordinates, place: Place, key: Array, chains: int) -> Array:
    """Where chains start: as far apart as the posterior is wide; were there several modes, chains should find them."""
    return coordinates.pulled_in(place, jax.random.normal(key, (chains, coordinates.size)))


def draws_of(coordinates: Coordinates, place: Place, drawn: Mapping[str, np.ndarray]) -> Draws:
    """Turn ``z`` and what was recorded with it, dimensions (chain, draw, ...), into draws of sites."""
    z = drawn["z"]
    sites = coordinates.sites(place, jnp.asarray(z.reshape(-1, coordinates.size)))
    return Draws(
        sites={name: value.reshape(z.shape[:2] + value.shape[1:]) for name, value in sites.items()},
        stats={name: value for name, value in drawn.items() if name != "z"},
    )


def _described(coordinates: Coordinates, place: Place) -> dict[str, Mapping[str, Any]]:
    """All but the model and the table, which are given again."""
    return {
        "shapes": {name: np.array(shape, dtype=int) for name, shape in coordinates.density.shapes},
        "shares": place.shares,
        "blocks": {"own": place.own},
        "whitening": place.whitening._asdict(),
    }
