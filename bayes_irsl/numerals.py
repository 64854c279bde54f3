"""Numbers as people write them: a strict grammar, so that nothing is read as a number by accident."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

MISSING_MARKS = frozenset({"", "na", "nan", "null", "none", "n/a"})
"""Texts that mean "not observed" in a column of values, in any case. In a column of ids they are ids."""

Texts = NDArray[np.object_]


@dataclass(frozen=True)
class Problem:
    """Why a text is not a number: a kind, the rule it breaks and the way out."""

    kind: str
    rule: str
    way_out: str


@dataclass(frozen=True)
class Numerals:
    """How numbers are written in a file.

    Parameters
    ----------
    decimal : str
        The decimal mark.
    thousands : str or None
        The mark between groups of three digits; None means that there is none.

    Examples
    --------
    >>> Numerals().read(" .75 "), Numerals(decimal=",", thousands=".").read("1.250,5")
    (0.75, 1250.5)
    >>> Numerals().read("1_0").kind
    'not a number'
    """

    decimal: str = "."
    thousands: str | None = None

    @cached_property
    def _grammar(self) -> re.Pattern[str]:
        digits = "[0-9]+"
        if self.thousands is not None:
            digits = f"(?:[0-9]{{1,3}}(?:{re.escape(self.thousands)}[0-9]{{3}})+|[0-9]+)"
        mark = re.escape(self.decimal)
        return re.compile(f"[+-]?(?:{digits}(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][+-]?[0-9]+)?")

    def read(self, text: str) -> float | Problem:
        """Read one text; blanks around it do not count, everything else does.

        Parameters
        ----------
        text : str
            A text that is not a missing mark.

        Returns
        -------
        float or Problem
            The finite number, or why there is none.
        """
        trimmed = text.strip(" \t")
        if not self._grammar.fullmatch(trimmed):
            return self._explain(trimmed)
        plain = trimmed if self.thousands is None else trimmed.replace(self.thousands, "")
        plain = plain.replace(self.decimal, ".")
        number = float(plain)
        if np.isinf(number):
            return Problem("overflow", "the number is too large and becomes infinite", "Correct the value")
        if number == 0 and re.search("[1-9]", re.split("[eE]", plain)[0]):
            # A silent zero would turn an interior score into an exact one.
            return Problem("underflow", "the number is too small and becomes 0", "Correct the value, or write 0")
        return number

    def _explain(self, text: str) -> Problem:
        if re.fullmatch("[+-]?inf(inity)?", text, re.IGNORECASE):
            return Problem("infinite", "an infinity is not a value", "Leave it empty if the value is missing")
        if text.endswith("%"):
            return Problem("percent sign", "a percent sign is not part of a number", "Strip the sign")
        if text.lower() in {"true", "false"}:
            return Problem("truth value", "a truth value is not a number", "Write a number")
        if re.fullmatch(r"[+-]?[0-9]{1,3}((,[0-9]{3})+|([ '.][0-9]{3}){2,})(\.[0-9]+)?", text):
            mark = re.findall("[, '.]", text)[0]
            other = ' or, if it is a decimal mark, decimal="," (--decimal ",")' if text.count(",") == 1 else ""
            return Problem(
                "thousands",
                "thousands separators are not part of a number",
                f'Give thousands="{mark}" (--thousands "{mark}"){other}',
            )
        if re.fullmatch("[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?", text) and self.decimal != ",":
            return Problem("decimal comma", f'the decimal mark is "{self.decimal}"', 'Give decimal="," (--decimal ",")')
        if re.fullmatch(r"[+-]?\.?[0-9]+[.0-9]*([eE][+-]?[0-9]+)?\s*(?![eEx]|0x)[^\W\d_][^\d_]*", text):
            return Problem("unit", "a number with text behind it is not a number", "Strip the unit")
        way_out = "Correct it, or leave it empty if the value is missing"
        return Problem("not a number", "the text is not a decimal number", way_out)


@dataclass(frozen=True)
class Numbers:
    """A column read as numbers.

    Parameters
    ----------
    floats : array of float64
        The numbers; NaN where there is none.
    missing : array of bool
        True where the cell holds a missing mark.
    problems : mapping of int to Problem
        Position of every cell that is neither a number nor missing.
    """

    floats: NDArray[np.float64]
    missing: NDArray[np.bool_]
    problems: Mapping[int, Problem] = field(default_factory=dict)

    @property
    def good(self) -> NDArray[np.bool_]:
        """True where the cell holds a number."""
        return np.isfinite(self.floats)


def plain_text(value: Any) -> str:
    """Write a value of a typed table as a text file would; missing values become empty."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping | Sequence | np.ndarray):
        return str(value)
    if value is None or pd.isna(value):
        return ""
    if isinstance(value, datetime):  # pandas.Timestamp is one
        midnight = (value.hour, value.minute, value.second, value.microsecond) == (0, 0, 0, 0)
        return value.date().isoformat() if midnight else value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float | np.floating):
        return number_text(float(value))
    return str(value)


def number_text(number: float) -> str:
    """Shortest text that reads back as the number, without a trailing ``.0``."""
    return repr(number).removesuffix(".0")


def texts(column: pd.Series) -> Texts:
    """Every cell of a column as text."""
    # Mixed columns are taken cell by cell: True equals 1, and lists cannot be compared.
    if column.dtype == object:
        return np.array([plain_text(value) for value in column] + [""], dtype=object)[:-1]
    codes, uniques = pd.factorize(column)
    table: Texts = np.array([plain_text(value) for value in uniques] + [""], dtype=object)
    return np.asarray(table[codes])


def is_number_typed(column: pd.Series) -> bool:
    """Tell whether a column holds numbers by its type, truth values and complex numbers not included."""
    types, dtype = pd.api.types, column.dtype
    return types.is_numeric_dtype(dtype) and not (types.is_bool_dtype(dtype) or types.is_complex_dtype(dtype))


def read_numbers(column: pd.Series, numerals: Numerals) -> Numbers:
    """Read a column as numbers.

    Parameters
    ----------
    column : pandas.Series
        Texts, numbers, or a mixture.
    numerals : Numerals
        How its texts are written.

    Returns
    -------
    Numbers

    Examples
    --------
    >>> read_numbers(pd.Series(["1", "NA", "x"]), Numerals()).problems[2].kind
    'not a number'
    """
    if is_number_typed(column):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        infinite = Numerals().read("inf")
        assert isinstance(infinite, Problem)
        problems = dict.fromkeys(map(int, np.flatnonzero(np.isinf(values))), infinite)
        return Numbers(np.where(np.isinf(values), np.nan, values), np.isnan(values), problems)
    if column.dtype == object:
        # Numbers among the objects keep their value whatever the decimal mark of the texts.
        numerals_of = [numerals if isinstance(value, str) else Numerals() for value in column]
        return _read_texts(texts(column), numerals_of)
    codes, uniques = pd.factorize(texts(column))
    distinct = _read_texts(np.asarray(uniques, dtype=object), [numerals] * len(uniques))
    problems = {}
    if distinct.problems:
        bad = np.isin(codes, list(distinct.problems))
        problems = {int(row): distinct.problems[int(codes[row])] for row in np.flatnonzero(bad)}
    return Numbers(distinct.floats[codes], distinct.missing[codes], problems)


def _read_texts(cells: Texts, numerals: Sequence[Numerals]) -> Numbers:
    values = np.full(len(cells), np.nan)
    missing = np.zeros(len(cells), dtype=np.bool_)
    problems: dict[int, Problem] = {}
    for row, (text, how) in enumerate(zip(cells, numerals, strict=True)):
        if text.strip(" \t").lower() in MISSING_MARKS:
            missing[row] = True
            continue
        read = how.read(text)
        if isinstance(read, Problem):
            problems[row] = read
        else:
            values[row] = read
    return Numbers(values, missing, problems)
