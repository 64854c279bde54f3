"""The report of the door: what was read, how much of it there is, and what it cannot tell."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Protocol

import numpy as np
import pandas as pd

from bayes_irsl.door.design_rules import design_notes, shares
from bayes_irsl.numerals import number_text
from bayes_irsl.responses import Kind, Responses
from bayes_irsl.wording import counted

MOST_TEXTS = 4


@dataclass(frozen=True)
class Covariate:
    """One covariate of the LMs.

    Parameters
    ----------
    name : str
        Its column.
    type : {"number", "text"}
        What it holds.
    missing : int
        LMs without it.
    distinct : int
        Number of different values.
    low, high : str
        Smallest and largest number, empty for texts.
    common : tuple of str
        Most common texts, empty for numbers.
    """

    name: str
    type: str
    missing: int
    distinct: int
    low: str = ""
    high: str = ""
    common: tuple[str, ...] = ()

    @property
    def span(self) -> str:
        """What values there are."""
        if self.type == "number":
            return f"{self.low} to {self.high}" if self.distinct > 1 else self.low
        return ", ".join(self.common) + (", ..." if self.distinct > len(self.common) else "")


class ScalingVariable(Protocol):
    """What a report needs of a scaling variable."""

    def describe(self) -> str:
        """Say in a line what it spans."""
        ...

    def to_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        ...


@dataclass(frozen=True)
class CheckReport:
    """What the door found.

    Parameters
    ----------
    kind : {"counts", "score", "mixed"}
        Kind of the responses.
    lms, items, benchmarks, cells : int
        How many there are.
    missing_share : float
        Share of all pairs of LM and item that have no response, from 0 to 1.
    marked_missing : int
        Rows that the table marks as missing.
    zeros, ones : int
        Cells of exactly 0 (no success) and exactly 1 (all successes).
    per_lm, per_item : mapping of str to float
        Smallest, median and largest number of responses.
    covariates : tuple of Covariate
        What is known about the LMs.
    notes : tuple of str
        Choices made while reading, then what the design cannot tell.
    x : tuple of ScalingVariable
        Scaling variables that were checked.
    """

    kind: Kind
    lms: int
    items: int
    benchmarks: int
    cells: int
    missing_share: float
    marked_missing: int
    zeros: int
    ones: int
    per_lm: Mapping[str, float]
    per_item: Mapping[str, float]
    covariates: tuple[Covariate, ...]
    notes: tuple[str, ...]
    x: tuple[ScalingVariable, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return {
            **asdict(self),
            "covariates": [asdict(c) for c in self.covariates],
            "notes": list(self.notes),
            "x": [axis.to_dict() for axis in self.x],
        }

    def to_text(self) -> str:
        """Return a page to read."""
        rows = [
            ("LMs", f"{self.lms}"),
            (
                "items",
                f"{self.items} in {counted(self.benchmarks, 'benchmark')}",
            ),
            ("cells", f"{self.cells} ({self.kind}); {self.missing_share:.1%} of all pairs have no response"),
            ("marked missing", f"{self.marked_missing}"),
            ("exactly 0, 1", f"{self.zeros}, {self.ones}"),
            ("responses per LM", _spread(self.per_lm)),
            ("responses per item", _spread(self.per_item)),
        ]
        lines = [f"{name:<20}{value}" for name, value in rows]
        if self.covariates:
            lines += ["", "Covariates of the LMs"]
            width = max(len(c.name) for c in self.covariates) + 2
            for c in self.covariates:
                values = f"{counted(c.distinct, 'value')}, {c.missing} missing"
                lines.append(f"  {c.name:<{width}}{c.type:<8}{values:<24}{c.span}")
        if self.notes:
            lines += ["", "Notes", *(f"- {note}" for note in self.notes)]
        lines += [f"- x {axis.describe()}" for axis in self.x]
        return "\n".join(lines)


def report(responses: Responses) -> CheckReport:
    """Describe responses before anything is fitted.

    Parameters
    ----------
    responses : Responses

    Returns
    -------
    CheckReport

    Examples
    --------
    >>> cells = pd.DataFrame({"lm": ["a", "a", "b"], "item": ["p", "q", "p"], "score": [0.2, 0.3, 1.0]})
    >>> items = pd.DataFrame({"item": ["p", "q"], "benchmark": ["k", "k"], "chance": np.nan})
    >>> found = report(Responses(cells, pd.DataFrame({"lm": ["a", "b"], "flops": [1e20, 1e21]}), items))
    >>> found.cells, found.missing_share, found.ones
    (3, 0.25, 1)
    """
    cells, share = responses.cells, shares(responses)
    n_lms, n_items = len(responses.lms), len(responses.items)
    return CheckReport(
        kind=responses.kind,
        lms=n_lms,
        items=n_items,
        benchmarks=int(responses.items["benchmark"].nunique()),
        cells=len(cells),
        missing_share=1 - len(cells) / (n_lms * n_items),
        marked_missing=responses.missing,
        zeros=int((share == 0).sum()),
        ones=int((share == 1).sum()),
        per_lm=_sizes(cells["lm"]),
        per_item=_sizes(cells["item"]),
        covariates=tuple(_covariate(responses.lms[name]) for name in responses.lms.columns if name != "lm"),
        notes=(*responses.notes, *design_notes(responses)),
    )


def _sizes(ids: pd.Series) -> dict[str, float]:
    count = ids.value_counts().to_numpy()
    return {"min": float(count.min()), "median": float(np.median(count)), "max": float(count.max())}


def _covariate(column: pd.Series) -> Covariate:
    known = column.dropna()
    name, missing, distinct = str(column.name), int(column.isna().sum()), int(known.nunique())
    if known.empty:
        return Covariate(name, "number", missing, 0)
    if pd.api.types.is_numeric_dtype(column.dtype):
        low, high = (number_text(float(value)) for value in (known.min(), known.max()))
        return Covariate(name, "number", missing, distinct, low, high)
    # Sorted first, so that equally common ones come in one order.
    common = known.sort_values().value_counts().head(MOST_TEXTS).index
    return Covariate(name, "text", missing, distinct, common=tuple(map(str, common)))


def _spread(sizes: Mapping[str, float]) -> str:
    return f"{sizes['min']:g} to {sizes['max']:g}, median {sizes['median']:g}"
