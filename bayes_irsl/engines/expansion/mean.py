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
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bayes_irsl.engines.expansion import arrow
from bayes_irsl.engines.expansion.arrow import Arrow, Precision
from bayes_irsl.engines.expansion.grid import basis
from bayes_irsl.engines.expansion.posterior import Places, Posterior, without_cells
from bayes_irsl.engines.expansion.sweep import Response, Sums, exposures, sweep
from bayes_irsl.engines.expansion.table import Table, lay_out
from irsl_models import Design, Model
from irsl_models.affine import Affine

# Numbers of nodes that are tried.
_SIZES = (48, 64, 96, 128, 192, 256)
# Done when the last step was this short, in standard deviations: in the mean, and for what several share.
_CLOSE, _REST_CLOSE = 0.02, 0.05
_MOST_STEPS = 60
# A step is cut to this length in every parameter.
_LARGEST_STEP = 1.5
# The middle of the prior may be a point of symmetry, where a derivative is zero that is not so elsewhere.
_ASIDE = 0.05
# Parameters that are drawn in all, and pairs of opposite draws over which the prior is averaged.
_DRAWN, _PAIRS = 2**22, (8, 128)


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
    column: Array
    noise: Array


class Spread(NamedTuple):
    """How far the posterior reaches, as it was seen from the point before.

    Parameters
    ----------
    lm : Float[Array, "lm column"]
        Standard deviations of abilities, given all else.
    item : Float[Array, "step parameter"]
        Steps to points whose mean stands for the posterior of each item, given all else; of all items at once.
    around : Float[Array, "pair parameter"]
        Joint draws, each of which stands for its opposite as well.
    """

    lm: Array
    item: Array
    around: Array


class Look(NamedTuple):
    """The posterior around a point.

    Parameters
    ----------
    u : Float[Array, " parameter"]
        The point.
    arrow : Arrow
        Factors of the precision.
    spread : Spread
        How far it reaches.
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
    spread: Spread
    slope: Array
    step: Array
    energy: Array
    length: Array
    rest_length: Array


class Acts(NamedTuple):
    """What a step in each of some directions does to abilities and to what items have.

    Parameters
    ----------
    lm : Float[Array, "direction lm column"]
        To abilities.
    item : Float[Array, "direction quantity item"]
        To what items have.
    """

    lm: Array
    item: Array


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


def find(form: Form, design: Design, key: Array, watch: Callable[[int], None] = lambda _: None) -> tuple[Look, Setting]:
    """Find the normal that is nearest to a posterior.

    Parameters
    ----------
    form, design : Form, Design
        What to fit to what.
    key : Array
        Key of the draws over which the prior is averaged.
    watch : callable
        Gets the number of steps taken.
    """
    setting, u = _begin(form, design, key)
    size = _SIZES[0]
    looks = count()

    def look(u: Array, spread: Spread) -> Look:
        watch(next(looks))
        return _look(form, size, setting, u, spread)

    now = look(u, _nowhere(form, setting, u))
    held = jnp.ones(u.size).at[setting.places.rest].set(0.0)
    now = _settled(look, now, held, _ROUGH)
    now = look(now.u, now.spread)
    now = _settled(look, now, jnp.ones(u.size), _NEAR)
    return now, setting


def _settled(look: Callable[[Array, Spread], Look], now: Look, held: Array, close: float) -> Look:
    """Take steps until they are short, none of them uphill; the spread stays what it is."""
    share = 1.0
    while now.length > close and share > _SHORTEST_SHARE:
        step = held * now.step if share else now.step
        ahead = look(now.u + share * jnp.clip(step, -_LARGEST_STEP, _LARGEST_STEP), now.seen)
        if ahead.energy <= now.energy + _SLACK:
            now, share = ahead, min(1.0, 4.0 * share)
        else:
            share /= 4.0
    return now


def _begin(form: Form, design: Design, key: Array) -> tuple[Setting, Array]:
    bare = without_cells(design)
    posterior = form.posterior
    u, places = posterior.median(bare), posterior.places(bare)
    n_columns = posterior.parts(bare, u)[0].shape[1]
    table = lay_out(design, form.response.affine, n_columns)
    by_lm, by_item = jax.jit(exposures, static_argnums=(0, 2))(form.response, table, n_columns)
    column = jnp.asarray(bare.benchmark) if n_columns > 1 else jnp.zeros(bare.n_items, int)
    root = jnp.sqrt(by_lm.sum(0))
    pairs = int(min(max(_DRAWN // posterior.size, _PAIRS[0]), _PAIRS[1]))
    setting = Setting(
        bare=bare,
        table=table,
        places=places,
        lm_share=(by_lm / root).T,
        item_share=by_item / root[column],
        column=column,
        noise=jax.random.normal(key, (pairs, posterior.size)).at[:, places.rest].set(0.0),
    )
    own = jnp.concatenate([places.lm.ravel(), places.item.ravel()])
    return setting, u.at[own].add(_ASIDE, mode="drop")


def _nowhere(form: Form, setting: Setting, u: Array) -> Spread:
    ability = form.posterior.parts(setting.bare, u)[0]
    steps = jnp.zeros((2 * setting.places.item.shape[1], u.size))
    return Spread(jnp.zeros_like(ability), steps, jnp.zeros_like(setting.noise))


@partial(jax.jit, static_argnums=(0, 1))
def _look(form: Form, size: int, setting: Setting, u: Array, spread: Spread) -> Look:
    """Expand the posterior around a point."""
    posterior, places = form.posterior, setting.places
    parts = partial(posterior.parts, setting.bare)
    grid = basis(parts(u)[0], spread.lm, size)

    def stepped(u: Array) -> Array:
        items: Array = jax.vmap(lambda step: parts(u + step)[1])(spread.item)
        return items

    sums = sweep(form.response, setting.table, grid, stepped(u))
    directions = _directions(places, u.size)
    acts = Acts(*jax.lax.map(lambda direction: jax.jvp(parts, (u,), (direction,))[1], directions))
    prior = _prior_means(form, setting, u, spread.around, directions)

    def level(u: Array) -> Array:
        """A function whose slope is that of the responses."""
        return (sums.by_lm * parts(u)[0]).sum() + (sums.by_item * stepped(u)).sum()

    slope = prior.slope - jax.grad(level)(u)
    factors = arrow.factor(_precision(setting, sums, grid.mean, acts, prior.rows), places, prior.uneven)
    step = -arrow.solved(factors, places, slope)
    rest_sd = jnp.linalg.norm(factors.rest_root, axis=1)
    return Look(
        u=u,
        arrow=factors,
        spread=_spread(setting, factors, acts, u.size),
        slope=slope,
        step=step,
        energy=prior.level - sums.value,
        length=jnp.sqrt(jnp.maximum(-(slope @ step), 0.0) / u.size),
        rest_length=jnp.abs(step[places.rest] / rest_sd).max(initial=0.0),
    )


def _directions(places: Places, size: int) -> Float[Array, "direction parameter"]:
    """Ones in all places of a kind, items first, then LMs; then each of what several share on its own."""
    kinds = [jnp.zeros(size).at[at].set(1.0, mode="drop") for at in (*places.item.T, *places.lm.T)]
    count = len(places.rest)
    singles = jnp.zeros((count, size)).at[jnp.arange(count), places.rest].set(1.0)
    return jnp.concatenate([*(kind[None] for kind in kinds), singles])


def _spread(setting: Setting, factors: Arrow, acts: Acts, size: int) -> Spread:
    places = setting.places
    width, n_items = places.item.shape[1], places.item.shape[1]
    by_lm = acts.lm[n_items : n_items + places.lm.shape[1]]
    reach = jnp.sqrt(jnp.square(jnp.einsum("oic,ioa->aic", by_lm, factors.lm_axes)).sum(0))
    axes = width**0.5 * jnp.moveaxis(factors.item_axes, -1, 0)
    steps = jax.vmap(lambda step: jnp.zeros(size).at[places.item].set(step, mode="drop"))(axes)
    around = jax.lax.map(partial(arrow.drawn, factors, places), setting.noise)
    return Spread(reach, jnp.concatenate([steps, -steps]), around)


class PriorMeans(NamedTuple):
    """The negative log density of the prior in the mean over draws.

    Parameters
    ----------
    level : Float[Array, ""]
        The density.
    slope : Float[Array, " parameter"]
        Its slope.
    rows : Float[Array, "direction parameter"]
        Its curvature times some directions.
    uneven : Float[Array, "rest rest"]
        Variance over draws of the part of the slope of what several share that is even in the draw.
    """

    level: Array
    slope: Array
    rows: Array
    uneven: Array


def _prior_means(form: Form, setting: Setting, u: Array, around: Array, directions: Array) -> PriorMeans:
    prior, rest = partial(form.posterior.prior, setting.bare), setting.places.rest

    def pair(step: Array) -> tuple[Array, Array, Array]:
        levels, slopes = jax.vmap(jax.value_and_grad(prior))(jnp.stack([u + step, u - step]))
        return levels.mean(), slopes.mean(0), slopes.mean(0)[rest]

    levels, slopes, even = jax.lax.map(pair, around)
    away = even - even.mean(0)

    def bent(step: Array) -> Array:
        def times(direction: Array) -> Array:
            turned: Array = jax.jvp(jax.grad(prior), (u + step,), (direction,))[1]
            return turned

        return jax.lax.map(times, directions)

    some = around[: _PAIRS[0] // 2]
    rows = jax.lax.map(bent, jnp.concatenate([some, -some])).mean(0)
    return PriorMeans(levels.mean(), slopes.mean(0), rows, away.T @ away / len(away))


def _precision(setting: Setting, sums: Sums, mean: Array, acts: Acts, rows: Array) -> Precision:
    """Curvature of the prior and information of the responses, block by block."""
    places, end = setting.places, rows.shape[1]
    n_item, n_lm = places.item.shape[1], places.lm.shape[1]
    of_item, of_lm, of_rest = jnp.split(rows, (n_item, n_item + n_lm))

    def at(rows: Array, positions: Array) -> Array:
        return jnp.take(rows, positions, axis=1, mode="fill", fill_value=0.0)

    def own(rows: Array, positions: Array) -> Array:
        """Blocks of all levels; what a level lacks stands alone with curvature one."""
        missing = (positions >= end)[:, :, None] & jnp.eye(positions.shape[1], dtype=bool)
        return jnp.where(missing, 1.0, jnp.moveaxis(at(rows, positions), 0, -1))

    item, (by_lm, by_rest) = acts.item[:n_item], (acts.lm[n_item : n_item + n_lm], acts.lm[n_item + n_lm :])
    item_by_rest = acts.item[n_item + n_lm :]
    # Of a response, as it is expected of the pair where some are missing.
    between = sums.between * setting.item_share
    shares = jnp.einsum("ci,cit->cit", setting.lm_share, mean)
    forms = jnp.einsum("oqj,qtj->jot", item, between)
    met = jnp.einsum("cit,ric->crt", shares, by_rest)
    n_columns = len(shares)
    turned = jax.ops.segment_sum(jnp.einsum("qtj,rqj->jtr", between, item_by_rest), setting.column, n_columns)
    informed = jnp.einsum("oqj,qpj->opj", item, sums.of_item)
    item_rest = jnp.einsum("opj,rpj->jor", informed, item_by_rest)
    item_rest += jnp.einsum("jot,jrt->jor", forms, met[setting.column])
    lm_rest = jnp.einsum("oic,ic,ric->ior", by_lm, sums.of_lm, by_rest)
    lm_rest += jnp.einsum("oic,cit,ctr->ior", by_lm, shares, turned)
    rest = jnp.einsum("ric,ic,sic->rs", by_rest, sums.of_lm, by_rest)
    rest += jnp.einsum("rqj,qpj,spj->rs", item_by_rest, sums.of_item, item_by_rest)
    mixed = jnp.einsum("crt,cts->rs", met, turned)
    return Precision(
        item=own(of_item, places.item) + jnp.einsum("opj,npj->jon", informed, item),
        lm=own(of_lm, places.lm) + jnp.einsum("oic,ic,nic->ion", by_lm, sums.of_lm, by_lm),
        rest=of_rest[:, places.rest] + rest + mixed + mixed.T,
        forms=forms,
        shares=jnp.einsum("oic,cit->ciot", by_lm, shares),
        item_rest=item_rest + jnp.moveaxis(at(of_rest, places.item), 0, -1),
        lm_rest=lm_rest + jnp.moveaxis(at(of_rest, places.lm), 0, -1),
        column=setting.column,
    )
