"""What goes wrong with input, said in plain words."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

SHOWN_PER_KIND = 20
"""Faults of one kind that a message prints; the others are counted."""


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with the input.

    Parameters
    ----------
    where : str
        The file, table or option at fault.
    kind : str
        Short name of the rule that was broken; of each kind a message prints so many.
    rule : str
        The rule, as a full sentence without its full stop.
    way_out : str
        What the user can do, as a full sentence without its full stop.
    value : str or None
        The value as it was written, if one value is at fault.
    line : int or None
        Line of a text file (the first line is 1) or row of a table (the first row is 0).
    column : str
        Column at fault, empty if the fault concerns the whole row or table.
    word : {"line", "row"}
        What `line` counts.

    Examples
    --------
    >>> print(Fault("scores.csv", "range", "a score runs from 0 to 1", "Correct it", "-2", 7, "score"))
    scores.csv, line 7, column score, value '-2': a score runs from 0 to 1. Correct it.
    """

    where: str
    kind: str
    rule: str
    way_out: str
    value: str | None = None
    line: int | None = None
    column: str = ""
    word: str = "line"

    def __str__(self) -> str:
        """Say place, rule and way out in one line."""
        place = [self.where]
        if self.line is not None:
            place.append(f"{self.word} {self.line}")
        if self.column:
            place.append(f"column {self.column}")
        if self.value is not None:
            place.append(f"value {self.value!r}")
        return f"{', '.join(place)}: {self.rule}. {self.way_out}."


class InputError(ValueError):
    """The input cannot be used as it is; the message lists every fault.

    Parameters
    ----------
    *faults : Fault or str
        What is wrong, one entry each.

    Attributes
    ----------
    faults : tuple of (Fault or str)
        All of them, including those that the message only counts.

    Examples
    --------
    >>> raise InputError("1 LM: a trend needs at least two LMs. Fit without --x.")
    Traceback (most recent call last):
    bayes_irsl.errors.InputError: 1 LM: a trend needs at least two LMs. Fit without --x.
    """

    def __init__(self, *faults: Fault | str) -> None:
        self.faults = faults
        super().__init__(_message(faults))


def gathered(*calls: Callable[[], Any]) -> list[Any]:
    """Make several calls, and tell the faults of all of them in one message.

    Examples
    --------
    >>> gathered(lambda: 1, lambda: 2)
    [1, 2]
    """
    found: list[Any] = []
    faults: list[Fault | str] = []
    for call in calls:
        try:
            found.append(call())
        except InputError as problem:
            faults += problem.faults
    if faults:
        raise InputError(*faults)
    return found


def _message(faults: Sequence[Fault | str]) -> str:
    if len(faults) == 1:
        return str(faults[0])
    by_kind: dict[str, list[Fault | str]] = defaultdict(list)
    for fault in _in_order(faults):
        by_kind[fault.kind if isinstance(fault, Fault) else ""].append(fault)
    shown = _in_order([fault for alike in by_kind.values() for fault in alike[:SHOWN_PER_KIND]])
    lines = [f"{len(faults)} faults in the input:", *(f"- {fault}" for fault in shown)]
    for kind, alike in by_kind.items():
        if len(alike) > SHOWN_PER_KIND:
            lines.append(f"- ... and {len(alike) - SHOWN_PER_KIND} more ({kind or 'of this kind'})")
    return "\n".join(lines)


def _in_order(faults: Sequence[Fault | str]) -> list[Fault | str]:
    """Put the faults of one file together, as they come in it; files and all else stay as they are."""
    places: dict[str, int] = {}
    keys = []
    for fault in faults:
        where, line = (fault.where, fault.line) if isinstance(fault, Fault) else ("", None)
        keys.append((places.setdefault(where, len(places)), -1 if line is None else line))
    return [faults[at] for at in sorted(range(len(faults)), key=keys.__getitem__)]
