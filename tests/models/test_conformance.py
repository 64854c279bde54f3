"""Every part that is listed keeps the rules of parts: a new one joins these tests by its name."""

import inspect
import itertools

import jax
import numpy as np
import pytest
from model_tables import as_float32, design, population, potentials, sampled, structure, unconstrained_shapes
from numpyro.distributions import ExpandedDistribution

from bayes_irsl import encoding
from bayes_irsl.names import CURVES, EFFECTS, LIKELIHOODS, TRENDS
from irsl_models import Design, Model, trends

EVERY = list(itertools.product(TRENDS, CURVES, LIKELIHOODS))
# Each trend with each likelihood, and each curve with both: what interacts is in here, for a third of the compiling.
PAIRS = [
    (trend, list(CURVES)[(i + j) % len(CURVES)], likelihood)
    for (i, trend), (j, likelihood) in itertools.product(enumerate(TRENDS), enumerate(LIKELIHOODS))
]
TRIALS = 14_000


def build(trend: str, curve: str, likelihood: str) -> Model:
    return Model(trend=TRENDS[trend], curve=CURVES[curve], likelihood=LIKELIHOODS[likelihood])


def people(trend: str) -> encoding.Population:
    return population(x=None) if TRENDS[trend] is trends.none else population()


def is_discrete(model: Model, cells: int) -> bool:
    return "successes" in structure(model, design(people("linear"), trials=np.ones(cells, dtype=int)))


def answered(model: Model, crowd: encoding.Population, edges: type[np.floating]) -> Design:
    """Responses at the edge of what a likelihood takes, in a precision."""
    cells = len(crowd.lms) * len(crowd.items)
    if not is_discrete(model, cells):
        limits = np.finfo(edges)
        inside = [float(limits.tiny), 1e-6, 0.3, 0.5, float(1.0 - limits.epsneg)]
        if LIKELIHOODS["ordered_beta"] is model.likelihood:
            inside += [0.0, 1.0]
        return design(crowd, score=np.resize(inside, cells))
    most = 1 if model.likelihood is LIKELIHOODS["bernoulli"] else TRIALS
    return design(crowd, successes=np.resize([0, most, most // 2], cells), trials=np.full(cells, most))


@pytest.mark.parametrize(("trend", "curve", "likelihood"), EVERY)
def test_keywords_are_sites(trend: str, curve: str, likelihood: str) -> None:
    model = build(trend, curve, likelihood)
    with jax.enable_x64(True):
        table = answered(model, people(trend), np.float64)
        sites, everything = sampled(model, table), structure(model, table)
    keywords = model.keywords()
    if TRENDS[trend] is trends.none:
        # Without x nothing drifts along it.
        del keywords["drift_scale"]
    assert set(keywords) <= set(sites)
    for name in keywords:
        law = sites[name]["fn"]
        assert type(law.base_dist if isinstance(law, ExpandedDistribution) else law) is type(keywords[name]), name
    # What is no keyword belongs to levels of something, and its scale is a keyword.
    assert all(site["value"].ndim for name, site in sites.items() if name not in keywords)
    assert everything["ability"]["value"].shape == (7,)


def keywords_of(part: object) -> set[str]:
    parameters = inspect.signature(part).parameters.values()  # type: ignore[arg-type]
    return {parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY}


def test_no_two_parts_of_a_model_share_a_keyword() -> None:
    curve_parts = {part for curve in CURVES.values() for part in curve.parts.values()}
    slots = [
        {name for part in TRENDS.values() for name in keywords_of(part)},
        {name for part in curve_parts for name in keywords_of(part)},
        {name for part in LIKELIHOODS.values() for name in keywords_of(part)},
        *(keywords_of(part) for part in EFFECTS.values()),
    ]
    for one, other in itertools.combinations(slots, 2):
        assert not one & other
    for curve in CURVES.values():
        for part, other_part in itertools.combinations(curve.parts.values(), 2):
            assert not keywords_of(part) & keywords_of(other_part)


def points(shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Zero, all parameters at +8, at -8, each at either, and far-off draws."""
    rng = np.random.default_rng(0)
    out = {}
    for name, shape in shapes.items():
        fixed = [np.zeros(shape), np.full(shape, 8.0), np.full(shape, -8.0)]
        mixed = [8.0 * rng.choice([-1.0, 1.0], shape) for _ in range(6)]
        out[name] = np.stack([*fixed, *mixed, *(3.0 * rng.normal(size=shape) for _ in range(4))])
    return out


@pytest.mark.parametrize(("trend", "curve", "likelihood"), PAIRS)
def test_log_density_and_gradient_are_finite_to_the_edges(trend: str, curve: str, likelihood: str) -> None:
    model = build(trend, curve, likelihood)
    with jax.enable_x64(True):
        single, double = (answered(model, people(trend), edges) for edges in (np.float32, np.float64))
        at = points(unconstrained_shapes(model, double))
        wide, far = potentials(model, [single, double], at)
    narrow = potentials(model, [as_float32(single)], {name: value.astype(np.float32) for name, value in at.items()})[0]
    for (value, gradient), kind in ((wide, np.float64), (far, np.float64), (narrow, np.float32)):
        assert value.dtype == kind
        assert np.isfinite(value).all()
        for name, slope in gradient.items():
            assert np.isfinite(slope).all(), name
            assert np.abs(slope).max() > 0, name
    # At an ordinary point both precisions say the same; thousands of trials cost float32 a hundredth of a nat a cell.
    lost = 0.01 * double.n_cells if likelihood == "beta_binomial" else 0.0
    assert narrow[0][0] == pytest.approx(wide[0][0], rel=1e-4, abs=lost)


@pytest.mark.parametrize(("trend", "curve", "likelihood"), EVERY)
def test_new_lms_get_sites_of_their_own(trend: str, curve: str, likelihood: str) -> None:
    model = build(trend, curve, likelihood)
    x = None if TRENDS[trend] is trends.none else np.array([-20.0, 20.0, np.nan])
    newcomers = encoding.Newcomers(x, {"group": ("group0", "new", "other")}, 3)
    with jax.enable_x64(True):
        table = design(people(trend), newcomers=newcomers, trials=np.full(10 * 7, 5))
        before = sampled(model, answered(model, people(trend), np.float64))
        after = structure(model, table)
    for name, site in before.items():
        assert after[name]["value"].shape == site["value"].shape, name
    own = "residual_new" if TRENDS[trend] is trends.none else "ability_new"
    assert after[own]["value"].shape == (3,)
    assert after["group_group_new"]["value"].shape == (2,)
    assert after["deviation_new"]["value"].shape == (3, 2)
    if x is not None:
        assert after["untrended_new"]["value"].shape == (1,)
    response = after["score" if "score" in after else "successes"]
    assert not response["is_observed"]
    assert response["value"].shape == after["expected"]["value"].shape == (70,)
