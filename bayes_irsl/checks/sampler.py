"""Checks of what a Hamiltonian sampler records of itself; none of them applies to other engines."""

from __future__ import annotations

import numpy as np

from bayes_irsl.checks.finding import Finding
from bayes_irsl.fitting import Fit

BFMI = 0.3
# A trajectory cut short costs effective draws but no correctness; a few of them do not matter.
SATURATED = 0.01


def divergences(fit: Fit) -> Finding | None:
    """Draws at which the integrator left the posterior."""
    stats = fit.tree["sample_stats"]
    if "diverging" not in stats:
        return None
    value = float(stats["diverging"].sum())
    if not value:
        return Finding("divergences", value, "0", "pass")
    of = f"{value:.0f} of {stats['diverging'].size:,} draws"
    advice = f"{of}: part of the posterior may be missing; raise target_accept (--target-accept 0.95)"
    return Finding("divergences", value, "0", "fail", advice)


def tree_depth(fit: Fit) -> Finding | None:
    """Share of trajectories that were cut short."""
    stats = fit.tree["sample_stats"]
    limit = fit.tree.attrs["settings"].get("max_tree_depth")
    if "n_steps" not in stats or limit is None:
        return None
    value = float((stats["n_steps"] >= 2**limit - 1).mean())
    threshold = f"<= {SATURATED}"
    if value <= SATURATED:
        return Finding("tree depth reached", value, threshold, "pass")
    advice = "trajectories are cut short, which costs effective draws: raise warmup"
    return Finding("tree depth reached", value, threshold, "review", advice)


def energy(fit: Fit) -> Finding | None:
    """Whether the sampler moves between levels of energy: smallest E-BFMI of a chain."""
    stats = fit.tree["sample_stats"]
    if "energy" not in stats:
        return None
    levels = stats["energy"].to_numpy()
    # Mean squared step over variance, per chain.
    value = float((np.square(np.diff(levels, axis=1)).mean(1) / levels.var(1)).min())
    if value >= BFMI:
        return Finding("E-BFMI", value, f">= {BFMI}", "pass")
    return Finding("E-BFMI", value, f">= {BFMI}", "review", "heavy tails are explored slowly: raise draws")
