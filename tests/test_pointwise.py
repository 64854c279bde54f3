"""Log densities of the responses: those of SciPy and of NumPyro, in the form that ArviZ takes."""

from dataclasses import dataclass
from typing import Any

import arviz as az
import jax
import numpy as np
import numpyro.infer
import pytest
import scipy.stats
import xarray as xr
from scipy.special import expit

import bayes_irsl as bi
from bayes_irsl import prediction, room
from bayes_irsl.designs import observed
from bayes_irsl.engines.base import Draws
from bayes_irsl.fitting import double_precision


@dataclass(frozen=True)
class Near:
    """Some draws near given values, for what is true of any draws."""

    sites: Any
    draws: int = 30
    name: str = "near"

    def run(self, model: Any, design: Any, seed: int, running: Any = None) -> Draws:
        rng = np.random.default_rng(seed)
        moved = {
            name: at * np.exp(0.02 * rng.normal(size=(2, self.draws, *at.shape))) for name, at in self.sites.items()
        }
        return Draws(moved, {})


def made(likelihood: Any, missing: float, **sizes: Any) -> bi.Fit:
    model = bi.Model(likelihood=likelihood, departures=())
    truth = bi.simulate(model, n_lms=6, n_items=5, missing=missing, seed=4, **sizes)
    return bi.fit(model, truth.responses, Near(truth.sites), x="x:linear", seed=1)


def logits(fit: bi.Fit) -> np.ndarray:
    """Logit of the mean of every cell, dimensions (chain, draw, cell)."""
    cells, sites = fit.responses.cells, fit.sites
    lm = fit.responses.lms["lm"].searchsorted(cells["lm"])
    item = fit.responses.items["item"].searchsorted(cells["item"])
    slope = np.exp(sites["log_discrimination"])[..., item]
    found: np.ndarray = slope * sites["ability"][..., lm] - sites["threshold"][..., item]
    return found


@pytest.mark.parametrize("missing", [0.0, 0.3, 0.8])
def test_scores_are_beta(missing: float) -> None:
    """Full, with gaps and by cells: all in the order of the table."""
    fit = made(bi.likelihoods.beta, missing)
    found = bi.log_likelihood(fit)["log_likelihood"]["score"]
    item = fit.responses.items["item"].searchsorted(fit.responses.cells["item"])
    mean, precision = expit(logits(fit)), np.exp(fit.sites["log_precision"])[..., item]
    score = fit.responses.cells["score"].to_numpy()
    expected = scipy.stats.beta(mean * precision, (1.0 - mean) * precision).logpdf(score)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert found["lm"].to_numpy().tolist() == fit.responses.cells["lm"].tolist()
    assert found["item"].to_numpy().tolist() == fit.responses.cells["item"].tolist()


def test_counts_have_their_coefficient() -> None:
    fit = made(bi.likelihoods.binomial, 0.3, trials=7)
    tree = bi.log_likelihood(fit)
    cells = fit.responses.cells
    expected = scipy.stats.binom(cells["trials"], expit(logits(fit))).logpmf(cells["successes"])
    np.testing.assert_allclose(tree["log_likelihood"]["successes"], expected, rtol=1e-9, atol=1e-9)
    assert tree["observed_data"]["successes"].to_numpy().tolist() == cells["successes"].tolist()


def test_the_sum_is_that_of_numpyro(fit: bi.Fit) -> None:
    """With all departures: benchmarks, drift, groups."""
    few = fit.thinned(6)
    found = bi.log_likelihood(few)["log_likelihood"]["score"].to_numpy()
    with double_precision():
        design = observed(few.model, few.population, few.responses.cells)
        sites = {name: jax.numpy.asarray(value) for name, value in few.sites.items()}
        theirs = numpyro.infer.log_likelihood(few.model, sites, design, batch_ndims=2)["score"]
    np.testing.assert_allclose(found.sum(-1), theirs, rtol=1e-10)


def test_on_disk_it_is_the_same(fit: bi.Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    few = fit.thinned(20)
    usual = bi.log_likelihood(few)["log_likelihood"]["score"]
    monkeypatch.setattr(room, "MOST_IN_MEMORY", 100)
    monkeypatch.setattr(prediction, "_MOST_VALUES", 700)
    found = bi.log_likelihood(few)["log_likelihood"]["score"]
    assert isinstance(found.to_numpy().base, np.memmap)
    np.testing.assert_allclose(found, usual, rtol=1e-11)


@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto")
def test_arviz_takes_it(fit: bi.Fit) -> None:
    tree = bi.log_likelihood(fit)
    loo = az.loo(tree, pointwise=True)
    table = az.compare({"good": tree, "worse": worse(tree)})
    assert loo.n_data_points == len(fit.responses.cells)
    # What is left out is foretold worse than what was seen: by so many parameters as it takes.
    within = az.extract(tree, group="log_likelihood", var_names="score").to_numpy()
    lpd = np.logaddexp.reduce(within, axis=-1 if within.shape[0] == loo.n_data_points else 0) - np.log(600)
    assert 20 < lpd.sum() - loo.elpd < 90
    assert loo.p == pytest.approx(lpd.sum() - loo.elpd, rel=1e-6)
    assert table.index.tolist() == ["good", "worse"]
    np.testing.assert_allclose(loo.elpd - az.loo(worse(tree)).elpd, 0.1 * loo.n_data_points, rtol=1e-6)


def worse(tree: xr.DataTree) -> xr.DataTree:
    """The same, with every density a tenth of a nat lower."""
    parts = {name: part.to_dataset() for name, part in tree.children.items()}
    return xr.DataTree.from_dict({**parts, "log_likelihood": parts["log_likelihood"] - 0.1})
