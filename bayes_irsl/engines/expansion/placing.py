"""Rough steps that bring LMs and items to where the responses have them, and then what they share.

Newton's steps on everything at once want a start at which no part pulls another the wrong way. Items with LMs known are
small problems of their own, and so are LMs with items known; what they share is left alone until they are placed, and
then goes where the prior has it, given all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from bayes_irsl.engines.expansion import arrow
from bayes_irsl.engines.expansion.blocks import Acts, directions, own_blocks
from bayes_irsl.engines.expansion.grid import basis
from bayes_irsl.engines.expansion.posterior import Places
from bayes_irsl.engines.expansion.setting import Form, Setting
from bayes_irsl.engines.expansion.sweep import information, sweep
from bayes_irsl.programs import SAFE, program
from irsl_models import Design

# Numbers of nodes that are tried.
_SIZES = (64, 128, 256)
# Nodes that a function needs for each logit that an item moves through over the grid, to be known to a millionth.
_NODES_PER_LOGIT = 2.5
# Whether rough steps are those of LMs; and where items are placed already.
OF_LMS = (False, False, False, False, True, False, False, True, False, True, False)
ONLY_LMS = (True, True)
# Steps are cut to this many standard deviations of the prior, and those of LMs to this length.
_LARGEST_ROUGH, _LARGEST_ROUGH_OF_LMS = 2.0, 3.0
# Steps of what several share where levels are placed.
_FITTING_STEPS = 10
# ... and the largest.
_LARGEST_FITTING = 0.5


def place(form: Form, setting: Setting, u: Array, rough: Sequence[bool], told: Callable[[], None]) -> tuple[Array, int]:
    """Take rough steps, of LMs or of items; and tell how many nodes the last one needed."""
    size = _SIZES[0]
    for number, of_lms in enumerate(rough):
        told()
        is_first = of_lms and number > 0 and not any(rough[:number])
        given = setting, u, jnp.asarray(of_lms), jnp.asarray(is_first)
        ahead = _roughly(form, size, *given)
        if (needed := _nodes(ahead.span)) > size:
            size = needed
            ahead = _roughly(form, size, *given)
        u = ahead.u
    return _fitting(form, setting.bare, setting.places, u), size


def _nodes(span: Array) -> int:
    """Nodes that functions need where logits of an item reach that far; as many as there may be, if it is more."""
    return next((size for size in _SIZES if size >= _NODES_PER_LOGIT * float(span)), _SIZES[-1])


class Rough(NamedTuple):
    """Where a rough step led, and how far logits reach over the grid."""

    u: Array
    span: Array


@program(static=2, options=SAFE)
def _roughly(form: Form, size: int, setting: Setting, u: Array, is_of_lms: Array, is_first: Array) -> Rough:
    """Take a step of all items, every LM being where it is, or the other way round; what several share stays."""
    posterior, places = form.posterior, setting.places
    parts = partial(posterior.parts, setting.bare)
    ability, quantities = parts(u)
    grid = basis(ability, jnp.zeros_like(ability), size)
    sums = sweep(form.response, setting.table, setting.flat, grid, quantities[None])
    known = information(form.response, setting.table, grid, quantities)

    def level(u: Array) -> Array:
        placed = parts(u)
        return (sums.by_lm * placed[0]).sum() + (sums.by_item[0] * placed[1]).sum()

    bend = jax.grad(partial(posterior.prior, setting.bare))
    slope = bend(u) - jax.grad(level)(u)
    of_levels = directions(places, u.size)[0]
    acts = Acts(*jax.lax.map(lambda direction: jax.jvp(parts, (u,), (direction,))[1], of_levels))
    rows = jax.lax.map(lambda direction: jax.jvp(bend, (u,), (direction,))[1], of_levels)
    blocks = own_blocks(places, known, acts, rows)
    steps = []
    for block, at in zip(blocks, (places.item, places.lm), strict=True):
        axes = arrow.axes_of(block)
        pull = jnp.take(slope, at, mode="fill", fill_value=0.0)
        step = -jnp.einsum("joa,jpa,jp->jo", axes, axes, pull)
        steps.append(jnp.zeros(u.size).at[at].set(step, mode="drop"))
    of_items, of_lms = steps
    # The first step of LMs says how they lie to one another; their unit is known.
    asked = setting.lm_share.T > 0.0
    to_unit = _to_unit(ability, jax.jvp(parts, (u,), (of_lms,))[1][0], asked)
    of_lms = jnp.where(is_first, of_lms * to_unit, of_lms)
    logits = jax.vmap(lambda at: form.response.logit(at, quantities))(jnp.stack([grid.nodes[0], grid.nodes[-1]]))
    # Not far beyond the population: a slope may not make up for a threshold that is still on its way.
    bends_of_items = jnp.abs(rows[: places.item.shape[1]]).sum(0)
    largest = _LARGEST_ROUGH / jnp.sqrt(jnp.maximum(bends_of_items, _LARGEST_ROUGH**2 / 4.0))
    of_items = jnp.clip(of_items, -largest, largest)
    of_lms = jnp.clip(of_lms, -_LARGEST_ROUGH_OF_LMS, _LARGEST_ROUGH_OF_LMS)
    return Rough(u + jnp.where(is_of_lms, of_lms, of_items), jnp.abs(logits[0] - logits[1]).max())


@program(static=1, options=SAFE)
def _fitting(form: Form, bare: Design, places: Places, u: Array) -> Array:
    """Move what several share to where the prior has it, given all levels."""

    def energy(rest: Array, u: Array) -> Array:
        return form.posterior.prior(bare, u.at[places.rest].set(rest))

    def step(_: int, rest: Array) -> Array:
        root = arrow.root_of(jax.hessian(energy)(rest, u))
        return rest - jnp.clip(root @ (root.T @ jax.grad(energy)(rest, u)), -_LARGEST_FITTING, _LARGEST_FITTING)

    return u.at[places.rest].set(jax.lax.fori_loop(0, _FITTING_STEPS, step, u[places.rest]))


def _to_unit(ability: Array, change: Array, asked: Array) -> Array:
    """Times that abilities change for their variance to become one; or the change alone, where it is more before."""
    start, change = (values - values.mean(where=asked) for values in (ability, change))
    square, half, before = (
        (one * other).mean(where=asked) for one, other in ((change, change), (start, change), (start, start))
    )
    found: Array = (
        jnp.where(before < 1.0, jnp.sqrt(half**2 + square * jnp.abs(1.0 - before)) - half, jnp.sqrt(square)) / square
    )
    return found
