"""Diagnostics: each check finds what it is for, and says where."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bayes_irsl.checks import mixing, predictive, sampler
from bayes_irsl.checks.finding import Finding
from bayes_irsl.diagnostics import CHECKS, diagnose, failed
from bayes_irsl.fitting import Fit


def changed(
    fit: Fit, posterior: Mapping[str, Any] | None = None, stats: Mapping[str, Any] | None = None, **attrs: Any
) -> Fit:
    """Put other draws or statistics in a fit; None as statistics takes them all away."""
    tree = xr.DataTree.from_dict(
        {
            "posterior": fit.posterior if posterior is None else xr.Dataset(dict(posterior)),
            "sites": fit.tree["sites"].to_dataset(),
            "sample_stats": xr.Dataset(dict(stats or {})),
        }
    )
    tree.attrs = fit.tree.attrs | attrs
    return replace(fit, tree=tree)


def stats(**columns: Any) -> dict[str, tuple[tuple[str, str], np.ndarray]]:
    rng = np.random.default_rng(0)
    everything = {"energy": rng.normal(size=(2, 500))} | columns
    return {name: (("chain", "draw"), np.asarray(value)) for name, value in everything.items()}


def independent(chains: int = 2, draws: int = 1000) -> xr.DataArray:
    values = np.random.default_rng(1).normal(size=(chains, draws, 3))
    return xr.DataArray(values, dims=("chain", "draw", "item"), coords={"item": ["p", "q", "r"]})


def test_table_has_one_row_per_check_and_the_words_of_the_contract(fit: Fit) -> None:
    table = diagnose(fit)
    assert list(table.columns) == ["check", "value", "threshold", "status", "advice"]
    assert len(table) == len(CHECKS)
    assert set(table["status"]) <= {"pass", "review", "fail"}
    assert (table.loc[table["status"] == "pass", "advice"] == "").all()
    assert (table.loc[table["status"] != "pass", "advice"] != "").all()


@pytest.mark.parametrize(("status", "answer"), [("pass", False), ("review", False), ("fail", True)])
def test_only_a_failed_check_fails_the_table(status: str, answer: bool) -> None:
    assert failed(pd.DataFrame({"status": ["pass", status]})) is answer


def test_mixed_chains_pass(fit: Fit) -> None:
    good = changed(fit, {"difficulty": independent()}, stats())
    found = mixing.rhat(good)
    assert found is not None
    assert (found.status, found.advice) == ("pass", "")
    assert 0.99 < found.value < 1.01
    for check in (mixing.ess_bulk, mixing.ess_tail):
        enough = check(good)
        assert enough is not None
        assert enough.status == "pass"
        assert 1000 < enough.value < 3000


def test_rhat_names_the_quantity_that_has_not_mixed(fit: Fit) -> None:
    apart = independent()
    apart.loc[{"chain": 1, "item": "q"}] += 3.0
    found = mixing.rhat(changed(fit, {"slope": independent()[..., 0], "difficulty": apart}, stats()))
    assert found is not None
    assert found.status == "fail"
    assert found.value > 1.5
    assert found.advice.startswith("difficulty[q] ")


def test_constant_quantities_are_skipped(fit: Fit) -> None:
    constant = xr.full_like(independent(), 2.0)
    found = mixing.rhat(changed(fit, {"ability": constant, "difficulty": independent()}, stats()))
    assert found is not None
    assert found.status == "pass"


def test_short_chains_have_too_few_effective_draws(fit: Fit) -> None:
    found = mixing.ess_bulk(changed(fit, {"difficulty": independent(draws=100)}, stats()))
    assert found is not None
    assert found.status == "fail"
    assert found.value < 400
    assert "difficulty[" in found.advice


def test_a_draw_that_is_no_number_fails(fit: Fit) -> None:
    broken = independent()
    broken[0, 0, 0] = np.nan
    found = mixing.finite(changed(fit, {"difficulty": broken}, stats()))
    assert found is not None
    assert (found.value, found.status) == (1.0, "fail")
    assert "difficulty" in found.advice


def test_one_chain_cannot_be_compared(fit: Fit) -> None:
    found = mixing.rhat(changed(fit, {"difficulty": independent(chains=1)}, stats()))
    assert found is not None
    assert found.status == "review"
    assert "two or more" in found.advice


def test_independent_draws_are_counted_and_sent_to_nuts(fit: Fit) -> None:
    variational = changed(fit, {"difficulty": independent(2, 300)}, {}, engine="svi")
    table = diagnose(variational).set_index("check")
    assert table.loc["R-hat", "status"] == "review"
    assert "nuts" in table.loc["R-hat", "advice"]
    assert table.loc[["bulk ESS", "tail ESS"], "value"].tolist() == [600.0, 600.0]
    assert "divergences" not in table.index
    assert "E-BFMI" not in table.index


def test_divergences_are_counted(fit: Fit) -> None:
    diverging = np.zeros((2, 500), dtype=bool)
    assert sampler.divergences(changed(fit, None, stats(diverging=diverging))) == Finding(
        "divergences", 0.0, "0", "pass"
    )
    diverging[1, 7] = diverging[0, 3] = True
    found = sampler.divergences(changed(fit, None, stats(diverging=diverging)))
    assert found is not None
    assert (found.value, found.status) == (2.0, "fail")
    assert found.advice.startswith("2 of 1,000 draws: part of the posterior may be missing")


@pytest.mark.parametrize(("longest", "value", "status"), [(127, 0.1, "review"), (126, 0.0, "pass")])
def test_saturated_trajectories_are_a_share_of_draws(fit: Fit, longest: int, value: float, status: str) -> None:
    steps = np.full((2, 500), 3)
    steps[:, :50] = longest
    found = sampler.tree_depth(changed(fit, None, stats(n_steps=steps), settings={"max_tree_depth": 7}))
    assert found is not None
    assert (found.value, found.status) == (value, status)


def test_slow_energy_is_found(fit: Fit) -> None:
    # Independent levels have mean squared steps of twice their variance; a slow walk has next to none.
    quick = sampler.energy(changed(fit, None, stats()))
    slow = sampler.energy(changed(fit, None, stats(energy=np.linspace(0.0, 1.0, 1000).reshape(2, 500))))
    assert quick is not None
    assert slow is not None
    assert quick.value == pytest.approx(2.0, abs=0.2)
    assert (quick.status, slow.status) == ("pass", "review")


def test_coverage_of_the_model_that_made_the_data_is_near_its_promise(fit: Fit) -> None:
    found = predictive.coverage(fit)
    assert found is not None
    assert found.status == "pass"
    assert 0.85 < found.value < 0.98


def test_coverage_of_other_data_is_low(fit: Fit) -> None:
    cells = fit.responses.cells
    other = cells.assign(score=np.where(cells["score"] > 0.5, 0.01, 0.99))
    found = predictive.coverage(replace(fit, responses=replace(fit.responses, cells=other)))
    assert found is not None
    assert found.status == "review"
    assert found.value < 0.5
    assert "too narrow" in found.advice


@pytest.mark.parametrize("draws", [1, 3])
def test_too_few_draws_are_no_crash(fit: Fit, draws: int) -> None:
    short = fit.posterior.isel(draw=slice(0, draws))
    table = diagnose(changed(fit, {str(name): short[name] for name in short}, stats())).set_index("check")
    assert table.loc[["R-hat", "bulk ESS", "tail ESS"], "status"].tolist() == ["fail"] * 3
    assert "too few draws" in table.loc["R-hat", "advice"]


def test_draws_that_never_moved_are_no_crash(fit: Fit) -> None:
    still = xr.zeros_like(fit.posterior)
    table = diagnose(changed(fit, {str(name): still[name] for name in still}, stats())).set_index("check")
    assert table.loc["R-hat", "status"] == "fail"
