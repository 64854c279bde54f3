"""Laplace's approximation against the plain density, dense algebra, simulated truths and the reference engine."""

from __future__ import annotations

from dataclasses import replace
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
from bayes_irsl.engines.expansion.grid import basis, points_of, refined
from bayes_irsl.engines.expansion.posterior import without_cells
from bayes_irsl.engines.expansion.sizing import MANY_CHUNKS, SIZES, enough, grids_of
from bayes_irsl.engines.expansion.source import _rows
from bayes_irsl.engines.expansion.sweep import sweep
from bayes_irsl.engines.expansion.table import chunks
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


def begun(form: setting.Form, design: Design) -> tuple[setting.Setting, jax.Array]:
    whole, u = setting.begin(form, design, jax.random.key(0))
    return whole.laid_out(), u


def slopes(form: setting.Form, given: setting.Setting, u: jax.Array, nodes: tuple[int, ...]) -> np.ndarray:
    """Slopes of the negative log density, of which those of the responses come from a sweep."""
    posterior = form.posterior
    parts = partial(posterior.parts, given.bare)
    ability, quantities = parts(u)
    points = points_of(ability, None, given.table.lm)
    sums = sweep(form.response, given.table, given.stops, points, nodes, quantities[None])

    def level(u: jax.Array) -> Any:
        placed = parts(u)
        return (sums.by_lm * placed[0]).sum() + (sums.by_item[0] * placed[1]).sum()

    return np.asarray(jax.grad(partial(posterior.prior, given.bare))(u) - jax.grad(level)(u))


def plain_slopes(form: setting.Form, design: Design, u: jax.Array) -> np.ndarray:
    """The same from the density as NumPyro has it."""
    posterior = form.posterior
    given = (jax.tree.map(jnp.asarray, design),)
    return np.asarray(jax.grad(lambda u: potential_energy(posterior.free, given, {}, posterior.split(u)))(u))


@pytest.mark.parametrize("name", MODELS)
def test_a_sweep_has_the_slopes_of_the_plain_density(name: str) -> None:
    model, shape = MODELS[name]
    design = table(model, **shape)
    with double_precision():
        form = form_of(model, design)
        given, u = begun(form, design)
        u = u + 0.2 * jax.random.normal(jax.random.key(1), u.shape)
        ours, plain = slopes(form, given, u, (96,)), plain_slopes(form, design, u)
    np.testing.assert_allclose(ours, plain, rtol=0, atol=1e-6 * abs(plain).max())


def test_responses_next_to_0_and_1_are_exact() -> None:
    """Their logits go to millions, and would multiply what functions on a grid lack."""
    table = simulated(40, 30, 3)
    sites = {**table.truth, "log_discrimination": table.truth["log_discrimination"] + 1.2}
    logit = table.truth["ability"][:, None] * np.exp(sites["log_discrimination"]) - sites["threshold"]
    rng = np.random.default_rng(0)
    log_score, log_rest = (
        -rng.exponential(size=logit.shape) * (1.0 + np.exp(side * logit)) / 2.0 for side in (-1.0, 1.0)
    )
    total = np.logaddexp(log_score, log_rest)
    with double_precision():
        score, rest = (jnp.asarray((side - total).ravel()) for side in (log_score, log_rest))
        design = replace(table.design, log_score=score, log_rest=rest)
        form = form_of(Model(likelihood=bi.likelihoods.beta), design)
        given, u = begun(form, design)
        far = given.table.far
        assert far is not None
        assert int((far.excess != 0.0).sum()) > 20
        assert float(abs(far.excess).max()) > 1e4
        u = u.at[given.places.lm[:, 0]].set(jnp.asarray(table.truth["ability"]))
        ours, plain = slopes(form, given, u, (128,)), plain_slopes(form, design, u)
    np.testing.assert_allclose(ours, plain, rtol=1e-7, atol=1e-6 * np.median(abs(plain)))


def test_parts_of_a_table_add_up_to_it() -> None:
    model, shape = MODELS["beta, drift and deviations"]
    design = table(model, **shape)
    with double_precision():
        form = form_of(model, design)
        whole, u = setting.begin(form, design, jax.random.key(0))
        u = u + 0.2 * jax.random.normal(jax.random.key(1), u.shape)
        ability, quantities = form.posterior.parts(whole.bare, u)

        def look(items: np.ndarray | None, rows: np.ndarray | None) -> Any:
            given = whole.laid_out(items, rows)
            everyone, here = (points_of(ability, None, lm) for lm in (None, given.table.lm))
            points = here._replace(reach=everyone.reach)
            return sweep(form.response, given.table, given.stops, points, (96,), quantities[None])

        n_rows, n_items = len(whole.source.lm), len(whole.source.column)
        order = np.random.default_rng(0).permutation(n_items)
        all_at_once = look(None, None)
        apart = [look(items, rows) for items in np.split(order, [3]) for rows in np.split(np.arange(n_rows), [4])]
        together = jax.tree.map(lambda *parts: sum(parts), *apart)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-9), together, all_at_once)


def test_grids_of_several_sizes_give_one_result() -> None:
    table = simulated(30, 2100, 5)
    with double_precision():
        form = form_of(Model(likelihood=bi.likelihoods.beta), table.design)
        given, u = begun(form, table.design)
        assert len(given.table.column) >= MANY_CHUNKS
        u = u.at[given.places.lm[:, 0]].set(jnp.asarray(table.truth["ability"]))
        fine = slopes(form, given, u, (192,))
        several = slopes(form, given._replace(stops=jnp.asarray([0, 3, 3, len(given.table.column)])), u, (64, 96, 128))
    np.testing.assert_allclose(several, fine, rtol=0, atol=1e-6 * abs(fine).max())


def test_nodes_are_enough_for_the_logits_that_items_move_through() -> None:
    def error(size: int, span: float) -> float:
        """Largest error of an interpolated function whose poles are where those of a Beta density are."""
        with double_precision():
            points = points_of(jnp.linspace(-0.5, 0.5, 1001)[:, None], None, None)
            grid = basis(points, size)
            at = span / 1.5 * points.row[0, :, 0]  # the grid reaches a quarter further at either end
            known = jax.nn.softplus(span / 1.5 * grid.nodes)
            return float(abs(grid.mean[0] @ known - jax.nn.softplus(at)).max() / known.max())

    assert all(error(size, size / 2.5) < 1e-6 for size in SIZES)
    assert error(SIZES[0], SIZES[0] / 1.5) > 1e-6


def test_values_on_a_finer_grid_are_those_of_the_polynomial() -> None:
    with double_precision():
        coarse, fine = (np.cos(np.pi * (np.arange(size) + 0.5) / size) for size in (9, 27))
        found = np.asarray(refined(9, 27)) @ (coarse**7 - coarse)
    np.testing.assert_allclose(found, fine**7 - fine, atol=1e-13)


def test_sizes_grow_with_headroom_and_never_shrink() -> None:
    source = simulated(12, 8 * 256, 0)
    with double_precision():
        form = form_of(Model(likelihood=bi.likelihoods.beta), source.design)
        table = begun(form, source.design)[0].table
    span = jnp.linspace(1.0, 40.0, 8 * 256)
    first = enough(table, span)
    assert enough(table, 1.1 * span, first) is first
    larger = enough(table, 3.0 * span, first)
    assert (larger >= first).all()
    assert (np.diff(larger) >= 0).all()
    nodes, stops = grids_of(larger)
    assert nodes == SIZES
    widths = np.repeat(nodes, np.diff(np.asarray(stops)))
    assert (widths >= np.minimum(2.5 * 3.0 * np.asarray(span).reshape(8, 256).max(1), SIZES[-1])).all()


@pytest.mark.parametrize("name", ["beta, drift and deviations", "binomial without a trend"])
def test_draws_and_solutions_belong_to_one_covariance(name: str) -> None:
    model, shape = MODELS[name]
    design = table(model, **shape)
    with double_precision():
        form = form_of(model, design)
        given, u = begun(form, design)
        look = mean._look(form, (64,), False, given, u, jnp.full_like(form.posterior.parts(given.bare, u)[0], 0.2))
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
        given, u = begun(form, design)
        own = jnp.concatenate([given.places.lm.ravel(), given.places.item.ravel()])
        u = u.at[own].add(0.8 * jax.random.normal(jax.random.key(1), own.shape))
        given = given._replace(noise=jnp.zeros_like(given.noise))
        look = mean._look(form, (64,), False, given, u, jnp.zeros_like(posterior.parts(given.bare, u)[0]))
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
    items, real, column = chunks(of_item)
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
