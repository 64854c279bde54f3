"""`read_responses`: the one way in."""

from collections.abc import Mapping
from typing import Any, Literal, cast

import pandas as pd

from bayes_irsl.door.describing import describe_items, describe_lms
from bayes_irsl.door.draft import Draft, column_faults, rename, unused_names
from bayes_irsl.door.links import components, components_text
from bayes_irsl.door.options import OnBoundary, OnDuplicate, Options
from bayes_irsl.door.rules.catalogue import find_faults
from bayes_irsl.door.settling import Settled, settle
from bayes_irsl.door.sources import Role, Source, Table, load_table
from bayes_irsl.errors import Fault, InputError
from bayes_irsl.responses import Responses
from bayes_irsl.wording import counted, listed


def read_responses(
    responses: Source,
    lms: Source | None = None,
    items: Source | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    sep: str | None = None,
    decimal: str = ".",
    thousands: str | None = None,
    scale: Literal["percent"] | Mapping[str, str] | None = None,
    map: Mapping[str, float] | None = None,
    on_duplicate: OnDuplicate = "error",
    filter: str | None = None,
    on_boundary: OnBoundary = "auto",
    allow_disconnected: bool = False,
) -> Responses:
    """Read and check responses, LMs and items; every fault of all three tables comes in one message.

    Nothing is guessed, clipped or dropped silently: what an option changes is counted in ``notes`` and
    ``choices`` of the result.

    Parameters
    ----------
    responses : path or pandas.DataFrame
        One row for each response: ``lm, item, score`` or ``lm, item, successes, trials``. A CSV file
        (``.csv .tsv .txt``), JSON Lines (``.jsonl .ndjson``), Parquet, or a DataFrame. A cell that is empty
        or NA, NaN, null, None or N/A is missing. Where there are scores and counts, counts win.
    lms : path or pandas.DataFrame, optional
        ``lm`` and covariates. Without it, columns of the responses that are constant within each LM are
        covariates.
    items : path or pandas.DataFrame, optional
        ``item``, and ``benchmark``, ``chance`` and others. Without it, benchmark and chance may be in the
        responses.
    columns : mapping of str to str, optional
        New name to old name, ``{"lm": "subject"}``, in all three tables; an old name of ``""`` sets a column
        aside.
    sep : str, optional
        Separator of text files; by default a comma, or a tab in ``.tsv``.
    decimal, thousands : str
        Marks within numbers.
    scale : "percent" or mapping of item to "percent", optional
        Scores that run from 0 to 100 and are divided by 100.
    map : mapping of str to float, optional
        What texts in the score column mean, ``{"correct": 1.0, "incorrect": 0.0}``.
    on_duplicate : {"error", "first", "replicate"}
        What a repeated pair of LM and item is: a fault; the first response stays; or repeated trials, which
        are added up (counts, or scores of 0 and 1).
    filter : str, optional
        Keep responses whose column ``filter`` equals this name.
    on_boundary : {"auto", "error", "squeeze"}
        Scores of exactly 0 or 1 among others: left as they are and counted; a fault; or all scores y become
        ``(y (N - 1) + 0.5) / N`` with N responses.
    allow_disconnected : bool
        Accept parts of LMs and items that no response links.

    Returns
    -------
    Responses

    Raises
    ------
    InputError
        With every fault found: file, line or row, column, value, rule and way out.

    Examples
    --------
    >>> table = pd.DataFrame({"lm": ["a", "a", "b"], "item": ["p", "q", "p"], "score": ["0.5", "NA", "1"]})
    >>> read_responses(table).notes[:2]  # doctest: +NORMALIZE_WHITESPACE
    ('1 cell is missing and stays out of the likelihood',
     '1 of 2 responses is exactly 0 or 1 (0 zeros, 1 one)')
    """
    options = Options(
        columns or {},
        sep,
        decimal,
        thousands,
        scale,
        map or {},
        on_duplicate,
        filter,
        on_boundary,
        allow_disconnected,
    )
    draft, notes, choices = _draft({"responses": responses, "lms": lms, "items": items}, options)
    settled = settle(draft)
    cells = settled.cells
    parts = components(cells)
    if len(parts) > 1:
        if not allow_disconnected:
            raise InputError(_disconnected(draft.responses.file, cells))
        choices["allow_disconnected"] = {"parts": len(parts)}
    found_lms = describe_lms(draft, cells["lm"].unique())
    found_items = describe_items(draft, cells["item"].unique())
    return Responses(
        cells,
        found_lms.table,
        found_items.table,
        (*notes, *settled.notes, *_lost(draft, settled), *found_lms.notes, *found_items.notes),
        {**choices, **settled.choices, **({"axes": found_lms.marks} if found_lms.marks else {})},
        settled.missing,
        found_lms.places,
    )


def _draft(sources: Mapping[Role, Source | None], options: Options) -> tuple[Draft, list[str], dict[str, object]]:
    """Load the tables and apply every rule to what could be loaded."""
    faults: list[Fault | str] = []
    tables: dict[Role, Table] = {}
    given = {role: source for role, source in sources.items() if source is not None or role == "responses"}
    for role, source in given.items():
        try:
            tables[role] = load_table(cast(Source, source), role, options.sep)
        except InputError as error:
            faults += error.faults
    if len(tables) == len(given):
        faults += unused_names(list(tables.values()), options.columns)
    notes: list[str] = []
    for role, table in list(tables.items()):
        tables[role], told = rename(table, options.columns)
        notes += told
        missing = list(column_faults(tables[role]))
        if missing:
            faults += missing
            del tables[role]
    choices: dict[str, object] = _declared(options)
    if "responses" in tables and options.filter is not None:
        try:
            tables["responses"], note, dropped = _filtered(tables["responses"], options.filter)
            notes.append(note)
            choices["filter"] = {"name": options.filter, "rows dropped": dropped}
        except InputError as error:
            faults += error.faults
            del tables["responses"]
    if "responses" not in tables:
        raise InputError(*faults)
    draft = Draft(tables["responses"], tables.get("lms"), tables.get("items"), options)
    faults += find_faults(draft)
    if faults:
        raise InputError(*faults)
    return draft, notes, choices


def _declared(options: Options) -> dict[str, object]:
    """List the declarations about how files are written."""
    plain: dict[str, Any] = {"sep": options.sep, "decimal": options.decimal, "thousands": options.thousands}
    declared: dict[str, object] = {k: v for k, v in plain.items() if v not in (None, ".")}
    if options.columns:
        declared["columns"] = dict(options.columns)
    return declared


def _filtered(table: Table, name: str) -> tuple[Table, str, int]:
    if "filter" not in table.data.columns:
        way_out = "Leave --filter out, or name the column with --columns filter=OLD"
        raise InputError(Fault(table.file, "columns", "there is no column filter", way_out))
    texts = table.texts("filter")
    keep = texts == name
    if not keep.any():
        known = ", ".join(sorted(set(texts))[:20])
        raise InputError(Fault(table.file, "filter", "no row has this filter", f"Choose among {known}", name))
    dropped = int((~keep).sum())
    return table.take(keep), f"filter {name}: {keep.sum()} rows kept, {dropped} left out", dropped


def _disconnected(file: str, cells: pd.DataFrame) -> Fault:
    return Fault(
        file,
        "disconnected",
        components_text(components(cells)),
        "Add responses that link the parts, fit each part alone, or give --allow-disconnected: "
        "abilities in different parts are then compared through the priors only",
    )


def _lost(draft: Draft, settled: Settled) -> list[str]:
    """Name LMs and items whose every cell is missing."""
    notes = []
    for word, all_ids, column in (("LM", draft.lm, "lm"), ("item", draft.item, "item")):
        lost = sorted(set(pd.unique(all_ids)) - set(settled.cells[column].unique()))
        if lost:
            have = "has missing cells only and is" if len(lost) == 1 else "have missing cells only and are"
            notes.append(f"{counted(len(lost), word)} {have} left out ({listed(lost)})")
    return notes
