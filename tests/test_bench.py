"""The harness of the benchmarks: what it counts, compares and writes is right on things that are known."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib import pyplot as plt
from numpyro.infer.util import log_density

from bayes_irsl.engines.hmc import HMC
from bayes_irsl.studies.bench import (
    alternating,
    calibration,
    drawn,
    numpyro_nuts,
    ours,
    points,
    results,
    samplers,
    sizes,
)
from bayes_irsl.studies.bench.__main__ import MEASUREMENTS, main
from bayes_irsl.studies.bench.densities import MODELS, SITES
from bayes_irsl.studies.bench.figure import seconds_by_cells
from bayes_irsl.studies.bench.plan import Plan
from bayes_irsl.studies.bench.processes import Measured, measured
from bayes_irsl.studies.tables import QUANTITIES, simulated

TASK = """
import jax.numpy as jnp
import numpy as np

def prepared(size, fail=False):
    def work():
        if fail:
            raise ValueError("no such luck")
        held = np.ones(size)
        return {"total": jnp.cumsum(jnp.asarray([1.0, 2.0])), "held": held.sum(), "text": "some"}
    return work
"""


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module that a process of its own can import as well."""
    (tmp_path / "some_task.py").write_text(TASK)
    monkeypatch.syspath_prepend(tmp_path)
    path = [str(tmp_path), *(str(Path(p).resolve()) for p in (".", "models"))]
    monkeypatch.setenv("PYTHONPATH", ":".join(path))
    # The cache of the test is another one.
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    return importlib.import_module("some_task")


def test_work_is_measured_in_a_process_of_its_own(task: Any, tmp_path: Path) -> None:
    found = measured(task.prepared, {"size": 50_000_000}, tmp_path / "cache", rehearse=False)
    assert found.found["total"].tolist() == [1.0, 3.0]
    assert found.found["total"].dtype == np.float64
    assert found.found["held"] == 50_000_000
    assert str(found.found["text"]) == "some"
    # 0.4 GB were held within the work, none of them before.
    assert found.peak_gb - found.before_gb > 0.3
    assert found.before_gb < 2.0
    assert 0.0 < found.cpu_seconds < found.process_cpu_seconds
    assert found.compiled > 0
    assert measured(task.prepared, {"size": 10}, tmp_path / "cache", rehearse=False).compiled == 0


def test_work_that_fails_says_why(task: Any, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no such luck"):
        measured(task.prepared, {"size": 10, "fail": True}, tmp_path / "cache", rehearse=False)


def test_plain_models_have_the_density_of_the_package() -> None:
    rng = np.random.default_rng(5)
    with jax.enable_x64(True):
        design = jax.tree.map(jnp.asarray, simulated(6, 5, seed=0).design)
        shapes = {"ability": (6,)} | dict.fromkeys(("log_discrimination", "log_precision", "threshold"), (5,))
        for _ in range(3):
            at = {name: jnp.asarray(rng.normal(size=shapes.get(name, ()))) for name in SITES}
            at |= {name: jnp.abs(value) for name, value in at.items() if name.endswith(("within", "ratio"))}
            centre, spread = at["ability"].mean(), at["ability"].std()
            moved = {
                "centre": centre,
                "contrast": at["ability"] - centre,
                "log_slope": at["log_discrimination"] + jnp.log(spread),
                "level": at["threshold"] - jnp.exp(at["log_discrimination"]) * centre,
            }
            kept = {name: value for name, value in at.items() if name not in shapes or name == "log_precision"}
            told = {"centred": at, "standardised": kept | moved, "bayes-irsl": at}
            found = {name: float(log_density(MODELS[name], (design,), {}, values)[0]) for name, values in told.items()}
            assert found["centred"] == pytest.approx(found["bayes-irsl"], rel=1e-12)
            assert found["standardised"] == pytest.approx(found["bayes-irsl"], rel=1e-12)


def test_gradients_are_counted_of_all_chains_and_of_the_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, np.ndarray] = {}

    class Watched(HMC):
        def run(self, *arguments: Any) -> Any:
            draws = super().run(*arguments)
            kept.update(draws.stats)
            return draws

    monkeypatch.setattr("bayes_irsl.engines.hmc.HMC", Watched)
    settings = {"draws": 40, "warmup": 30, "chains": 2}
    with jax.enable_x64(True):
        found = ours.prepared("hmc", 6, 5, seed=0, settings=settings)()
    assert found["gradients"] == pytest.approx(float(kept["n_steps"].sum()))
    assert found["gradients_warmup"] > 60
    assert drawn.flat(found).shape == (2, 40, 6 + 3 * 5 + 7)
    assert drawn.reported(found).shape == (2, 40, 6 + 3 * 5)


def test_numpyro_runs_on_the_model_in_its_coordinates() -> None:
    with jax.enable_x64(True):
        found = numpyro_nuts.prepared(6, 5, 0, density="standardised", warmup=20, draws=15)()
    draws = drawn.flat(found)
    assert draws.shape == (2, 15, 6 + 3 * 5 + 7)
    assert np.isfinite(draws).all()
    assert found["gradients"] >= 30
    assert found["gradients_warmup"] >= 40


@pytest.mark.parametrize("package", ["blackjax", "nutpie"])
def test_others_sample_the_density_of_the_package(package: str) -> None:
    pytest.importorskip(package)
    module = importlib.import_module(f"bayes_irsl.studies.bench.{package}_nuts")
    with jax.enable_x64(True):
        found = module.prepared(6, 5, 0, density="bayes-irsl", warmup=50, draws=15)()
    draws = drawn.flat(found)
    assert draws.shape == (2, 15, 6 + 3 * 5 + 7)
    assert np.isfinite(draws).all()
    assert found["gradients"] >= 30
    assert found["gradients_warmup"] >= 100


def autoregressive(rho: float, seed: int) -> xr.DataArray:
    """Four chains of 3,000 draws of three parameters, standard normal."""
    noise = np.random.default_rng(seed).normal(size=(4, 3000, 3))
    values = noise.copy()
    for at in range(1, noise.shape[1]):
        values[:, at] = rho * values[:, at - 1] + np.sqrt(1.0 - rho**2) * noise[:, at]
    return xr.DataArray(values, dims=("chain", "draw", "parameter"))


def test_effective_draws_are_those_of_known_chains() -> None:
    """Of an autoregression (1 - rho) / (1 + rho) of the draws are effective in the bulk, and more in the tails."""
    np.testing.assert_allclose(drawn.effective(autoregressive(0.5, 1)), 12_000 / 3.0, rtol=0.12)
    assert drawn.effective(autoregressive(0.0, 1)).min() > 9_000
    assert drawn.largest_rhat(autoregressive(0.5, 1)) < 1.01


def test_distances_are_in_monte_carlo_errors() -> None:
    reference, other = autoregressive(0.5, 2), autoregressive(0.5, 3)
    same = drawn.apart(other, reference)
    assert 0.2 < same.means < 2.0
    assert 0.2 < same.deviations < 2.0
    # One of the two has the error 1 / sqrt(4000), the difference sqrt(2) times that.
    shifted = drawn.apart(other + 8.0 * np.sqrt(2.0 / 4000.0), reference)
    assert shifted.means == pytest.approx(8.0, abs=2.0)
    assert shifted.deviations == pytest.approx(same.deviations)
    assert drawn.apart(1.2 * other, reference).deviations > 5.0


def test_ratios_are_to_the_baseline() -> None:
    table = pd.DataFrame({"method": ["HMC", samplers.BASELINE], "ESS per CPU s": [30.0, 2.0], "least ESS": [1, 2]})
    found = samplers.with_ratios(table)
    assert found["ESS per CPU s, ratio"].tolist() == [15.0, 1.0]
    assert "least ESS, ratio" not in found


def test_a_step_of_adamw_is_known() -> None:
    """The first one goes by the rate against the sign of the slope, beside the decay."""
    values = {"a": jnp.asarray([2.0, -1.0])}
    moved, memory = alternating.AdamW.at(values).step(values, {"a": jnp.asarray([3.0, -0.5])}, 0.1)
    np.testing.assert_allclose(moved["a"], np.array([2.0, -1.0]) * 0.999 - 0.1 * np.array([1.0, -1.0]), rtol=1e-5)
    # The same slope again moves as far.
    again, _ = memory.step(moved, {"a": jnp.asarray([3.0, -0.5])}, 0.1)
    np.testing.assert_allclose(again["a"], np.asarray(moved["a"]) * 0.999 - 0.1 * np.array([1.0, -1.0]), rtol=1e-5)


def test_adamw_is_that_of_optax() -> None:
    optax: Any = pytest.importorskip("optax")
    rule = optax.adamw(0.05, weight_decay=0.01)
    ours_at = theirs_at = jnp.asarray([1.0, -2.0, 0.3])
    state, memory = rule.init(theirs_at), alternating.AdamW.at(ours_at)
    slope = jax.grad(lambda z: (jnp.sin(3.0 * z) + z**2).sum())
    for _ in range(20):
        ours_at, memory = memory.step(ours_at, slope(ours_at), 0.05)
        update, state = rule.update(slope(theirs_at), state, theirs_at)
        theirs_at = theirs_at + update
    np.testing.assert_allclose(ours_at, theirs_at, rtol=1e-4)


def test_the_alternating_fit_recovers_what_made_the_table() -> None:
    table = simulated(40, 60, seed=7, dtype=np.float32)
    with jax.enable_x64(True):
        found = alternating.fit(table.design, rounds=20)
    assert np.corrcoef(found["ability"], table.truth["ability"])[0, 1] > 0.99
    errors = points.errors({name: value[None] for name, value in found.items()}, table.truth)
    assert errors["RMSE ability"] < 0.1
    assert errors["RMSE difficulty"] < 0.25
    assert errors["RMSE log discrimination"] < 0.25


def test_errors_are_on_the_scale_of_reports() -> None:
    """The truth has none, wherever all abilities lie and however far apart; a shift of one draw counts by its mean."""
    truth = {"ability": np.array([-1.0, 1.0]), "log_discrimination": np.zeros(3), "threshold": np.arange(3.0)}
    moved = {
        "ability": 5.0 + 2.0 * truth["ability"],
        "log_discrimination": -np.log(2.0) * np.ones(3),
        "threshold": truth["threshold"] + 2.5,
    }
    none = points.errors({name: value[None] for name, value in moved.items()}, truth)
    assert list(none.values()) == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
    twice = {name: np.stack([value, value]) for name, value in truth.items()}
    twice["log_discrimination"][0] += 0.5
    assert points.errors(twice, truth)["RMSE log discrimination"] == pytest.approx(0.25)


def test_squared_errors_are_held_against_variances() -> None:
    draws = {name: np.array([[-1.0, 0.0], [1.0, 2.0]]) for name in QUANTITIES}
    # Means 0 and 1, variances 1.
    found = calibration.scores(draws, {name: np.array([2.0, 1.0]) for name in QUANTITIES})
    assert found["ability/z"] == pytest.approx(2.0)
    assert found["log precision/error"] == pytest.approx(2.0)


def test_differences_are_in_standard_deviations() -> None:
    exact = np.array([[-1.0, -2.0], [1.0, 2.0]])
    found = calibration.differences(2.0 * exact + np.array([1.0, 0.0]), exact)
    assert found["mean off, largest"] == pytest.approx(1.0)
    assert found["mean off, RMS"] == pytest.approx(np.sqrt(0.5))
    assert found["sd ratio"] == pytest.approx(2.0)


def test_every_size_is_fitted_and_small_ones_sampled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without rehearsal where a run is long, and with the last size once more, with cells missing."""
    asked: list[tuple[str, int, float, bool]] = []

    def fake(prepare: Any, run: Any, cache: Path, *, rehearse: bool) -> Measured:
        asked.append((run["name"], run["n_lms"] * run["n_items"], run["missing"], rehearse))
        return Measured({"finite": np.asarray(True)}, 1.0, 2.0, 3.0, 0.5, 0.4, 0)

    monkeypatch.setattr(sizes, "measured", fake)
    table = sizes.sizes(Plan(grown=((10, 20), (5000, 5000)), sampled_up_to=200), tmp_path)
    assert asked == [
        ("laplace", 200, 0.0, True),
        ("laplace", 25_000_000, 0.0, False),
        ("laplace", 25_000_000, 0.3, False),
        ("hmc", 200, 0.0, True),
    ]
    assert table["method"].tolist() == ["laplace", "laplace", "laplace, 30% missing", "hmc"]
    assert (table["s"] == 2.0).all()


def test_the_line_of_the_figure_has_slope_one() -> None:
    table = pd.DataFrame({"method": ["hmc", "laplace", "laplace"], "cells": [10, 10, 1000], "s": [3.0, 0.5, 4.0]})
    ax = seconds_by_cells(table)
    line = next(line for line in ax.lines if line.get_linestyle() == "--" or line.is_dashed())
    assert np.asarray(line.get_xdata()).tolist() == [10.0, 1000.0]
    np.testing.assert_allclose(np.asarray(line.get_ydata(), dtype=float), [0.04, 4.0])
    assert [text.get_text() for text in ax.texts] == ["hmc", "laplace"]
    plt.close()


def test_results_are_one_figure_a_row_and_readable_cells() -> None:
    table = pd.DataFrame({"LMs": [100], "items": [2000], "method": ["laplace"], "s": [0.12345], "peak GB": [1234.5]})
    long = results.long({"sizes": table})
    assert list(long.columns) == list(results.COLUMNS)
    assert long[["figure", "value"]].to_numpy().tolist() == [["s", 0.12345], ["peak GB", 1234.5]]
    assert results.page({"sizes": table}).splitlines()[2:5] == [
        "| measurement | LMs × items | method | figures |",
        "| --- | --- | --- | --- |",
        "| sizes | 100 × 2,000 | laplace | s 0.123; peak GB 1,234 |",
    ]
    assert set(results._SHOWN) == set(MEASUREMENTS)


def test_a_measurement_is_run_by_its_name_and_joins_earlier_ones(tmp_path: Path) -> None:
    earlier = pd.DataFrame({"LMs": [20], "items": [20], "method": ["laplace"], "cells": [400], "s": [1.0]})
    earlier.to_csv(tmp_path / "sizes.csv", index=False)
    main(tmp_path, only=("kernel",), small=True)
    table = pd.read_csv(tmp_path / "bench.csv")
    assert set(table["measurement"]) == {"kernel", "sizes"}
    kernel = table[table["measurement"] == "kernel"]
    assert set(kernel["figure"]) == {"ns a cell", "numpyro", "ratio", "ratio to numpyro 64"}
    assert (kernel["value"] > 0).all()
    assert (tmp_path / "seconds_by_cells.png").stat().st_size > 10_000
    assert "| kernel | 20 × 50 | bits 32 |" in (tmp_path / "bench.md").read_text()


def test_figures_of_a_run_are_those_of_its_draws() -> None:
    rng = np.random.default_rng(8)
    widths = {"ability": 4, "log_discrimination": 3, "log_precision": 3, "threshold": 3}
    runs = [
        drawn.packed(
            {name: rng.normal(size=(2, 1000, size)) for name, size in widths.items()}, drawn.Gradients(10, 20), 1
        )
        for _ in range(2)
    ]
    of_run = {name: np.asarray(value) for name, value in runs[0].items()}
    run = Measured(
        of_run, cpu_seconds=2.0, seconds=3.0, process_cpu_seconds=4.0, peak_gb=1.0, before_gb=0.5, compiled=0
    )
    found = samplers.figures(run, drawn.flat(runs[1]))
    assert found["least ESS"] > 1200
    assert found["ESS per CPU s"] == pytest.approx(found["least ESS"] / 2.0)
    assert found["ESS per 1000 gradients"] == pytest.approx(found["least ESS"] / 0.03)
    assert found["reported ESS per CPU s"] == pytest.approx(found["least ESS, reported"] / 2.0)
    assert 0.4 < found["means off"] < 1.8
    assert (found["divergences"], found["draws"]) == (1.0, 2000.0)
