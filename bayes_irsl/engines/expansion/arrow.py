r"""A normal whose precision is as sparse as the model: its covariance times a vector, and draws from it.

Given everything else, items do not interact with one another, and neither do LMs. In the order [items | LMs | what
several share] the precision is

.. math::

    H = \begin{pmatrix} D & C & X \\ C^T & \Lambda & Y \\ X^T & Y^T & P \end{pmatrix},
    \qquad C_{ji} = c_j\, b_i^T

with D and Λ small blocks, and C, what a response has of its item and its LM at once, a function of ability known by its
values c at a few nodes, between which b interpolates. So eliminating the items leaves of the LMs Λ less a matrix of low
rank, and nothing of the size of the table is ever computed.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bayes_irsl.engines.expansion.posterior import Places

# Least curvature that is believed.
_LEAST_CURVATURE = 1e-3
# Blocks up to this wide are factored all at once.
_MOST_UNROLLED = 4
# Interactions of items and LMs have few independent forms: more of them differ by rounding alone.
_MOST_FORMS = 24
# What items leave of the information about abilities is not taken for less than this share.
_LEAST_LEFT = 1e-6
# ... nor is that about what several share.
_LEAST_SHARE = 0.05


class Levels(NamedTuple):
    """The blocks of a precision that belong to items and LMs.

    Parameters
    ----------
    item : Float[Array, "item own own"]
        D.
    lm : Float[Array, "lm own own"]
        Λ.
    forms : Float[Array, "item own node"]
        c.
    shares : Float[Array, "column lm own node"]
        b, by the column of the abilities that items ask for.
    column : Int[Array, " item"]
        Column of each item.
    """

    item: Array
    lm: Array
    forms: Array
    shares: Array
    column: Array


class Shared(NamedTuple):
    """The blocks of a precision that belong to what several share.

    Parameters
    ----------
    item : Float[Array, "item own rest"]
        X.
    lm : Float[Array, "lm own rest"]
        Y.
    own : Float[Array, "rest rest"]
        P.
    uneven : Float[Array, "rest rest"]
        Information that is lost because the precision of all else depends on what is shared.
    """

    item: Array
    lm: Array
    own: Array
    uneven: Array


class Arrow(NamedTuple):
    """Factors of a precision.

    Parameters
    ----------
    item_axes, lm_axes : Float[Array, "level own axis"]
        Steps of one standard deviation along the principal axes of D and Λ.
    forms : Float[Array, "item axis node"]
        c along the axes.
    shares : Float[Array, "column lm own node"]
        b.
    pulled : Float[Array, "item axis rest"]
        X along the axes.
    lm_rest : Float[Array, "lm own rest"]
        What eliminating items leaves of Y.
    lowered : Float[Array, "lm_axis form"]
        Orthogonal directions in which items take information about abilities away, along the axes.
    left : Float[Array, " form"]
        Share of the information that is left in each.
    rest_root : Float[Array, "rest rest"]
        Root of the covariance of what several share.
    column : Int[Array, " item"]
        Column of each item.
    balance : Float[Array, "lm own sum"]
        Covariance of LMs times what keeps their sums.
    """

    item_axes: Array
    lm_axes: Array
    forms: Array
    shares: Array
    pulled: Array
    lm_rest: Array
    lowered: Array
    left: Array
    rest_root: Array
    column: Array
    balance: Array


def factor_levels(levels: Levels, places: Places) -> Arrow:
    """Factor a precision but for what several share, which is taken as known."""
    item_axes, lm_axes = axes_of(levels.item), axes_of(levels.lm)
    forms = jnp.einsum("joa,jok->jak", item_axes, levels.forms)

    def of_column(number: Array) -> Array:
        mine = forms * (levels.column == number)[:, None, None]
        return jnp.einsum("jak,jal->kl", mine, forms)

    squared = jax.lax.map(of_column, jnp.arange(len(levels.shares)))
    values, vectors = jnp.linalg.eigh(squared)
    kept = vectors[..., -_MOST_FORMS:] * jnp.sqrt(jnp.maximum(values[..., None, -_MOST_FORMS:], 0.0))
    taken = jnp.einsum("ioa,ciok,ckf->iacf", lm_axes, levels.shares, kept)
    lowered, left = _directions(taken.reshape(taken.shape[0] * taken.shape[1], -1))
    arrow = Arrow(
        item_axes=item_axes,
        lm_axes=lm_axes,
        forms=forms,
        shares=levels.shares,
        pulled=jnp.zeros((*forms.shape[:2], len(places.rest))),
        lm_rest=jnp.zeros((*places.lm.shape, len(places.rest))),
        lowered=lowered,
        left=left,
        rest_root=jnp.zeros((len(places.rest),) * 2),
        column=levels.column,
        balance=jnp.zeros((*places.lm.shape, len(places.balanced))),
    )
    return arrow._replace(balance=_balance(arrow, places.balanced))


def factor_shared(arrow: Arrow, shared: Shared, places: Places) -> Arrow:
    """Factor the rest of a precision."""
    pulled = jnp.einsum("joa,jor->jar", arrow.item_axes, shared.item)

    def of_column(number: Array) -> Array:
        mine = arrow.forms * (arrow.column == number)[:, None, None]
        return jnp.einsum("jak,jar->kr", mine, pulled)

    crossed = jax.lax.map(of_column, jnp.arange(len(arrow.shares)))
    lm_rest = shared.lm - jnp.einsum("ciok,ckr->ior", arrow.shares, crossed)
    of_lms = jax.vmap(lambda part: _lm_solved(arrow, places, part), -1, -1)(lm_rest)
    given = shared.own - jnp.einsum("jar,jas->rs", pulled, pulled) - jnp.einsum("ior,ios->rs", lm_rest, of_lms)
    return arrow._replace(pulled=pulled, lm_rest=lm_rest, rest_root=_rest_root(given, shared.uneven))


def axes_of(blocks: Float[Array, "level own own"]) -> Float[Array, "level own axis"]:
    """Roots of the inverses of some blocks; a curvature that is not positive counts as a small one."""
    size = blocks.shape[-1]
    if size > _MOST_UNROLLED:
        values, vectors = jnp.linalg.eigh(blocks)
        axes: Array = vectors / jnp.sqrt(jnp.maximum(jnp.abs(values), _LEAST_CURVATURE))[..., None, :]
        return axes
    # A factor of each, entry by entry: all levels at once are much faster than one by one.
    root: dict[tuple[int, int], Array] = {}
    inverse: dict[tuple[int, int], Array] = {}
    for i in range(size):
        for j in range(i + 1):
            left = blocks[:, i, j] - sum((root[i, k] * root[j, k] for k in range(j)), jnp.zeros(len(blocks)))
            root[i, j] = jnp.sqrt(jnp.maximum(left, _LEAST_CURVATURE)) if i == j else left / root[j, j]
        inverse[i, i] = 1.0 / root[i, i]
        for j in range(i):
            inverse[i, j] = -sum(root[i, k] * inverse[k, j] for k in range(j, i)) / root[i, i]
    nothing = jnp.zeros(len(blocks))
    rows = [jnp.stack([inverse.get((a, o), nothing) for a in range(size)], -1) for o in range(size)]
    return jnp.stack(rows, -2) if rows else blocks


def solved(arrow: Arrow, places: Places, slope: Float[Array, " parameter"]) -> Float[Array, " parameter"]:
    """Covariance times a vector."""
    of_item, of_lm, of_rest = _taken(places, slope)
    half = jnp.einsum("joa,jo->ja", arrow.item_axes, of_item)
    of_lm = of_lm - jnp.einsum("ciok,ck->io", arrow.shares, _gathered(arrow, half))
    of_rest = of_rest - jnp.einsum("jar,ja->r", arrow.pulled, half)
    of_rest = of_rest - jnp.einsum("ior,io->r", arrow.lm_rest, _lm_solved(arrow, places, of_lm))
    rest = arrow.rest_root @ (arrow.rest_root.T @ of_rest)
    lm = _lm_solved(arrow, places, of_lm - arrow.lm_rest @ rest)
    return _together(arrow, places, half, lm, rest, slope.size)


def drawn(arrow: Arrow, places: Places, noise: Float[Array, " parameter"]) -> Float[Array, " parameter"]:
    """Turn standard normal numbers into a draw around zero."""
    of_item, of_lm, of_rest = _taken(places, noise)
    rest = arrow.rest_root @ of_rest
    free = _rooted(arrow, of_lm)
    lm = _balanced(arrow, places, free) - _lm_solved(arrow, places, arrow.lm_rest @ rest)
    return _together(arrow, places, of_item, lm, rest, noise.size)


def _directions(taken: Float[Array, "lm_axis form"]) -> tuple[Array, Array]:
    """Turn a root of what is taken off an identity into directions, and what is left in each."""
    values, vectors = jnp.linalg.eigh(taken.T @ taken)
    safe = jnp.maximum(values, 1e-12)
    return taken @ (vectors / jnp.sqrt(safe)), jnp.where(values > 1e-12, jnp.maximum(1.0 - values, _LEAST_LEFT), 1.0)


def root_of(matrix: Float[Array, "own own"]) -> Float[Array, "own own"]:
    """Root of the inverse of a matrix; a curvature that is not positive counts as one."""
    values, vectors = jnp.linalg.eigh((matrix + matrix.T) / 2.0)
    root: Array = vectors / jnp.sqrt(jnp.maximum(jnp.abs(values), _LEAST_CURVATURE))
    return root


def _rest_root(given: Float[Array, "rest rest"], uneven: Float[Array, "rest rest"]) -> Float[Array, "rest rest"]:
    unit = root_of(given)
    lost, axes = jnp.linalg.eigh(unit.T @ uneven @ unit)
    root: Array = (unit @ axes) / jnp.sqrt(jnp.maximum(1.0 - lost, _LEAST_SHARE))
    return root


def _rooted(arrow: Arrow, noise: Float[Array, "lm axis"]) -> Float[Array, "lm own"]:
    """Root of the covariance of LMs times a vector."""
    flat = noise.ravel()
    flat = flat + arrow.lowered @ ((arrow.left**-0.5 - 1.0) * (arrow.lowered.T @ flat))
    return jnp.einsum("ioa,ia->io", arrow.lm_axes, flat.reshape(noise.shape))


def _lm_free(arrow: Arrow, slope: Float[Array, "lm own"]) -> Float[Array, "lm own"]:
    half = jnp.einsum("ioa,io->ia", arrow.lm_axes, slope)
    flat = half.ravel()
    flat = flat + arrow.lowered @ ((1.0 / arrow.left - 1.0) * (arrow.lowered.T @ flat))
    return jnp.einsum("ioa,ia->io", arrow.lm_axes, flat.reshape(half.shape))


def _balance(arrow: Arrow, balanced: Float[Array, "sum lm own"]) -> Float[Array, "lm own sum"]:
    return jnp.moveaxis(jax.vmap(lambda one: _lm_free(arrow, one))(balanced), 0, -1)


def _balanced(arrow: Arrow, places: Places, free: Float[Array, "lm own"]) -> Float[Array, "lm own"]:
    """Condition on sums of zero."""
    if not len(places.balanced):
        return free
    within = jnp.einsum("sio,iot->st", places.balanced, arrow.balance)
    off = jnp.einsum("sio,io->s", places.balanced, free)
    kept: Array = free - arrow.balance @ jnp.linalg.solve(within, off)
    return kept


def _lm_solved(arrow: Arrow, places: Places, slope: Float[Array, "lm own"]) -> Float[Array, "lm own"]:
    return _balanced(arrow, places, _lm_free(arrow, slope))


def _gathered(arrow: Arrow, half: Float[Array, "item axis"]) -> Float[Array, "column node"]:
    """What items put on the nodes of each column."""
    gathered: Array = jax.ops.segment_sum(jnp.einsum("jak,ja->jk", arrow.forms, half), arrow.column, len(arrow.shares))
    return gathered


def _taken(places: Places, u: Float[Array, " parameter"]) -> tuple[Array, Array, Array]:
    of_item, of_lm = (jnp.take(u, at, mode="fill", fill_value=0.0) for at in (places.item, places.lm))
    return of_item, of_lm, u[places.rest]


def _together(arrow: Arrow, places: Places, half: Array, lm: Array, rest: Array, size: int) -> Array:
    """Solve for items, given whitened ones and all else, and put the parts where they belong."""
    on_nodes = jnp.einsum("ciok,io->ck", arrow.shares, lm)
    # One column is read by all items as it is, rather than copied for each.
    met = (
        arrow.forms @ on_nodes[0]
        if len(on_nodes) == 1
        else jnp.einsum("jak,jk->ja", arrow.forms, on_nodes[arrow.column])
    )
    half = half - met - arrow.pulled @ rest
    item = jnp.einsum("joa,ja->jo", arrow.item_axes, half)
    u = jnp.zeros(size).at[places.item].set(item, mode="drop").at[places.lm].set(lm, mode="drop")
    return u.at[places.rest].set(rest)
