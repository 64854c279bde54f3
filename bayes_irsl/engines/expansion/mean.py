r"""Where a posterior is: the normal nearest to it, found by Newton's steps on means of the density.

The mode of a joint density is off where it matters: the scatter runs to zero with all LMs on the trend, and abilities
shrink, for the likelihood does not know their scale. So slopes and curvatures are means over the normal itself: of the
responses over abilities and items, with Fisher's information for curvature, and of the prior over joint draws. The mean
and the precision at which slopes vanish are those of the normal nearest to the posterior (Opper and Archambeau 2009).
What several share, such as scales, is less known than that where their information depends on the levels: the variance
of their slopes over draws is taken off (Louis 1982).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from bayes_irsl.engines.expansion.grid import basis
from bayes_irsl.engines.expansion.posterior import Places, Posterior, without_cells
from bayes_irsl.engines.expansion.sweep import Response, Totals, information, sweep, totals
from bayes_irsl.engines.expansion.table import Table, lay_out, thinned
from bayes_irsl.programs import SAFE, program
from irsl_models import Design, Model
from irsl_models.law import Affine

# Numbers of nodes that are tried.
_SIZES = (64, 128, 256)
# Nodes that a function needs for each logit that an item moves through over the grid, to be known to a millionth.
_NODES_PER_LOGIT = 2.5
# Whether rough steps are those of LMs; and where items are placed already.
_OF_LMS = (False, False, False, False, True, False, False, True, False, True, False)
_ONLY_LMS = (True, True)
# Steps are cut to this many standard deviations of the prior, and those of LMs to this length.
_LARGEST_ROUGH, _LARGEST_ROUGH_OF_LMS = 2.0, 3.0
# LMs by which items are placed first, where there are at least twice as many.
_FEW_LMS = 512
# Done when the last step was this short, in standard deviations: over all, and for what several share; or over all, so
# short that single precision might not let it be shorter.
_CLOSE, _REST_CLOSE, _CLOSEST = 0.02, 0.1, 0.01
_MOST_STEPS = 60
# Steps of what several share where levels are placed.
_FITTING_STEPS = 10
# Steps are cut to this length in every parameter, shorter in what several share; and to this share at most.
_LARGEST_STEP, _LARGEST_REST_STEP, _LEAST_SHARE = 1.0, 0.5, 0.1
# ... and not taken if the next one would be longer by more than this, unless it was short.
_LARGEST_GAIN = 1.2
# The middle of the prior may be a point of symmetry, where a derivative is zero that is not so elsewhere.
_ASIDE = 0.05
# Parameters that are drawn in all, and pairs of opposite draws over which the prior is averaged.
_DRAWN, _PAIRS = 2**17, (16, 128)
# Responses by which an item is known well: for itself, and for the root of the number of items.
_MANY_RESPONSES, _MANY_FOR_ALL = 1000, 16


@dataclass(frozen=True)
class Form:
    """What is the same for all tables of one shape.

    Parameters
    ----------
    posterior : Posterior
        The model but for its responses.
    response : Response
        The law of responses.
    """

    posterior: Posterior
    response: Response


class Setting(NamedTuple):
    """What depends on the table.

    Parameters
    ----------
    bare : Design
        The table without its cells.
    table : Table
        The cells.
    places : Places
        Where parameters are.
    lm_share : Float[Array, "column lm"]
        Exposures of LMs over the root of the exposure of the column: times that of an item, what both may have.
    item_share : Float[Array, " item"]
        The same for items.
    exposure : Float[Array, " item"]
        Exposure of each item.
    flat : Float[Array, "flat item"]
        Totals over LMs, see `sweep`.
    column : Int[Array, " item"]
        Column of abilities that each item asks for.
    noise : Float[Array, "pair parameter"]
        Standard normal numbers of the draws over which the prior is averaged.
    """

    bare: Design
    table: Table
    places: Places
    lm_share: Array
    item_share: Array
    exposure: Array
    flat: Array
    column: Array
    noise: Array


class Look(NamedTuple):
    """The posterior around a point.

    Parameters
    ----------
    u : Float[Array, " parameter"]
        The point.
    arrow : Arrow
        Factors of the precision.
    spread : Float[Array, "lm column"]
        Standard deviations of abilities, given all else.
    slope : Float[Array, " parameter"]
        Mean slope of the negative log density.
    step : Float[Array, " parameter"]
        Newton's step to where it is zero.
    energy : Float[Array, ""]
        Mean of the negative log density.
    length, rest_length : Float[Array, ""]
        Length of the step in standard deviations: over all parameters, and the largest of what several share.
    """

    u: Array
    arrow: Arrow
    spread: Array
    slope: Array
    step: Array
    energy: Array
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
    setting : Setting
        The table it was found for.
    settled : bool
        Whether the search came to an end.
    """

    mean: Array
    arrow: Arrow
    setting: Setting
    settled: bool


def form_of(model: Model, bare: Design) -> Form | None:
    """Look at a model; None if its law is not affine."""
    posterior = Posterior.of(model, bare)
    found = {}

    def look(u: Array) -> Array:
        responses = posterior.responses(bare, u)
        found["affine"] = responses.law.affine
        found["form"] = jax.tree.structure((responses.items, dict(responses.law.parameters)))
        return u

    jax.eval_shape(look, jnp.zeros(posterior.size))
    affine = found["affine"]
    return Form(posterior, Response(affine, found["form"])) if isinstance(affine, Affine) else None


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
    setting, u = _begin(form, design, key)
    looks = count()

    def told() -> None:
        watch(next(looks))

    # Some LMs place all items, and items place the others, in a fraction of the time.
    thin = thinned(setting.table, _FEW_LMS)
    few = setting if thin is setting.table else _with(form, setting, thin)
    u, size = _placed(form, few, u, _OF_LMS, told)
    largest = jnp.full(u.size, _LARGEST_STEP).at[setting.places.rest].set(_LARGEST_REST_STEP)
    near = jnp.zeros_like(form.posterior.parts(setting.bare, u)[0])
    if few is not setting:
        u, size = _placed(form, setting, u, _ONLY_LMS, told)
    look = partial(_look, form, size, _know_items(setting), setting)
    now, share = look(u, near), 1.0
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
            return Found(now.u + now.step, now.arrow, setting, settled=True)
    return Found(now.u, now.arrow, setting, settled=False)


def _know_items(setting: Setting) -> bool:
    """Whether items vary so little that what is asked of them is as well asked at their means.

    The mean of an item moves by its variance, which is small beside its standard deviation; and that of what all items
    share by as much, beside one that falls with the root of their number.
    """
    exposure = np.asarray(setting.exposure)
    return bool(exposure.min() >= max(_MANY_RESPONSES, _MANY_FOR_ALL * len(exposure) ** 0.5))


def _placed(
    form: Form, setting: Setting, u: Array, rough: Sequence[bool], told: Callable[[], None]
) -> tuple[Array, int]:
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
        return rest - jnp.clip(root @ (root.T @ jax.grad(energy)(rest, u)), -_LARGEST_REST_STEP, _LARGEST_REST_STEP)

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


def _begin(form: Form, design: Design, key: Array) -> tuple[Setting, Array]:
    bare = without_cells(design)
    posterior = form.posterior
    u, places = posterior.median(bare), posterior.places(bare)
    n_columns = posterior.parts(bare, u)[0].shape[1]
    table = lay_out(design, form.response.affine, n_columns)
    column = jnp.asarray(bare.benchmark) if n_columns > 1 else jnp.zeros(bare.n_items, int)
    pairs = int(min(max(_DRAWN // posterior.size, _PAIRS[0]), _PAIRS[1]))
    noise = jax.random.normal(key, (pairs, posterior.size)).at[:, places.rest].set(0.0)
    of_items = jnp.zeros(bare.n_items)
    nothing = jnp.zeros((n_columns, bare.lms.known)), of_items, of_items, of_items[:0]
    setting = _with(form, Setting(bare, table, places, *nothing, column, noise), table)
    own = jnp.concatenate([places.lm.ravel(), places.item.ravel()])
    return setting, u.at[own].add(_ASIDE, mode="drop")


def _with(form: Form, setting: Setting, table: Table) -> Setting:
    """The same with another table."""
    found = _totals(form.response, len(setting.lm_share), table)
    root = jnp.sqrt(found.lm.sum(0))
    shares = {"lm_share": (found.lm / root).T, "item_share": found.item / root[setting.column]}
    return setting._replace(table=table, exposure=found.item, flat=found.flat, **shares)


@program(static=2, options=SAFE)
def _totals(response: Response, n_columns: int, table: Table) -> Totals:
    return totals(response, table, n_columns)


@program(static=3, options=SAFE)
def _look(form: Form, size: int, knows_items: bool, setting: Setting, u: Array, spread: Array) -> Look:
    """Expand the posterior around a point; the spread need not be exact."""
    posterior, places = form.posterior, setting.places
    parts, prior = partial(posterior.parts, setting.bare), partial(posterior.prior, setting.bare)
    ability, quantities = parts(u)
    of_levels, of_rest = directions(places, u.size)
    acts = Acts(*jax.lax.map(lambda ahead: jax.jvp(parts, (u,), (ahead,))[1], of_levels))
    grid = basis(ability, spread, size)
    known = information(form.response, setting.table, grid, quantities)
    bends = jax.lax.map(lambda direction: jax.jvp(jax.grad(prior), (u,), (direction,))[1], of_levels)
    own_item, own_lm = own_blocks(places, known, acts, bends)
    met = met_of(known, setting.lm_share, setting.item_share, grid.mean)
    levels = Levels(own_item, own_lm, *forms_of(places, met, acts), setting.column)
    factors = arrow.factor_levels(levels, places)
    reach, steps = spread_of(places, factors, acts, u.size)
    steps = jnp.zeros((1, u.size)) if knows_items else steps

    def stepped(u: Array) -> Array:
        items: Array = jax.vmap(lambda step: parts(u + step)[1])(steps)
        return items

    sums = sweep(form.response, setting.table, setting.flat, basis(ability, reach, size), stepped(u))
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
        arrow=factors,
        spread=reach,
        slope=slope,
        step=step,
        energy=means.level - sums.value,
        length=jnp.sqrt(jnp.maximum(-(slope @ step), 0.0) / u.size),
        rest_length=jnp.abs(step[places.rest] / rest_sd).max(initial=0.0),
    )
