"""Rules on scores: they are numbers from 0 to 1."""

from collections.abc import Iterator

import numpy as np

from bayes_irsl.door.boundary import exact_zeros_and_ones
from bayes_irsl.door.draft import Draft
from bayes_irsl.errors import Fault

WAYS_OUT = {
    "percent sign": 'Give scale="percent" (--scale percent)',
    "truth value": 'Say what it means: map={"True": 1, "False": 0} (--map True=1 False=0)',
    "not a number": "Correct it, leave it empty if missing, or say what the text means: map={...} (--map)",
}
"""Ways out that only scores have, by kind of problem."""


def scores_are_numbers(draft: Draft) -> Iterator[Fault]:
    """Require that a score is a number or a missing mark; nothing is guessed."""
    for row, problem in sorted(draft.score.problems.items()):
        if not draft.counted[row]:
            yield draft.responses.fault(
                row,
                "score",
                kind=problem.kind,
                rule=problem.rule,
                way_out=WAYS_OUT.get(problem.kind, problem.way_out),
            )


def scores_are_in_range(draft: Draft) -> Iterator[Fault]:
    """Require scores from 0 to 1, or from 0 to 100 where percent is declared."""
    score, mapped = draft.score.floats, draft.mapped
    top = np.where(draft.percent & ~mapped, 100.0, 1.0)
    for row in np.flatnonzero(draft.scored & ((score < 0) | (score > top))):
        kind, rule, way_out = "range", f"a score runs from 0 to {top[row]:g}", "Correct the value"
        if 1 < score[row] <= 100:
            kind, way_out = "percent", 'If it is a percentage, give scale="percent" (--scale percent)'
        yield draft.responses.fault(row, "score", kind=kind, rule=rule, way_out=way_out)


def scores_are_inside(draft: Draft) -> Iterator[Fault]:
    """Refuse exact 0 and 1 among other scores with ``on_boundary="error"``."""
    if draft.options.on_boundary != "error":
        return
    for row in np.flatnonzero(exact_zeros_and_ones(draft.proportion)):
        yield draft.responses.fault(
            row,
            "score",
            kind="boundary",
            rule="exact 0 and 1 are refused (on_boundary=error)",
            way_out="Give successes and trials, or --on-boundary auto for a likelihood that has them",
        )


def map_is_used(draft: Draft) -> Iterator[Fault]:
    """Require that a text with a declared meaning occurs: else it is misspelt."""
    if not draft.options.map:
        return
    there = {text.strip() for text in draft.responses.texts("score")} if draft.has_score else set()
    for text in draft.options.map:
        if text not in there:
            rule = f"no score of {draft.responses.file} is written so"
            yield Fault("option map", "option", rule, "Check the spelling and the case, or leave it out", text)


def scales_are_used(draft: Draft) -> Iterator[Fault]:
    """Require that an item with a declared scale occurs."""
    if draft.options.scale is None or isinstance(draft.options.scale, str):
        return
    there = set(draft.item)
    for item in draft.options.scale:
        if item not in there:
            rule = f"{draft.responses.file} has no such item"
            yield Fault("option scale", "option", rule, "Check the spelling, or leave it out", item)
