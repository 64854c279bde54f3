"""A table laid out by rows has the density, the gradient and the curvature of its cells one by one."""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from model_tables import population, potentials, unconstrained_shapes

from bayes_irsl import encoding
from bayes_irsl.names import LIKELIHOODS
from irsl_models import Design, Model, curves
from irsl_models import item_responses as module
from irsl_models.curves import Items
from irsl_models.item_responses import ItemResponses

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
    kept = slice(None) if table.present is None else table.present
    names = ("lm", "item", "score", "log_score", "log_rest", "successes", "trials", "log_choose")
    columns: dict[str, Any] = {name: getattr(table, name) for name in names}
    picked: dict[str, Any] = {name: None if column is None else column[kept] for name, column in columns.items()}
    return replace(table, rows=False, present=None, **picked)


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


def _beta_law(n_items: int) -> Any:
    from irsl_models.distributions import LogitBeta
    from irsl_models.law import Law

    return Law(LogitBeta, {"precision": jnp.full(n_items, 9.0)}, ("log_score", "log_rest"))


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
