"""The three tables with their columns found and their numbers read, ready for the rules."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayes_irsl.door.options import Options
from bayes_irsl.door.sources import Role, Table
from bayes_irsl.errors import Fault
from bayes_irsl.numerals import Numbers, Texts, read_numbers

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Draft:
    """What was read, before it is known to be right.

    Each row of `responses` is counted (it has successes or trials), scored (it has a score and no counts) or
    neither: then the cell is missing.

    Parameters
    ----------
    responses : Table
        Has the columns lm, item and score, or successes and trials.
    lms, items : Table or None
        The tables beside it, if they were given and could be read.
    options : Options
        What the user declared.
    """

    responses: Table
    lms: Table | None
    items: Table | None
    options: Options

    @cached_property
    def lm(self) -> Texts:
        """The LM of each response."""
        return self.responses.texts("lm")

    @cached_property
    def item(self) -> Texts:
        """The item of each response."""
        return self.responses.texts("item")

    @cached_property
    def pair(self) -> NDArray[np.int64]:
        """A number for each pair of LM and item."""
        lm, _ = pd.factorize(self.lm)
        item, items = pd.factorize(self.item)
        return np.asarray(lm.astype(np.int64) * len(items) + item)

    @property
    def has_counts(self) -> bool:
        """Tell whether the table has both columns of counts."""
        return {"successes", "trials"} <= set(self.responses.data.columns)

    @property
    def has_score(self) -> bool:
        """Tell whether the table has a score column."""
        return "score" in self.responses.data.columns

    @cached_property
    def successes(self) -> Numbers:
        """The successes of each response, all missing where there are no counts."""
        return self._numbers("successes" if self.has_counts else None)

    @cached_property
    def trials(self) -> Numbers:
        """The trials of each response, all missing where there are no counts."""
        return self._numbers("trials" if self.has_counts else None)

    @cached_property
    def counted(self) -> Mask:
        """True for rows that give counts, or half of them."""
        return ~(self.successes.missing & self.trials.missing)

    @cached_property
    def scored(self) -> Mask:
        """True for rows that give a score and no counts."""
        return ~self.counted & ~self.score.missing

    @cached_property
    def empty_counts(self) -> Mask:
        """True for 0 of 0, which says nothing."""
        empty: Mask = self.counted & (self.successes.floats == 0) & (self.trials.floats == 0)
        return empty

    @cached_property
    def observed(self) -> Mask:
        """True for rows that say something."""
        return (self.counted & ~self.empty_counts) | self.scored

    @cached_property
    def percent(self) -> Mask:
        """True for rows whose score is declared to run from 0 to 100."""
        if not isinstance(self.options.scale, Mapping):
            return np.full(len(self.item), self.options.scale == "percent")
        return where(self.item, self.options.is_percent)

    @cached_property
    def mapped(self) -> Mask:
        """True for rows whose score is a text that the user gave a meaning."""
        if not (self.has_score and self.options.map):
            return np.zeros(len(self.lm), dtype=np.bool_)
        known = set(self.options.map)
        return where(self.responses.texts("score"), lambda text: text.strip() in known)

    @cached_property
    def score(self) -> Numbers:
        """The scores as written: percentages are not yet divided, mapped texts are replaced."""
        read = self._numbers("score" if self.has_score else None)
        if self.percent.any():
            read = self._without_signs(read)
        if not self.mapped.any():
            return read
        meaning = [self.options.map.get(text.strip(), np.nan) for text in self.responses.texts("score")]
        return Numbers(
            np.where(self.mapped, meaning, read.floats),
            read.missing & ~self.mapped,
            {row: problem for row, problem in read.problems.items() if not self.mapped[row]},
        )

    @cached_property
    def proportion(self) -> NDArray[np.float64]:
        """The score as a share of 1, NaN where there is none."""
        divide = self.percent & ~self.mapped
        return np.where(self.scored, self.score.floats / np.where(divide, 100.0, 1.0), np.nan)

    def _numbers(self, column: str | None) -> Numbers:
        if column is None:
            n = len(self.lm)
            return Numbers(np.full(n, np.nan), np.ones(n, dtype=np.bool_))
        return read_numbers(self.responses.data[column], self.options.numerals)

    def _without_signs(self, read: Numbers) -> Numbers:
        """Read ``45%`` as 45 where percent is declared."""
        signed = [r for r, p in read.problems.items() if p.kind == "percent sign" and self.percent[r]]
        if not signed:
            return read
        bare = pd.Series([text.strip()[:-1] for text in self.responses.texts("score")[signed]], dtype="str")
        again = read_numbers(bare, self.options.numerals)
        values = read.floats.copy()
        values[signed] = again.floats
        kept = {row: problem for row, problem in read.problems.items() if np.isnan(values[row])}
        return Numbers(values, read.missing, kept)


REQUIRED: Mapping[Role, tuple[str, ...]] = {"responses": ("lm", "item"), "lms": ("lm",), "items": ("item",)}


def rename(table: Table, columns: Mapping[str, str]) -> tuple[Table, list[str]]:
    """Give columns the names that the user declared for them.

    Parameters
    ----------
    table : Table
        Any of the three tables.
    columns : mapping of str to str
        New name to old name; an empty old name sets the column aside.

    Returns
    -------
    Table
        With the new names.
    list of str
        Notes on columns that had to make way.
    """
    there = [str(name) for name in table.data.columns]
    taken = {new: old for new, old in columns.items() if new != old and (old in there or not old)}
    aside = [new for new in taken if new in there and new not in taken.values()]
    names = {old: new for new, old in taken.items() if old}
    notes = [
        f"{table.file}: column {name} is set aside" + (f" for {taken[name]}" if taken[name] else "") for name in aside
    ]
    data = table.data.drop(columns=aside).rename(columns=names)
    return Table(table.role, table.file, data, table.lines, table.word), notes


def column_faults(table: Table) -> Iterator[Fault]:
    """Find columns that the table needs and does not have."""
    there = set(table.data.columns)
    shown = ", ".join(map(str, table.data.columns))
    for name in REQUIRED[table.role]:
        if name not in there:
            way_out = f"Name the column with --columns {name}=OLD (columns={{{name!r}: ...}}); there are {shown}"
            yield Fault(table.file, "columns", f"there is no column {name}", way_out)
    if table.role != "responses" or "score" in there or {"successes", "trials"} <= there:
        return
    if "successes" in there:
        rule = "successes need trials, which are never inferred"
        yield Fault(table.file, "columns", rule, f"Name the column with --columns trials=OLD; there are {shown}")
    else:
        rule = "there is neither a column score nor columns successes and trials"
        yield Fault(table.file, "columns", rule, f"Name the column with --columns score=OLD; there are {shown}")


def unused_names(tables: list[Table], columns: Mapping[str, str]) -> Iterator[Fault]:
    """Find renamings whose old name no table has."""
    for new, old in columns.items():
        if old and not any(old in table.data.columns for table in tables):
            there = "; ".join(f"{table.file}: {', '.join(map(str, table.data.columns))}" for table in tables)
            rule = f"no table has a column {old}"
            yield Fault("option columns", "option", rule, f"Choose among {there}", f"{new}={old}")


def is_blank(cells: Texts) -> Mask:
    """Find cells that are empty or hold blanks only."""
    return where(cells, lambda text: not text.strip())


def where(cells: Texts, test: Callable[[str], bool]) -> Mask:
    """Apply a test to every cell, once for each different text."""
    codes, distinct = pd.factorize(cells)
    passed: Mask = np.array([test(text) for text in distinct], dtype=np.bool_)
    return np.asarray(passed[codes])
