"""Which items a figure shows when nobody says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bayes_irsl.errors import Fault, InputError
from bayes_irsl.fitting import Fit


def observed(fit: Fit, by: str = "item") -> pd.DataFrame:
    """Observed scores, counts as shares.

    Parameters
    ----------
    fit : Fit
        The fit.
    by : {"item", "benchmark"}
        One row per LM and item; or per LM and benchmark, there the mean over its items, of LMs that answered all.
    """
    cells = fit.responses.cells
    score = cells["successes"] / cells["trials"] if "successes" in cells else cells["score"]
    table = cells[["lm", "item"]].assign(score=score)
    if by == "item":
        return table
    benchmark = fit.responses.items.set_index("item")["benchmark"]
    groups = table.assign(benchmark=table["item"].map(benchmark)).groupby(["lm", "benchmark"])["score"]
    means = groups.agg(["mean", "size"]).reset_index()
    complete = means["size"] == means["benchmark"].map(benchmark.value_counts())
    return means.loc[complete, ["lm", "benchmark", "mean"]].rename(columns={"mean": "score"}).reset_index(drop=True)


def chosen(fit: Fit, names: Sequence[str] | None, by: str, default: Sequence[str]) -> list[str]:
    """Names that were asked for, or the default.

    Raises
    ------
    InputError
        If the fit does not know a name.
    """
    if names is None:
        return list(default)
    known = set(fit.responses.items[by])
    faults = [
        Fault("figure", by, f"the fit has no such {by}", f"Name {by}s of the fit", name)
        for name in names
        if name not in known
    ]
    if faults:
        raise InputError(*faults)
    return list(names)


def most_answered(fit: Fit, by: str, count: int) -> list[str]:
    """Items or benchmarks with the most responses, the most answered first."""
    benchmark = fit.responses.items.set_index("item")[by] if by == "benchmark" else None
    names = fit.responses.cells["item"]
    counts = (names if benchmark is None else names.map(benchmark)).value_counts()
    return [str(name) for name in sorted(counts.index, key=lambda name: (-counts[name], name))[:count]]


def spread_in_difficulty(fit: Fit, count: int) -> list[str]:
    """Well-answered items, evenly from the easiest to the hardest."""
    counts = fit.responses.cells["item"].value_counts()
    candidates = sorted(counts.index[counts >= counts.median()])
    difficulty = fit.posterior["difficulty"].median(("chain", "draw")).sel(item=candidates).to_series()
    ordered = difficulty.sort_values().index
    places = np.unique(np.linspace(0, len(ordered) - 1, min(count, len(ordered))).round().astype(int))
    return [str(name) for name in ordered[places]]
