"""`bayes-irsl predict`: scores that were not observed, of LMs that are in the fit."""

from __future__ import annotations

from pathlib import Path

from bayes_irsl.cli.forecast import By, Kind
from bayes_irsl.cli.output import TABLE_ENDINGS, check_target, say, show, write_summary
from bayes_irsl.cli.words import Probability, Seed

EXAMPLE = "Example: bayes-irsl predict fit.nc --by benchmark --out predicted.csv"


def predict(
    fit: Path,
    /,
    *,
    out: Path,
    by: By = "item",
    kind: Kind = "score",
    prob: Probability = 0.9,
    seed: Seed = 0,
    overwrite: bool = False,
) -> None:
    """Predict the cells that were not observed of LMs that are in the fit.

    Parameters
    ----------
    fit : Path
        File that fit wrote.
    out : Path
        Table to write: .csv, .tsv, .parquet or .jsonl.
    by : {"item", "benchmark"}
        One row for each item, or the mean over the unobserved items of each benchmark.
    kind : {"score", "expected"}
        What one evaluation would report, noise included; or the expected score under the model.
    prob : float
        Probability inside the interval.
    seed : int
        Seed of what is drawn.
    overwrite : bool
        Replace OUT if it is there.
    """
    check_target(out, TABLE_ENDINGS, [fit], overwrite=overwrite)

    from bayes_irsl import forecasting
    from bayes_irsl.storage import load

    parts = forecasting.known_cells(load(fit), seed=seed).parts(by, kind)
    table = write_summary(parts, kind, prob, out)
    show(table)
    say(f"saved: {out}")
