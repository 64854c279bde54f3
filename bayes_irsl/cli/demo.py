"""`bayes-irsl demo`: the embedded data from start to end."""

from __future__ import annotations

import sys
from pathlib import Path

from bayes_irsl.cli.output import say
from bayes_irsl.errors import Fault, InputError

EXAMPLE = "Example: bayes-irsl demo --out demo"
FOLDER = Path("demo")


def demo(*, out: Path = FOLDER) -> int:
    """Check, fit, diagnose and forecast benchmark scores that come with the program.

    Parameters
    ----------
    out : Path
        Folder for the saved fit, the forecasts and the figures; made if it is not there.
    """
    if out.exists() and not out.is_dir():
        raise InputError(Fault("option out", "option", "it is a file", "Name a folder", str(out)))
    out.mkdir(parents=True, exist_ok=True)

    from bayes_irsl.demonstration import run

    return 0 if run(out, say, progress=sys.stderr.isatty()) else 1
