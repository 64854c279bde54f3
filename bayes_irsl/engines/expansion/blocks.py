"""Blocks of the precision of a posterior: curvature of its prior, and information of its responses."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bayes_irsl.engines.expansion.arrow import Arrow, Shared
from bayes_irsl.engines.expansion.posterior import Places
from bayes_irsl.engines.expansion.sweep import Information

# Pairs of draws over which the curvature of the prior is averaged.
_FEW = 4


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


def directions(places: Places, size: int) -> tuple[Float[Array, "kind parameter"], Float[Array, "rest parameter"]]:
    """Ones in all places of a kind, items first, then LMs; and each of what several share on its own."""
    kinds = [jnp.zeros(size).at[at].set(1.0, mode="drop")[None] for at in (*places.item.T, *places.lm.T)]
    count = len(places.rest)
    return jnp.concatenate(kinds), jnp.zeros((count, size)).at[jnp.arange(count), places.rest].set(1.0)


def spread_of(places: Places, factors: Arrow, acts: Acts, size: int) -> tuple[Array, Array]:
    """Standard deviations of abilities; and steps to points whose mean stands for the posterior of each item, of all.

    Each given all else.
    """
    width = places.item.shape[1]
    reach = jnp.sqrt(jnp.square(jnp.einsum("oic,ioa->aic", acts.lm[width:], factors.lm_axes)).sum(0))
    axes = width**0.5 * jnp.moveaxis(factors.item_axes, -1, 0)
    steps = jax.vmap(lambda step: jnp.zeros(size).at[places.item].set(step, mode="drop"))(axes)
    return reach, jnp.concatenate([steps, -steps])


class PriorMeans(NamedTuple):
    """The negative log density of the prior in the mean over draws.

    Parameters
    ----------
    slope : Float[Array, " parameter"]
        Its slope.
    rows : Float[Array, "rest parameter"]
        Rows of its curvature that belong to what several share.
    uneven : Float[Array, "rest rest"]
        Variance over draws of the part of the slope of what several share that is even in the draw.
    """

    slope: Array
    rows: Array
    uneven: Array


def prior_means(
    prior: Callable[[Array], Array], places: Places, u: Array, around: Array, directions: Array
) -> PriorMeans:
    """Average the prior over draws around a point, each of which stands for its opposite as well."""

    def pair(step: Array) -> Array:
        slopes: Array = jax.vmap(jax.grad(prior))(jnp.stack([u + step, u - step]))
        return slopes.mean(0)

    slopes = jax.lax.map(pair, around)
    away = (slopes - slopes.mean(0))[:, places.rest]

    def bent(step: Array) -> Array:
        bends: Array = jax.lax.map(lambda direction: jax.jvp(jax.grad(prior), (u + step,), (direction,))[1], directions)
        return bends

    some = jnp.concatenate([around[:_FEW], -around[:_FEW]])
    nothing = jnp.zeros((len(directions), u.size))
    rows = jax.lax.scan(lambda total, step: (total + bent(step), None), nothing, some)[0] / len(some)
    return PriorMeans(slopes.mean(0), rows, away.T @ away / len(away))


class Met(NamedTuple):
    """What one response has of its item and its LM at once, as it is expected of the pair where some are missing.

    Parameters
    ----------
    between : Float[Array, "quantity node item"]
        Information about an item, and the ability at a node.
    shares : Float[Array, "column lm node"]
        What an LM puts on the nodes.
    """

    between: Array
    shares: Array


def met_of(known: Information, lm_share: Array, item_share: Array, mean: Array) -> Met:
    """Share what a response has of a pair over the pairs that may have one."""
    return Met(known.between * item_share, lm_share[..., None] * mean)


def forms_of(places: Places, met: Met, acts: Acts) -> tuple[Array, Array]:
    """What items have at the nodes, and LMs put on them, along the parameters of each."""
    width = places.item.shape[1]
    forms = jnp.einsum("oqj,qtj->jot", acts.item[:width], met.between)
    return forms, jnp.einsum("oic,cit->ciot", acts.lm[width:], met.shares)


def own_blocks(places: Places, known: Information, acts: Acts, rows: Array) -> tuple[Array, Array]:
    """Precision of each item and of each LM, given all else."""
    n_item, n_lm = places.item.shape[1], places.lm.shape[1]
    end = rows.shape[1]

    def own(rows: Array, positions: Array) -> Array:
        """Blocks of all levels; what a level lacks stands alone with curvature one."""
        missing = (positions >= end)[:, :, None] & jnp.eye(positions.shape[1], dtype=bool)
        return jnp.where(missing, 1.0, jnp.moveaxis(_at(rows, positions), 0, -1))

    item, by_lm = acts.item[:n_item], acts.lm[n_item : n_item + n_lm]
    return (
        own(rows[:n_item], places.item) + jnp.einsum("oqj,qpj,npj->jon", item, known.item, item),
        own(rows[n_item : n_item + n_lm], places.lm) + jnp.einsum("oic,ic,nic->ion", by_lm, known.lm, by_lm),
    )


def _at(rows: Array, positions: Array) -> Array:
    taken: Array = jnp.take(rows, positions, axis=1, mode="fill", fill_value=0.0)
    return taken


def shared_blocks(
    places: Places, column: Array, known: Information, met: Met, acts: Acts, of_rest: Acts, means: PriorMeans
) -> Shared:
    """Curvature of the prior and information of the responses that belong to what several share."""
    width = places.item.shape[1]
    item, lm = acts.item[:width], acts.lm[width:]
    # On the nodes of each column: LMs, as what is shared moves them; and items, likewise.
    lms = jnp.einsum("cit,ric->crt", met.shares, of_rest.lm)
    if len(lms) == 1:
        items = jnp.einsum("qtj,rqj->tr", met.between, of_rest.item)[None]
    else:
        items = jnp.einsum("qtj,rqj->jtr", met.between, of_rest.item)
        items = jax.ops.segment_sum(items, column, len(met.shares))
    moved = lms[0] if len(lms) == 1 else lms[column]
    form = jnp.einsum("oqj,qtj->jot", item, met.between)
    of_item = jnp.einsum("oqj,qpj,rpj->jor", item, known.item, of_rest.item)
    of_item += jnp.einsum("jot,rt->jor" if len(lms) == 1 else "jot,jrt->jor", form, moved)
    of_lm = jnp.einsum("oic,ic,ric->ior", lm, known.lm, of_rest.lm)
    of_lm += jnp.einsum("oic,cit,ctr->ior", lm, met.shares, items)
    own = jnp.einsum("ric,ic,sic->rs", of_rest.lm, known.lm, of_rest.lm)
    own += jnp.einsum("rqj,qpj,spj->rs", of_rest.item, known.item, of_rest.item)
    mixed = jnp.einsum("crt,cts->rs", lms, items)
    return Shared(
        item=of_item + jnp.moveaxis(_at(means.rows, places.item), 0, -1),
        lm=of_lm + jnp.moveaxis(_at(means.rows, places.lm), 0, -1),
        own=means.rows[:, places.rest] + own + mixed + mixed.T,
        uneven=means.uneven,
    )
