r"""All responses of a table as one distribution, whose density and gradient are one pass over the cells.

A table that is at least a quarter full is laid out row by row, one row for each LM. The density is then
summed a few rows at a time, and the gradient of a block of rows is taken while its cells are at hand: nothing of
the size of the table is ever written. Other tables go cell by cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from jaxtyping import Array, Float
from numpyro import validation_enabled
from numpyro.distributions import constraints

from irsl_models.curves import Items, logit_mean
from irsl_models.design import Design
from irsl_models.law import Law

# Cells of a block: what it needs stays in the cache of one core, and the loop over blocks costs little.
_BLOCK = 4096

Tree = Any


class ItemResponses(dist.Distribution):  # type: ignore[misc]
    r"""Independent responses, each by the law of its item at the logit of its mean.

    Parameters
    ----------
    law : Law
        Distribution of a response.
    items : Items
        Parameters of the item curves.
    ability : Float[Array, "lm benchmark"]
        Ability of each LM on each benchmark; one column where it is the same on all.
    design : Design
        The cells.
    """

    def __init__(
        self,
        law: Law,
        items: Items,
        ability: Float[Array, "lm benchmark"],
        design: Design,
        *,
        validate_args: bool | None = None,
    ) -> None:
        self.law, self.items, self.ability, self.design = law, items, ability, design
        column = design.benchmark[design.item] if ability.shape[1] > 1 else 0
        logit = logit_mean(_at(items, design.item), ability[design.lm, column])
        # Every cell on its own, of batch shape (cell,); what of it is not used is not computed either.
        self.cells = law.response(logit, **_at(law.parameters, design.item), **law.given(design))
        super().__init__(event_shape=design.lm.shape, validate_args=validate_args)

    @property
    def support(self) -> Any:
        """The support of a response, for every cell."""
        return constraints.independent(self.cells.support, 1)

    @property
    def is_discrete(self) -> bool:
        """Whether responses are counts."""
        return bool(self.cells.is_discrete)

    def sample(self, key: Array, sample_shape: tuple[int, ...] = ()) -> Array:
        """Draw a response for every cell."""
        drawn: Array = self.cells.sample(key, sample_shape)
        return drawn

    @property
    def mean(self) -> Array:
        """Expected responses."""
        expected: Array = self.cells.mean
        return expected

    def pointwise(self, value: Array) -> Float[Array, " cell"]:
        """Log density of every response; 0 where the layout has a cell and the table has none."""
        density: Array = self.cells.log_prob(value)
        return density if self.design.present is None else jnp.where(self.design.present, density, 0.0)

    def log_prob(self, value: Array) -> Float[Array, ""]:
        """Log density of all responses, which are taken to be possible ones: at every step a check costs its part."""
        if not self.design.rows:
            with validation_enabled(False):
                return self.pointwise(value).sum()
        n_items = self.items.threshold.shape[0]
        data = {"value": value, **self.law.given(self.design)}
        if self.design.present is not None:
            data["present"] = self.design.present
        laid_out = {name: column.reshape(-1, n_items) for name, column in data.items()}
        columns = None
        if self.ability.shape[1] > 1:
            columns = jax.nn.one_hot(self.design.benchmark, self.ability.shape[1], dtype=self.ability.dtype).T
        return _fused(self.law.response, columns)(self.ability, (self.items, dict(self.law.parameters)), laid_out)


def _at(tree: Tree, item: Array) -> Tree:
    return jax.tree.map(lambda values: values[item], tree)


def _product(left: Array, right: Array) -> Array:
    return jnp.matmul(left, right, precision="highest")


def _fused(response: Callable[..., dist.Distribution], columns: Array | None) -> Callable[..., Array]:
    """Log density of a laid-out table as a function whose value and gradient are computed together."""

    def of_block(ability: Array, per_item: tuple[Items, Mapping[str, Array]], data: Mapping[str, Array]) -> Array:
        height, n_items = data["value"].shape
        across, down = jnp.ones((n_items, 1), ability.dtype), jnp.ones((1, height), ability.dtype)
        # Spread by products with ones: the way back is a product as well, and reads what is differentiated once,
        # where a sum over a broadcast would compute it again for every parameter.
        items, parameters = jax.tree.map(lambda values: _product(down.T, values[None]), per_item)
        placed = _product(ability, across.T if columns is None else columns)
        shown = {name: column for name, column in data.items() if name not in ("value", "present")}
        with validation_enabled(False):
            density = response(logit_mean(items, placed), **parameters, **shown).log_prob(data["value"])
        if "present" in data:
            density = jnp.where(data["present"], density, 0.0)
        return _product(down, _product(density, across))[0, 0]

    def both(ability: Array, per_item: Tree, data: Mapping[str, Array]) -> tuple[Array, tuple[Array, Tree]]:
        n_lms, n_items = data["value"].shape
        height = max(1, min(n_lms, _BLOCK // n_items))
        whole = n_lms // height * height

        def step(carry: tuple[Array, Tree], rows: tuple[Array, Tree]) -> tuple[tuple[Array, Tree], Array]:
            (total, slope), (abilities, block) = carry, rows
            value, (by_lm, by_item) = jax.value_and_grad(of_block, (0, 1))(abilities, per_item, block)
            return (total + value, jax.tree.map(jnp.add, slope, by_item)), by_lm

        def blocks(values: Array) -> Array:
            return values[:whole].reshape(-1, height, *values.shape[1:])

        start = (jnp.zeros((), ability.dtype), jax.tree.map(jnp.zeros_like, per_item))
        carry, by_lm = jax.lax.scan(step, start, (blocks(ability), jax.tree.map(blocks, data)))
        slopes = by_lm.reshape(whole, -1)
        if whole < n_lms:
            carry, rest = step(carry, (ability[whole:], jax.tree.map(lambda values: values[whole:], data)))
            slopes = jnp.concatenate([slopes, rest])
        return carry[0], (slopes, carry[1])

    @jax.custom_vjp
    def total(ability: Array, per_item: Tree, data: Mapping[str, Array]) -> Array:
        return both(ability, per_item, data)[0]

    def forward(ability: Array, per_item: Tree, data: Mapping[str, Array]) -> tuple[Array, Tree]:
        value, slopes = both(ability, per_item, data)
        return value, slopes

    def backward(slopes: Tree, cotangent: Array) -> tuple[Array, Tree, None]:
        by_lm, by_item = jax.tree.map(lambda slope: cotangent * slope, slopes)
        return by_lm, by_item, None

    total.defvjp(forward, backward)
    return total
