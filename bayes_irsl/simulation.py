"""Tables drawn from exactly the prior that is fitted, with the truth kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import jax
import numpy as np
import pandas as pd
import xarray as xr

from bayes_irsl import encoding, prediction, reporting, seeds
from bayes_irsl.engines.base import sampled
from bayes_irsl.fitting import double_precision
from bayes_irsl.responses import Responses
from irsl_models import Model, likelihoods, trends


@dataclass(frozen=True, eq=False)
class Truth:
    """A simulated table and what made it.

    Parameters
    ----------
    responses : Responses
        The table, ready to fit.
    values : xarray.Dataset
        Every reported quantity (`reporting.RULE`), without draws.
    sites : mapping of str to np.ndarray
        Every site, on the scale of the model.
    """

    responses: Responses
    values: xr.Dataset
    sites: Mapping[str, np.ndarray]


def simulate(
    model: Model,
    *,
    n_lms: int,
    n_items: int,
    n_benchmarks: int = 1,
    n_groups: int = 0,
    trials: int = 20,
    chance: float = np.nan,
    missing: float = 0.0,
    x: np.ndarray | None = None,
    seed: int = 0,
) -> Truth:
    """Draw a table from the prior of a model.

    Parameters
    ----------
    model : Model
        What to draw from; it needs a likelihood.
    n_lms, n_items, n_benchmarks, n_groups : int
        Sizes. Items are spread evenly over benchmarks, LMs over groups (column ``group``; none if 0).
    trials : int
        Trials behind each response, for likelihoods of counts; `likelihoods.bernoulli` has one.
    chance : float
        Score of blind guessing of every item; without it a curve with a lower asymptote has none.
    missing : float
        Share of cells left out at random. Every LM and item keeps at least one response.
    x : np.ndarray, optional
        Scaling variable of each LM (column ``x``, linear); equally spaced if not given.
    seed : int
        Same seed, same table.

    Examples
    --------
    >>> import bayes_irsl as bi
    >>> truth = bi.simulate(bi.Model(likelihood=bi.likelihoods.beta), n_lms=5, n_items=4, seed=3)
    >>> len(truth.responses.cells), sorted(truth.values.data_vars)[:2]
    (20, ['ability', 'difficulty'])
    """
    seed = seeds.checked(seed)
    rng = np.random.default_rng(seed)
    lms = pd.DataFrame({"lm": [f"lm-{i:0{len(str(n_lms))}d}" for i in range(n_lms)]})
    scaled = model.trend is not trends.none
    values = np.linspace(-1.0, 1.0, n_lms) if x is None else np.asarray(x, dtype=float)
    if scaled:
        lms["x"] = values
    if n_groups:
        lms["group"] = [f"group-{i % n_groups}" for i in range(n_lms)]
    items = pd.DataFrame(
        {
            "item": [f"item-{j:0{len(str(n_items))}d}" for j in range(n_items)],
            "benchmark": [f"benchmark-{j * n_benchmarks // n_items}" for j in range(n_items)],
            "chance": chance,
        }
    )
    lm, item = np.divmod(np.flatnonzero(_kept(rng, n_lms, n_items, missing)), n_items)
    cells = pd.DataFrame({"lm": lms["lm"].to_numpy()[lm], "item": items["item"].to_numpy()[item]})
    standard = (values - values.mean()) / values.std() if scaled else None
    population = encoding.population(cells, lms, items, standard, ["group"] if n_groups else [])
    if model.likelihood is likelihoods.bernoulli:
        trials = 1
    with double_precision():
        design = encoding.design(population, lm, item, trials=np.full(len(lm), trials))
        names = tuple(sampled(model, design))
        drawn = prediction.read(model, (*names, *reporting.DERIVED), design, jax.random.key(seed), {})
    everything = {name: np.asarray(value) for name, value in drawn.items()}
    sites = {name: everything[name] for name in names}
    response = sites.pop("successes" if "successes" in sites else "score")
    if "successes" in drawn:
        cells = cells.assign(successes=response.astype(int), trials=np.asarray(design.trials))
    else:
        cells = cells.assign(score=response)
    one_draw = {name: value[None, None] for name, value in everything.items()}
    unit = float(values.std()) if scaled else 1.0
    reported = reporting.reported(one_draw, population, unit).isel(chain=0, draw=0)
    return Truth(Responses(cells, lms, items), reported, sites)


def _kept(rng: np.random.Generator, n_lms: int, n_items: int, missing: float) -> np.ndarray:
    """Cells to keep: a random share of fixed size, among them at least one of every LM and item."""
    order = rng.permutation(n_lms * n_items).reshape(n_lms, n_items)
    first = np.zeros_like(order, dtype=bool)
    first[np.arange(n_lms), order.argmin(1)] = True
    first[order.argmin(0), np.arange(n_items)] = True
    rank = np.where(first, order - order.size, order)
    count = max(int(first.sum()), round((1.0 - missing) * order.size))
    return np.asarray(rank <= np.sort(rank, axis=None)[count - 1])
