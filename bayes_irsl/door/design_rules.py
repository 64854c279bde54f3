"""What the design of the responses cannot tell, one small function each; nothing here is a fault."""

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator

import pandas as pd

from bayes_irsl.door.links import bridges, components, components_text
from bayes_irsl.responses import Responses
from bayes_irsl.wording import counted, listed

DesignRule = Callable[[Responses], Iterator[str]]
SHOWN = 10


def one_lm(responses: Responses) -> Iterator[str]:
    """Tell that one LM carries no contrast between LMs."""
    if len(responses.lms) == 1:
        yield "1 LM: ability and mean difficulty are separated by the prior only"


def one_item(responses: Responses) -> Iterator[str]:
    """Tell that one item carries no contrast between items."""
    if len(responses.items) == 1:
        yield "1 item: its discrimination and the spread of abilities are separated by the prior only"


def shares(responses: Responses) -> pd.Series:
    """Return the score of each cell as a share of 1, counts divided by trials; for description only."""
    cells = responses.cells
    if responses.kind == "score":
        return cells["score"]
    share = cells["successes"] / cells["trials"].where(cells["trials"] > 0)
    return share if responses.kind == "counts" else share.fillna(cells["score"])


def items_without_variance(responses: Responses) -> Iterator[str]:
    """Name items that every LM, of two or more, answers alike: they do not order LMs."""
    share = shares(responses).groupby(responses.cells["item"])
    low, high, count = share.min(), share.max(), share.count()
    flat = (low == high) & (count > 1)
    if not flat.any():
        return
    groups = {
        "all correct": flat.index[flat & (low == 1)],
        "none correct": flat.index[flat & (low == 0)],
        "all equal": flat.index[flat & (low > 0) & (low < 1)],
    }
    told = ", ".join(f"{listed(names, SHOWN)} ({word})" for word, names in groups.items() if len(names))
    verb = "has" if flat.sum() == 1 else "have"
    n = len(flat)
    yield f"{flat.sum()} of {n} items {verb} no variance: {told}; effective length {n - flat.sum()}"


def lms_with_one_response(responses: Responses) -> Iterator[str]:
    """Name LMs with one response: their ability is nearly its prior."""
    count = responses.cells.groupby("lm").size()
    names = count.index[count == 1]
    if len(responses.items) == 1 or not len(names):
        return
    if len(names) == 1:
        yield f"{names[0]}: 1 response"
    else:
        yield f"{len(names)} of {len(count)} LMs have 1 response: {listed(names, SHOWN)}"


def items_with_one_response(responses: Responses) -> Iterator[str]:
    """Name items with one response: their parameters are nearly their prior."""
    count = responses.cells.groupby("item").size()
    names = count.index[count == 1]
    if len(responses.lms) > 1 and len(names):
        have = "has" if len(names) == 1 else "have"
        yield f"{len(names)} of {len(count)} items {have} 1 response: {listed(names, SHOWN)}"


def parts(responses: Responses) -> Iterator[str]:
    """Tell which parts have no link and are compared through the priors only."""
    found = components(responses.cells)
    if len(found) > 1:
        yield components_text(found) + "; they are compared through the priors only"


def weak_links(responses: Responses) -> Iterator[str]:
    """Name links that hang on one response and are as uncertain as that response."""
    found = bridges(responses.cells)
    for bridge in found[:SHOWN]:
        lms, items = counted(bridge.n_lms, "LM"), counted(bridge.n_items, "item")
        yield f"bridge: {lms} and {items} hang on one response, {bridge.lm} on {bridge.item}"
    if len(found) > SHOWN:
        yield f"bridge: ... and {len(found) - SHOWN} more"


def small_benchmarks(responses: Responses) -> Iterator[str]:
    """Tell that few benchmarks do not say how benchmarks differ."""
    n = responses.items["benchmark"].nunique()
    if 1 < n < min(4, len(responses.items)):
        yield f"{n} benchmarks: the scale between benchmarks is mostly the prior's"


def look_alikes(responses: Responses) -> Iterator[str]:
    """Name ids that differ only by case or by forms of the same letters: they may be one."""
    for word, ids in (("LMs", responses.lms["lm"]), ("items", responses.items["item"])):
        alike: dict[str, list[str]] = defaultdict(list)
        for name in ids:
            alike[unicodedata.normalize("NFKC", name).casefold()].append(repr(name))
        found = [" and ".join(names) for names in alike.values() if len(names) > 1]
        if found:
            yield f"{word} whose names look alike: {listed(found, SHOWN)}"


DESIGN_RULES: tuple[DesignRule, ...] = (
    one_lm,
    one_item,
    items_without_variance,
    lms_with_one_response,
    items_with_one_response,
    parts,
    weak_links,
    small_benchmarks,
    look_alikes,
)
"""Rules on designs, in the order in which they are told."""


def design_notes(responses: Responses) -> tuple[str, ...]:
    """Say what the design cannot tell.

    Parameters
    ----------
    responses : Responses

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> cells = pd.DataFrame({"lm": ["a", "a"], "item": ["p", "q"], "score": [0.0, 1.0]})
    >>> items = pd.DataFrame({"item": ["p", "q"], "benchmark": ["k", "k"], "chance": [0.0, 0.0]})
    >>> design_notes(Responses(cells, pd.DataFrame({"lm": ["a"]}), items))
    ('1 LM: ability and mean difficulty are separated by the prior only',)
    """
    return tuple(note for rule in DESIGN_RULES for note in rule(responses))
