"""`bayes-irsl diagnose`: whether a saved fit can be relied on."""

from __future__ import annotations

from pathlib import Path

from bayes_irsl.cli.showing import show_diagnostics

EXAMPLE = "Example: bayes-irsl diagnose fit.nc"


def diagnose(fit: Path, /) -> int:
    """Check how well the sampler mixed; exit status 1 if a check failed.

    Parameters
    ----------
    fit : Path
        File that fit wrote.
    """
    from bayes_irsl.storage import load

    return 1 if show_diagnostics(load(fit)) else 0
