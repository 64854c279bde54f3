r"""Where a posterior is: the normal nearest to it, found by Newton's steps on means of the density.

The mode of a joint density is off where it matters: the scatter runs to zero with all LMs on the trend, and abilities
shrink, for the likelihood does not know their scale. So slopes and curvatures are means over the normal itself: of the
responses over abilities and items, with Fisher's information for curvature, and of the prior over joint draws. The mean
and the precision at which slopes vanish are those of the normal nearest to the posterior (Opper and Archambeau 2009).
What several share, such as scales, is less known than that where their information depends on the levels: the variance
of their slopes over draws is taken off (Louis 1982).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from bayes_irsl.engines.expansion import arrow
from bayes_irsl.engines.expansion.arrow import Arrow, Levels
from bayes_irsl.engines.expansion.blocks import (
    Acts,
    directions,
    forms_of,
    met_of,
    own_blocks,
    prior_means,
    shared_blocks,
    spread_of,
)
from bayes_irsl.engines.expansion.grid import basis, points_of
from bayes_irsl.engines.expansion.placing import place
from bayes_irsl.engines.expansion.posterior import Places
from bayes_irsl.engines.expansion.setting import Form, Setting, begin
from bayes_irsl.engines.expansion.sizing import Sizes, common, grids_of, widened
from bayes_irsl.engines.expansion.sweep import information, sweep
from bayes_irsl.programs import SAFE, program
from irsl_models import Design

# Done when the last step was this short, in standard deviations: over all, and for what several share; or over all, so
# short that single precision might not let it be shorter.
_CLOSE, _REST_CLOSE, _CLOSEST = 0.02, 0.1, 0.01
_MOST_STEPS = 60
# Steps are cut to this length in every parameter, shorter in what several share; and to this share at most.
_LARGEST_STEP, _LARGEST_REST_STEP, _LEAST_SHARE = 1.0, 0.5, 0.1
# ... and not taken if the next one would be longer by more than this, unless it was short.
_LARGEST_GAIN = 1.2
# Responses by which an item is known well: for itself, and for the root of the number of items.
_MANY_RESPONSES, _MANY_FOR_ALL = 1000, 16


class Look(NamedTuple):
    """The posterior around a point.

    Parameters
    ----------
    u : Float[Array, " parameter"]
        The point.
    span : Float[Array, " item"]
        Logits that items move through over the grid.
    arrow : Arrow
        Factors of the precision.
    spread : Float[Array, "lm column"]
        Standard deviations of abilities, given all else.
    step : Float[Array, " parameter"]
        Newton's step to where it is zero.
    length, rest_length : Float[Array, ""]
        Length of the step in standard deviations: over all parameters, and the largest of what several share.
    """

    u: Array
    span: Array
    arrow: Arrow
    spread: Array
    step: Array
    length: Array
    rest_length: Array


@dataclass(frozen=True)
class Found:
    """The normal nearest to a posterior.

    Parameters
    ----------
    mean : Float[Array, " parameter"]
        Its mean.
    arrow : Arrow
        Its precision.
    places : Places
        Where parameters are.
    bare : Design
        The table it was found for, without its cells.
    settled : bool
        Whether the search came to an end.
    """

    mean: Array
    arrow: Arrow
    places: Places
    bare: Design
    settled: bool


def find(form: Form, design: Design, key: Array, watch: Callable[[int], None] = lambda _: None) -> Found:
    """Find the normal that is nearest to a posterior.

    Parameters
    ----------
    form, design : Form, Design
        What to fit to what.
    key : Array
        Key of the draws over which the prior is averaged.
    watch : callable
        Gets the number of looks taken at the table.
    """
    whole, u = begin(form, design, key)
    looks = count()

    def told() -> None:
        watch(next(looks))

    u, setting, sizes = place(form, whole, u, told)
    largest = jnp.full(u.size, _LARGEST_STEP).at[setting.places.rest].set(_LARGEST_REST_STEP)
    knows_items = _know_items(setting)

    def look(u: Array, near: Array) -> Look:
        nonlocal sizes

        def with_sizes(sizes: Sizes) -> Look:
            nodes, stops = grids_of(sizes)
            found: Look = _look(form, nodes, knows_items, setting._replace(stops=stops), u, near)
            return found

        found, sizes = widened(with_sizes, lambda found: found.span, setting.table, sizes)
        return found

    now, share = look(u, jnp.zeros_like(form.posterior.parts(setting.bare, u)[0])), 1.0
    for _ in range(_MOST_STEPS):
        told()
        ahead = look(now.u + share * jnp.clip(now.step, -largest, largest), now.spread)
        # A mean and a spread that answer to one another go to and fro where they overshoot.
        gain = float(ahead.length / now.length)
        is_bad = not gain < _LARGEST_GAIN
        if not np.isfinite(gain) and share <= _LEAST_SHARE:
            break
        now = now if is_bad and share > _LEAST_SHARE else ahead
        share = min(1.0, 2.0 * share) if gain < 1.0 - 0.2 * share else max(0.5 * share, _LEAST_SHARE)
        if (now.length < _CLOSE and now.rest_length < _REST_CLOSE) or now.length < _CLOSEST:
            return Found(now.u + now.step, now.arrow, whole.places, whole.bare, settled=True)
    return Found(now.u, now.arrow, whole.places, whole.bare, settled=False)


def _know_items(setting: Setting) -> bool:
    """Whether items vary so little that what is asked of them is as well asked at their means.

    The mean of an item moves by its variance, which is small beside its standard deviation; and that of what all items
    share by as much, beside one that falls with the root of their number.
    """
    exposure = np.asarray(setting.table.totals.item)
    return bool(exposure.min() >= max(_MANY_RESPONSES, _MANY_FOR_ALL * len(exposure) ** 0.5))


@program(static=3, options=SAFE)
def _look(form: Form, nodes: tuple[int, ...], knows_items: bool, setting: Setting, u: Array, spread: Array) -> Look:
    """Expand the posterior around a point; the spread need not be exact."""
    posterior, places = form.posterior, setting.places
    parts, prior = partial(posterior.parts, setting.bare), partial(posterior.prior, setting.bare)
    ability, quantities = parts(u)
    of_levels, of_rest = directions(places, u.size)
    acts = Acts(*jax.lax.map(lambda ahead: jax.jvp(parts, (u,), (ahead,))[1], of_levels))
    table, stops = setting.table, setting.stops
    for_all, points = common(nodes), points_of(ability, spread, table.lm)
    known = information(form.response, table, stops, points, nodes, for_all, quantities)
    bends = jax.lax.map(lambda direction: jax.jvp(jax.grad(prior), (u,), (direction,))[1], of_levels)
    own_item, own_lm = own_blocks(places, known, acts, bends)
    met = met_of(known, setting.lm_share, setting.item_share, basis(points.by_lm, for_all).mean)
    levels = Levels(own_item, own_lm, *forms_of(places, met, acts), setting.column)
    factors = arrow.factor_levels(levels, places)
    reach, steps = spread_of(places, factors, acts, u.size)
    steps = jnp.zeros((1, u.size)) if knows_items else steps

    def stepped(u: Array) -> Array:
        items: Array = jax.vmap(lambda step: parts(u + step)[1])(steps)
        return items

    sums = sweep(form.response, table, stops, points_of(ability, reach, table.lm), nodes, stepped(u))
    means = prior_means(prior, places, u, jax.lax.map(partial(arrow.drawn, factors, places), setting.noise), of_rest)

    def level(u: Array) -> Array:
        """A function whose slope is that of the responses."""
        return (sums.by_lm * parts(u)[0]).sum() + (sums.by_item * stepped(u)).sum()

    slope = means.slope - jax.grad(level)(u)
    acts_of_rest = Acts(*jax.lax.map(lambda ahead: jax.jvp(parts, (u,), (ahead,))[1], of_rest))
    shared = shared_blocks(places, setting.column, known, met, acts, acts_of_rest, means)
    factors = arrow.factor_shared(factors, shared, places)
    step = -arrow.solved(factors, places, slope)
    rest_sd = jnp.linalg.norm(factors.rest_root, axis=1)
    return Look(
        u=u,
        span=form.response.span(points.reach, quantities),
        arrow=factors,
        spread=reach,
        step=step,
        length=jnp.sqrt(jnp.maximum(-(slope @ step), 0.0) / u.size),
        rest_length=jnp.abs(step[places.rest] / rest_sd).max(initial=0.0),
    )
