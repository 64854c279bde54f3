"""Coordinates in which the posterior is near a standard normal, by blocks of LMs or of items."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bayes_irsl as bi
from bayes_irsl import designs, encoding
from bayes_irsl.engines.base import structure
from bayes_irsl.engines.blocks import blocks
from bayes_irsl.engines.centring import free
from bayes_irsl.engines.coordinates import find
from bayes_irsl.engines.density import Density
from bayes_irsl.engines.whitening import FLATTEST, Whitening, whiten
from irsl_models import Design

# Three levels of two parameters each, the second of which one level lacks, and two parameters beside.
OWN = np.array([[0, 3, 6], [2, 7, 5]])
SIZE = 7


def precision() -> np.ndarray:
    """A precision in which levels meet through the dense parameters alone."""
    rng = np.random.default_rng(1)
    root = rng.normal(size=(SIZE, SIZE))
    full: np.ndarray = root @ root.T + 10.0 * np.eye(SIZE)
    level = np.full(SIZE, -1)
    for number, own in enumerate(OWN.T):
        level[own[own < SIZE]] = number
    apart = (level[:, None] != level) & (level[:, None] >= 0) & (level >= 0)
    return np.where(apart, 0.0, full)


def normal(precision: jax.Array, u: jax.Array) -> jax.Array:
    return 0.5 * u @ precision @ u


def unwhitened(hessian: Any, whitening: Whitening) -> np.ndarray:
    turn = np.asarray(jax.jacobian(whitening.__call__)(jnp.zeros(len(hessian))))
    return np.asarray(turn.T @ hessian @ turn)


@pytest.mark.parametrize("own", [OWN, OWN[:1], OWN[:0]], ids=["blocks", "diagonal", "dense"])
def test_a_normal_becomes_a_standard_normal(own: np.ndarray) -> None:
    with jax.enable_x64(True):
        hessian = jnp.asarray(precision())
        points = jnp.asarray(np.random.default_rng(2).normal(size=(3, SIZE)))
        found = whiten(normal, hessian, points, own)
        # From several points it is seen where the normal lies.
        np.testing.assert_allclose(found.centre, np.zeros(SIZE), rtol=0, atol=1e-12)
        np.testing.assert_allclose(unwhitened(hessian, found), np.eye(SIZE), rtol=0, atol=1e-10)


def test_a_block_is_nowhere_flatter_than_is_believed() -> None:
    """Two parameters of a level that the data tell apart only by their sum."""
    with jax.enable_x64(True):
        hessian = jnp.asarray([[50.0, 50.0, 0.0], [50.0, 50.0, 0.0], [0.0, 0.0, 1.0]])
        found = whiten(normal, hessian, jnp.zeros((1, 3)), np.array([[0], [1]]))
        widths = np.linalg.svd(np.asarray(jax.jacobian(found.__call__)(jnp.zeros(3))), compute_uv=False)
        np.testing.assert_allclose(widths, [FLATTEST**-0.5, 1.0, 0.1])


@pytest.mark.parametrize("own", [OWN, OWN[:0]], ids=["blocks", "dense"])
def test_the_inverse_undoes_a_whitening(own: np.ndarray) -> None:
    with jax.enable_x64(True):
        z, u = jnp.asarray(np.random.default_rng(3).normal(size=(2, SIZE)))
        for whitening in (whiten(normal, jnp.asarray(precision()), u[None], own), Whitening.none(u)):
            np.testing.assert_allclose(whitening.inverse(whitening(z)), z, rtol=0, atol=1e-12)


def design_of(model: bi.Model, n_lms: int, n_items: int, **options: Any) -> Design:
    truth = bi.simulate(model, n_lms=n_lms, n_items=n_items, seed=1, **options)
    table = truth.responses
    x = table.lms["x"].to_numpy(float)
    standard = (x - x.mean()) / x.std()
    population = encoding.population(table.cells, table.lms, table.items, standard, ())
    design: Design = jax.tree.map(jnp.asarray, designs.observed(model, population, table.cells))
    return design


@pytest.mark.parametrize(("n_lms", "n_items", "width", "levels"), [(5, 9, 3, 9), (20, 6, 3, 20)])
def test_the_larger_side_of_a_table_is_eliminated(n_lms: int, n_items: int, width: int, levels: int) -> None:
    """Items have three parameters here, LMs an ability and deviations on two benchmarks."""
    model = bi.Model(likelihood=bi.likelihoods.beta)
    with jax.enable_x64(True):
        coordinates, place = find(model, design_of(model, n_lms, n_items, n_benchmarks=2), 0)
        assert place.own.shape == (width, levels)
        u = place.whitening.centre
        hessian = jax.hessian(lambda u: coordinates.density(place.arguments, u))(u)
        values = np.linalg.eigvalsh(unwhitened(hessian, place.whitening))
    # Curvatures that are negative or nearly none are not believed, all others become one.
    is_one = abs(values - 1.0) < 1e-8
    assert is_one.mean() > 0.8
    assert (values[~is_one] < 1.0).all()


def test_parameters_of_some_items_stand_with_those_items() -> None:
    model = bi.Model(likelihood=bi.likelihoods.beta_binomial, curve=bi.curves.three_pl)
    with jax.enable_x64(True):
        design = design_of(model, 4, 8)
        guessing = np.array([-1, 0, 1, -1, 2, -1, -1, -1])
        values = {"guessing": jnp.asarray(guessing), "chance": jnp.where(guessing < 0, 0.0, 0.25), "n_guessing": 3}
        design = Design(**{**vars(design), **values})
        density = Density.of(model, (design, {}))
        own = blocks(structure(free(model, {}), design), density.shapes, design)
        places = {name: np.ravel(place) for name, place in density.split(jnp.arange(density.size)).items()}
    lower = np.where(guessing < 0, density.size, places["logit_lower"][np.maximum(guessing, 0)])
    expected = [places["log_discrimination"], lower, places["overdispersion"], places["threshold"]]
    np.testing.assert_array_equal(own, expected)
