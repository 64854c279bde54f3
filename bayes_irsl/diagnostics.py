"""Whether a fit can be relied on: did the chains mix, and would the model have made such data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

import pandas as pd

from bayes_irsl.checks.finding import Finding
from bayes_irsl.checks.mixing import ess_bulk, ess_tail, finite, rhat
from bayes_irsl.checks.predictive import coverage
from bayes_irsl.checks.sampler import divergences, energy, tree_depth
from bayes_irsl.fitting import Fit

CHECKS: list[Callable[[Fit], Finding | None]] = [
    finite,
    rhat,
    ess_bulk,
    ess_tail,
    divergences,
    tree_depth,
    energy,
    coverage,
]
"""Every check; None means that it does not apply to the fit."""


def diagnose(fit: Fit) -> pd.DataFrame:
    """Check a fit.

    Chains are compared by rank-normalised split R-hat and by effective sample sizes of every reported quantity
    that varies; the sampler by divergences, tree depth and energy; the model by how many observed responses lie
    inside their own predictive intervals.

    Parameters
    ----------
    fit : Fit
        What `fit` returned.

    Returns
    -------
    pandas.DataFrame
        One row per check that applies: ``check, value, threshold, status, advice``. ``pass`` and ``fail`` are
        as they say, ``review`` asks for judgement: what was found need not be wrong, or could not be checked.

    Examples
    --------
    >>> import bayes_irsl as bi
    >>> truth = bi.simulate(bi.Model(likelihood=bi.likelihoods.beta), n_lms=8, n_items=6, seed=1)
    >>> found = bi.fit(bi.Model(), truth.responses, bi.SVI(steps=200, draws=500), x="x:linear", seed=1)
    >>> table = diagnose(found)
    >>> table.set_index("check").status["R-hat"], failed(table)
    ('review', False)
    """
    findings = [found for check in CHECKS if (found := check(fit)) is not None]
    return pd.DataFrame([asdict(finding) for finding in findings])


def failed(table: pd.DataFrame) -> bool:
    """Whether any check of a table of `diagnose` failed.

    Examples
    --------
    >>> failed(pd.DataFrame({"check": ["R-hat", "divergences"], "status": ["review", "pass"]}))
    False
    """
    return bool((table["status"] == "fail").any())
