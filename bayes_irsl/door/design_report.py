"""The report of the door: what was read, how much of it there is, and what it cannot tell."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from bayes_irsl.door.design_rules import design_notes, shares
from bayes_irsl.door.numerals import number_text
from bayes_irsl.responses import Kind, Responses


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
    low, high : str
        Smallest and largest value, or first and last text.
    distinct : int
        Number of different values.
    """

    name: str
    type: str
    missing: int
    low: str
    high: str
    distinct: int


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

    def to_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return {**asdict(self), "covariates": [asdict(c) for c in self.covariates], "notes": list(self.notes)}

    def to_text(self) -> str:
        """Return a page to read."""
        rows = [
            ("LMs", f"{self.lms}"),
            (
                "items",
                f"{self.items} in {self.benchmarks} {'benchmark' if self.benchmarks == 1 else 'benchmarks'}",
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
                span = f"{c.low} to {c.high}" if c.distinct > 1 else c.low
                lines.append(f"  {c.name:<{width}}{c.type:<8}{c.distinct} values, {c.missing} missing  {span}")
        if self.notes:
            lines += ["", "Notes", *(f"- {note}" for note in self.notes)]
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
    if known.empty:
        return Covariate(str(column.name), "number", len(column), "", "", 0)
    number = pd.api.types.is_numeric_dtype(column.dtype)
    low, high = (number_text(float(v)) if number else str(v) for v in (known.min(), known.max()))
    kind = "number" if number else "text"
    return Covariate(str(column.name), kind, int(column.isna().sum()), low, high, int(known.nunique()))


def _spread(sizes: Mapping[str, float]) -> str:
    return f"{sizes['min']:g} to {sizes['max']:g}, median {sizes['median']:g}"
