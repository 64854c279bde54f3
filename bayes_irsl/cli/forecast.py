"""`bayes-irsl forecast`: scores of LMs not yet seen."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from bayes_irsl.cli.new_lms import new_lms
from bayes_irsl.cli.output import TABLE_ENDINGS, check_target, say, show, speaking_of, write_summary
from bayes_irsl.cli.tables import IN_OUR_FORM, Writing
from bayes_irsl.cli.words import Probability, Seed, Words
from bayes_irsl.errors import gathered

EXAMPLE = "Example: bayes-irsl forecast fit.nc --at flops=1e25 family=ours --by benchmark --out forecast.csv"
By = Literal["item", "benchmark"]
Kind = Literal["score", "expected"]


def forecast(
    fit: Path,
    /,
    *,
    out: Path,
    at: Words = (),
    lms: Path | None = None,
    writing: Writing = IN_OUR_FORM,
    by: By = "item",
    kind: Kind = "score",
    prob: Probability = 0.9,
    draws_out: Path | None = None,
    seed: Seed = 0,
    overwrite: bool = False,
) -> None:
    """Forecast scores of LMs that are not in the fit.

    A group that the fit does not know, or none at all, is a new group.

    Parameters
    ----------
    fit : Path
        File that fit wrote.
    out : Path
        Table to write: .csv, .tsv, .parquet or .jsonl.
    at : tuple of str
        NAME=VALUE of one new LM: x, groups, lm (its name). A NAME that is given several times, as in
        flops=1e25 flops=1e26, makes one LM of each value.
    lms : Path or None
        Or a table of new LMs: lm, the scaling variable, groups.
    writing : Writing
        How that table is written.
    by : {"item", "benchmark"}
        One row for each item or each benchmark.
    kind : {"score", "expected"}
        What one evaluation will report, noise included; or the expected score under the model.
    prob : float
        Probability inside the interval.
    draws_out : Path or None
        Table of draws to write: lm, item or benchmark, draw, value. The fit needs at least 1,000 draws, all chains
        together.
    seed : int
        Seed of what is drawn.
    overwrite : bool
        Replace OUT and DRAWS_OUT if they are there.
    """
    inputs = [fit, *([lms] if lms else [])]
    targets = [lambda: check_target(out, TABLE_ENDINGS, inputs, overwrite=overwrite)]
    if draws_out:
        targets.append(lambda: check_target(draws_out, TABLE_ENDINGS, [*inputs, out], "draws-out", overwrite=overwrite))
    gathered(*targets)

    from bayes_irsl import forecasting
    from bayes_irsl.storage import load

    found = load(fit)
    with speaking_of(fit):
        cells = forecasting.new_cells(found, new_lms(found, at, lms, writing.options()), seed=seed)
        table = write_summary(cells.parts(by, kind), kind, prob, out, draws_out)
    show(table)
    for note in cells.notes:
        say(f"- {note}")
    say(f"saved: {' and '.join(map(str, [out, *([draws_out] if draws_out else [])]))}")
