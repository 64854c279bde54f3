"""`bayes-irsl check`: what the data door found, nothing fitted."""

from __future__ import annotations

import json as notation
from pathlib import Path

from bayes_irsl.cli.output import say
from bayes_irsl.cli.tables import AS_WRITTEN, Tables
from bayes_irsl.cli.words import Words

EXAMPLE = "Example: bayes-irsl check scores.csv --lms lms.csv --x flops --columns lm=subject score=response"


def check(responses: Path, /, *, tables: Tables = AS_WRITTEN, x: Words = (), json: bool = False) -> None:
    """Check tables and describe what is in them; nothing is fitted.

    Parameters
    ----------
    responses : Path
        Table of responses: lm, item, score; or lm, item, successes, trials.
    tables : Tables
        How the tables are written and read.
    x : tuple of str
        Scaling variables to check as well, columns of the LMs: NAME[:log10|linear|date].
    json : bool
        Print the report as JSON.
    """
    from bayes_irsl.checking import check as describe

    found = describe(tables.read(responses), x, missing_x=tables.missing_x)
    say(notation.dumps(found.to_dict(), indent=2) if json else found.to_text())
