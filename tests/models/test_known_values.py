"""Models against numbers worked out by hand or by quadrature."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from model_tables import log_probability
from numpyro import handlers
from numpyro.infer.util import log_density
from scipy.optimize import brentq
from scipy.special import expit, logit

from bayes_irsl import encoding
from irsl_models import Design, Model, curves, likelihoods, trends
from irsl_models.curves import Items, logit_mean
from irsl_models.distributions import LogitBetaBinomial
from irsl_models.model import Part

# Successes and trials at known means; log probabilities with precision 10, binomial coefficient included.
SUCCESSES = np.array([0, 3, 18, 50, 1])
TRIALS = np.array([5, 20, 20, 56, 1])
MEANS = np.array([0.2, 0.2, 0.7, 0.85, 0.5])
BETA_BINOMIAL = [-0.9273406, -1.9788061, -2.5178026, -2.7151863, -0.6931472]
BINOMIAL = [-1.1157178, -1.5829706, -3.5810705, -2.2128874, -0.6931472]
TOTAL = -8.8322827


def cells(successes: Any, trials: Any, means: Any) -> tuple[Design, np.ndarray]:
    """One LM of ability 0 and one item for each mean, in one benchmark."""
    count = len(means)
    people = encoding.Population(
        lms=("only",),
        items=tuple(f"item{j}" for j in range(count)),
        benchmarks=("benchmark",),
        benchmark=np.zeros(count, dtype=int),
        chance=np.full(count, np.nan),
        x=None,
        groups={},
        answered=np.array([[count]]),
    )
    table = encoding.design(
        people,
        np.zeros(count, dtype=int),
        np.arange(count),
        successes=np.asarray(successes),
        trials=np.asarray(trials),
    )
    return table, -logit(np.asarray(means))


def evaluate(
    likelihood: Part, table: Design, threshold: np.ndarray, precision: float = 10.0
) -> tuple[float, np.ndarray]:
    model = Model(trend=trends.none, curve=curves.one_pl, likelihood=likelihood)
    items = len(threshold)
    sites = {
        "residual": np.zeros(1),
        "log_discrimination_mean": np.float64(0.0),
        "threshold_mean": np.float64(0.0),
        "threshold_within": np.float64(1.0),
        "threshold": threshold,
    }
    if likelihood is likelihoods.beta_binomial:
        sites |= {
            "log_precision_mean": np.float64(1.0),
            "overdispersion": np.full(items, precision**-0.5),
        }
    with jax.enable_x64(True):
        return log_probability(model, table, sites)


def test_counts_with_unequal_trials() -> None:
    table, threshold = cells(SUCCESSES, TRIALS, MEANS)
    total, by_cell = evaluate(likelihoods.beta_binomial, table, threshold)
    np.testing.assert_allclose(by_cell, BETA_BINOMIAL, atol=5e-8)
    assert total == pytest.approx(TOTAL, abs=1e-6)
    total, by_cell = evaluate(likelihoods.binomial, table, threshold)
    np.testing.assert_allclose(by_cell, BINOMIAL, atol=5e-8)


def test_rows_count_as_often_as_they_are_there_in_any_order_and_in_batches() -> None:
    table, threshold = cells(SUCCESSES, TRIALS, MEANS)
    total, _ = evaluate(likelihoods.beta_binomial, table, threshold)
    twice, _ = evaluate(likelihoods.beta_binomial, table.at(np.repeat(np.arange(5), 2)), threshold)
    assert twice == pytest.approx(2 * total, abs=1e-12)
    mixed, _ = evaluate(likelihoods.beta_binomial, table.at(np.array([3, 0, 4, 1, 2])), threshold)
    assert mixed == pytest.approx(total, abs=1e-12)
    batches = [
        evaluate(likelihoods.beta_binomial, table.at(np.array(rows)), threshold)[0] for rows in ([0, 1], [2, 3, 4])
    ]
    assert sum(batches) == pytest.approx(total, abs=1e-12)


def test_one_trial_is_a_bernoulli() -> None:
    means = np.array([1e-9, 0.03, 0.5, 0.9, 1 - 1e-9, 0.2])
    table, threshold = cells([0, 1, 1, 0, 0, 1], np.ones(6, dtype=int), means)
    _, bernoulli = evaluate(likelihoods.bernoulli, table, threshold)
    np.testing.assert_allclose(bernoulli, np.log(np.where([0, 1, 1, 0, 0, 1], means, 1 - means)), rtol=1e-6)
    np.testing.assert_allclose(evaluate(likelihoods.binomial, table, threshold)[1], bernoulli, rtol=1e-12, atol=1e-12)
    for precision in (0.3, 10.0, 1e5):
        _, found = evaluate(likelihoods.beta_binomial, table, threshold, precision)
        np.testing.assert_allclose(found, bernoulli, rtol=1e-8, atol=1e-9)


def test_the_limit_of_large_precision_is_the_binomial() -> None:
    table, threshold = cells(SUCCESSES, TRIALS, MEANS)
    _, binomial = evaluate(likelihoods.binomial, table, threshold)
    errors = [
        np.abs(evaluate(likelihoods.beta_binomial, table, threshold, precision)[1] - binomial).max()
        for precision in (1e4, 1e6)
    ]
    # The first correction is proportional to 1 / precision.
    assert errors[1] < 1e-3
    assert errors[1] == pytest.approx(errors[0] / 100, rel=0.1)
    # A posterior of the precision has no upper end where the data scatter no more than a binomial.
    with jax.enable_x64(True):
        for precision in (1e10, 1e15, 1e20):
            found = LogitBetaBinomial(jnp.asarray(-threshold), jnp.asarray(precision), jnp.asarray(TRIALS))
            found = found.log_prob(SUCCESSES)
            np.testing.assert_allclose(found, binomial, rtol=0, atol=errors[0] * 1e4 / precision + 1e-10)


def test_overdispersion_passes_smoothly_through_none() -> None:
    table, threshold = cells(SUCCESSES, TRIALS, MEANS)
    _, binomial = evaluate(likelihoods.binomial, table, threshold)
    sites = {"log_precision_mean": 4.0, "threshold": threshold, "log_discrimination_mean": 0.0, "threshold_mean": 0.0}
    sites |= {"threshold_within": 1.0, "residual": np.zeros(1)}
    model = Model(trend=trends.none, curve=curves.one_pl, likelihood=likelihoods.beta_binomial)

    def energy(overdispersion: Any) -> Any:
        drawn = {**jax.tree.map(jnp.asarray, sites), "overdispersion": jnp.full(len(MEANS), overdispersion)}
        return log_density(model, (jax.tree.map(jnp.asarray, table),), {}, drawn)[0]

    with jax.enable_x64(True):
        # Prior and likelihood differ from no overdispersion by what is proportional to its square.
        at = jnp.asarray([0.0, 1e-4, -1e-4, 1e-2, 2e-2])
        value, slope = map(np.asarray, jax.vmap(jax.value_and_grad(energy))(at))
    assert slope[0] == 0.0
    assert value[1] == value[2]
    assert slope[1] == -slope[2]
    assert (value[4] - value[0]) / (value[3] - value[0]) == pytest.approx(4.0, rel=0.02)
    _, found = evaluate(likelihoods.beta_binomial, table, threshold, precision=np.inf)
    np.testing.assert_allclose(found, binomial, rtol=0, atol=1e-5)


def test_overdispersion_is_half_normal_around_its_level() -> None:
    table, _ = cells(np.ones(40_000, dtype=int), np.ones(40_000, dtype=int), np.full(40_000, 0.5))
    with handlers.seed(rng_seed=3), handlers.substitute(data={"log_precision_mean": 3.0}):
        drawn = np.asarray(likelihoods.beta_binomial(table).parameters["precision"], dtype=float)
    half_normal = scipy.stats.halfnorm(scale=np.exp(-1.5))
    # A distance this large between samples and their distribution comes once in 1.7 million seeds.
    distance = scipy.stats.kstest(drawn**-0.5, half_normal.cdf).statistic
    assert distance < scipy.stats.kstwo(len(drawn)).isf(6e-7)
    with jax.enable_x64(True), handlers.trace() as trace, handlers.seed(rng_seed=3):
        with handlers.substitute(data={"log_precision_mean": np.float64(3.0)}):
            likelihoods.beta_binomial(table)
        at = np.geomspace(1e-6, 3.0, 30)
        # Both signs of one overdispersion are one precision.
        ours = np.logaddexp(*(trace["overdispersion"]["fn"].log_prob(s * at[:, None])[:, 0] for s in (1, -1)))
    np.testing.assert_allclose(ours, half_normal.logpdf(at), rtol=1e-12, atol=1e-12)


DIFFICULTY = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
GRID = np.linspace(-10.0, 10.0, 4001)


def posterior(answers: list[tuple[int, int]]) -> np.ndarray:
    """Weights on a grid of abilities, standard normal before the answers to items of discrimination one."""
    item = np.array([j for j, _ in answers])
    right = np.array([y for _, y in answers])
    with jax.enable_x64(True):
        bank = Items(jnp.ones(5), jnp.asarray(DIFFICULTY))
        table, _ = cells(right, np.ones(len(right), dtype=int), np.full(len(right), 0.5))
        eta = jax.vmap(lambda ability: logit_mean(Items(bank.discrimination[item], bank.threshold[item]), ability))(
            jnp.asarray(GRID)
        )
        log_weight = np.asarray(likelihoods.bernoulli(table).response(eta).log_prob(right).sum(1)) - GRID**2 / 2
    weight = np.exp(log_weight - log_weight.max())
    share: np.ndarray = weight / weight.sum()
    return share


ANSWERS = {
    "one": [(2, 1)],
    "mirror": [(2, 0)],
    "some": [(0, 1), (1, 1), (2, 1), (3, 0), (4, 0)],
    "all": [(j, 1) for j in range(5)],
}


@pytest.mark.parametrize(
    ("who", "mean", "sd"),
    [("one", 0.41324, 0.91062), ("mirror", -0.41324, 0.91062), ("some", 0.24708, 0.70413), ("all", 1.28615, 0.74681)],
)
def test_ability_from_few_answers(who: str, mean: float, sd: float) -> None:
    weight = posterior(ANSWERS[who])
    found = (weight * GRID).sum()
    assert found == pytest.approx(mean, abs=1e-3)
    assert np.sqrt((weight * (GRID - found) ** 2).sum()) == pytest.approx(sd, abs=1e-3)


def test_one_right_answer_is_no_rank() -> None:
    one, some = posterior(ANSWERS["one"]), posterior(ANSWERS["some"])
    below = np.cumsum(some) - some / 2
    assert (one * below).sum() == pytest.approx(0.56, abs=0.005)


SLOPES = np.array([0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.0, 0.8, 1.2, 0.7])
DIFFICULTIES = np.array([-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5])
ANSWERED = np.array([0.8429, 0.8629, 0.8581, 0.8264, 0.7540, 0.6177, 0.4502, 0.3635, 0.1915, 0.2333])


def expected(ability: float, slopes: np.ndarray, difficulties: np.ndarray) -> np.ndarray:
    with jax.enable_x64(True):
        items = Items(jnp.asarray(slopes), jnp.asarray(slopes * difficulties))
        eta = np.asarray(logit_mean(items, jnp.full(len(slopes), ability)))
    scores: np.ndarray = expit(eta)
    return scores


@pytest.mark.parametrize(("sign", "ability"), [(1, 0.800), (-1, 0.164)])
def test_a_difficult_item_has_a_large_difficulty(sign: int, ability: float) -> None:
    root = brentq(lambda at: (SLOPES * (ANSWERED - expected(at, SLOPES, sign * DIFFICULTIES))).sum(), -5, 5)
    assert root == pytest.approx(ability, abs=1e-3)


def test_shift_and_scale_of_ability_change_no_expected_score() -> None:
    for ability in (-2.0, 0.0, 0.8):
        scores = expected(ability, SLOPES, DIFFICULTIES)
        np.testing.assert_allclose(expected(ability + 3.0, SLOPES, DIFFICULTIES + 3.0), scores, rtol=1e-14)
        np.testing.assert_allclose(expected(2 * ability, SLOPES / 2, 2 * DIFFICULTIES), scores, rtol=1e-14)


def test_a_lower_asymptote_is_a_mixture_with_guessing() -> None:
    with jax.enable_x64(True):
        floor = np.array([0.0, 0.25, 0.9])
        items = Items(jnp.asarray([1.0, 2.0, 0.5]), jnp.asarray([0.3, -1.0, 4.0]), jnp.asarray(floor))
        for ability in (-60.0, -1.0, 0.0, 2.0, 60.0):
            eta = np.asarray(logit_mean(items, jnp.full(3, ability)))
            core = np.array([1.0, 2.0, 0.5]) * ability - np.array([0.3, -1.0, 4.0])
            np.testing.assert_allclose(expit(eta), floor + (1 - floor) * expit(core), rtol=1e-13)
            # The logit goes on where the mean has rounded to one.
            assert np.isfinite(eta).all()
