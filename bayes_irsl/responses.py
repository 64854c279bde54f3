"""Checked responses: what every model is fitted to."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd

from bayes_irsl.errors import Fault, InputError

Kind = Literal["counts", "score", "mixed"]
COUNTS = ("successes", "trials")


@dataclass(frozen=True, eq=False)
class Responses:
    """Responses of language models to items, with what is known about both.

    The three tables are sorted by id and agree: `lms` and `items` have one row for each id in `cells`.

    Parameters
    ----------
    cells : pandas.DataFrame
        One row for each observed response: ``lm``, ``item`` and ``score`` in [0, 1], or ``successes`` of
        ``trials``. Where some items have counts and others scores it has all three: ``score`` is NaN where
        there are counts, and ``trials`` is 0 where there is a score.
    lms : pandas.DataFrame
        ``lm`` and its covariates: float64 with NaN where missing, or text.
    items : pandas.DataFrame
        ``item``, ``benchmark``, ``chance`` (expected score of guessing, NaN where unknown) and other columns.
    notes : tuple of str
        What was chosen and counted while reading, in plain words.
    choices : mapping of str to object
        Options that changed something, with counts; goes into saved results.
    missing : int
        Rows of the table that were marked missing; they are not in `cells`.
    places : mapping of str to str
        Where each LM is described, for messages.

    Raises
    ------
    InputError
        If the tables do not agree.

    Examples
    --------
    >>> cells = pd.DataFrame({"lm": ["b", "a"], "item": ["q", "q"], "score": [0.5, 0.25]})
    >>> items = pd.DataFrame({"item": ["q"], "benchmark": ["q"], "chance": [0.0]})
    >>> responses = Responses(cells, pd.DataFrame({"lm": ["a", "b"]}), items)
    >>> responses.kind, list(responses.cells.lm)
    ('score', ['a', 'b'])
    """

    cells: pd.DataFrame
    lms: pd.DataFrame
    items: pd.DataFrame
    notes: tuple[str, ...] = ()
    choices: Mapping[str, object] = field(default_factory=dict)
    missing: int = 0
    places: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Check that the tables agree, and sort them."""
        faults = [
            f"{name} has no column {column}"
            for name, table, columns in (
                ("cells", self.cells, ("lm", "item")),
                ("lms", self.lms, ("lm",)),
                ("items", self.items, ("item", "benchmark", "chance")),
            )
            for column in columns
            if column not in table
        ]
        if "score" not in self.cells and not set(COUNTS) <= set(self.cells):
            faults.append("cells has neither a column score nor successes and trials")
        if faults:
            raise InputError(*faults)
        for name, by in (("cells", ["lm", "item"]), ("lms", ["lm"]), ("items", ["item"])):
            table = getattr(self, name)
            ids = dict.fromkeys(by, "str")
            # A stable order of rows makes every result independent of the order of the file.
            table = table.astype(ids).sort_values(by, ignore_index=True)
            if table.duplicated(by).any():
                twice = table.loc[table.duplicated(by), by].iloc[0].tolist()
                faults.append(f"{name} has {', '.join(twice)} twice")
            object.__setattr__(self, name, table[[*by, *(c for c in table.columns if c not in by)]])
        for name, column in (("lms", "lm"), ("items", "item")):
            differ = set(self.cells[column].unique()) ^ set(getattr(self, name)[column])
            if differ:
                faults.append(f"cells and {name} do not have the same ids: {', '.join(sorted(differ)[:20])}")
        if faults:
            raise InputError(*faults)

    @property
    def kind(self) -> Kind:
        """``"counts"``, ``"score"``, or ``"mixed"`` where items differ."""
        if "score" not in self.cells:
            return "counts"
        return "mixed" if "trials" in self.cells else "score"

    def subset(self, lms: Iterable[str] | None = None, items: Iterable[str] | None = None) -> "Responses":
        """Keep some LMs and items, and of the others what is left with responses.

        Parameters
        ----------
        lms, items : iterable of str or None
            Ids to keep; None keeps all.

        Returns
        -------
        Responses
            With `missing` 0: marks of missing cells belong to the whole table.

        Raises
        ------
        InputError
            If an id is unknown, or nothing is left.

        Examples
        --------
        >>> cells = pd.DataFrame({"lm": ["a", "b"], "item": ["p", "q"], "score": [0.5, 0.25]})
        >>> items = pd.DataFrame({"item": ["p", "q"], "benchmark": ["k", "k"], "chance": [0.0, 0.0]})
        >>> kept = Responses(cells, pd.DataFrame({"lm": ["a", "b"]}), items).subset(lms=["a"])
        >>> list(kept.items.item), kept.notes
        (['p'], ('subset: 1 of 2 LMs, 1 of 2 items, 1 of 2 cells',))
        """
        keep = np.ones(len(self.cells), dtype=np.bool_)
        for column, table, wanted in (("lm", self.lms, lms), ("item", self.items, items)):
            if wanted is None:
                continue
            chosen = set(wanted)
            unknown = sorted(chosen - set(table[column]))
            if unknown:
                raise InputError(f"subset: there is no {column} {', '.join(unknown[:20])}")
            keep &= self.cells[column].isin(chosen).to_numpy()
        if not keep.any():
            raise InputError("subset: no response is left; choose LMs and items that have responses")
        cells = self.cells[keep]
        if self.kind == "mixed":
            # What is left may be of one kind.
            if (cells["trials"] == 0).all():
                cells = cells.drop(columns=list(COUNTS))
            elif (cells["trials"] > 0).all():
                cells = cells.drop(columns="score")
        left_lms = self.lms[self.lms["lm"].isin(cells["lm"])]
        left_items = self.items[self.items["item"].isin(cells["item"])]
        note = (
            f"subset: {len(left_lms)} of {len(self.lms)} LMs, {len(left_items)} of {len(self.items)} items, "
            f"{len(cells)} of {len(self.cells)} cells"
        )
        return Responses(cells, left_lms, left_items, (*self.notes, note), self.choices, 0, self.places)

    def hash(self) -> str:
        """SHA-256 of the content; the order of rows and columns, notes and choices do not matter.

        Examples
        --------
        >>> cells = pd.DataFrame({"lm": ["a"], "item": ["q"], "score": [0.5]})
        >>> items = pd.DataFrame({"item": ["q"], "benchmark": ["q"], "chance": [0.0]})
        >>> len(Responses(cells, pd.DataFrame({"lm": ["a"]}), items).hash())
        64
        """
        digest = hashlib.sha256()
        for name, table in (("cells", self.cells), ("lms", self.lms), ("items", self.items)):
            for column in sorted(table.columns):
                values = table[column]
                digest.update(f"\x00{name}.{column}.{len(values)}\x00".encode())
                if pd.api.types.is_numeric_dtype(values.dtype):
                    # Adding 0.0 turns -0.0 into 0.0; NaN has one pattern of bits here.
                    digest.update((values.to_numpy(dtype="<f8", na_value=np.nan) + 0.0).tobytes())
                else:
                    codes, distinct = pd.factorize(values, sort=True)
                    digest.update(codes.astype("<i8").tobytes())  # -1 where missing
                    for text in distinct:
                        # The length before each text keeps "ab", "c" apart from "a", "bc".
                        raw = str(text).encode()
                        digest.update(b"%d:" % len(raw) + raw)
        return digest.hexdigest()


def type_faults(responses: object) -> list[Fault]:
    """Find that something given as responses is something else.

    Examples
    --------
    >>> type_faults(pd.DataFrame())[0].rule
    'it is not what read_responses returns'
    """
    if isinstance(responses, Responses):
        return []
    rule, way_out = "it is not what read_responses returns", "Read the table first: read_responses(table)"
    return [Fault("option responses", "option", rule, way_out, type(responses).__name__)]
