"""Covariates of LMs and columns of items, from their own tables or from constant columns of the responses."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayes_irsl.door.draft import Draft, is_blank
from bayes_irsl.door.sources import Table
from bayes_irsl.numerals import Numerals, Texts, is_number_typed, read_numbers
from bayes_irsl.scaling_values import HOWS, How
from bayes_irsl.wording import counted, listed

OWN = ("lm", "item", "score", "successes", "trials", "filter")
ITEM_OWN = ("benchmark", "chance")


@dataclass(frozen=True)
class Described:
    """A table with one row for each LM or item.

    Parameters
    ----------
    table : pandas.DataFrame
        The id first; then float64 or text columns.
    notes : tuple of str
        What was left aside or looks odd.
    marks : mapping of str to {"log10", "linear", "date"}
        Columns whose header says how they scale, such as ``usd:log10``.
    places : mapping of str to str
        Where each id is described.
    """

    table: pd.DataFrame
    notes: tuple[str, ...] = ()
    marks: dict[str, How] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)


def describe_lms(draft: Draft, present: Iterable[str]) -> Described:
    """Collect the LMs that have responses and their covariates.

    Parameters
    ----------
    draft : Draft
        Tables without faults.
    present : iterable of str
        LMs with at least one response.

    Returns
    -------
    Described
    """
    if draft.lms is None:
        names = [c for c in draft.responses.data.columns if c not in (*OWN, *ITEM_OWN)]
        chosen, left = _constant(draft.responses, draft.lm, names)
        notes = [f"{draft.responses.file}: not constant within an LM and not used: {', '.join(left)}"] if left else []
        return _described(draft.responses, draft.lm, chosen, present, "lm", notes, draft.options.numerals)
    names = [c for c in draft.lms.data.columns if c != "lm"]
    unused = [c for c in draft.responses.data.columns if c not in (*OWN, *ITEM_OWN)]
    notes = [f"{draft.responses.file}: not used: {', '.join(unused)}"] if unused else []
    notes += _without_responses(draft.lms, "lm", present, "LM")
    return _described(draft.lms, draft.lms.texts("lm"), names, present, "lm", notes, draft.options.numerals)


def describe_items(draft: Draft, present: Iterable[str]) -> Described:
    """Collect the items that have responses, their benchmarks and chances.

    Parameters
    ----------
    draft : Draft
        Tables without faults.
    present : iterable of str
        Items with at least one response.

    Returns
    -------
    Described
        With the columns ``benchmark`` (the item itself if none is given) and ``chance``.
    """
    notes: list[str] = []
    table = draft.items or draft.responses
    if draft.items is None:
        names, left = _constant(table, draft.item, [c for c in table.data.columns if c in ITEM_OWN])
        if left:
            notes.append(f"{table.file}: not constant within an item and not used: {', '.join(left)}")
    else:
        names = [c for c in table.data.columns if c != "item"]
        both = [c for c in ITEM_OWN if c in draft.responses.data.columns]
        if both:
            notes.append(f"{draft.responses.file}: not used because there is a table of items: {', '.join(both)}")
        notes += _without_responses(table, "item", present, "item")
    found = _described(table, table.texts("item"), names, present, "item", notes, draft.options.numerals)
    data = found.table
    if "benchmark" not in names:
        data = data.assign(benchmark=data["item"])
        found = Described(data, (*found.notes, "no benchmarks are given: each item stands for itself"))
    else:
        # Benchmarks are names, numbered ones as well.
        ids = pd.Series(table.texts("benchmark"), index=table.texts("item"), dtype="str")
        data = data.assign(benchmark=ids[~ids.index.duplicated()].reindex(data["item"]).to_numpy())
    if "chance" not in names:
        data = data.assign(chance=np.nan)
    first = ["item", "benchmark", "chance"]
    data = data[[*first, *(c for c in data.columns if c not in first)]].astype({"benchmark": "str"})
    return Described(data, found.notes)


def _constant(table: Table, ids: Texts, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split columns into those that are constant within each id and the others."""
    code, _ = pd.factorize(ids)
    constant: list[str] = []
    left: list[str] = []
    for name in names:
        value, _ = pd.factorize(table.texts(name))
        first: NDArray[np.int64] = np.zeros(code.max() + 1, dtype=np.int64)
        first[code[::-1]] = value[::-1]
        (constant if (first[code] == value).all() else left).append(name)
    return constant, left


def _without_responses(table: Table, column: str, present: Iterable[str], word: str) -> list[str]:
    absent = sorted(set(table.texts(column)) - set(present))
    if not absent:
        return []
    have = "has no responses and is" if len(absent) == 1 else "have no responses and are"
    return [f"{table.file}: {counted(len(absent), word)} {have} left out ({listed(absent)})"]


def _described(
    table: Table,
    ids: Texts,
    names: Sequence[str],
    present: Iterable[str],
    column: str,
    notes: Sequence[str],
    numerals: Numerals,
) -> Described:
    first = ~pd.Series(ids).duplicated().to_numpy()
    rows = np.flatnonzero(first & np.isin(ids.astype(str), np.array(sorted(present), dtype=str)))
    found = pd.DataFrame({column: pd.Series(ids[rows], dtype="str")})
    told, marks = list(notes), {}
    for name in names:
        bare, _, how = name.rpartition(":")
        if bare and how in HOWS and bare not in names:
            marks[bare] = how
        else:
            bare = name
        values, note = _values(table.data[name].iloc[rows].reset_index(drop=True), numerals)
        found[bare] = values
        if note:
            told.append(f"{table.file}: {bare}: {note}")
    places = {str(ids[row]): f"{table.file}, {table.word} {table.lines[row]}" for row in rows}
    return Described(found, tuple(told), marks, places)


def _values(column: pd.Series, numerals: Numerals) -> tuple[pd.Series, str | None]:
    """Read a column as numbers if all of it is, and leave it text otherwise."""
    if is_number_typed(column):
        return pd.Series(column.to_numpy(dtype=np.float64, na_value=np.nan)), None
    read = read_numbers(column, numerals)
    if not read.problems:
        return pd.Series(read.floats), None
    cells = Table("lms", "", pd.DataFrame({"cell": column}), np.zeros(0, dtype=np.int64), "row").texts("cell")
    values = pd.Series(cells, dtype="str").mask(is_blank(cells))
    if len(read.problems) > len(column) / 2:
        return values, None
    examples = ", ".join(repr(cells[row]) for row in sorted(read.problems)[:3])
    return (
        values,
        f"{len(read.problems)} of {len(values)} values are not numbers ({examples}), so the column is text; "
        "check --x tells what is wrong with each",
    )
