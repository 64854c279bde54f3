"""From names to codes: levels, newcomers, pools, deviations, guessing, LMs without x, knots."""

import numpy as np
import pandas as pd
import pytest

from bayes_irsl import encoding
from irsl_models import Design, Dim, Knots


def people(x: list[float] | None, benchmarks: list[str], chance: list[float] | None = None) -> encoding.Population:
    lms = pd.DataFrame({"lm": ["a", "b", "c"], "family": ["z", "y", "z"]})
    items = pd.DataFrame({"item": [f"i{j}" for j in range(len(benchmarks))], "benchmark": benchmarks})
    items["chance"] = [np.nan] * len(benchmarks) if chance is None else chance
    cells = lms[["lm"]].merge(items[["item"]], how="cross").iloc[:-1]
    return encoding.population(cells, lms, items, None if x is None else np.array(x), ["family"])


def encode(crowd: encoding.Population, newcomers: encoding.Newcomers | None = None) -> Design:
    return encoding.design(crowd, np.array([0]), np.array([0]), newcomers=newcomers)


def test_levels_are_known_then_new() -> None:
    assert Dim(3, 2).size == 5
    crowd = people([-1, 0, 1], ["k"] * 2)
    table = encode(crowd, encoding.Newcomers(np.array([5.0, np.nan]), {"family": ("x", "y")}, 2))
    assert table.lms == Dim(3, 2)
    assert table.x.tolist() == [-1, 0, 1, 5, 0]
    # Known families in sorted order, then new ones: "x" comes before "y" in the alphabet and after it here.
    (grouping,) = table.groupings
    assert grouping.code.tolist() == [1, 0, 1, 2, 0]
    assert grouping.dim == Dim(2, 1)


def test_newcomers_change_nothing_for_those_who_are_known() -> None:
    crowd = people([-1, 0, 1], ["k"] * 3 + ["l"] * 3)
    alone = encode(crowd)
    more = encode(crowd, encoding.Newcomers(np.array([-7.0, 9.0]), {"family": ("q", "z")}, 2))
    assert more.x[:3].tolist() == alone.x.tolist()
    assert more.groupings[0].code[:3].tolist() == alone.groupings[0].code.tolist()
    np.testing.assert_array_equal(more.spread[:3], alone.spread)
    np.testing.assert_allclose(more.knots.left[:3] - more.knots.before + more.knots.weight[:3], [0, 1, 2])
    assert more.knots.spacing == alone.knots.spacing
    assert more.knots.dim.known == alone.knots.dim.known


def test_lms_without_x_are_numbered() -> None:
    crowd = people([np.nan, 0.5, np.nan], ["k"])
    table = encode(crowd, encoding.Newcomers(np.array([1.0, np.nan]), {"family": ("y", "y")}, 2))
    assert table.untrended.tolist() == [0, -1, 1, -1, 2]
    assert table.untrended_lms == Dim(2, 1)
    assert table.x.tolist() == [0, 0.5, 0, 1, 0]


def test_without_a_scaling_variable_nobody_lacks_one() -> None:
    table = encode(people(None, ["k"]), encoding.Newcomers(None, {"family": ("y",)}, 1))
    assert table.untrended.tolist() == [-1] * 4
    assert table.untrended_lms == Dim(0, 0)
    assert not table.scaled


def test_items_pool_with_two_and_deviate_with_three() -> None:
    table = encode(people([-1, 0, 1], ["one", "three", "three", "three", "two", "two"]))
    # Benchmarks in sorted order: one, three, two.
    assert table.benchmark.tolist() == [0, 1, 1, 1, 2, 2]
    assert table.pool.tolist() == [-1, 0, 0, 0, 1, 1]
    assert table.n_pools == 2
    assert table.eligible.tolist() == [-1, 0, -1]
    assert (table.n_eligible, table.n_benchmarks) == (1, 3)


def test_shares_of_benchmarks_are_those_of_the_answers() -> None:
    crowd = people([-1, 0, 1], ["k"] * 3 + ["l"] * 4)
    table = encode(crowd, encoding.Newcomers(np.array([0.0]), {"family": ("z",)}, 1))
    # The last LM lacks one answer; a newcomer is taken to answer everything.
    np.testing.assert_allclose(table.spread, [[3 / 7, 4 / 7], [3 / 7, 4 / 7], [1 / 2, 1 / 2], [3 / 7, 4 / 7]])


def test_only_items_with_a_chance_are_guessed() -> None:
    table = encode(people([-1, 0, 1], ["k"] * 4, [0.25, 0.0, np.nan, 0.5]))
    assert table.guessing.tolist() == [0, -1, -1, 1]
    assert table.n_guessing == 2
    assert table.chance.tolist() == [0.25, 0, 0, 0.5]


def interpolate(knots: Knots, path: np.ndarray) -> np.ndarray:
    left, weight = np.asarray(knots.left), np.asarray(knots.weight)
    found: np.ndarray = path[left] * (1 - weight) + path[np.minimum(left + 1, path.size - 1)] * weight
    return found


@pytest.mark.parametrize("beyond", [[], [2.0], [-3.3], [-0.6, 4.1, 1.0, -1.0, 0.0]])
def test_knots_interpolate_a_path_and_go_on_beyond_it(beyond: list[float]) -> None:
    rng = np.random.default_rng(0)
    x = np.array([-1.0, 0.2, 1.0])
    crowd = people(x.tolist(), ["k"])
    newcomers = encoding.Newcomers(np.array(beyond), {"family": ("y",) * len(beyond)}, len(beyond))
    knots = encode(crowd, newcomers).knots
    assert (knots.dim.known, float(knots.spacing)) == (3, 1.0)
    count = knots.before + knots.dim.size
    places = -1.0 + float(knots.spacing) * (np.arange(count) - knots.before)
    everyone = np.concatenate([x, beyond])
    assert places[0] <= everyone.min() + 1e-9
    assert places[-1] >= everyone.max() - 1e-9
    path = rng.normal(size=count)
    np.testing.assert_allclose(interpolate(knots, path), np.interp(everyone, places, path), atol=1e-12)
    # Without newcomers the same known knots give the same values.
    alone = encode(crowd).knots
    inner = path[knots.before : knots.before + knots.dim.known]
    np.testing.assert_allclose(interpolate(alone, inner), interpolate(knots, path)[:3], atol=1e-12)


def test_there_are_never_more_knots_than_needed() -> None:
    crowd = people([-1, 0, 1], ["k"])
    many = encoding.design(
        encoding.Population(
            lms=tuple(f"lm{i}" for i in range(500)),
            items=crowd.items,
            benchmarks=crowd.benchmarks,
            benchmark=crowd.benchmark,
            chance=crowd.chance,
            x=np.linspace(-2, 2, 500),
            groups={},
            answered=np.ones((500, 1), dtype=int),
        ),
        np.array([0]),
        np.array([0]),
    )
    assert many.knots.dim == Dim(encoding.MOST_KNOTS)
    assert many.knots.before == 0


def test_equal_x_has_a_knot_all_the_same() -> None:
    knots = encode(people([0.0, 0.0, np.nan], ["k"])).knots
    assert (knots.dim, float(knots.spacing)) == (Dim(2), 1.0)


def test_single_precision_makes_no_exact_score() -> None:
    score = np.array([0.0, 1e-60, 0.25, 1.0 - 1e-12, 1.0])
    table = pd.DataFrame({"lm": ["a"] * 5, "item": list("vwxyz")})
    lms = pd.DataFrame({"lm": ["a"]})
    items = pd.DataFrame({"item": list("vwxyz"), "benchmark": "b", "chance": np.nan})
    whole = encoding.population(table, lms, items, None, ())
    single = encoding.design(whole, np.zeros(5, dtype=int), np.arange(5), score=score).in_single()
    assert single.score is not None
    assert single.log_rest is not None
    assert single.score.dtype == single.log_rest.dtype == np.float32
    assert single.score[np.array([0, 2, 4])].tolist() == [0.0, 0.25, 1.0]
    assert 0.0 < single.score[1] < single.score[3] < 1.0
