"""From a table of cells to the design of a model: responses that were observed, or are to be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from bayes_irsl import encoding
from bayes_irsl.engines.base import structure
from bayes_irsl.errors import Fault, InputError
from bayes_irsl.wording import counted
from irsl_models import Design, Model, likelihoods


def observed(model: Model, population: encoding.Population, cells: pd.DataFrame) -> Design:
    """Arrays of cells with their responses, in the form the likelihood of the model takes.

    Raises
    ------
    InputError
        If the likelihood gives some response no density.
    """
    lm = pd.Index(population.lms).get_indexer(cells["lm"])
    item = pd.Index(population.items).get_indexer(cells["item"])
    build = partial(encoding.design, population, lm, item)
    discrete = "successes" in structure(model, build(trials=np.ones(len(cells), dtype=int)))
    name = getattr(model.likelihood, "__name__", "the likelihood")
    if not discrete:
        if "successes" in cells:
            raise _misfit(f"{name} takes scores, and the table has counts", "Take beta_binomial", "")
        score = cells["score"].to_numpy(dtype=float)
        outside = ~np.asarray(structure(model, build(score=score))["score"]["fn"].support.base_constraint(score))
        if outside.any():
            zeros, ones = int((score[outside] == 0).sum()), int((score[outside] == 1).sum())
            read = 'read with on_boundary="squeeze" (--on-boundary squeeze)'
            way_out = f"Take ordered_beta, give successes and trials, or {read}"
            shown = f"{int(outside.sum())} of {len(score)} ({counted(zeros, 'zero')}, {counted(ones, 'one')})"
            raise _misfit(f"{name} needs scores strictly inside (0, 1)", way_out, shown)
        return build(score=score)
    if "successes" in cells:
        successes, trials = cells["successes"].to_numpy(dtype=int), cells["trials"].to_numpy(dtype=int)
        if model.likelihood is likelihoods.bernoulli and (trials != 1).any():
            raise _misfit("bernoulli takes one trial a response", "Take binomial or beta_binomial", str(trials.max()))
        return build(successes=successes, trials=trials)
    score = cells["score"].to_numpy(dtype=float)
    between = score[(score != 0) & (score != 1)]
    if between.size:
        way_out = "Give successes and trials, or take beta or ordered_beta"
        raise _misfit(f"{name} takes counts, or scores that are 0 or 1", way_out, f"{between.size} lie between")
    return build(successes=score.astype(int), trials=np.ones(len(score), dtype=int))


def unseen(
    population: encoding.Population,
    cells: pd.DataFrame,
    newcomers: encoding.Newcomers | None = None,
    names: Sequence[str] = (),
) -> Design:
    """Arrays of cells whose responses are to be drawn.

    Parameters
    ----------
    population : Population
        The calibration table.
    cells : pandas.DataFrame
        ``lm``, ``item`` and, for counts, ``trials``.
    newcomers : Newcomers, optional
        LMs beyond the calibration table.
    names : sequence of str
        Names of the newcomers, in their order.
    """
    lm = pd.Index([*population.lms, *names]).get_indexer(cells["lm"])
    item = pd.Index(population.items).get_indexer(cells["item"])
    trials = cells["trials"].to_numpy(dtype=int) if "trials" in cells else np.ones(len(cells), dtype=int)
    return encoding.design(population, lm, item, trials=trials, newcomers=newcomers)


def _misfit(rule: str, way_out: str, value: str) -> InputError:
    return InputError(Fault("option likelihood", "option", rule, way_out, value or None))
