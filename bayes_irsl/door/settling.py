"""From a draft without faults to cells: missing marks, kinds, repeats, scales and boundaries."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bayes_irsl.door.boundary import boundary_note, exact_zeros_and_ones, squeeze
from bayes_irsl.door.draft import Draft
from bayes_irsl.errors import Fault, InputError


@dataclass(frozen=True)
class Settled:
    """Cells, and what was chosen on the way.

    Parameters
    ----------
    cells : pandas.DataFrame
        One row for each pair of LM and item that has a response.
    notes : tuple of str
        Choices and counts in plain words.
    choices : dict of str to object
        Options that changed something.
    missing : int
        Rows marked missing, 0 of 0 included.
    """

    cells: pd.DataFrame
    notes: tuple[str, ...]
    choices: dict[str, object]
    missing: int


def settle(draft: Draft) -> Settled:
    """Make cells of rows.

    Parameters
    ----------
    draft : Draft
        Tables that keep every rule.

    Returns
    -------
    Settled

    Raises
    ------
    InputError
        If no response is left.
    """
    notes: list[str] = []
    choices: dict[str, object] = {}
    missing = int((~draft.observed).sum())
    if missing:
        notes.append(f"{missing} {_cells(missing)} missing and {_stay(missing)} out of the likelihood")
    empty = int(draft.empty_counts.sum())
    if empty:
        notes.append(f"{empty} {_cells(empty)} 0 of 0: no information, treated as missing")
    rows = _rows(draft)
    if rows.empty:
        rule = "every response is missing"
        raise InputError(Fault(draft.responses.file, "rows", rule, "Check the columns score, successes and trials"))
    _note_counts(draft, notes)
    _note_options(draft, notes, choices)
    rows = _repeats(draft, rows, notes, choices)
    _boundary(draft, rows, notes, choices)
    return Settled(_by_kind(rows), tuple(notes), choices, missing)


def _rows(draft: Draft) -> pd.DataFrame:
    counted = draft.counted & ~draft.empty_counts
    rows = pd.DataFrame(
        {
            "lm": pd.Series(draft.lm, dtype="str"),
            "item": pd.Series(draft.item, dtype="str"),
            "score": draft.proportion,
            "successes": np.where(counted, draft.successes.floats, 0),
            "trials": np.where(counted, draft.trials.floats, 0),
        }
    )[draft.observed]
    return rows.astype({"successes": np.int64, "trials": np.int64}).reset_index(drop=True)


def _note_counts(draft: Draft, notes: list[str]) -> None:
    names = set(draft.responses.data.columns)
    if not draft.has_counts:
        alone = sorted(names & {"successes", "trials"})
        notes += [f"column {name} is not used: counts are successes and trials" for name in alone]
        return
    if not draft.has_score:
        return
    scored = int(draft.scored.sum())
    if not scored:
        notes.append("there are scores and counts: counts are used")
    else:
        notes.append(f"there are scores and counts: counts are used where they are given, {scored} cells have a score")
    share = draft.successes.floats / np.where(draft.trials.floats > 0, draft.trials.floats, np.nan)
    written = draft.score.floats / np.where(draft.percent & ~draft.mapped, 100.0, 1.0)
    differ = int((draft.counted & (np.abs(share - written) > 0.005)).sum())
    if differ:
        notes.append(f"{differ} scores differ from successes / trials by more than 0.005")


def _note_options(draft: Draft, notes: list[str], choices: dict[str, object]) -> None:
    percent = draft.percent & draft.scored & ~draft.mapped
    if percent.any():
        notes.append(f"{percent.sum()} scores were percentages and are divided by 100")
        choices["scale"] = {"percent": int(percent.sum()), "items": len(set(draft.item[percent]))}
        if (draft.proportion[percent] <= 0.01).all():
            notes.append("no score declared as a percentage is above 1: are they shares already?")
    mapped = draft.mapped & draft.scored
    if mapped.any():
        notes.append(f"{mapped.sum()} scores were texts with a declared meaning")
        choices["map"] = {"texts": dict(draft.options.map), "cells": int(mapped.sum())}


def _repeats(draft: Draft, rows: pd.DataFrame, notes: list[str], choices: dict[str, object]) -> pd.DataFrame:
    pair = ["lm", "item"]
    extra = rows.duplicated(pair)
    if not extra.any():
        return rows
    n = int(extra.sum())
    if draft.options.on_duplicate == "first":
        notes.append(f"{n} repeated responses are left out, the first of each stays")
        choices["on_duplicate"] = {"policy": "first", "rows dropped": n}
        return rows[~extra].reset_index(drop=True)
    notes.append(f"{n} repeated responses are added up as trials")
    choices["on_duplicate"] = {"policy": "replicate", "rows added up": n}
    score = rows["score"]
    # A score of 0 or 1 is one trial. If all scores are so, all become counts, so that items stay of one kind.
    repeated_items = set(rows.loc[rows.duplicated(pair, keep=False), "item"])
    binary = score.isin([0.0, 1.0])
    trial = binary & (rows["item"].isin(repeated_items) | (binary | score.isna()).all())
    rows = rows.assign(
        score=score.mask(trial),
        successes=rows["successes"] + (trial & (score == 1)).astype(np.int64),
        trials=rows["trials"] + trial.astype(np.int64),
    )
    summed = rows.groupby(pair, sort=False, as_index=False)
    return summed.agg({"score": "first", "successes": "sum", "trials": "sum"})


def _boundary(draft: Draft, rows: pd.DataFrame, notes: list[str], choices: dict[str, object]) -> None:
    scores = rows["score"].to_numpy()
    exact = exact_zeros_and_ones(scores)
    if not exact.any():
        return
    notes.append(boundary_note(scores))
    if draft.options.on_boundary == "squeeze":
        n = int(np.isfinite(scores).sum())
        rows["score"] = squeeze(scores, n)
        notes.append(f"all {n} scores y are squeezed to (y (N - 1) + 0.5) / N with N = {n}")
        zeros, ones = int((scores == 0).sum()), int((scores == 1).sum())
        choices["on_boundary"] = {"policy": "squeeze", "n": n, "zeros": zeros, "ones": ones}


def _by_kind(rows: pd.DataFrame) -> pd.DataFrame:
    """Leave the columns that the kind of the table needs."""
    counted = rows["trials"] > 0
    if counted.all():
        return rows[["lm", "item", "successes", "trials"]]
    return rows if counted.any() else rows[["lm", "item", "score"]]


def _cells(n: int) -> str:
    return "cell is" if n == 1 else "cells are"


def _stay(n: int) -> str:
    return "stays" if n == 1 else "stay"
