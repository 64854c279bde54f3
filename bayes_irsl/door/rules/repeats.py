"""Rules on repeated pairs of LM and item."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from bayes_irsl.door.draft import Draft, is_blank
from bayes_irsl.errors import Fault


def pairs_are_unique(draft: Draft) -> Iterator[Fault]:
    """Require one response of an LM to an item, unless an option says what repeats mean."""
    if draft.options.on_duplicate != "error":
        return
    lines = draft.responses.lines
    order = pd.Series(np.arange(len(lines)))
    first = order.groupby(draft.pair).transform("first").to_numpy()
    repeated = (first != order.to_numpy()) & ~is_blank(draft.lm) & ~is_blank(draft.item)
    if not repeated.any():
        return
    named = [name for name in ("score", "successes", "trials") if name in draft.responses.data.columns]
    cells = {name: draft.responses.texts(name) for name in named}
    way_out = "Correct the table, or give --on-duplicate first, or replicate if these are repeated trials"
    if "filter" in draft.responses.data.columns and draft.options.filter is None:
        way_out += "; the column filter tells rows apart: keep one with --filter NAME"
    for row in np.flatnonzero(repeated):
        earlier = int(first[row])
        said = ", ".join(f"{name} {cells[name][earlier]!r}" for name in named)
        same = all(cells[name][row].strip() == cells[name][earlier].strip() for name in named)
        rule = f"{draft.responses.word} {lines[earlier]} has this LM and item already, "
        rule += "with the same values" if same else f"with other values ({said})"
        pair = f"{draft.lm[row]}, {draft.item[row]}"
        yield draft.responses.fault(row, "", kind="repeated response", rule=rule, way_out=way_out, value=pair)


def replicates_are_countable(draft: Draft) -> Iterator[Fault]:
    """Require that repeats to be added up are counts, or scores of 0 and 1."""
    if draft.options.on_duplicate != "replicate" or not draft.has_score:
        return
    seen = draft.scored
    size = pd.Series(seen.astype(np.int64)).groupby(draft.pair).transform("sum").to_numpy()
    repeated_item = pd.Series(seen & (size > 1)).groupby(draft.item).transform("any").to_numpy()
    binary = np.isin(draft.proportion, (0.0, 1.0))
    for row in np.flatnonzero(seen & repeated_item & ~binary):
        yield draft.responses.fault(
            row,
            "score",
            kind="replicate",
            rule=f"item {draft.item[row]!r} has repeats, and only scores of 0 and 1 can be counted up",
            way_out="Give successes and trials, average the repeats yourself, or --on-duplicate first",
        )
