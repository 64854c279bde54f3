"""Rough steps that bring LMs and items to where the responses have them, and then what they share.

Newton's steps on everything at once want a start at which no part pulls another the wrong way. Items with LMs known are
small problems of their own, and so are LMs with items known; what they share is left alone until they are placed, and
then goes where the prior has it, given all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from bayes_irsl.engines.expansion import arrow
from bayes_irsl.engines.expansion.blocks import Acts, directions, own_blocks
from bayes_irsl.engines.expansion.grid import points_of
from bayes_irsl.engines.expansion.posterior import Places
from bayes_irsl.engines.expansion.setting import Form, Setting, Whole
from bayes_irsl.engines.expansion.sizing import MANY_CHUNKS, Sizes, enough, grids_of, least, widened
from bayes_irsl.engines.expansion.sweep import information, sweep
from bayes_irsl.programs import SAFE, program
from irsl_models import Design

# LMs and items by which all are placed, where there are at least twice as many.
_FEW_LMS, _FEW_ITEMS = 512, 2048
# Rough steps of items and then of LMs, in turn; after which LMs are put in their unit, for steps tell only how they lie
# to one another.
_IN_TURN = (4, 1), (2, 1), (1, 1)
# Steps of items then.
_ONCE_IN_UNIT = 2
# Steps where the others are placed already: of items, of those that moved most once more, and of LMs.
_OF_ITEMS, _OF_SLOW_ITEMS, _OF_LMS = 5, 6, 4
# Rough steps are known well enough with this share of the nodes.
_ROUGHLY = 0.6
# Steps are cut to this many standard deviations of the prior, and those of LMs to this length.
_LARGEST_ROUGH, _LARGEST_ROUGH_OF_LMS = 2.0, 3.0
# Steps of what several share where levels are placed.
_FITTING_STEPS = 10
# ... and the largest.
_LARGEST_FITTING = 0.5


def place(form: Form, whole: Whole, u: Array, told: Callable[[], None]) -> tuple[Array, Setting, Sizes]:
    """Place all LMs and items of a table: by a part of it, where it is large.

    Parameters
    ----------
    form, whole : Form, Whole
        The model and the table.
    u : Float[Array, " parameter"]
        Where to start.
    told : callable
        Called before each step.

    Returns
    -------
    u : Float[Array, " parameter"]
        Where they are.
    setting : Setting
        The whole table, laid out from items that move little over the grid to those that move much.
    sizes : Sizes
        Nodes that its chunks need.
    """
    rows, items = _few(len(whole.source.lm), _FEW_LMS), _few(len(whole.source.column), _FEW_ITEMS)
    setting = whole.laid_out(items, rows)
    steps = _Steps(form, setting, told)
    for of_items, of_lms in _IN_TURN:
        u = steps.taken(u, of_items)
        u = _in_unit(form, setting, steps.taken(u, of_lms, of_lms=True))
    u = steps.taken(u, _ONCE_IN_UNIT)
    if items is not None:
        of_all = _Steps(form, whole.laid_out(rows=rows), told)
        u = of_all.taken(u, _OF_ITEMS)
        slow = np.sort(np.argsort(-of_all.moved)[: len(items)])
        u = _Steps(form, whole.laid_out(slow, rows), told).taken(u, _OF_SLOW_ITEMS)
    if rows is not None:
        u = _Steps(form, whole.laid_out(items), told).taken(u, _OF_LMS, of_lms=True)
    u = _fitting(form, setting.bare, setting.places, u)
    span = _span(form, setting, u)
    if rows is None and items is None and len(steps.sizes) < MANY_CHUNKS:
        return u, setting, enough(setting.table, span, steps.sizes)
    setting = whole.laid_out(np.argsort(span, kind="stable"))
    return u, setting, enough(setting.table, span)


def _few(count: int, few: int) -> np.ndarray | None:
    return np.linspace(0, count - 1, few).round().astype(int) if count >= 2 * few else None


class _Steps:
    """Rough steps on a table, with the nodes that they needed, and how far items moved in the last."""

    def __init__(self, form: Form, setting: Setting, told: Callable[[], None]) -> None:
        self._form, self._setting, self._told = form, setting, told
        self.sizes, self.moved = least(setting.table), np.zeros(0)

    def taken(self, u: Array, count: int, *, of_lms: bool = False) -> Array:
        """Take some steps, of items or of LMs."""
        for _ in range(count):
            self._told()
            ahead = self._ahead(u, of_lms)
            u, self.moved = ahead.u, np.asarray(ahead.moved)
        return u

    def _ahead(self, u: Array, of_lms: bool) -> Rough:
        def with_sizes(sizes: Sizes) -> Rough:
            nodes, stops = grids_of(sizes)
            ahead: Rough = _roughly(self._form, nodes, self._setting._replace(stops=stops), u, jnp.asarray(of_lms))
            return ahead

        found, self.sizes = widened(with_sizes, lambda ahead: _ROUGHLY * ahead.span, self._setting.table, self.sizes)
        return found


class Rough(NamedTuple):
    """Where a rough step led, the logits that items move through over the grid, and how far items were moved."""

    u: Array
    span: Array
    moved: Array


@program(static=2, options=SAFE)
def _roughly(form: Form, nodes: tuple[int, ...], setting: Setting, u: Array, is_of_lms: Array) -> Rough:
    """Take a step of all items, every LM being where it is, or the other way round; what several share stays."""
    posterior, places = form.posterior, setting.places
    parts = partial(posterior.parts, setting.bare)
    ability, quantities = parts(u)
    given = form.response, setting.table, setting.stops, points_of(ability, None, setting.table.lm), nodes
    sums, known = sweep(*given, quantities[None]), information(*given, nodes[0], quantities)

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
    # Not far beyond the population: a slope may not make up for a threshold that is still on its way.
    bends_of_items = jnp.abs(rows[: places.item.shape[1]]).sum(0)
    largest = _LARGEST_ROUGH / jnp.sqrt(jnp.maximum(bends_of_items, _LARGEST_ROUGH**2 / 4.0))
    of_items = jnp.clip(of_items, -largest, largest)
    of_lms = jnp.clip(of_lms, -_LARGEST_ROUGH_OF_LMS, _LARGEST_ROUGH_OF_LMS)
    has_item, has_lm = setting.table.totals.item > 0.0, (setting.lm_share > 0.0).any(0)
    of_items, of_lms = (
        jnp.zeros(u.size).at[at].set(jnp.where(has[:, None], step[at], 0.0), mode="drop")
        for step, at, has in ((of_items, places.item, has_item), (of_lms, places.lm, has_lm))
    )
    span = form.response.span(given[3].reach, quantities)
    return Rough(u + jnp.where(is_of_lms, of_lms, of_items), span, jnp.abs(of_items[places.item]).max(1))


@program(static=1, options=SAFE)
def _span(form: Form, setting: Setting, u: Array) -> Array:
    """Logits that items move through over all LMs."""
    ability, quantities = form.posterior.parts(setting.bare, u)
    return form.response.span(points_of(ability, None, None).reach, quantities)


@program(static=1, options=SAFE)
def _in_unit(form: Form, setting: Setting, u: Array) -> Array:
    """Stretch the LMs that the table has until the variance of their abilities is one, which is their unit."""
    asked = setting.lm_share.T > 0.0
    ability, at = form.posterior.parts(setting.bare, u)[0], setting.places.lm
    spread = ability.std(where=asked)
    times = jnp.where(spread > 0.0, 1.0 / jnp.where(spread > 0.0, spread, 1.0), 1.0)
    own = jnp.take(u, at, mode="fill", fill_value=0.0)
    is_own = (at < u.size) & asked.any(1, keepdims=True)
    stretched = own + (own - own.mean(0, where=is_own)) * (times - 1.0)
    return u.at[at].set(jnp.where(is_own, stretched, own), mode="drop")


@program(static=1, options=SAFE)
def _fitting(form: Form, bare: Design, places: Places, u: Array) -> Array:
    """Move what several share to where the prior has it, given all levels."""

    def energy(rest: Array, u: Array) -> Array:
        return form.posterior.prior(bare, u.at[places.rest].set(rest))

    def step(_: int, rest: Array) -> Array:
        root = arrow.root_of(jax.hessian(energy)(rest, u))
        return rest - jnp.clip(root @ (root.T @ jax.grad(energy)(rest, u)), -_LARGEST_FITTING, _LARGEST_FITTING)

    return u.at[places.rest].set(jax.lax.fori_loop(0, _FITTING_STEPS, step, u[places.rest]))
