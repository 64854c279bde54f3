"""A table laid out by rows has the density, the gradient and the curvature of its cells one by one."""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.special
from model_tables import population, potentials, unconstrained_shapes

from bayes_irsl import encoding
from bayes_irsl.names import LIKELIHOODS
from bayes_irsl.studies import kernel
from irsl_models import Design, Model, curves
from irsl_models import item_responses as module
from irsl_models.curves import Items
from irsl_models.distributions import LogitBeta
from irsl_models.item_responses import ItemResponses
from irsl_models.law import Law

CROWD = population(n_items=7)


def answered(likelihood: str, cells: np.ndarray) -> Design:
    """Responses of some cells of the crowd."""
    rng = np.random.default_rng(3)
    lm, item = np.divmod(cells, len(CROWD.items))
    score = rng.uniform(0.01, 0.99, len(cells))
    if likelihood in ("beta", "ordered_beta"):
        if likelihood == "ordered_beta":
            score[::5], score[::7] = 0.0, 1.0
        return encoding.design(CROWD, lm, item, score=score)
    trials = np.ones(len(cells), dtype=int) if likelihood == "bernoulli" else rng.integers(1, 40, len(cells))
    return encoding.design(CROWD, lm, item, successes=rng.binomial(trials, score), trials=trials)


def by_cell(table: Design) -> Design:
    """The same cells, those that are there, on their own."""
    return table.at(slice(None) if table.present is None else np.asarray(table.present))


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("missing", [0, 12])
@pytest.mark.parametrize("block", [1, 20, 4096])
def test_rows_and_cells_agree(likelihood: str, missing: int, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of one row, of two with one left over, and of all."""
    monkeypatch.setattr(module, "_BLOCK", block)
    cells = np.setdiff1d(np.arange(49), np.random.default_rng(1).choice(49, missing, replace=False))
    model = Model(curve=curves.three_pl, likelihood=LIKELIHOODS[likelihood])
    with jax.enable_x64(True):
        table = answered(likelihood, cells)
        assert table.rows
        assert (table.present is None) == (missing == 0)
        shapes = unconstrained_shapes(model, table)
        at = {name: np.random.default_rng(len(name)).normal(size=(2, *shape)) for name, shape in shapes.items()}
        (value, slope), (other, other_slope) = (potentials(model, [t], at)[0] for t in (table, by_cell(table)))
    np.testing.assert_allclose(value, other, rtol=1e-12)
    for name in slope:
        np.testing.assert_allclose(slope[name], other_slope[name], rtol=1e-9, atol=1e-9, err_msg=name)


def test_sparse_tables_and_repeated_cells_are_not_laid_out() -> None:
    assert not answered("beta", np.arange(0, 49, 5)).rows
    assert not answered("binomial", np.append(np.arange(49), 3)).rows


def test_pointwise_densities_add_up_and_leave_out_what_is_not_there() -> None:
    with jax.enable_x64(True):
        table = jax.tree.map(jnp.asarray, answered("beta", np.arange(40)))
        responses = ItemResponses(
            _beta_law(7), Items(jnp.ones(7), jnp.linspace(-1.0, 1.0, 7)), jnp.linspace(-2.0, 2.0, 7)[:, None], table
        )
        cells = np.asarray(responses.pointwise(jnp.asarray(table.score)))
        total = float(responses.log_prob(jnp.asarray(table.score)))
    assert (cells[40:] == 0.0).all()
    assert total == pytest.approx(cells.sum(), rel=1e-13)


def _beta_law(n_items: int) -> Law:
    return Law(LogitBeta, {"precision": jnp.full(n_items, 9.0)}, ("log_score", "log_rest"))


def normal_law(scale: Any) -> Law:
    """A law whose distribution brings no derivative of its own, and no data beside the responses."""
    return Law(lambda logit, scale: dist.Normal(logit, scale), {"scale": scale})


@pytest.mark.parametrize("laid", ["rows", "rows with gaps", "cells"])
@pytest.mark.parametrize("benchmarks", [1, 2])
def test_slopes_are_those_of_the_pointwise_densities(laid: str, benchmarks: int) -> None:
    """For a distribution that anyone may write, differentiated by JAX alone."""

    def responses(at: Any, table: Design) -> tuple[Any, Any]:
        ability, slope, threshold, scale = at
        return ItemResponses(normal_law(scale), Items(slope, threshold), ability, table), jnp.asarray(table.score)

    def at_once(at: Any, table: Design) -> Any:
        law, score = responses(at, table)
        return law.log_prob(score)

    def one_by_one(at: Any, table: Design) -> Any:
        law, score = responses(at, table)
        return law.pointwise(score).sum()

    rng = np.random.default_rng(5)
    with jax.enable_x64(True):
        table = jax.tree.map(jnp.asarray, answered("beta", np.arange(49 if laid == "rows" else 40)))
        table = by_cell(table) if laid == "cells" else table
        at = (jnp.asarray(rng.normal(size=(7, benchmarks))), *(jnp.asarray(rng.uniform(0.5, 2.0, (3, 7)))))
        (value, slope), (other, other_slope) = (
            jax.jit(jax.value_and_grad(density))(at, table) for density in (at_once, one_by_one)
        )
    np.testing.assert_allclose(value, other, rtol=1e-13)
    for ours, theirs in zip(slope, other_slope, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def extreme_table() -> tuple[Design, tuple[np.ndarray, ...]]:
    """Logits to 30, precisions from 0.1 to 1e4, and responses whose distance to 0 or to 1 is 1e-300."""
    rng = np.random.default_rng(2)
    n_lms, n_items = 40, 60
    people = population(x=None, n_items=n_items, n_benchmarks=1, n_lms=n_lms)
    ability, log_slope = np.linspace(-4.0, 4.0, n_lms), np.log(rng.uniform(0.1, 4.0, n_items))
    threshold, log_precision = rng.uniform(-14.0, 14.0, n_items), np.log(np.geomspace(0.1, 1e4, n_items))
    logit = np.exp(log_slope) * ability[:, None] - threshold
    assert np.abs(logit).max() > 25.0
    # Around the mean by what the precision allows, but for one in twenty, which may lie anywhere.
    near = logit + rng.normal(size=logit.shape) * np.sqrt(4.0 / np.exp(log_precision) + 1.0)
    far = np.where(rng.random(logit.shape) < 0.5, -690.0, 690.0) * rng.random(logit.shape)
    score_logit = np.where(rng.random(logit.shape) < 0.05, far, near).ravel()
    lm, item = np.divmod(np.arange(logit.size), n_items)
    table = encoding.design(people, lm, item, score=np.clip(scipy.special.expit(score_logit), 1e-300, 1.0 - 1e-16))
    logs: dict[str, Any] = {"log_score": -np.logaddexp(0.0, -score_logit), "log_rest": -np.logaddexp(0.0, score_logit)}
    return replace(table, **logs), (ability, log_slope, threshold, log_precision)


def exact_slopes(table: Design, at: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    ability, log_slope, threshold, log_precision = at
    slope, precision = np.exp(log_slope), np.exp(log_precision)
    logit = slope * ability[:, None] - threshold
    up, down = scipy.special.expit(logit), scipy.special.expit(-logit)
    log_score, log_rest = (np.reshape(np.asarray(column), logit.shape) for column in (table.log_score, table.log_rest))
    pull = log_score - scipy.special.digamma(precision * up)
    push = log_rest - scipy.special.digamma(precision * down)
    by_logit = precision * up * down * (pull - push)
    by_precision = up * pull + down * push + scipy.special.digamma(precision)
    return (
        (by_logit * slope).sum(1),
        (by_logit * slope * ability[:, None]).sum(0),
        -by_logit.sum(0),
        (by_precision * precision).sum(0),
    )


@pytest.mark.parametrize(
    ("cells", "sums", "tolerance"),
    [(np.float64, np.float64, 1e-10), (np.float32, np.float64, 1e-4), (np.float32, np.float32, 1e-4)],
)
@pytest.mark.parametrize("rows", [True, False])
def test_gradient_to_the_ends_of_the_scale(cells: Any, sums: Any, tolerance: float, rows: bool) -> None:
    table, at = extreme_table()
    # Rounded as the kernel will see them: what is held against it is its own arithmetic.
    at = tuple(values.astype(sums).astype(cells) for values in at)
    table = jax.tree.map(lambda values: values.astype(cells) if values.dtype.kind == "f" else values, table)
    exact = exact_slopes(*jax.tree.map(lambda values: values.astype(np.float64), (table, at)))

    def density(at: Any, table: Design) -> Any:
        ability, log_slope, threshold, log_precision = at
        law = Law(LogitBeta, {"precision": jnp.exp(log_precision)}, ("log_score", "log_rest"))
        responses = ItemResponses(law, Items(jnp.exp(log_slope), threshold), ability[:, None], table)
        return responses.log_prob(jnp.asarray(table.score))

    with jax.enable_x64(sums is np.float64):
        found = jax.jit(jax.grad(density))(
            tuple(jnp.asarray(values, sums) for values in at), jax.tree.map(jnp.asarray, replace(table, rows=rows))
        )
    for ours, theirs in zip(found, exact, strict=True):
        assert ours.dtype == sums
        assert np.abs(np.asarray(ours, dtype=float) - theirs).max() < tolerance * np.abs(theirs).max()


def test_single_precision_cells_leave_differences_of_the_density() -> None:
    """What a step of a sampler is accepted by, in 250,000 cells, is off by hundredths of a nat."""
    n_lms, n_items = 250, 1000
    table, at = kernel.table(n_lms, n_items)
    narrow = {name: getattr(table, name).astype(np.float32) for name in ("score", "log_score", "log_rest")}
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        run = jax.jit(kernel.ours)
        off = []
        for _ in range(8):
            moved = tuple(values + 0.02 * rng.normal(size=values.shape) for values in at)
            single, double = (float(run(cells, moved)) for cells in (replace(table, **narrow), table))
            off.append(single - double)
    assert np.abs(off).max() < 0.2
    assert np.ptp(off) < 0.05


def test_the_gradient_can_be_differentiated() -> None:
    """Coordinates are made of Hessian times vector."""

    def density(ability: Any, table: Design) -> Any:
        items = Items(jnp.ones(7), jnp.linspace(-1.0, 1.0, 7))
        return ItemResponses(_beta_law(7), items, ability[:, None], table).log_prob(jnp.asarray(table.score))

    with jax.enable_x64(True):
        table = jax.tree.map(jnp.asarray, answered("beta", np.arange(49)))
        at, along = jnp.linspace(-2.0, 2.0, 7), jnp.linspace(0.5, 1.5, 7)
        turned = [
            jax.jvp(partial(jax.grad(density), table=laid), (at,), (along,))[1] for laid in (table, by_cell(table))
        ]
    np.testing.assert_allclose(turned[0], turned[1], rtol=1e-10)
