"""Values of a scaling variable on its scale: decades, years, or as they are; float64 on the host."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bayes_irsl.numerals import MISSING_MARKS, Numerals, Problem, plain_text

How = Literal["log10", "linear", "date"]
HOWS: tuple[How, ...] = ("log10", "linear", "date")
UNITS: dict[How, str] = {"log10": "decades", "linear": "units", "date": "years"}
EPOCH = date(2000, 1, 1)
DAYS_PER_YEAR = 365.25
ISO_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")


def is_iso_date(text: str) -> bool:
    """Tell whether a text has the form of an ISO date, ``2024-05-31``."""
    return ISO_DATE.fullmatch(text.strip()) is not None


def years(day: date) -> float:
    """Year with its fraction, 365.25 days each, 2000.0 on 2000-01-01.

    Examples
    --------
    >>> round(years(date(2024, 7, 1)), 3)
    2024.498
    """
    return EPOCH.year + (day - EPOCH).days / DAYS_PER_YEAR


def transform(
    values: Sequence[str | float | date | None], how: How, numerals: Numerals, name: str | None = None
) -> tuple[NDArray[np.float64], dict[int, Problem]]:
    """Put values on their scale.

    Parameters
    ----------
    values : sequence of str, float, date or None
        As they stand in a table; missing ones are None, NaN or a missing mark.
    how : {"log10", "linear", "date"}
        The scale.
    numerals : Numerals
        How numbers in texts are written.
    name : str, optional
        Name of the variable where another scale can still be chosen, to say how.

    Returns
    -------
    array of float64
        NaN where a value is missing or has no place on the scale.
    dict of int to Problem
        Positions without a place on the scale, and why.

    Examples
    --------
    >>> transform(["1e24", 0.0], "log10", Numerals())[1][1].rule
    'log10 needs values above 0'
    """
    out = np.full(len(values), np.nan)
    problems: dict[int, Problem] = {}
    for row, value in enumerate(values):
        text = plain_text(value).strip()
        if text.lower() in MISSING_MARKS:
            continue
        if how == "date":
            placed = _year(text)
        else:
            placed = _number(text, how, numerals if isinstance(value, str) else Numerals(), name)
        if isinstance(placed, Problem):
            problems[row] = placed
        else:
            out[row] = placed
    return out, problems


def needed(problem: Problem) -> Problem:
    """Leave the way out of an empty cell off where a value is needed."""
    return replace(problem, way_out=problem.way_out.partition(", or leave it empty")[0])


def untransform(at: NDArray[np.float64], how: How) -> NDArray[Any]:
    """Invert `transform`: numbers, or dates to the nearest day.

    Examples
    --------
    >>> untransform(np.array([2000.0]), "date").astype(str).tolist()
    ['2000-01-01']
    """
    if how == "log10":
        return np.power(10.0, at)
    if how == "linear":
        return at
    days = np.rint((at - EPOCH.year) * DAYS_PER_YEAR)
    known = np.isfinite(days)
    day = np.datetime64(EPOCH) + np.where(known, days, 0).astype("timedelta64[D]")
    return np.where(known, day, np.datetime64("NaT", "D"))


def _number(text: str, how: How, numerals: Numerals, name: str | None) -> float | Problem:
    read = numerals.read(text)
    if isinstance(read, Problem):
        if read.kind == "infinite":
            return Problem("infinite", "an infinity has no place in a trend", "Correct it, or leave it empty")
        if is_iso_date(text):
            return Problem("date", "a date is not a number", f"Write {name}:date" if name else "Correct it")
        return read
    if how == "linear":
        return read
    if read > 0:
        return float(np.log10(read))
    rule = "log10 needs values above 0"
    if name is None:
        return Problem("not positive", rule, "Correct it")
    if read == 0:
        return Problem("zero", rule, f"A zero may be an untrained checkpoint: drop it, or write {name}:linear")
    return Problem("negative", rule, f"Correct it, or write {name}:linear")


def _year(text: str) -> float | Problem:
    way_out = "Write YYYY-MM-DD"
    if is_iso_date(text):
        try:
            return years(date.fromisoformat(text))
        except ValueError:
            return Problem("date", "there is no such day", "Correct it")
    if re.fullmatch("[0-9]{4}(-[0-9]{2})?", text):
        return Problem("partial date", "the date has no day", f"{way_out}; choose the day yourself")
    if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+.*", text):
        return Problem("date", "the date has a time of day", f"{way_out} without the time")
    return Problem("date", "the date is not written as YYYY-MM-DD", way_out)
