"""The embedded data from start to end: check, fit, diagnose, forecast, figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from bayes_irsl import datasets
from bayes_irsl.diagnostics import diagnose, failed
from bayes_irsl.door.design_report import report
from bayes_irsl.engines.hmc import HMC
from bayes_irsl.files import replacing
from bayes_irsl.fitting import Fit, fit
from bayes_irsl.forecasting import forecast
from bayes_irsl.milestones import best_scores, passing_dates, records
from bayes_irsl.plots.catalogue import FIGURES
from bayes_irsl.responses import Responses
from bayes_irsl.storage import save
from bayes_irsl.summaries import summarise
from irsl_models import Model, trends

FEWEST_SCORES = 8
DAYS = ("2026-06-30", "2026-12-31")
HORIZON = "2028-12-31"
LEVEL = 0.8
SHOWN = 8
ENGINE = HMC(draws=1500, warmup=500, chains=4)


def run(out: Path, echo: Callable[[str], None], *, progress: bool = False) -> bool:
    """Run the demonstration.

    Parameters
    ----------
    out : Path
        Folder for the fit (``frontier.nc``), tables (CSV) and figures (PNG); made if it is not there.
    echo : callable
        Takes each line of the account that is given.
    progress : bool
        Show how far the fit is.

    Returns
    -------
    bool
        Whether every diagnostic passed.
    """
    out.mkdir(parents=True, exist_ok=True)
    responses = enough(datasets.frontier())
    echo(report(responses).to_text())
    fitted = fit(Model(trend=trends.random_walk), responses, ENGINE, x="date", progress=progress)
    save(fitted, out / "frontier.nc")
    checks = diagnose(fitted)
    _table(checks, out / "diagnostics.csv", "Diagnostics", echo)
    items = busiest(fitted)
    new = pd.DataFrame({"lm": [f"an LM of {day}" for day in DAYS], "date": DAYS})
    single = summarise(forecast(fitted, new, items=items))
    _table(single, out / "one_new_lm.csv", "One new LM, whoever trains it (90% intervals of its score)", echo)
    record = records(fitted, items, HORIZON)
    _table(best_scores(record, DAYS), out / "best_new_lm.csv", "The best LM by then (90% intervals)", echo)
    _table(passing_dates(record, LEVEL), out / "passing.csv", f"When the best LM passes {LEVEL:.0%}", echo)
    for name, draw in FIGURES.items():
        with replacing(out / f"{name}.png") as unfinished:
            draw(fitted).savefig(unfinished, dpi=120)
    echo(f"Everything is in {out}: frontier.nc is the fit, for forecast, predict, diagnose and plot.")
    return not failed(checks)


def enough(responses: Responses) -> Responses:
    """Items with at least `FEWEST_SCORES` scores."""
    counts = responses.cells.groupby("item").size()
    return responses.subset(items=counts.index[counts >= FEWEST_SCORES])


def busiest(fitted: Fit) -> list[str]:
    """Items with the most scores in the last year of the table, the busiest first."""
    lms = fitted.responses.lms[["lm", "date"]]
    dated = fitted.responses.cells.merge(lms, on="lm")
    year_before = f"{int(dated['date'].max()[:4]) - 1}{dated['date'].max()[4:]}"
    return [str(item) for item in dated[dated["date"] > year_before]["item"].value_counts().index[:SHOWN]]


def _table(table: pd.DataFrame, path: Path, title: str, echo: Callable[[str], None]) -> None:
    with replacing(path) as unfinished:
        table.to_csv(unfinished, index=False, float_format="%.4g")
    echo(f"\n{title}\n{table.round(3).to_string(index=False)}")
