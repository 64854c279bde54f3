"""What each trend promises: slope one over the calibration LMs, limits, and how uncertainty grows with distance."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from model_tables import design, population
from numpyro import handlers

from bayes_irsl import encoding
from irsl_models import Design, trends
from irsl_models.model import Part


def draw(trend: Part, table: Design, values: dict[str, Any] | None = None, seed: int = 0) -> jax.Array:
    with handlers.seed(rng_seed=seed), handlers.substitute(data=values or {}):
        drawn: jax.Array = trend(table)
    return drawn


def test_linear_is_x_and_none_is_nothing() -> None:
    x = np.linspace(-2, 2, 5)
    with jax.enable_x64(True):
        np.testing.assert_array_equal(draw(trends.linear, design(population(x))), x)
        np.testing.assert_array_equal(draw(trends.none, design(population(x))), 0)


@pytest.mark.parametrize("curvature", [0.0, 1e-9, 1e-6, 1e-4, 3e-4, 1e-3, 0.3, 2.0])
def test_power_against_its_formula(curvature: float) -> None:
    x = np.array([-4.0, -1.0, -1e-3, 0.0, 1e-3, 1.0, 4.0])
    with jax.enable_x64(True):
        table = design(population(x))
        run = lambda rate: draw(trends.power, table, {"curvature": rate})  # noqa: E731
        value, slope = jax.jvp(run, (jnp.asarray(curvature),), (jnp.asarray(1.0),))
    bend = curvature * x
    if curvature < 1e-3:
        # Four terms of the series: exact to 1e-15 here.
        exact = x * (1 - bend / 2 + bend**2 / 6 - bend**3 / 24)
        exact_slope = x**2 * (-1 / 2 + bend / 3 - bend**2 / 8 + bend**3 / 30)
    else:
        exact = -np.expm1(-bend) / curvature
        exact_slope = (x * np.exp(-bend) - exact) / curvature
    np.testing.assert_allclose(value, exact, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(slope, exact_slope, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("curvature", [0.0, 1e-5, 0.3, 2.0])
def test_power_has_slope_one_at_the_centre(curvature: float) -> None:
    with jax.enable_x64(True):
        people = population(np.array([-1e-6, 1e-6]))
        low, high = np.asarray(draw(trends.power, design(people), {"curvature": jnp.asarray(curvature)}))
    assert (high - low) / 2e-6 == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("x64", [True, False])
def test_power_stays_a_number_far_away(x64: bool) -> None:
    with jax.enable_x64(x64):
        table = design(population(np.array([-9.0, 0.0, 9.0])))
        run = lambda rate: draw(trends.power, table, {"curvature": rate})  # noqa: E731
        value, slope = jax.jvp(run, (jnp.asarray(3000.0),), (jnp.asarray(1.0),))
    assert np.isfinite(value).all()
    assert np.isfinite(slope).all()


X = np.array([-1.7, -1.2, -1.1, -0.3, 0.4, 0.4, 0.9, 2.0, np.nan])


@pytest.mark.parametrize("seed", range(5))
def test_the_line_through_a_walk_has_slope_one_and_passes_through_the_centre(seed: int) -> None:
    with jax.enable_x64(True):
        newcomers = encoding.Newcomers(np.array([-4.0, 0.3, 5.0, np.nan]), {"group": ("a", "b", "c", "d")}, 4)
        table = design(population(X), newcomers=newcomers)
        path = np.asarray(draw(trends.random_walk, table, {"walk_scale": jnp.asarray(1.5)}, seed))
    known = ~np.isnan(X)
    slope, level = np.polyfit(X[known], path[: len(X)][known], 1)
    assert slope == pytest.approx(1.0, abs=1e-10)
    assert level == pytest.approx(-0.0, abs=1e-10)
    assert np.abs(path[: len(X)] - X)[known].max() > 0.1
    assert np.isfinite(path).all()


def walk_map(table: Design, scale: float) -> np.ndarray:
    """Derivatives of a walk in its standard normal steps: the walk is linear in them."""
    knots = table.knots
    shapes = {"walk": knots.dim.known - 1, "walk_before": knots.before, "walk_new": knots.dim.new}
    sizes = {name: size for name, size in shapes.items() if size}

    def run(steps: dict[str, jax.Array]) -> jax.Array:
        return draw(trends.random_walk, table, {"walk_scale": jnp.asarray(scale), **steps})

    found = jax.jacobian(run)({name: jnp.zeros(size) for name, size in sizes.items()})
    return np.concatenate([np.asarray(part) for part in found.values()], axis=1)


@pytest.mark.parametrize("distance", [0.25, 1.0, 3.0, -2.0])
def test_beyond_the_data_a_walk_widens_as_kriging_says(distance: float) -> None:
    # Known exactly along the calibration LMs, level and drift flat: universal kriging.
    x = np.linspace(-1.0, 1.0, 9)
    at = x[-1] + distance if distance > 0 else x[0] + distance
    scale, length = 0.7, x[-1] - x[0]
    with jax.enable_x64(True):
        table = design(population(x), newcomers=encoding.Newcomers(np.array([at]), {"group": ("new",)}, 1))
        jacobian = walk_map(table, scale)
    covariance = jacobian @ jacobian.T
    inside, across, far = covariance[:-1, :-1], covariance[-1, :-1], covariance[-1, -1]
    # The path has two directions less than LMs, by construction.
    left = far - across @ np.linalg.pinv(inside, rcond=1e-10, hermitian=True) @ across
    h = abs(distance)
    assert left == pytest.approx(scale**2 * (h + h**2 / length), rel=1e-8)


def test_draws_beyond_the_data_have_that_variance() -> None:
    # The same by simulation: steps that leave the path over the LMs as it is, and new ones.
    x, h, scale = np.linspace(-1.0, 1.0, 9), 1.5, 0.7
    path = np.random.default_rng(0).normal(size=8)
    with jax.enable_x64(True):
        newcomers = encoding.Newcomers(np.array([x[-1] + h]), {"group": ("new",)}, 1)
        table = jax.tree.map(jnp.asarray, design(population(x), newcomers=newcomers))

        def run(key: jax.Array) -> jax.Array:
            common, fresh = jax.random.split(key)
            steps = path - path.mean() + jax.random.normal(common) / jnp.sqrt(8)
            values = {"walk": steps, "walk_scale": jnp.asarray(scale)}
            with handlers.seed(rng_seed=fresh), handlers.substitute(data=values):
                return trends.random_walk(table)

        drawn = np.asarray(jax.jit(jax.vmap(run))(jax.random.split(jax.random.key(4), 20_000)))
    assert drawn[:, :-1].std(0).max() < 1e-12
    variance, count = scale**2 * (h + h**2 / 2.0), len(drawn)
    # Five standard errors of a variance of normal draws: a false alarm in 1.7 million.
    assert abs(drawn[:, -1].var() - variance) < 5 * variance * np.sqrt(2 / count)


def test_lms_without_x_have_an_ability_of_their_own() -> None:
    with jax.enable_x64(True):
        people = population(X)
        newcomers = encoding.Newcomers(np.array([np.nan, 1.0]), {"group": ("a", "b")}, 2)
        table = design(people, newcomers=newcomers)
        found = draw(trends.linear, table, {"untrended": jnp.asarray([7.0]), "untrended_new": jnp.asarray([-7.0])})
    np.testing.assert_allclose(found, [*X[:-1], 7.0, -7.0, 1.0])


def test_a_newcomer_without_x_needs_none_in_the_table() -> None:
    with jax.enable_x64(True):
        people = population(X[:-1])
        table = design(people, newcomers=encoding.Newcomers(np.array([np.nan]), {"group": ("a",)}, 1))
        with handlers.seed(rng_seed=0), handlers.trace() as sites:
            found = np.asarray(trends.linear(table))
    assert isinstance(sites["untrended_new"]["fn"], dist.Normal)
    assert found[-1] == np.asarray(sites["untrended_new"]["value"])[0]
