"""Forecast the frontier: fit to language models released up to a day, ask for the scores of the later ones.

``python -m bayes_irsl.studies.frontier_holdout`` writes one row per cutoff and method.
"""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
from cyclopts import App

from bayes_irsl import datasets
from bayes_irsl.engines.base import Engine
from bayes_irsl.engines.hmc import HMC
from bayes_irsl.fitting import fit
from bayes_irsl.forecasting import forecast
from bayes_irsl.responses import Responses
from bayes_irsl.scaling_values import years
from bayes_irsl.scores import score_forecast
from bayes_irsl.studies.baselines import BASELINES
from irsl_models import Model, trends

CUTOFFS = ("2025-06-30", "2024-12-31")
FEWEST_SCORES = 8
app = App(help=__doc__)


def split(responses: Responses, cutoff: str) -> tuple[Responses, pd.DataFrame]:
    """Scores up to a day, and later ones of the items that have enough of the former.

    Returns
    -------
    Responses
        LMs released up to and on `cutoff`, items with at least `FEWEST_SCORES` scores of theirs.
    pandas.DataFrame
        ``lm, item, score, date`` of the later LMs on these items.

    Examples
    --------
    >>> train, later = split(datasets.frontier(), "2025-06-30")
    >>> len(train.cells), len(later)
    (1787, 531)
    """
    dated = responses.cells.merge(responses.lms[["lm", "date"]], on="lm")
    early = dated[dated["date"] <= cutoff]
    counts = early.groupby("item").size()
    items = counts.index[counts >= FEWEST_SCORES]
    later = dated[(dated["date"] > cutoff) & dated["item"].isin(items)]
    kept = early[early["item"].isin(items)]
    return responses.subset(lms=kept["lm"].unique(), items=items), later.reset_index(drop=True)


def by_model(train: Responses, later: pd.DataFrame, engine: Engine, seed: int = 0) -> np.ndarray:
    """Draws of the later scores from the joint model: date only, no word of who the LMs are."""
    fitted = fit(Model(trend=trends.random_walk), train, engine, x="date", seed=seed)
    new = later[["lm", "date"]].drop_duplicates()
    draws = forecast(fitted, new, seed=seed)["score"]
    asked = pd.MultiIndex.from_frame(later[["lm", "item"]])
    picked = draws.to_numpy()[..., draws["cell"].to_index().get_indexer(asked)]
    return np.asarray(picked.reshape(-1, len(later)))


def by_baseline(name: str, train: Responses, later: pd.DataFrame, seed: int = 0) -> np.ndarray:
    """Draws of the later scores from one curve or mean per item."""
    rng = np.random.default_rng(seed)
    dated = train.cells.merge(train.lms[["lm", "date"]], on="lm")
    now = years(date.fromisoformat(dated["date"].max()))
    draws: np.ndarray | None = None
    for item, asked in later.groupby("item"):
        known = dated[dated["item"] == item]
        past, target = (np.array([years(date.fromisoformat(day)) for day in table["date"]]) for table in (known, asked))
        drawn = BASELINES[name](known["score"].to_numpy(), past - now, target - now, rng)
        draws = np.empty((len(drawn), len(later))) if draws is None else draws
        draws[:, asked.index] = drawn
    assert draws is not None
    return draws


def study(cutoff: str, engine: Engine, seed: int = 0) -> pd.DataFrame:
    """Score the joint model and the baselines on one cutoff: one row per method."""
    train, later = split(datasets.frontier(), cutoff)
    forecasts = {"bayes-irsl": by_model(train, later, engine, seed)}
    forecasts |= {name: by_baseline(name, train, later, seed) for name in BASELINES}
    rows = [
        {"cutoff": cutoff, "method": name, **score_forecast(later["score"].to_numpy(), draws).mean().to_dict()}
        for name, draws in forecasts.items()
    ]
    table = pd.DataFrame(rows).drop(columns="pit")
    return table.assign(n_lms=later["lm"].nunique(), n_scores=len(later), n_trained=len(train.cells))


@app.default
def main(out: Path = Path("frontier_holdout.csv"), *, draws: int = 1000, chains: int = 4, seed: int = 0) -> None:
    """Run the study.

    Parameters
    ----------
    out : Path
        CSV file to write.
    draws, chains : int
        Draws per chain, and chains, of HMC.
    seed : int
        Seed of everything.
    """
    engine = HMC(draws=draws, chains=chains)
    table = pd.concat([study(cutoff, engine, seed) for cutoff in CUTOFFS], ignore_index=True)
    table.to_csv(out, index=False, float_format="%.4f")
    sys.stdout.write(table.round(4).to_string(index=False) + "\n")


if __name__ == "__main__":
    app()
