"""Laplace's approximation against the plain density, dense algebra, simulated truths and the reference engine."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer.util import potential_energy

import bayes_irsl as bi
from bayes_irsl import encoding
from bayes_irsl.designs import observed
from bayes_irsl.engines.expansion import arrow, mean, setting
from bayes_irsl.engines.expansion.grid import basis
from bayes_irsl.engines.expansion.posterior import without_cells
from bayes_irsl.engines.expansion.sweep import sweep
from bayes_irsl.engines.expansion.table import _chunks, _rows
from bayes_irsl.engines.laplace import Laplace
from bayes_irsl.fitting import double_precision
from bayes_irsl.studies.tables import QUANTITIES, reported, simulated
from irsl_models import Design, Model


def table(model: Model, **shape: Any) -> Design:
    """A simulated table as arrays."""
    responses = bi.simulate(model, seed=1, **shape).responses
    lms = responses.lms
    x = ((lms["x"] - lms["x"].mean()) / lms["x"].std(ddof=0)).to_numpy() if "x" in lms else None
    groups = ["group"] if "group" in lms else []
    people = encoding.population(responses.cells, lms, responses.items, x, groups)
    with double_precision():
        return observed(model, people, responses.cells)


SHAPE: dict[str, Any] = {"n_lms": 9, "n_items": 8, "n_benchmarks": 2, "n_groups": 2}
MODELS: dict[str, tuple[Model, dict[str, Any]]] = {
    "beta, drift and deviations": (Model(likelihood=bi.likelihoods.beta), SHAPE | {"missing": 0.2}),
    "ordered beta, few cells": (Model(likelihood=bi.likelihoods.ordered_beta), SHAPE | {"missing": 0.85}),
    "binomial without a trend": (Model(trend=bi.trends.none, likelihood=bi.likelihoods.binomial), SHAPE),
    "1pl": (Model(curve=bi.curves.one_pl, likelihood=bi.likelihoods.beta), SHAPE | {"n_benchmarks": 1}),
}


def form_of(model: Model, design: Design) -> setting.Form:
    form = setting.form_of(model, without_cells(design))
    assert form is not None
    return form


@pytest.mark.parametrize("name", MODELS)
def test_a_sweep_has_the_slopes_of_the_plain_density(name: str) -> None:
    model, shape = MODELS[name]
    design = table(model, **shape)
    with double_precision():
        form = form_of(model, design)
        posterior = form.posterior
        given, u = setting.begin(form, design, jax.random.key(0))
        u = u + 0.2 * jax.random.normal(jax.random.key(1), u.shape)
        parts = partial(posterior.parts, given.bare)
        ability, quantities = parts(u)
        grid = basis(ability, jnp.zeros_like(ability), 96)
        sums = sweep(form.response, given.table, given.flat, grid, quantities[None])

        def energy(u: jax.Array) -> Any:
            return potential_energy(posterior.free, (jax.tree.map(jnp.asarray, design),), {}, posterior.split(u))

        def level(u: jax.Array) -> Any:
            placed = parts(u)
            return (sums.by_lm * placed[0]).sum() + (sums.by_item[0] * placed[1]).sum()

        ours = jax.grad(lambda u: posterior.prior(given.bare, u))(u) - jax.grad(level)(u)
        ours, plain = np.asarray(ours), np.asarray(jax.grad(energy)(u))
    np.testing.assert_allclose(ours, plain, rtol=0, atol=1e-6 * abs(plain).max())


@pytest.mark.parametrize("name", ["beta, drift and deviations", "binomial without a trend"])
def test_draws_and_solutions_belong_to_one_covariance(name: str) -> None:
    model, shape = MODELS[name]
    design = table(model, **shape)
    with double_precision():
        form = form_of(model, design)
        given, u = setting.begin(form, design, jax.random.key(0))
        look = mean._look(form, 64, False, given, u, jnp.full_like(form.posterior.parts(given.bare, u)[0], 0.2))
        each = jnp.eye(u.size)
        covariance = np.asarray(jax.vmap(partial(arrow.solved, look.arrow, given.places))(each))
        root = np.asarray(jax.vmap(partial(arrow.drawn, look.arrow, given.places))(each))
        sums, lm = np.asarray(given.places.balanced), np.asarray(given.places.lm)
    kept = [float((row * root[:, lm]).sum((1, 2)).max()) for row in sums]
    np.testing.assert_allclose(covariance, covariance.T, rtol=0, atol=1e-10 * abs(covariance).max())
    np.testing.assert_allclose(root.T @ root, covariance, rtol=0, atol=1e-9 * abs(covariance).max())
    assert len(sums) == (1 if name == "binomial without a trend" else 0)
    np.testing.assert_allclose(kept, 0.0, atol=1e-9)


def test_a_complete_table_has_the_precision_that_information_gives() -> None:
    """For a Bernoulli response information and curvature are one, and do not depend on the response."""
    model = Model(likelihood=bi.likelihoods.bernoulli)
    design = table(model, n_lms=12, n_items=10)
    with double_precision():
        form = form_of(model, design)
        posterior = form.posterior
        given, u = setting.begin(form, design, jax.random.key(0))
        own = jnp.concatenate([given.places.lm.ravel(), given.places.item.ravel()])
        u = u.at[own].add(0.8 * jax.random.normal(jax.random.key(1), own.shape))
        given = given._replace(noise=jnp.zeros_like(given.noise))
        look = mean._look(form, 64, False, given, u, jnp.zeros_like(posterior.parts(given.bare, u)[0]))
        # Given what several share, whose own curvature the prior may bend the wrong way off its mode.
        factors = look.arrow._replace(rest_root=jnp.zeros_like(look.arrow.rest_root))
        covariance = np.asarray(jax.vmap(partial(arrow.solved, factors, given.places))(jnp.eye(u.size)))

        def logits_of(u: jax.Array) -> jax.Array:
            ability, (slope, threshold) = posterior.parts(given.bare, u)
            found: jax.Array = (slope * ability - threshold).ravel()
            return found

        along, up = jax.jacfwd(logits_of)(u), jax.nn.sigmoid(logits_of(u))
        prior = jax.hessian(lambda u: posterior.prior(given.bare, u))(u)
        told = np.asarray(prior + along.T @ ((up * (1.0 - up))[:, None] * along))
    levels = np.sort(np.asarray(own))
    block = np.ix_(levels, levels)
    np.testing.assert_allclose(covariance[block] @ told[block], np.eye(len(levels)), rtol=0, atol=1e-5)


def test_repeated_answers_are_all_counted() -> None:
    lm, item = np.array([0, 0, 1, 0, 1]), np.array([0, 1, 1, 0, 1])
    row, of_row = _rows(lm, item, 2)
    assert len(of_row) == 4
    np.testing.assert_array_equal(of_row[row], lm)
    assert len(set(zip(row.tolist(), item.tolist(), strict=True))) == 5


@pytest.mark.parametrize("of_item", [np.zeros(600, dtype=int), np.array([0, 1, 1, 2, 0, 1])])
def test_every_item_is_in_one_chunk(of_item: np.ndarray) -> None:
    items, real, column, _ = _chunks(of_item)
    counted = np.bincount(items.ravel(), weights=real.ravel(), minlength=len(of_item))
    np.testing.assert_array_equal(counted, 1.0)
    assert all((of_item[row] == at).all() for row, at in zip(items, column, strict=True))


def test_squared_errors_are_as_large_as_variances_say() -> None:
    found: dict[str, list[float]] = {name: [] for name in QUANTITIES}
    for seed in range(4):
        truth = simulated(60, 80, seed)
        with double_precision():
            draws = Laplace(draws=400).run(Model(likelihood=bi.likelihoods.beta), truth.design, seed)
        assert len(draws.notes) == 1
        drawn = reported({name: draws.sites[name][0] for name in truth.truth})
        told = reported(truth.truth)
        for name in QUANTITIES:
            found[name].append(float((np.square(drawn[name].mean(0) - told[name]) / drawn[name].var(0)).mean()))
    for name, count in zip(QUANTITIES, (60, 80, 80, 80), strict=True):
        # Four standard errors of a mean of squared normals.
        assert abs(np.mean(found[name]) - 1.0) < 4.0 * np.sqrt(2.0 / (4 * count)), name


def test_counts_that_scatter_more_than_a_binomial_are_refused() -> None:
    model = bi.Model(likelihood=bi.likelihoods.beta_binomial)
    counts = bi.simulate(model, n_lms=8, n_items=6, seed=1).responses
    with pytest.raises(bi.InputError, match="it takes likelihoods bernoulli, binomial, beta and ordered_beta"):
        bi.fit(model, counts, bi.Laplace(), seed=1)


def test_a_search_that_does_not_settle_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mean, "_MOST_STEPS", 1)
    with double_precision():
        draws = Laplace(draws=5).run(Model(likelihood=bi.likelihoods.beta), simulated(60, 80, 0).design, 0)
    assert draws.notes[-1] == "the search for the mean did not settle: take another engine"
