r"""The alternating fit of the IRSL paper: point estimates by AdamW, abilities and items in turn.

Beta scores of mean :math:`\mathrm{logistic}(a_j(\theta_i - b_j))` with the precision of every item fixed at 10; fifty
rounds, each of a hundred steps on abilities and a hundred on items, with learning rates 0.1 and 0.01. Written from this
description. What it leaves open is taken as PyTorch has it: decay of weights 0.01, moments kept from round to round.
Abilities and difficulties start at 0, discriminations at 1.

The gradient is that of the package, one pass over the cells in the type of their columns, many times as fast as plain
automatic differentiation; and a round is one compiled program. What the fit costs here is not the language's fault.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from irsl_models import Design
from irsl_models.curves import Items
from irsl_models.distributions import LogitBeta
from irsl_models.item_responses import ItemResponses
from irsl_models.law import Law

PRECISION = 10.0
ROUNDS, STEPS = 50, 100
ABILITY_RATE, ITEM_RATE = 0.1, 0.01
_DECAY, _FIRST, _SECOND, _LEAST = 0.01, 0.9, 0.999, 1e-8

Tree = Any


class AdamW(NamedTuple):
    """Moments of gradients, and the number of steps (Loshchilov and Hutter 2019)."""

    mean: Tree
    square: Tree
    steps: Array

    @classmethod
    def at(cls, values: Tree) -> AdamW:
        """Before the first step."""
        zero = jax.tree.map(jnp.zeros_like, values)
        return cls(zero, zero, jnp.zeros(()))

    def step(self, values: Tree, slope: Tree, rate: float) -> tuple[Tree, AdamW]:
        """Go down a slope."""
        count = self.steps + 1.0
        mean = jax.tree.map(lambda old, new: _FIRST * old + (1.0 - _FIRST) * new, self.mean, slope)
        square = jax.tree.map(lambda old, new: _SECOND * old + (1.0 - _SECOND) * new**2, self.square, slope)

        def moved(value: Array, mean: Array, square: Array) -> Array:
            root = jnp.sqrt(square / (1.0 - _SECOND**count)) + _LEAST
            return value * (1.0 - rate * _DECAY) - rate * mean / (1.0 - _FIRST**count) / root

        return jax.tree.map(moved, values, mean, square), AdamW(mean, square, count)


class Estimate(NamedTuple):
    """Abilities, and (difficulty, log discrimination) of items."""

    ability: Array
    items: tuple[Array, Array]


def loss(design: Design, at: Estimate) -> Array:
    """Negative mean log density of a score."""
    difficulty, log_discrimination = at.items
    discrimination = jnp.exp(log_discrimination)
    law = Law(LogitBeta, {"precision": jnp.full(design.n_items, PRECISION)}, ("log_score", "log_rest"))
    items = Items(discrimination, discrimination * difficulty)
    found: Array = ItemResponses(law, items, at.ability[:, None], design).log_prob(jnp.asarray(design.score))
    return -found / design.n_cells


def fit(design: Design, *, rounds: int = ROUNDS, steps: int = STEPS) -> dict[str, np.ndarray]:
    """Estimate abilities and items of a table laid out by rows.

    Parameters
    ----------
    design : Design
        The table.
    rounds, steps : int
        Rounds, and steps on each side in each of them.

    Returns
    -------
    dict of str to np.ndarray
        ``ability``, ``threshold`` and ``log_discrimination``: sites as the model of the package has them.
    """
    design = jax.tree.map(jnp.asarray, design)
    flat = jnp.zeros(design.n_items)
    at = Estimate(jnp.zeros(design.lms.known), (flat, flat))
    memory = AdamW.at(at.ability), AdamW.at(at.items)
    for _ in range(rounds):
        at, memory = _round(design, at, memory, steps)
    difficulty, log_discrimination = at.items
    sites: Mapping[str, Array] = {
        "ability": at.ability,
        "threshold": difficulty * jnp.exp(log_discrimination),
        "log_discrimination": log_discrimination,
    }
    return {name: np.asarray(value) for name, value in sites.items()}


@partial(jax.jit, static_argnums=3)
def _round(
    design: Design, at: Estimate, memory: tuple[AdamW, AdamW], steps: int
) -> tuple[Estimate, tuple[AdamW, AdamW]]:
    def taken(rate: float, objective: Callable[[Tree], Array], values: Tree, memory: AdamW) -> tuple[Tree, AdamW]:
        def step(_: Array, both: tuple[Tree, AdamW]) -> tuple[Tree, AdamW]:
            return both[1].step(both[0], jax.grad(objective)(both[0]), rate)

        result: tuple[Tree, AdamW] = jax.lax.fori_loop(0, steps, step, (values, memory))
        return result

    ability, of_ability = taken(ABILITY_RATE, lambda new: loss(design, at._replace(ability=new)), at.ability, memory[0])
    at = at._replace(ability=ability)
    items, of_items = taken(ITEM_RATE, lambda new: loss(design, at._replace(items=new)), at.items, memory[1])
    return at._replace(items=items), (of_ability, of_items)
