"""`check`: what the door found, and what a scaling variable would span; nothing is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bayes_irsl.covariates import MissingX, fit_axes
from bayes_irsl.door.design_report import CheckReport, report
from bayes_irsl.errors import InputError
from bayes_irsl.responses import Responses, type_faults


def check(responses: Responses, x: str | Sequence[str] = (), *, missing_x: MissingX = "error") -> CheckReport:
    """Describe responses before anything is fitted.

    Parameters
    ----------
    responses : Responses
        The table, from `read_responses`.
    x : str or sequence of str
        Scaling variables to check as well, ``NAME`` or ``NAME:log10|linear|date`` each: columns of the LM table.
    missing_x : {"error", "no-trend", "drop"}
        What becomes of LMs without x.

    Returns
    -------
    CheckReport

    Raises
    ------
    InputError
        If a scaling variable is not one: all faults of all of them.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayes_irsl.door.reading import read_responses
    >>> table = pd.DataFrame({"lm": ["a", "b"], "item": "q", "score": [0.2, 0.4], "flops": [1e20, 1e22]})
    >>> check(read_responses(table), "flops").to_text().splitlines()[-1]
    '- x flops (log10): 2 different values over 2 decades, too few to tell a line from a curve'
    """
    if faults := type_faults(responses):
        raise InputError(*faults)
    specs = [x] if isinstance(x, str) else list(x)
    if not specs:
        return report(responses)
    axes, _, kept = fit_axes(responses, specs, missing_x)
    return replace(report(kept), x=axes)
