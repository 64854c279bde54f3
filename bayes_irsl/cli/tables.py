"""TABLES: the options about tables of responses, the same for every command that reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cyclopts import Parameter

from bayes_irsl.cli.words import Words, pairs
from bayes_irsl.errors import Fault, InputError

if TYPE_CHECKING:
    from bayes_irsl.door.options import Options
    from bayes_irsl.responses import Responses


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Writing:
    """Options that say how a table is written.

    Parameters
    ----------
    columns : tuple of str
        Names of columns that differ from ours, NEW=OLD each: lm=subject score=correct.
    sep : str or None
        Separator of text files; a comma, or a tab in .tsv, if not given.
    decimal : str
        Decimal mark.
    thousands : str or None
        Mark between thousands.
    """

    columns: Words = ()
    sep: str | None = None
    decimal: str = "."
    thousands: str | None = None

    def options(self) -> Options:
        """Return them as the data door takes them."""
        from bayes_irsl.door.options import Options

        return Options(pairs("columns", self.columns, "NEW=OLD"), self.sep, self.decimal, self.thousands)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Tables(Writing):
    """Options that say how the tables are written and read.

    Parameters
    ----------
    lms : Path or None
        Table of LMs: lm and covariates.
    items : Path or None
        Table of items: item, benchmark, chance.
    scale : tuple of str
        "percent", or ITEM=percent each: scores that run from 0 to 100.
    map : tuple of str
        What texts in the score column mean, TEXT=NUMBER each: correct=1 incorrect=0.
    on_duplicate : {"error", "first", "replicate"}
        What a repeated pair of LM and item is.
    filter : str or None
        Keep the rows whose column filter has this value.
    on_boundary : {"auto", "error", "squeeze"}
        What happens to scores of exactly 0 or 1 among others.
    missing_x : {"error", "no-trend", "drop"}
        What becomes of LMs without the scaling variable.
    allow_disconnected : bool
        Accept parts of LMs and items that no response links.
    """

    lms: Path | None = None
    items: Path | None = None
    scale: Words = ()
    map: Words = ()
    on_duplicate: Literal["error", "first", "replicate"] = "error"
    filter: str | None = None
    on_boundary: Literal["auto", "error", "squeeze"] = "auto"
    missing_x: Literal["error", "no-trend", "drop"] = "error"
    allow_disconnected: bool = False

    def read(self, responses: Path) -> Responses:
        """Read and check the tables."""
        from bayes_irsl.door.reading import read_responses

        return read_responses(
            responses,
            self.lms,
            self.items,
            columns=pairs("columns", self.columns, "NEW=OLD"),
            sep=self.sep,
            decimal=self.decimal,
            thousands=self.thousands,
            scale=_scale(self.scale),
            map=_numbers(self.map),
            on_duplicate=self.on_duplicate,
            filter=self.filter,
            on_boundary=self.on_boundary,
            allow_disconnected=self.allow_disconnected,
        )

    def files(self, responses: Path) -> list[Path]:
        """Files that are read, which no output may replace."""
        return [path for path in (responses, self.lms, self.items) if path is not None]


AS_WRITTEN = Tables()
"""Tables in our own form: no option given."""
IN_OUR_FORM = Writing()


def _scale(words: Iterable[str]) -> Any:
    """Read ``percent`` alone, or ``ITEM=percent`` for some items."""
    given = list(words)
    if not given:
        return None
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    return pairs("scale", given, "ITEM=percent", last=True)


def _numbers(words: Iterable[str]) -> Mapping[str, float]:
    faults, meaning = [], {}
    for text, number in pairs("map", words, "TEXT=NUMBER", last=True).items():
        try:
            meaning[text] = float(number)
        except ValueError:
            rule = "a text means a number from 0 to 1"
            faults.append(Fault("option map", "option", rule, "Write TEXT=NUMBER", f"{text}={number}"))
    if faults:
        raise InputError(*faults)
    return meaning
