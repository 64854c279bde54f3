"""Items spread over devices, of one machine or of several."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from irsl_models import Design

_CELLS = ("lm", "item", "score", "log_score", "log_rest", "successes", "trials", "log_choose", "present")


def mesh_of_items(n_devices: int | None = None) -> Mesh:
    """All devices, of all processes, along an axis of items; or the first ones."""
    count = jax.device_count() if n_devices is None else n_devices
    return jax.make_mesh((count,), ("item",), axis_types=(AxisType.Auto,), devices=jax.devices()[:count])


def in_blocks(design: Design, blocks: int) -> Design:
    """Lay a design by rows out anew, in equal blocks of items one after the other.

    Parameters
    ----------
    design : Design
        By rows, in one block.
    blocks : int
        Number of blocks; cells beyond the last item fill the last ones.
    """
    if not design.rows or design.blocks != 1:
        raise ValueError("only a table by rows, in one block, can be cut into blocks of items")
    width = -(-design.n_items // blocks)
    block, lm, within = np.indices((blocks, design.lms.known, width)).reshape(3, -1)
    item = block * width + within
    is_item = item < design.n_items
    place = lm * design.n_items + np.minimum(item, design.n_items - 1)
    present = is_item if design.present is None else is_item & np.asarray(design.present)[place]
    kept: Any = None if present.all() else present
    return replace(design.at(place), rows=True, blocks=blocks, present=kept)


def spread(design: Design, mesh: Mesh) -> Design:
    """Give each device of a mesh its items; all that is not of cells goes to every device.

    A process reads no cell but those of its own devices: it may leave the responses of other items blank.

    Parameters
    ----------
    design : Design
        By rows, in one block; the same one, but for responses, in every process.
    mesh : Mesh
        From `mesh_of_items`.
    """
    design = in_blocks(design, mesh.size)
    own, all_devices = along_items(mesh), along_items(mesh, None)
    arrays = [field.name for field in fields(design) if not field.metadata.get("static")]
    placed: dict[str, Any] = {
        name: jax.tree.map(partial(_placed, own if name in _CELLS else all_devices), getattr(design, name))
        for name in arrays
    }
    return replace(design, **placed)


def along_items(mesh: Mesh, axis: str | None = "item") -> NamedSharding:
    """Cut the first dimension over the devices of a mesh; with None for the axis, all of it goes to each."""
    return NamedSharding(mesh, PartitionSpec(*(() if axis is None else (axis,))))  # type: ignore[no-untyped-call]


def _placed(sharding: NamedSharding, values: Any) -> jax.Array:
    values = np.asarray(values)
    return jax.make_array_from_callback(values.shape, sharding, lambda index: values[index])
