"""The order of rows, and the labels of levels, change nothing."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest
from model_tables import design, population, potentials, unconstrained_shapes
from monte_carlo import standard_error

import bayes_irsl as bi
from bayes_irsl.engines import warm_start
from bayes_irsl.engines.centring import SUFFIX
from bayes_irsl.responses import Responses
from bayes_irsl.simulation import Truth
from irsl_models import Model, likelihoods, trends


@pytest.mark.parametrize("trend", [trends.linear, trends.random_walk])
def test_the_order_of_cells_does_not_matter(trend: Any) -> None:
    model = Model(trend=trend, likelihood=likelihoods.beta)
    rng = np.random.default_rng(1)
    order = rng.permutation(49)
    with jax.enable_x64(True):
        table = design(population(), score=rng.uniform(0.01, 0.99, 49))
        assert table.score is not None
        lm, item = table.codes
        shuffled = replace(table, lm=lm[order], item=item[order], score=table.score[order])
        at = {name: rng.normal(size=(3, *shape)) for name, shape in unconstrained_shapes(model, table).items()}
        (value, slope), (other, other_slope) = potentials(model, [table, shuffled], at)
    np.testing.assert_allclose(other, value, rtol=1e-12)
    for name in slope:
        np.testing.assert_allclose(other_slope[name], slope[name], rtol=1e-9, atol=1e-9)


def test_a_shuffled_file_gives_the_same_responses(truth: Truth) -> None:
    table = truth.responses

    def shuffled(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
        return frame.sample(frac=1.0, random_state=seed)

    again = Responses(shuffled(table.cells, 1), shuffled(table.lms, 2), shuffled(table.items, 3))
    for name in ("cells", "lms", "items"):
        pd.testing.assert_frame_equal(getattr(again, name), getattr(table, name))
    assert again.hash() == table.hash()


def test_a_flipped_start_ends_in_the_same_report(fit: bi.Fit, truth: Truth, monkeypatch: pytest.MonkeyPatch) -> None:
    """Abilities and thresholds of the other sign would explain the mirror image of the table; they do not stay."""
    find = warm_start.find

    def flipped(*given: Any, **options: Any) -> warm_start.Start:
        start = find(*given, **options)
        at = dict(start.values)
        for name in ("ability", "threshold"):
            at[name + SUFFIX] = -at[name + SUFFIX]
        return replace(start, values=at)

    monkeypatch.setattr(warm_start, "find", flipped)
    engine = bi.NUTS(draws=300, warmup=300, chains=2)
    again = bi.fit(bi.Model(), truth.responses, engine, x="x", group="group", seed=1)
    for name in ("ability", "difficulty", "discrimination", "slope"):
        here, there = (found.posterior[name] for found in (fit, again))
        apart = abs((here.mean(("chain", "draw")) - there.mean(("chain", "draw"))).to_numpy())
        # 49 comparisons at four and a half standard errors: a false alarm in 3000 runs.
        bound = 4.5 * np.hypot(standard_error(here), standard_error(there))
        np.testing.assert_array_less(apart, bound, err_msg=name)
