"""New LMs of a forecast: from words such as ``flops=1e25``, or from a table."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bayes_irsl.cli.words import pairs
from bayes_irsl.errors import Fault, InputError

if TYPE_CHECKING:
    import pandas as pd

    from bayes_irsl.door.options import Options
    from bayes_irsl.fitting import Fit


def new_lms(fit: Fit, at: Sequence[str], source: Path | None, options: Options) -> pd.DataFrame:
    """Table of new LMs, its columns of the same types as those of the fit.

    Parameters
    ----------
    fit : Fit
        The fit they are forecast from.
    at : sequence of str
        ``NAME=VALUE`` words of one new LM; a NAME given several times makes one LM for each of its values.
    source : Path or None
        Or a table with a column lm.
    options : Options
        How the table is written.

    Raises
    ------
    InputError
        If both or neither are given, or a name means nothing to the fit.
    """
    import numpy as np
    import pandas as pd

    from bayes_irsl.door.newcomers import read_new_lms
    from bayes_irsl.door.sources import Table

    if bool(at) == (source is not None):
        rule = "new LMs come from --at or from --lms, one of the two"
        raise InputError(Fault("option at", "option", rule, "Give --at NAME=VALUE or --lms NEW.csv"))
    known, x = fit.responses.lms, (fit.axis.name, fit.axis.how) if fit.axis else None
    if source is not None:
        return read_new_lms(source, known, x, options)
    names = [*([fit.axis.name] if fit.axis else []), *fit.groups, "lm"]
    rows = pd.DataFrame(rows_at(at, names), dtype="str")
    if x is not None and x[0] not in rows:
        rule = f"there is no {x[0]}, the scaling variable of the fit"
        raise InputError(Fault("option at", "option", rule, f"Give --at {x[0]}=VALUE"))
    table = Table("lms", "option at", rows, np.arange(1, len(rows) + 1), "LM")
    return read_new_lms(table, known, x, replace(options, columns={}))


def rows_at(words: Sequence[str], known: Sequence[str]) -> list[dict[str, str]]:
    """Rows that ``NAME=VALUE`` words stand for; an LM without a name is called by its values.

    Examples
    --------
    >>> rows_at(["date=2026-06-30", "date=2026-12-31"], ["date"])
    [{'date': '2026-06-30', 'lm': 'date=2026-06-30'}, {'date': '2026-12-31', 'lm': 'date=2026-12-31'}]
    """
    values: dict[str, list[str]] = {}
    for word in words:
        for name, value in pairs("at", [word], "NAME=VALUE", example="flops=1e25 flops=1e26").items():
            if value not in values.setdefault(name, []):
                values[name].append(value)
    unknown = [name for name in values if name not in known]
    if unknown:
        way_out = f"Known are {', '.join(known)}"
        raise InputError(*(Fault("option at", "option", "the fit has no such name", way_out, name) for name in unknown))
    if len(values.get("lm", [])) > 1:
        raise InputError(Fault("option at", "option", "several LMs are named", "Give a table with --lms instead"))
    rows = [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())]
    return [{**row, "lm": _name(row, alone=len(rows) == 1)} for row in rows]


def _name(row: dict[str, str], *, alone: bool) -> str:
    """Call an LM by its own name, by its values, or by both where several LMs share the name."""
    if alone and "lm" in row:
        return row["lm"]
    return " ".join([*([row["lm"]] if "lm" in row else []), *(f"{k}={v}" for k, v in row.items() if k != "lm")])
