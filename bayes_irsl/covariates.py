"""The scaling variable: how a covariate becomes the x of a trend."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayes_irsl.errors import Fault, InputError
from bayes_irsl.numerals import MISSING_MARKS, Numerals, Problem, plain_text
from bayes_irsl.responses import Responses
from bayes_irsl.scaling_values import HOWS, UNITS, How, is_iso_date, needed, transform, untransform
from bayes_irsl.wording import counted, listed

LOG10_NAMES = frozenset(
    {
        *("params", "active_params", "params_nonembedding", "tokens", "reasoning_tokens"),
        *("flops", "flops_nonembedding", "train_flops", "compute", "samples"),
    }
)
"""Names that are taken on the log10 scale unless the user says otherwise."""
FEWEST_VALUES_FOR_CURVE = 4
"""A trend that bends needs as many different values of x as it has shape."""

MissingX = Literal["error", "no-trend", "drop"]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Axis:
    """A scaling variable with its centre and unit.

    The models see ``(f(value) - centre) / unit``, where f is log10, the identity, or a date in years.

    Parameters
    ----------
    name : str
        Column of the LM table.
    how : {"log10", "linear", "date"}
        The transformation f.
    centre, unit : float
        Mean and population standard deviation of f over the LMs that have a value.
    low, high : float
        Smallest and largest f.
    n_values : int
        Number of different values; a curved trend needs at least `FEWEST_VALUES_FOR_CURVE`.

    Examples
    --------
    >>> axis = Axis("flops", "log10", centre=21.0, unit=0.5, low=20.0, high=22.0, n_values=3)
    >>> axis.encode([1e22, "1e21", None]).tolist(), axis.extrapolation([1e24, 1e21]).tolist()
    ([2.0, 0.0, nan], [2.0, 0.0])
    """

    name: str
    how: How
    centre: float
    unit: float
    low: float
    high: float
    n_values: int

    def transformed(self, values: Sequence[str | float | date | None] | Floats | pd.Series) -> Floats:
        """Values in decades, years or as they are; NaN where missing.

        Raises
        ------
        InputError
            If a value has no place on this axis, such as 0 on the log10 scale.
        """
        out, problems = transform(list(values), self.how, Numerals())
        if problems:
            shown = list(values)
            raise InputError(*(_fault("x", row, self.name, p, shown[row]) for row, p in problems.items()))
        return out

    def missing_or_wrong(self, lms: pd.DataFrame) -> list[Fault]:
        """Faults of new LMs that have no place on this axis; every one of them needs one."""
        cells = lms[self.name].astype(object).tolist()
        values, problems = transform(cells, self.how, Numerals())
        blank = Problem("missing x", "the value is missing, and the trend needs it", "Give it for each new LM")
        return [
            _fault(f"new LMs, LM {lms['lm'].iloc[row]}", None, self.name, needed(problems.get(row, blank)), cells[row])
            for row in map(int, np.flatnonzero(np.isnan(values)))
        ]

    def encode(self, values: Sequence[str | float | date | None] | Floats | pd.Series) -> Floats:
        """Standardised values, NaN where missing.

        Raises
        ------
        InputError
            If a value has no place on this axis.
        """
        return (self.transformed(values) - self.centre) / self.unit

    def decode(self, x: Floats) -> NDArray[Any]:
        """Invert `encode`: numbers, or dates (``datetime64[D]``) to the nearest day."""
        return untransform(np.asarray(x, dtype=np.float64) * self.unit + self.centre, self.how)

    def extrapolation(self, values: Sequence[str | float | date | None] | Floats | pd.Series) -> Floats:
        """Distance beyond the data in decades, years or the unit of the covariate; 0 within their range."""
        at = self.transformed(values)
        return np.maximum(np.maximum(at - self.high, self.low - at), 0.0)

    @property
    def is_short(self) -> bool:
        """Whether there are too few values to tell a line from a curve."""
        return self.n_values < FEWEST_VALUES_FOR_CURVE

    def describe(self) -> str:
        """Say in a line what the axis spans.

        Examples
        --------
        >>> Axis("flops", "log10", centre=21.0, unit=0.5, low=20.0, high=22.0, n_values=3).describe()
        'flops (log10): 3 different values over 2 decades, too few to tell a line from a curve'
        """
        few = ", too few to tell a line from a curve" if self.is_short else ""
        span = f"{self.high - self.low:.3g} {UNITS[self.how]}"
        return f"{self.name} ({self.how}): {self.n_values} different values over {span}{few}"

    def to_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Axis":
        """Make an axis of what `to_dict` returned."""
        return cls(**stored)


def parse_axis(text: str) -> tuple[str, How | None]:
    """Split ``NAME[:how]``.

    Raises
    ------
    InputError
        If the part behind the colon is not log10, linear or date.

    Examples
    --------
    >>> parse_axis("flops:log10"), parse_axis("flops")
    (('flops', 'log10'), ('flops', None))
    """
    name, colon, how = text.rpartition(":")
    if not colon:
        return text, None
    if how not in HOWS or not name:
        way_out = f"Write NAME or NAME:how with how one of {', '.join(HOWS)}"
        raise InputError(Fault("option x", "option", "the scale is not known", way_out, text))
    return name, how


def fit_axis(responses: Responses, spec: str, missing: MissingX = "error") -> tuple[Axis, Floats, Responses]:
    """Make the x of a trend of one covariate; see `fit_axes`.

    Returns
    -------
    Axis
        Centre, unit and range.
    array of float64
        Standardised x of each LM in the order of ``lms``; NaN for LMs without a trend.
    Responses
        The responses to fit, LMs dropped where asked.

    Examples
    --------
    >>> cells = pd.DataFrame({"lm": ["a", "b"], "item": ["q", "q"], "score": [0.5, 0.25]})
    >>> items = pd.DataFrame({"item": ["q"], "benchmark": ["q"], "chance": [0.0]})
    >>> lms = pd.DataFrame({"lm": ["a", "b"], "flops": [1e20, 1e22]})
    >>> axis, x, _ = fit_axis(Responses(cells, lms, items), "flops")
    >>> axis.how, axis.centre, x.tolist()
    ('log10', 21.0, [-1.0, 1.0])
    """
    axes, x, kept = fit_axes(responses, [spec], missing)
    return axes[0], x[:, 0], kept


def fit_axes(
    responses: Responses, specs: Sequence[str], missing: MissingX = "error"
) -> tuple[tuple[Axis, ...], Floats, Responses]:
    """Make the x of a trend of covariates, all faults of all of them in one message.

    Parameters
    ----------
    responses : Responses
        Their ``lms`` hold the covariates.
    specs : sequence of str
        ``NAME[:log10|linear|date]`` each. Without a scale: log10 for names such as params, tokens and flops,
        what the table marks (a column headed ``usd:log10``), date for dates, linear otherwise.
    missing : {"error", "no-trend", "drop"}
        LMs without a value: a fault; they keep a free ability and have no trend; or they are left out.

    Returns
    -------
    tuple of Axis
        One for each covariate.
    array of float64
        Standardised x, one row for each LM of the returned responses and one column for each covariate.
    Responses
        With what was chosen in its notes and choices.

    Raises
    ------
    InputError
        If a value has no place on its scale (zero or negative under log10, text, infinite, an unclear date),
        is missing without a choice, or there are fewer than two LMs or two different values.
    """
    if missing not in ("error", "no-trend", "drop"):
        known = "Give error, no-trend or drop"
        raise InputError(Fault("option missing-x", "option", "the option does not know this word", known, missing))
    faults: list[Fault] = []
    found: list[tuple[str, How, Floats]] = []
    for spec in specs:
        name, how = parse_axis(spec)
        if name not in responses.lms.columns or name == "lm":
            known = ", ".join(c for c in responses.lms.columns if c != "lm")
            way_out = f"Known are {known}" if known else "Give the table of LMs that has it (--lms)"
            faults.append(Fault("option x", "option", "the LMs have no such covariate", way_out, name))
            continue
        how = how or _default_how(responses, name)
        values, told = _read(responses, name, how, missing)
        found.append((name, how, values))
        faults += told
    if faults:
        raise InputError(*faults)
    x = np.column_stack([values for _, _, values in found])
    without = np.isnan(x).any(axis=1)
    kept = responses
    if without.any():
        kept = _without(responses, without, [name for name, _, _ in found], missing)
        x = x[~without] if missing == "drop" else x
    axes = tuple(_axis(name, how, x[:, column], len(kept.lms)) for column, (name, how, _) in enumerate(found))
    centre, unit = np.array([axis.centre for axis in axes]), np.array([axis.unit for axis in axes])
    return axes, (x - centre) / unit, kept


def _default_how(responses: Responses, name: str) -> How:
    marks = cast(Mapping[str, How], responses.choices.get("axes", {}))
    if name in marks:
        return marks[name]
    column = responses.lms[name]
    known = [plain_text(value) for value in column.dropna()]
    known = [text for text in known if text.strip().lower() not in MISSING_MARKS]
    if name == "date" or (known and all(map(is_iso_date, known))):
        return "date"
    return "log10" if name in LOG10_NAMES else "linear"


def _read(responses: Responses, name: str, how: How, missing: MissingX) -> tuple[Floats, list[Fault]]:
    cells = responses.lms[name].astype(object).tolist()
    ids = responses.lms["lm"].tolist()
    numerals = Numerals(
        str(responses.choices.get("decimal", ".")), cast("str | None", responses.choices.get("thousands"))
    )
    values, problems = transform(cells, how, numerals, name)
    if missing == "error":
        blank = Problem(
            "missing x",
            "the value is missing, and a trend needs it",
            "Fill it in, or give --missing-x no-trend (ability free of the trend) or drop (leave the LM out)",
        )
        problems |= {int(row): blank for row in np.flatnonzero(np.isnan(values)) if int(row) not in problems}
    faults = [
        _fault(f"{responses.places.get(ids[row], 'LMs')}, LM {ids[row]}", None, name, problem, cells[row])
        for row, problem in sorted(problems.items())
    ]
    return values, faults


def _fault(where: str, row: int | None, name: str, problem: Problem, value: object) -> Fault:
    return Fault(where, problem.kind, problem.rule, problem.way_out, plain_text(value), row, name, "row")


def _without(responses: Responses, without: NDArray[np.bool_], names: Sequence[str], missing: MissingX) -> Responses:
    lms = responses.lms["lm"][without].tolist()
    kept = responses
    if missing == "drop":
        left = responses.lms["lm"][~without].tolist()
        if not left:
            raise InputError(f"no LM has a value of {', '.join(names)}: fill it in, or fit without --x")
        kept = responses.subset(lms=left)
    n_cells = int(responses.cells["lm"].isin(lms).sum())
    have = "has" if len(lms) == 1 else "have"
    n = f"{counted(len(lms), 'LM')} {have} no value of {' or '.join(names)}"
    done = f"left out with {counted(n_cells, 'cell')}" if missing == "drop" else "kept with a free ability and no trend"
    choice = {"policy": missing, "names": list(names), "lms": lms, "cells": n_cells}
    return replace(
        kept, notes=(*kept.notes, f"{n}: {done} ({listed(lms, 10)})"), choices={**kept.choices, "missing_x": choice}
    )


def _axis(name: str, how: How, values: Floats, n_lms: int) -> Axis:
    known = values[~np.isnan(values)]
    n_values = len(np.unique(known))
    if n_lms < 2:
        raise InputError(f"1 LM: a trend needs at least two LMs with different values of {name}. Fit without --x.")
    if n_values < 2:
        told = f"{counted(len(known), 'LM')} with a value of {name}, {n_values} of them different"
        raise InputError(f"{told}: a trend needs at least two different values. Fit without --x {name}.")
    centre, unit = float(known.mean()), float(known.std())
    return Axis(name, how, centre, unit, float(known.min()), float(known.max()), n_values)
