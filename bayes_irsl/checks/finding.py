"""What a check of a fit returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["pass", "review", "fail"]


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Parameters
    ----------
    check : str
        Name of the check.
    value : float
        What was measured; NaN where it cannot be.
    threshold : str
        Where the check passes.
    status : {"pass", "review", "fail"}
        ``review`` is for a person to judge.
    advice : str
        What to do, empty if all is well.
    """

    check: str
    value: float
    threshold: str
    status: Status
    advice: str = ""
