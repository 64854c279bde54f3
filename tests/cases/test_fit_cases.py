"""Small tables whose posterior is known, or known to be mostly the prior: fitted, not only read."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from monte_carlo import standard_error

import bayes_irsl as bi
from bayes_irsl.errors import Fault
from irsl_models import Design
from irsl_models.curves import Curve

ENGINE = bi.NUTS(draws=2000, warmup=300, chains=2)


# What is given is of the wrong kind.


def test_a_swapped_or_unread_table_is_told() -> None:
    table = pd.DataFrame({"lm": ["a", "b"], "item": "q", "score": [0.2, 0.3]})
    fit: Any = bi.fit
    with pytest.raises(bi.InputError, match=r"value 'DataFrame': it is not what read_responses returns. Read the"):
        fit(bi.Model(), table)
    with pytest.raises(bi.InputError) as told:
        fit(bi.read_responses(table), bi.Model())
    assert [fault.value for fault in told.value.faults if isinstance(fault, Fault)] == ["Responses", "Model"]
    assert "option model, value 'Responses': it is not a model. Give the model first" in str(told.value)


def test_a_likelihood_without_exact_scores_says_how_many_there_are() -> None:
    scores = pd.DataFrame({"lm": ["a", "b"] * 3, "item": list("ppqqrr"), "score": [0, 1, 1, 0.5, 0.4, 0.3]})
    told = r"3 of 6 \(1 zero, 2 ones\)': beta needs scores strictly inside .* \(--on-boundary squeeze\)"
    with pytest.raises(bi.InputError, match=told):
        bi.fit(bi.Model(likelihood=bi.likelihoods.beta), bi.read_responses(scores))


def test_a_run_cannot_go_on_from_nowhere() -> None:
    responses = bi.read_responses(pd.DataFrame({"lm": ["a", "b"], "item": "q", "score": [0.2, 0.3]}))
    with pytest.raises(bi.InputError, match="option resume: there is no folder from which the run could go on"):
        bi.fit(bi.Model(), responses, resume=True)


# LMs with few answers to known items, one of them with a single one, one right on everything.

DIFFICULTY = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
ANSWERS = [("a", "11100"), ("b", "11111"), ("new", "  1  "), ("worse", "  0  ")]


def standard_normal(design: Design, trend: Any, shared: Any) -> Any:
    """Ability with a mean and a spread that are known."""
    with numpyro.plate("lm", design.lms.size):
        return numpyro.sample("ability", dist.Normal(0.0, 1.0))


@pytest.fixture(scope="module")
def known_items() -> bi.Fit:
    rows = [
        (who, f"i{place}", int(answer))
        for who, answers in ANSWERS
        for place, answer in enumerate(answers)
        if answer != " "
    ]
    responses = bi.read_responses(pd.DataFrame(rows, columns=["lm", "item", "score"]))
    bank = Curve(lambda design: jnp.ones(5), lambda design: jnp.asarray(DIFFICULTY))
    return bi.fit(bi.Model(residual=standard_normal, departures=(), curve=bank), responses, ENGINE, seed=1)


@pytest.mark.parametrize(
    ("who", "mean", "sd"),
    [("a", 0.24708, 0.70413), ("b", 1.28615, 0.74681), ("new", 0.41324, 0.91062), ("worse", -0.41324, 0.91062)],
)
def test_ability_on_known_items_is_that_of_quadrature(known_items: bi.Fit, who: str, mean: float, sd: float) -> None:
    place = [name for name, _ in ANSWERS].index(who)
    draws = known_items.sites["ability"][..., place]
    assert draws.mean() == pytest.approx(mean, abs=4 * float(standard_error(draws)))
    # The square of a normal deviate varies by twice the squared variance.
    assert draws.var() == pytest.approx(sd**2, abs=4 * float(standard_error((draws - draws.mean()) ** 2)))


def test_one_right_answer_is_kept_named_and_no_rank(known_items: bi.Fit) -> None:
    assert "2 of 4 LMs have 1 response: new, worse" in known_items.notes
    ability = known_items.sites["ability"]
    better = (ability[..., 2] > ability[..., 0]).astype(float)
    assert better.mean() == pytest.approx(0.56, abs=0.005 + 4 * float(standard_error(better)))
    interval = np.quantile(ability[..., 2], [0.05, 0.95])
    assert np.diff(interval)[0] > 0.85 * 2 * 1.645


# One LM: what its answers say of it and what they say of the items cannot be told apart.


@pytest.fixture(scope="module")
def one_lm() -> bi.Fit:
    rows = pd.DataFrame({"lm": "only", "item": [f"q{n}" for n in range(8)], "score": [1, 0, 1, 1, 0, 1, 1, 0]})
    return bi.fit(bi.Model(curve=bi.curves.one_pl), bi.read_responses(rows), ENGINE, seed=1)


def test_items_with_one_answer_differ_by_that_answer_only(one_lm: bi.Fit) -> None:
    assert "1 LM: ability and mean difficulty are separated by the prior only" in one_lm.notes
    threshold = one_lm.sites["threshold"]
    right = one_lm.responses.cells["score"].to_numpy() == 1
    for alike in (threshold[..., right], threshold[..., ~right]):
        for place in range(alike.shape[-1]):
            others = np.delete(alike, place, axis=-1).mean(-1)
            difference = alike[..., place] - others
            assert abs(difference.mean()) < 4 * standard_error(difference)
    apart = threshold[..., ~right].mean(-1) - threshold[..., right].mean(-1)
    assert apart.mean() > 10 * standard_error(apart)


def test_the_success_rate_of_one_lm_is_shrunk(one_lm: bi.Fit) -> None:
    cells = one_lm.responses.cells[["lm", "item"]]
    rate = bi.predict(one_lm, cells)["expected"].mean("cell").to_numpy()
    assert 0.5 < rate.mean() < 5 / 8


def test_ability_and_mean_difficulty_of_one_lm_go_together(one_lm: bi.Fit) -> None:
    ability = one_lm.posterior["ability"].to_numpy()[..., 0].ravel()
    difficulty = one_lm.posterior["difficulty"].mean("item").to_numpy().ravel()
    middle = np.abs(difficulty) < np.quantile(np.abs(difficulty), 0.9)
    assert np.corrcoef(ability[middle], difficulty[middle])[0, 1] > 0.3


def test_one_lm_says_nothing_of_others(one_lm: bi.Fit) -> None:
    with pytest.raises(bi.InputError, match="1 LM in the fit says nothing of how LMs differ"):
        bi.forecast(one_lm, pd.DataFrame({"lm": ["next"]}))
    with pytest.raises(bi.InputError, match="1 LM: each item has one answer"):
        bi.fit(bi.Model(), one_lm.responses, ENGINE)
