"""Rules on counts: whole numbers of successes among whole numbers of trials."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from bayes_irsl.door.draft import Draft, Mask
from bayes_irsl.errors import Fault
from bayes_irsl.numerals import Numbers

LARGEST = 2.0**53
"""Beyond this, float64 does not hold every whole number."""


def _faults(draft: Draft, rows: Mask, column: str, kind: str, rule: str, way_out: str) -> Iterator[Fault]:
    for row in np.flatnonzero(rows):
        yield draft.responses.fault(row, column, kind=kind, rule=rule, way_out=way_out)


def _both(draft: Draft) -> Iterator[tuple[str, Numbers]]:
    if draft.has_counts:
        yield "successes", draft.successes
        yield "trials", draft.trials


def counts_are_numbers(draft: Draft) -> Iterator[Fault]:
    """Require that a count is a number or missing."""
    for column, read in _both(draft):
        for row, problem in sorted(read.problems.items()):
            yield draft.responses.fault(row, column, kind=problem.kind, rule=problem.rule, way_out=problem.way_out)


def counts_are_whole(draft: Draft) -> Iterator[Fault]:
    """Require that a count is a whole number from 0; 4.0 is 4."""
    for column, read in _both(draft):
        negative = read.floats < 0
        fraction = ~negative & (np.nan_to_num(read.floats) % 1 != 0)
        yield from _faults(draft, negative, column, "negative count", "a count is not negative", "Correct the value")
        yield from _faults(
            draft,
            fraction,
            column,
            "fractional count",
            "a count is a whole number",
            "Correct the value; a mean over trials belongs in the column score",
        )
        large = read.floats > LARGEST
        yield from _faults(draft, large, column, "large count", "a count is at most 2^53", "Correct the value")


def counts_are_complete(draft: Draft) -> Iterator[Fault]:
    """Require successes with trials and trials with successes; neither is inferred."""
    if not draft.has_counts:
        return
    for column, other in (("trials", "successes"), ("successes", "trials")):
        half = draft.counted & (draft.trials if column == "trials" else draft.successes).missing
        values = draft.responses.texts(other)
        for row in np.flatnonzero(half):
            yield draft.responses.fault(
                row,
                column,
                kind="half a count",
                rule=f"{column} is blank where {other} is {values[row].strip()}",
                way_out=f"Fill in {column}, or leave both empty if the cell is missing",
            )


def successes_are_among_trials(draft: Draft) -> Iterator[Fault]:
    """Refuse more successes than trials."""
    successes, trials = draft.successes.floats, draft.trials.floats
    whole = (trials >= 0) & (trials % 1 == 0)
    for row in np.flatnonzero(whole & (successes > trials)):
        yield draft.responses.fault(
            row,
            "successes",
            kind="too many successes",
            rule=f"there are more successes than trials ({trials[row]:g})",
            way_out="Correct one of them",
        )


def items_have_one_kind(draft: Draft) -> Iterator[Fault]:
    """Refuse items that are answered by counts on some rows and by scores on others."""
    if not (draft.has_counts and draft.has_score):
        return
    lines = pd.Series(draft.responses.lines[draft.counted]).groupby(draft.item[draft.counted]).first()
    there = np.isin(draft.item.astype(str), lines.index.to_numpy(dtype=str))
    for row in np.flatnonzero(draft.scored & there):
        item = draft.item[row]
        yield draft.responses.fault(
            row,
            "score",
            kind="mixed item",
            rule=f"item {item!r} has a score here and counts on {draft.responses.word} {lines[item]}",
            way_out="Give counts on every row of the item, or set them aside (--columns successes= trials=)",
        )
