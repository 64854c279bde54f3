"""What the user declares about the tables; each option is checked when it is given."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from bayes_irsl.door.characters import RULE, holds_control
from bayes_irsl.errors import Fault, InputError
from bayes_irsl.numerals import Numerals

OnDuplicate = Literal["error", "first", "replicate"]
OnBoundary = Literal["auto", "error", "squeeze"]


@dataclass(frozen=True)
class Options:
    """Declarations that change how tables are read.

    Parameters
    ----------
    columns : mapping of str to str
        New name to old name; an empty old name means that there is no such column.
    sep : str or None
        Separator of text files.
    decimal, thousands : str, str or None
        Marks within numbers.
    scale : {"percent"} or mapping of item to {"percent"} or None
        Scores that run from 0 to 100.
    map : mapping of str to float
        What a text in the score column means, in [0, 1].
    on_duplicate : {"error", "first", "replicate"}
        What a repeated pair of LM and item means.
    filter : str or None
        Keep the responses whose column ``filter`` equals this name.
    on_boundary : {"auto", "error", "squeeze"}
        What happens to scores of exactly 0 or 1 among other scores.
    allow_disconnected : bool
        Accept LMs and items that fall into parts without a link.

    Raises
    ------
    InputError
        If an option has a value that it cannot have.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    sep: str | None = None
    decimal: str = "."
    thousands: str | None = None
    scale: Literal["percent"] | Mapping[str, str] | None = None
    map: Mapping[str, float] = field(default_factory=dict)
    on_duplicate: OnDuplicate = "error"
    filter: str | None = None
    on_boundary: OnBoundary = "auto"
    allow_disconnected: bool = False

    def __post_init__(self) -> None:
        """Check every option."""
        faults = list(self._faults())
        if faults:
            raise InputError(*faults)

    @property
    def numerals(self) -> Numerals:
        """How numbers are written."""
        return Numerals(self.decimal, self.thousands)

    def is_percent(self, item: str) -> bool:
        """Tell whether the scores of an item are declared to run from 0 to 100."""
        if isinstance(self.scale, Mapping):
            return self.scale.get(item) == "percent"
        return self.scale == "percent"

    def _faults(self) -> Iterator[Fault]:
        old = [name for name in self.columns.values() if name]
        for name in sorted({name for name in old if old.count(name) > 1}):
            yield _fault("columns", name, "a column gets one new name", "Give one new name to it")
        for name in filter(holds_control, self.columns):
            yield _fault("columns", name, RULE, "Give another name")
        marks = (".", ",")
        if self.decimal not in marks:
            yield _fault("decimal", self.decimal, "the decimal mark is a point or a comma", 'Give "." or ","')
        if self.thousands is not None and self.thousands not in (",", ".", " ", "'", "\u00a0", "\u202f"):
            rule = "the thousands mark is a comma, a point, a blank or an apostrophe"
            yield _fault("thousands", self.thousands, rule, "Give one of these")
        if self.thousands == self.decimal:
            rule = "the decimal mark and the thousands mark differ"
            yield _fault("thousands", self.decimal, rule, f"Give another mark than {self.decimal!r} to one of them")
        scales = self.scale.values() if isinstance(self.scale, Mapping) else [self.scale or "percent"]
        for scale in scales:
            if scale != "percent":
                yield _fault("scale", scale, 'the only scale to declare is "percent"', "Leave scale out for 0 to 1")
        for text, number in self.map.items():
            if not (np.isfinite(number) and 0 <= number <= 1):
                yield _fault("map", f"{text}={number}", "a text means a score from 0 to 1", "Correct the number")
        for option, value, known in (
            ("on_duplicate", self.on_duplicate, ("error", "first", "replicate")),
            ("on_boundary", self.on_boundary, ("auto", "error", "squeeze")),
        ):
            if value not in known:
                yield _fault(option, value, "the option does not know this word", f"Give {', '.join(known)}")


def _fault(option: str, value: object, rule: str, way_out: str) -> Fault:
    return Fault(f"option {option}", "option", rule, way_out, str(value))
