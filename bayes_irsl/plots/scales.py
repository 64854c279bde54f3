"""The scaling variable on the x axis of a figure: dates as dates, logarithms as powers of ten."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter
from numpy.typing import NDArray

from bayes_irsl.covariates import Axis
from bayes_irsl.errors import Fault, InputError
from bayes_irsl.fitting import Fit

_WORDS = {
    "params": "parameters",
    "active_params": "active parameters",
    "params_nonembedding": "parameters without embeddings",
    "tokens": "training tokens",
    "reasoning_tokens": "reasoning tokens per question",
    "flops": "training compute (FLOP)",
    "train_flops": "training compute (FLOP)",
    "flops_nonembedding": "training compute without embeddings (FLOP)",
    "compute": "training compute (FLOP)",
    "samples": "samples per question",
    "date": "release date",
}


def needed(fit: Fit) -> Axis:
    """Scaling variable of a fit.

    Raises
    ------
    InputError
        If the fit has none.
    """
    if fit.axis is None:
        rule = "the fit has no scaling variable, so there is nothing to draw scores against"
        raise InputError(Fault("figure scores", "figure", rule, "Fit with x, or draw abilities or curves"))
    return fit.axis


def label(axis: Axis) -> str:
    """Words and unit of a scaling variable."""
    return _WORDS.get(axis.name, axis.name.replace("_", " "))


def place(axis: Axis, values: Iterable[Any]) -> NDArray[Any]:
    """Values as Matplotlib draws them: ``datetime64`` for dates, else numbers; NaN or NaT where missing."""
    return axis.decode(axis.encode(list(values)))


def steps(axis: Axis, beyond: float, count: int) -> NDArray[Any]:
    """Equally spaced values from the smallest of the data to beyond the largest.

    Parameters
    ----------
    axis : Axis
        The scaling variable.
    beyond : float
        How far to go on, as a share of the range of the data.
    count : int
        Number of values; the end of the data is one more, so that a band can change there.
    """
    end = axis.high + beyond * (axis.high - axis.low)
    at = np.unique(np.append(np.linspace(axis.low, end, count), axis.high))
    return axis.decode((at - axis.centre) / axis.unit)


def as_column(values: NDArray[Any]) -> list[Any]:
    """Values as a table of LMs has them: dates are texts there."""
    plain: list[Any] = (np.datetime_as_string(values) if values.dtype.kind == "M" else values).tolist()
    return plain


def edge(axis: Axis) -> Any:
    """Largest value of the data."""
    return axis.decode(np.array([(axis.high - axis.centre) / axis.unit]))[0]


def dress(ax: Axes, axis: Axis, *, ticks: int = 6) -> None:
    """Set scale and ticks of the x axis, about `ticks` of them."""
    if axis.how == "log10":
        ax.set_xscale("log")
        if axis.high - axis.low > 1.0:
            ax.xaxis.set_major_locator(LogLocator(numticks=ticks))
            ax.xaxis.set_minor_formatter(NullFormatter())
    elif axis.how == "date":
        locator = AutoDateLocator(minticks=2, maxticks=ticks)  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_locator(locator)
        formatter = ConciseDateFormatter(locator, show_offset=False)  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_formatter(formatter)
    else:
        ax.xaxis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 5, 10]))


def known(fit: Fit, lms: Iterable[str]) -> pd.Series:
    """Scaling variable of some LMs of a fit, by LM, as their table has it."""
    return fit.responses.lms.set_index("lm")[needed(fit).name].reindex(list(lms))
