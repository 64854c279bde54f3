"""The list of rules on tables; a new rule is one function and its place here."""

from collections.abc import Callable, Iterator

from bayes_irsl.door.draft import Draft
from bayes_irsl.door.rules import counts, repeats, scores, tables
from bayes_irsl.errors import Fault

Rule = Callable[[Draft], Iterator[Fault]]

RULES: tuple[Rule, ...] = (
    tables.texts_can_be_stored,
    tables.ids_are_texts,
    tables.ids_are_not_blank,
    tables.ids_have_no_outer_blanks,
    tables.ids_are_unique,
    tables.responses_join,
    tables.benchmarks_are_named,
    tables.chance_is_a_share,
    scores.scores_are_numbers,
    scores.scores_are_in_range,
    scores.scores_are_inside,
    scores.map_is_used,
    scores.scales_are_used,
    counts.counts_are_numbers,
    counts.counts_are_whole,
    counts.counts_are_complete,
    counts.successes_are_among_trials,
    counts.items_have_one_kind,
    repeats.pairs_are_unique,
    repeats.replicates_are_countable,
)
"""Rules that every set of tables keeps, in the order in which faults are told."""


def find_faults(draft: Draft) -> list[Fault]:
    """Apply every rule.

    Parameters
    ----------
    draft : Draft
        The tables as read.

    Returns
    -------
    list of Fault
        All faults, those of one rule together, by table and line.
    """
    return [fault for rule in RULES for fault in rule(draft)]
