r"""Distributions of one response, by the logit of its mean.

Everything is computed from the logit :math:`\eta`, never from :math:`\mu`, which rounds to 0 or 1 long before
the density stops to matter.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax.nn import sigmoid
from jaxtyping import Array, Float
from numpyro.distributions import constraints
from numpyro.distributions.util import validate_sample
from numpyro.util import is_prng_key

from irsl_models.special import (
    digamma_rise,
    log,
    log_gamma,
    log_gamma_excess,
    log_rising,
    log_sigmoid,
    pieces,
    shift,
)

_PARAMETERS = {"logit": constraints.real, "precision": constraints.positive}


@jax.custom_jvp
def sides(logit: Array) -> tuple[Array, Array]:
    r""":math:`(\mu, 1 - \mu)`, both to the last digit, from one exponential."""
    small = jnp.exp(-jnp.abs(logit))
    large = 1.0 / (1.0 + small)
    small = small * large
    up = logit > 0
    return jnp.where(up, large, small), jnp.where(up, small, large)


@sides.defjvp
def _sides_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    up, down = sides(*primals)
    slope = up * down * tangents[0]
    return (up, down), (slope, -slope)


def shapes(logit: Array, precision: Array) -> tuple[Array, Array]:
    r""":math:`(\mu\phi, (1-\mu)\phi)`, kept from underflowing to zero, where the density has no gradient."""
    floor = float(np.finfo(logit.dtype).tiny) * 1e6
    up, down = sides(logit)
    return jnp.maximum(precision * up, floor), jnp.maximum(precision * down, floor)


@jax.custom_jvp
def _log_beta_density(log_value: Array, log_rest: Array, logit: Array, precision: Array) -> Array:
    """Density from the logs of the response and of what it lacks to 1."""
    return _beta_terms(log_value, log_rest, logit, precision)[0]


@_log_beta_density.defjvp
def _log_beta_density_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    _, _, by_logit, by_precision = tangents  # the response is data
    density, of_logit, of_precision = _beta_terms(*primals)
    return density, of_logit * by_logit + of_precision * by_precision


def _beta_terms(log_value: Array, log_rest: Array, logit: Array, precision: Array) -> tuple[Array, Array, Array]:
    """Density, and its derivatives in logit and precision.

    Logs are taken of the shifted shapes over the precision. Those of the precision itself cancel and are left out:
    where it is large, they would be by far the largest terms, and their rounding the same for all responses.
    """
    first, second = shapes(logit, precision)
    up, down = sides(logit)
    excess, excess_slope = log_gamma_excess(precision)
    at_first, at_second = pieces(first), pieces(second)
    step = shift(logit.dtype) / precision
    log_first, log_second = log(up + step), log(down + step)
    surplus, deficit = log_value - log_first, log_rest - log_second
    # Each difference is small where response and mean are close: mu times the whole would cancel.
    pull, push = surplus + at_first.lag + excess_slope, deficit + at_second.lag + excess_slope
    # Both derivatives want them, and would otherwise take them apart to the last term each.
    pull, push = jax.lax.optimization_barrier((pull, push))  # type: ignore[no-untyped-call]
    density = (
        (first * surplus + second * deficit)
        + 0.5 * (log_first + log_second)
        - (log_value + log_rest + at_first.tail + at_second.tail)
        + excess
        # Apart, because where the precision is small both may be so small that their product is no number any more.
        + (log(at_first.ratio) + log(at_second.ratio))
    )
    return density, first * down * (pull - push), up * pull + down * push


@jax.custom_jvp
def _log_beta_binomial(hits: Array, misses: Array, logit: Array, precision: Array) -> Array:
    """Probability of counts but for the binomial coefficient.

    In rising factorials and not in log gammas: items that scatter no more than a binomial have a posterior of the
    precision that reaches up to where differences of log gammas are noise, hundreds of nats of it.
    """
    first, second = shapes(logit, precision)
    return log_rising(first, hits) + log_rising(second, misses) - log_rising(precision, hits + misses)


@_log_beta_binomial.defjvp
def _log_beta_binomial_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    hits, misses, logit, precision = primals
    _, _, by_logit, by_precision = tangents  # counts are data
    first, second = shapes(logit, precision)
    up, down = sigmoid(logit), sigmoid(-logit)
    pull, push = digamma_rise(first, hits), digamma_rise(second, misses)
    slope = first * down * (pull - push) * by_logit
    slope += (up * pull + down * push - digamma_rise(precision, hits + misses)) * by_precision
    return _log_beta_binomial(*primals), slope


def _draw_beta(key: Array, logit: Array, precision: Array, shape: tuple[int, ...]) -> Array:
    one, other = jax.random.split(key)
    first, second = shapes(logit, precision)
    drawn = sigmoid(draw_log_gamma(one, first, shape) - draw_log_gamma(other, second, shape))
    # Shapes far below one pile up at the ends, where a float can only say 0 or 1; the nearest float inside stands in.
    edge = np.finfo(drawn.dtype)
    return jnp.clip(drawn, float(edge.tiny), float(1.0 - edge.epsneg))


def draw_log_gamma(key: Array, concentration: Array, shape: tuple[int, ...]) -> Array:
    """Draw logarithms of gamma variables of scale one, all of an array together.

    By rejection (Marsaglia and Tsang 2000), as JAX does it too; but there every variable has a loop of its own, which
    on a CPU takes seven times as long.

    Parameters
    ----------
    key : Array
        Random key.
    concentration : Array
        Positive, of any shape that broadcasts to `shape`.
    shape : tuple of int
        Shape of what is drawn.
    """
    boost_key, key = jax.random.split(key)
    concentration = jnp.broadcast_to(concentration, shape)
    kind = concentration.dtype
    # Below one it is drawn one higher: G(a) = G(a + 1) U^(1/a).
    is_small = concentration < 1.0
    centre = jnp.where(is_small, concentration + 1.0, concentration) - 1.0 / 3.0
    width = 1.0 / (3.0 * jnp.sqrt(centre))

    def propose(at: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        key, found, is_done = at
        key, normal_key, uniform_key = jax.random.split(key, 3)
        step = jax.random.normal(normal_key, shape, kind)
        root = 1.0 + width * step
        log_cube = 3.0 * jnp.log(jnp.where(root > 0.0, root, 1.0))
        bound = 0.5 * step**2 + centre * (1.0 - root**3 + log_cube)
        # What is not a number is taken: it would be proposed without end.
        is_bad = (root <= 0.0) | (-jax.random.exponential(uniform_key, shape, kind) >= bound)
        return key, jnp.where(is_done, found, log_cube), is_done | ~is_bad

    start = key, jnp.zeros(shape, kind), jnp.zeros(shape, bool)
    _, log_cube, _ = jax.lax.while_loop(lambda at: ~at[2].all(), propose, start)
    boost = jnp.where(is_small, -jax.random.exponential(boost_key, shape, kind) / concentration, 0.0)
    return jnp.log(centre) + log_cube + boost


def _beta_of(law: Any, value: Array) -> Array:
    """Density of a response inside (0, 1), from what a distribution was told beforehand where it was."""
    log_value = jnp.log(value) if law.log_score is None else law.log_score
    log_rest = jnp.log1p(-value) if law.log_rest is None else law.log_rest
    # The rule of the derivative wants one shape.
    density: Array = _log_beta_density(*jnp.broadcast_arrays(log_value, log_rest, law.logit, law.precision))
    return density


class LogitBeta(dist.Distribution):  # type: ignore[misc]
    r"""Beta with mean :math:`\mathrm{logistic}(\eta)` and precision :math:`\phi`: shapes :math:`\mu\phi, (1-\mu)\phi`.

    Parameters
    ----------
    logit : array
        :math:`\eta`.
    precision : array
        :math:`\phi > 0`; the variance is :math:`\mu(1-\mu)/(1+\phi)`.
    log_score, log_rest : array, optional
        Logs of the responses whose density will be asked for, and of what they lack to 1, if they are known better
        or were taken before.

    Examples
    --------
    >>> import numpyro.distributions as dist
    >>> ours = LogitBeta(jnp.asarray(0.5), jnp.asarray(8.0)).log_prob(jnp.asarray(0.3))
    >>> mean = sigmoid(0.5)
    >>> bool(jnp.allclose(ours, dist.Beta(8.0 * mean, 8.0 * (1 - mean)).log_prob(0.3), rtol=1e-5))
    True
    """

    arg_constraints = _PARAMETERS
    support = constraints.open_interval(0.0, 1.0)
    reparametrized_params = ("logit", "precision")
    pytree_data_fields = ("logit", "precision", "log_score", "log_rest")

    def __init__(
        self,
        logit: Array,
        precision: Array,
        log_score: Array | None = None,
        log_rest: Array | None = None,
        *,
        validate_args: bool | None = None,
    ) -> None:
        self.logit, self.precision = jnp.broadcast_arrays(logit, precision)
        self.log_score, self.log_rest = log_score, log_rest
        super().__init__(batch_shape=jnp.shape(self.logit), validate_args=validate_args)

    def sample(self, key: Array, sample_shape: tuple[int, ...] = ()) -> Array:
        """Draw responses."""
        assert is_prng_key(key)
        return _draw_beta(key, self.logit, self.precision, sample_shape + self.batch_shape)

    @validate_sample  # type: ignore[untyped-decorator]
    def log_prob(self, value: Array) -> Array:
        """Log density of responses in the open interval (0, 1)."""
        return _beta_of(self, value)

    @property
    def mean(self) -> Array:
        """Expected response."""
        return sigmoid(self.logit)


class LogitBetaBinomial(dist.Distribution):  # type: ignore[misc]
    r"""Successes of n trials whose rate is Beta with mean :math:`\mathrm{logistic}(\eta)` and precision :math:`\phi`.

    Parameters
    ----------
    logit, precision : array
        As in `LogitBeta`.
    trials : integer array
        n, at least 1.
    log_choose : array, optional
        Log of the binomial coefficient of the successes whose probability will be asked for, if it was taken before.

    Examples
    --------
    >>> one = LogitBetaBinomial(jnp.asarray(0.0), jnp.asarray(10.0), jnp.asarray(1))
    >>> round(float(one.log_prob(jnp.asarray(1))), 4)  # one trial is a Bernoulli, whatever the precision
    -0.6931
    """

    arg_constraints = _PARAMETERS | {"trials": constraints.nonnegative_integer}
    pytree_data_fields = ("logit", "precision", "trials", "log_choose")

    def __init__(
        self,
        logit: Array,
        precision: Array,
        trials: Array,
        log_choose: Array | None = None,
        *,
        validate_args: bool | None = None,
    ) -> None:
        self.logit, self.precision, self.trials = jnp.broadcast_arrays(logit, precision, trials)
        self.log_choose = log_choose
        super().__init__(batch_shape=jnp.shape(self.logit), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)  # type: ignore[untyped-decorator]
    def support(self) -> Any:
        """Integers from 0 to the number of trials."""
        return constraints.integer_interval(0, self.trials)

    def sample(self, key: Array, sample_shape: tuple[int, ...] = ()) -> Array:
        """Draw numbers of successes."""
        rate_key, count_key = jax.random.split(key)
        rate = _draw_beta(rate_key, self.logit, self.precision, sample_shape + self.batch_shape)
        drawn = jax.random.binomial(count_key, self.trials.astype(rate.dtype), rate)
        return drawn.astype(self.trials.dtype)

    @validate_sample  # type: ignore[untyped-decorator]
    def log_prob(self, value: Array) -> Array:
        """Log probability of a number of successes, binomial coefficient included."""
        hits = value.astype(self.logit.dtype)
        total = self.trials.astype(self.logit.dtype)
        misses = total - hits
        coefficient = self.log_choose
        if coefficient is None:
            coefficient = log_gamma(total + 1.0) - log_gamma(hits + 1.0) - log_gamma(misses + 1.0)
        return coefficient + _log_beta_binomial(hits, misses, self.logit, self.precision)

    @property
    def mean(self) -> Array:
        """Expected number of successes."""
        return self.trials * sigmoid(self.logit)


class OrderedBeta(dist.Distribution):  # type: ignore[misc]
    r"""Beta with exact zeros and ones: a response is 0, inside, or 1 by two cutpoints on the logit of the mean.

    .. math::

        P(0) = \mathrm{logistic}(\ell - \eta), \quad P(1) = \mathrm{logistic}(\eta - h), \quad
        y \mid \text{inside} \sim \mathrm{Beta}(\mu\phi, (1-\mu)\phi)

    Parameters
    ----------
    logit, precision : array
        As in `LogitBeta`, of the responses inside.
    low, high : array
        Cutpoints :math:`\ell < h`.
    log_score, log_rest : array, optional
        As in `LogitBeta`; anything finite at exact zeros and ones.

    References
    ----------
    Kubinec (2023), Ordered beta regression, Political Analysis 31(4).

    Examples
    --------
    >>> scores = OrderedBeta(jnp.asarray(0.0), jnp.asarray(5.0), jnp.asarray(-4.0), jnp.asarray(4.0))
    >>> round(float(jnp.exp(scores.log_prob(jnp.asarray(0.0)))), 4)  # logistic(-4)
    0.018
    """

    arg_constraints = _PARAMETERS | {"low": constraints.real, "high": constraints.real}
    support = constraints.interval(0.0, 1.0)

    def __init__(
        self,
        logit: Array,
        precision: Array,
        low: Array,
        high: Array,
        log_score: Array | None = None,
        log_rest: Array | None = None,
        *,
        validate_args: bool | None = None,
    ) -> None:
        self.logit, self.precision, self.low, self.high = jnp.broadcast_arrays(logit, precision, low, high)
        self.log_score, self.log_rest = log_score, log_rest
        super().__init__(batch_shape=jnp.shape(self.logit), validate_args=validate_args)

    def sample(self, key: Array, sample_shape: tuple[int, ...] = ()) -> Array:
        """Draw responses in the closed interval [0, 1]."""
        where_key, beta_key = jax.random.split(key)
        shape = sample_shape + self.batch_shape
        inside = _draw_beta(beta_key, self.logit, self.precision, shape)
        uniform = jax.random.uniform(where_key, shape, inside.dtype)
        zero = uniform < sigmoid(self.low - self.logit)
        one = uniform > sigmoid(self.high - self.logit)
        return jnp.where(zero, 0.0, jnp.where(one, 1.0, inside))

    @validate_sample  # type: ignore[untyped-decorator]
    def log_prob(self, value: Array) -> Array:
        """Log probability of 0 and of 1, log density of what lies between."""
        zero, one = value <= 0.0, value >= 1.0
        inside = jnp.where(zero | one, 0.5, value)
        # logistic(u) - logistic(v) = logistic(u) logistic(-v) (1 - exp(v - u)): no difference of near-equal numbers
        above, below = self.logit - self.low, self.high - self.logit
        not_zero, not_one = log_sigmoid(above), log_sigmoid(below)
        log_inside = not_zero + not_one + jnp.log(-jnp.expm1(self.low - self.high))
        density = log_inside + _beta_of(self, inside)
        return jnp.where(zero, not_zero - above, jnp.where(one, not_one - below, density))

    @property
    def mean(self) -> Float[Array, "*batch"]:
        """Expected response, exact zeros and ones included."""
        zero, one = sigmoid(self.low - self.logit), sigmoid(self.logit - self.high)
        return one + (1.0 - zero - one) * sigmoid(self.logit)
