"""Rules on ids and on what the three tables say about each other."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from bayes_irsl.door.characters import RULE, holds_control
from bayes_irsl.door.draft import Draft, is_blank, where
from bayes_irsl.door.sources import Table
from bayes_irsl.errors import Fault
from bayes_irsl.numerals import is_number_typed, read_numbers
from bayes_irsl.wording import counted

IDS = ("lm", "item")
VALUES = ("score", "successes", "trials", "chance", "filter")
"""Columns that become numbers or choose rows; their texts are not kept."""


def _id_columns(draft: Draft) -> Iterator[tuple[Table, str]]:
    yield draft.responses, "lm"
    yield draft.responses, "item"
    if draft.lms is not None:
        yield draft.lms, "lm"
    if draft.items is not None:
        yield draft.items, "item"


def texts_can_be_stored(draft: Draft) -> Iterator[Fault]:
    """Refuse control characters in ids and in whatever else is kept of the tables."""
    for table in (draft.responses, draft.lms, draft.items):
        if table is not None:
            yield from control_characters(table)


def ids_are_texts(draft: Draft) -> Iterator[Fault]:
    """Require ids that are texts or whole numbers: a fraction has lost what was written."""
    for table, column in _id_columns(draft):
        yield from not_texts(table, column)


def ids_are_not_blank(draft: Draft) -> Iterator[Fault]:
    """Require that every row names its LM and item."""
    for table, column in _id_columns(draft):
        yield from blank(table, column)


def ids_have_no_outer_blanks(draft: Draft) -> Iterator[Fault]:
    """Refuse blanks around an id, which make two ids out of one."""
    for table, column in _id_columns(draft):
        yield from padded(table, column)


def ids_are_unique(draft: Draft) -> Iterator[Fault]:
    """Require one row for each LM and each item in their tables."""
    for table, column in ((draft.lms, "lm"), (draft.items, "item")):
        if table is not None:
            yield from repeated(table, column)


def control_characters(table: Table) -> Iterator[Fault]:
    """Find control characters in the columns that are kept as texts."""
    for column in table.data.columns:
        if column in VALUES or is_number_typed(table.data[column]):
            continue
        way_out = "Remove it" if column in IDS else f"Remove it, or set the column aside (--columns {column}=)"
        for row in np.flatnonzero(where(table.texts(column), holds_control)):
            yield table.fault(row, column, kind="control character", rule=RULE, way_out=way_out)


def not_texts(table: Table, column: str) -> Iterator[Fault]:
    """Find ids that are neither texts nor whole numbers: a column of another type, or cells among others."""
    cells, types = table.data[column], pd.api.types
    dtype = cells.cat.categories.dtype if isinstance(cells.dtype, pd.CategoricalDtype) else cells.dtype
    way_out = "Turn the column into text before"
    if types.is_object_dtype(dtype):
        for row, value in enumerate(cells):
            if not _may_be_id(value):
                rule = f"ids are texts or whole numbers, and this one has the type {type(value).__name__}"
                yield table.fault(row, column, kind="id type", rule=rule, way_out=way_out)
    elif not (types.is_string_dtype(dtype) or types.is_integer_dtype(dtype)):
        rule = f"ids are texts or whole numbers, and this column has the type {dtype}"
        yield Fault(table.file, "id type", rule, way_out, column=column)


def _may_be_id(value: object) -> bool:
    if isinstance(value, str | int | np.integer):
        return not isinstance(value, bool)
    # What is missing is the matter of another rule.
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and np.isnan(value))


def blank(table: Table, column: str) -> Iterator[Fault]:
    """Find ids that are blank."""
    for row in np.flatnonzero(is_blank(table.texts(column))):
        yield table.fault(row, column, kind="blank id", rule="an id is blank", way_out="Fill it in")


def padded(table: Table, column: str) -> Iterator[Fault]:
    """Find ids with blanks around them."""
    for row in np.flatnonzero(where(table.texts(column), lambda text: text != text.strip() != "")):
        rule = "an id has blanks around it"
        yield table.fault(row, column, kind="padded id", rule=rule, way_out="Remove the blanks")


def repeated(table: Table, column: str) -> Iterator[Fault]:
    """Find ids that stand in an earlier row already."""
    texts = table.texts(column)
    first = pd.Series(table.lines).groupby(texts).transform("first").to_numpy()
    for row in np.flatnonzero((first != table.lines) & ~is_blank(texts)):
        rule = f"the id stands on {table.word} {first[row]} already"
        yield table.fault(row, column, kind="repeated id", rule=rule, way_out="Keep one row for each id")


def responses_join(draft: Draft) -> Iterator[Fault]:
    """Require that LMs and items of the responses are in their tables, where there are any."""
    for table, column, texts in ((draft.lms, "lm", draft.lm), (draft.items, "item", draft.item)):
        if table is None:
            continue
        unknown = ~np.isin(texts.astype(str), table.texts(column).astype(str)) & ~is_blank(texts)
        rows = np.flatnonzero(unknown)
        _, first, count = np.unique(texts[rows].astype(str), return_index=True, return_counts=True)
        for row, uses in zip(rows[first], count, strict=True):
            rule = f"{table.file} has no row for this id (used in {counted(uses, 'row')})"
            yield draft.responses.fault(
                row, column, kind="unknown id", rule=rule, way_out="Add the row, or correct the id"
            )


def benchmarks_are_named(draft: Draft) -> Iterator[Fault]:
    """Require one benchmark for each item, where there is a column of benchmarks."""
    table = draft.items or draft.responses
    if "benchmark" not in table.data.columns:
        return
    texts = table.texts("benchmark")
    for row in np.flatnonzero(is_blank(texts)):
        yield table.fault(
            row,
            "benchmark",
            kind="blank benchmark",
            rule="the item has no benchmark",
            way_out="Fill it in, or set the column aside (--columns benchmark=)",
        )
    item = table.texts("item")
    first = pd.Series(texts).groupby(item).transform("first").to_numpy()
    rows = np.flatnonzero((texts != first) & ~is_blank(texts))
    if table.role == "items":
        return  # repeated items are another rule's
    for row in rows[np.unique(item[rows].astype(str), return_index=True)[1]]:
        rule = f"item {item[row]!r} belongs to benchmark {first[row]!r} on an earlier {table.word}"
        yield table.fault(
            row,
            "benchmark",
            kind="two benchmarks",
            rule=rule,
            way_out="Give items of different benchmarks own ids",
        )


def chance_is_a_share(draft: Draft) -> Iterator[Fault]:
    """Require that the score of guessing is blank, or a number from 0 to below 1."""
    table = draft.items or draft.responses
    if "chance" not in table.data.columns:
        return
    read = read_numbers(table.data["chance"], draft.options.numerals)
    for row, problem in sorted(read.problems.items()):
        yield table.fault(row, "chance", kind=problem.kind, rule=problem.rule, way_out=problem.way_out)
    for outside in np.flatnonzero((read.floats < 0) | (read.floats >= 1)):
        yield table.fault(
            outside,
            "chance",
            kind="chance",
            rule="chance is at least 0 and below 1",
            way_out="Write 0.25 for one of four choices; leave it empty if it is unknown",
        )
