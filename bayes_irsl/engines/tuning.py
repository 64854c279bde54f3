"""What the warm-up of `HMC` learns from the draws of all chains: step size, lengths, places and scales."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

# Trajectories: around a quarter of a turn. Of one length alone they could fall in step with some coordinate.
SHORTEST, LONGEST = 1.3, 2.2


class Chains(NamedTuple):
    """Where the chains are.

    Parameters
    ----------
    z, gradient : Float[Array, "chain parameter"]
        Positions, and gradients of the potential there, in single precision.
    potential : Float[Array, " chain"]
        The potential.
    """

    z: Array
    gradient: Array
    potential: Array


class Tuning(NamedTuple):
    """What the warm-up learns.

    Parameters
    ----------
    steps : Array
        Steps since the step size was last set back.
    log_step, log_step_mean, error_sum, log_step_centre : Array
        Dual averaging of the logarithm of the step size.
    slowness : Array
        Times that long trajectories are longer than short ones.
    pairs, weight : Array
        Sums over short trajectories of start, end, their product and the square of the start of every coordinate,
        weighted by the acceptance, and the sum of weights.
    place, scale : Float[Array, " parameter"]
        Mean and standard deviation of every coordinate.
    mean, square, seen : Array
        Sums of draws from which scales will be learnt, and their number.
    """

    steps: Array
    log_step: Array
    log_step_mean: Array
    error_sum: Array
    log_step_centre: Array
    slowness: Array
    pairs: Array
    weight: Array
    place: Array
    scale: Array
    mean: Array
    square: Array
    seen: Array


def untuned(size: int) -> Tuning:
    """What is known before the first step, of so many coordinates."""
    zero = jnp.zeros(())
    first = jnp.log(jnp.asarray(size**-0.25))
    return Tuning(
        steps=zero,
        log_step=first,
        log_step_mean=first,
        error_sum=zero,
        log_step_centre=first + jnp.log(2.0),
        slowness=jnp.ones(()),
        pairs=jnp.zeros((4, size)),
        weight=zero,
        place=jnp.zeros(size),
        scale=jnp.ones(size),
        mean=jnp.zeros(size),
        square=jnp.zeros(size),
        seen=zero,
    )


def learn(
    tuning: Tuning,
    target: float,
    now: Chains,
    ahead: Chains,
    then: Chains,
    acceptance: Array,
    weight: Array,
) -> Tuning:
    """Take in one step of all chains; `weight` is that of their pairs of start and end."""
    count, chains = tuning.steps + 1.0, _over_chains(jnp.ones_like(acceptance))
    rate = _over_chains(acceptance) / chains
    error_sum = tuning.error_sum + (target - rate - tuning.error_sum) / (count + 10.0)
    log_step = tuning.log_step_centre - jnp.sqrt(count) / 0.05 * error_sum
    newest = count**-0.75
    log_step_mean = newest * log_step + (1.0 - newest) * tuning.log_step_mean
    there = jnp.where(weight[:, None] > 0, ahead.z, 0.0)
    pairs = jnp.stack([now.z, there, now.z * there, jnp.square(now.z)], axis=1)
    return tuning._replace(
        steps=count,
        log_step=log_step,
        log_step_mean=log_step_mean,
        error_sum=error_sum,
        pairs=tuning.pairs + _over_chains(weight[:, None, None] * pairs),
        weight=tuning.weight + _over_chains(weight),
        mean=tuning.mean + _over_chains(then.z),
        square=tuning.square + _over_chains(jnp.square(then.z)),
        seen=tuning.seen + chains,
    )


def _over_chains(values: Array) -> Array:
    """Sum over the chains of all devices, which lie along the first dimension."""
    total: Array = jax.lax.psum(values.sum(0), "chain")  # type: ignore[no-untyped-call]
    return total


def _slowness(pairs: Array, weight: Array, slowest: float) -> Array:
    """How many times slower than a standard normal the slowest coordinate turns.

    A turn by an angle leaves its cosine as the correlation of start and end. The largest of many estimates is too large
    by some standard errors: coordinates that all fit get long trajectories that are a little longer.
    """
    start, end, product, square = pairs / weight
    variance = jnp.maximum(square - start**2, 1e-12)
    largest = ((product - start * end) / variance).max()
    angle = jnp.arccos(jnp.clip(largest, -1.0, 1.0))
    return jnp.clip(0.5 * (SHORTEST + LONGEST) / jnp.maximum(angle, 1e-3), 1.0, slowest)


def rescaled(slowest: float, tuning: Tuning) -> Tuning:
    """Set places and scales to those of the draws so far, drawn towards the standard normal.

    The step size is set back to be found anew.
    """
    mean = tuning.mean / tuning.seen
    variance = tuning.square / tuning.seen - mean**2
    scale = jnp.sqrt((variance * tuning.seen + 10.0) / (tuning.seen + 10.0))
    zero = jnp.zeros(())
    return tuning._replace(
        steps=zero,
        error_sum=zero,
        log_step=tuning.log_step_mean,
        log_step_centre=tuning.log_step_mean + jnp.log(2.0),
        slowness=_slowness(tuning.pairs, jnp.maximum(tuning.weight, 1.0), slowest),
        place=mean * tuning.seen / (tuning.seen + 10.0),
        scale=scale,
        mean=jnp.zeros_like(mean),
        square=jnp.zeros_like(mean),
        seen=zero,
    )
