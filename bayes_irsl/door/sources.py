"""Files and tables as they come: cells, column names and the line each row stands on."""

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bayes_irsl.door.characters import RULE, holds_control
from bayes_irsl.errors import Fault, InputError
from bayes_irsl.numerals import Texts, texts

Role = Literal["responses", "lms", "items"]
type Source = str | Path | pd.DataFrame

SEPARATORS = {".csv": ",", ".txt": ",", ".tsv": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
PARQUET = (".parquet", ".pq")


@dataclass(frozen=True)
class Table:
    """One table before it means anything.

    Parameters
    ----------
    role : {"responses", "lms", "items"}
        What the table is for.
    file : str
        Name used in messages.
    data : pandas.DataFrame
        Cells: texts from text files, typed values otherwise.
    lines : array of int64
        Where each row stands in the file.
    word : {"line", "row"}
        What `lines` counts: lines of a text file from 1, rows of a table from 0.
    """

    role: Role
    file: str
    data: pd.DataFrame
    lines: NDArray[np.int64]
    word: str
    _texts: dict[str, Texts] = field(default_factory=dict, repr=False, compare=False)

    def texts(self, column: str) -> Texts:
        """Return a column as it was written."""
        # Remembered, because a table of a million faults asks for a million cells.
        if column not in self._texts:
            self._texts[column] = texts(self.data[column])
        return self._texts[column]

    def fault(
        self,
        row: int | np.integer[Any],
        column: str,
        *,
        kind: str,
        rule: str,
        way_out: str,
        value: str | None = None,
    ) -> Fault:
        """Make the fault of one cell; its value is looked up unless given."""
        if value is None and column:
            value = self.texts(column)[row]
        line = int(self.lines[row])
        return Fault(self.file, kind, rule, way_out, value, line, column, self.word)

    def take(self, keep: NDArray[np.bool_]) -> "Table":
        """Keep some of the rows."""
        return Table(self.role, self.file, self.data[keep].reset_index(drop=True), self.lines[keep], self.word)


def load_table(source: Source, role: Role, sep: str | None = None) -> Table:
    """Load a file or a DataFrame.

    Parameters
    ----------
    source : path or pandas.DataFrame
        Text (``.csv .tsv .txt``), JSON Lines (``.jsonl .ndjson``) or Parquet (``.parquet .pq``).
    role : {"responses", "lms", "items"}
        What the table is for.
    sep : str or None
        Separator of a text file; by default a comma, or a tab in ``.tsv``.

    Returns
    -------
    Table

    Raises
    ------
    InputError
        If there is no such file, or its form is broken; every broken line is listed.

    Examples
    --------
    >>> load_table(pd.DataFrame({"lm": ["a"]}), "lms").word
    'row'
    """
    if isinstance(source, pd.DataFrame):
        return _typed_table(source, role, f"the table of {role}")
    if not isinstance(source, str | os.PathLike):
        rule = f"it is neither a file nor a DataFrame but of type {type(source).__name__}"
        raise InputError(Fault(f"the table of {role}", "table", rule, "Give a path, or make it a pandas.DataFrame"))
    path = Path(source)
    if path.is_dir():
        raise InputError(Fault(str(path), "file", "it is a folder", "Name a file in it"))
    if not path.is_file():
        rule = "it is not a regular file" if path.exists() else "there is no such file"
        raise InputError(Fault(str(path), "file", rule, "Check the path"))
    suffix = path.suffix.lower()
    if suffix in SEPARATORS:
        return _read_csv(path, role, sep or SEPARATORS[suffix])
    if suffix in JSON_LINES:
        return _read_json_lines(path, role)
    if suffix in PARQUET:
        return _read_parquet(path, role)
    known = ", ".join([*SEPARATORS, *JSON_LINES, *PARQUET])
    raise InputError(Fault(str(path), "file", f"the ending {suffix!r} is not known", f"Use one of {known}"))


def _typed_table(frame: pd.DataFrame, role: Role, file: str) -> Table:
    data = frame.reset_index(drop=True)
    data.columns = _names(list(data.columns), file)
    if data.empty:
        raise InputError(_no_rows(file))
    return Table(role, file, data, np.arange(len(data), dtype=np.int64), "row")


def _read_parquet(path: Path, role: Role) -> Table:
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        first = str(error).splitlines()[0]
        raise InputError(Fault(str(path), "file", f"not a Parquet file ({first})", "Write it again")) from None
    # Whole numbers beside missing values stay whole; an index that pandas stored stays a column.
    return _typed_table(table.to_pandas(integer_object_nulls=True, ignore_metadata=True), role, str(path))


def _read_csv(path: Path, role: Role, sep: str) -> Table:
    sep = "\t" if sep == "\\t" else sep  # as a shell hands it over
    if len(sep) != 1:
        raise InputError(Fault("option sep", "option", "a separator is one character", 'Use "\\t" for a tab', sep))
    reader = csv.reader(io.StringIO(_decode(path), newline=""), delimiter=sep, strict=True)
    names: list[str] | None = None
    rows: list[list[str]] = []
    lines: list[int] = []
    faults: list[Fault] = []
    for start, cells in _csv_rows(reader, path, faults):
        if names is None:
            names = _names(cells, str(path), start)
            _foresee_separator(names, sep, path)
        elif len(cells) == len(names):
            rows.append(cells)
            lines.append(start)
        else:
            rule = f"the row has {len(cells)} fields and the header {len(names)}"
            way_out = "Put values that hold the separator in double quotes, or name the right separator (--sep)"
            faults.append(Fault(str(path), "fields", rule, way_out, line=start))
    if faults:
        raise InputError(*faults)
    if names is None or not rows:
        raise InputError(_no_rows(str(path)))
    columns = zip(names, zip(*rows, strict=True), strict=True)
    data = pd.DataFrame({name: pd.Series(cells, dtype="str") for name, cells in columns})
    return Table(role, str(path), data, np.array(lines, dtype=np.int64), "line")


def _csv_rows(reader: Any, path: Path, faults: list[Fault]) -> Iterator[tuple[int, list[str]]]:
    """Yield rows with the line they start on; a quoted cell may hold line ends."""
    end = 0
    try:
        for cells in reader:
            if cells and cells != [""]:
                yield end + 1, cells
            end = reader.line_num
    except csv.Error as error:
        way_out = "Check the quotes of this line and of those before it"
        faults.append(Fault(str(path), "quotes", f"the line cannot be split ({error})", way_out, line=end + 1))


def _foresee_separator(names: list[str], sep: str, path: Path) -> None:
    if len(names) > 1:
        return
    for other in (";", "\t", ",", "|"):
        if other != sep and other in names[0]:
            shown = "\\t" if other == "\t" else other
            rule = f'the header has one column when split at "{sep}"'
            way_out = f'Give sep="{shown}" (--sep "{shown}"); check the decimal mark as well (--decimal)'
            raise InputError(Fault(str(path), "separator", rule, way_out, names[0], 1))


def _read_json_lines(path: Path, role: Role) -> Table:
    rows: list[dict[str, str]] = []
    lines: list[int] = []
    faults: list[Fault] = []
    for number, line in enumerate(_decode(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            rows.append(_json_row(line))
            lines.append(number)
        except ValueError as error:
            way_out = 'Write one object such as {"lm": "a", "item": "q1", "score": 0.5} on each line'
            faults.append(Fault(str(path), "json", f"the line is not one JSON object ({error})", way_out, line=number))
    if faults:
        raise InputError(*faults)
    if not rows:
        raise InputError(_no_rows(str(path)))
    names = list(dict.fromkeys(name for row in rows for name in row))
    data = pd.DataFrame({name: pd.Series([row.get(name, "") for row in rows], dtype="str") for name in names})
    data.columns = _names(names, str(path))
    return Table(role, str(path), data, np.array(lines, dtype=np.int64), "line")


def _json_row(line: str) -> dict[str, str]:
    # Numbers stay the text they were written as, so they meet the same grammar as those of a CSV file.
    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        twice = [name for name, n in Counter(name for name, _ in found).items() if n > 1]
        if twice:
            raise ValueError(f"{twice[0]!r} is given twice")
        return dict(found)

    try:
        row = json.loads(line, parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        raise ValueError(error.msg) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(row, Mapping):
        raise ValueError("it holds something else")
    return {_json_text(name): _json_text(value) for name, value in row.items()}


def _json_text(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else str(value)
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("it holds half of a surrogate pair")
    return text


def _decode(path: Path) -> str:
    raw = path.read_bytes()
    way_out = "Save the file as UTF-8"
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(Fault(str(path), "encoding", "the file is UTF-16, not UTF-8", way_out))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        rule = f"the file is not UTF-8: byte 0x{raw[error.start]:02x} cannot be read"
        raise InputError(Fault(str(path), "encoding", rule, way_out, line=line)) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(Fault(str(path), "encoding", "the file holds a zero byte: it is not text", way_out, line=line))
    return text


def _names(columns: list[Any], file: str, line: int | None = None) -> list[str]:
    names = [str(name).strip() for name in columns]
    repeated = [name for name, n in Counter(names).items() if n > 1]
    if repeated:
        rule = "column names are used once"
        raise InputError(*(Fault(file, "columns", rule, "Rename one of the columns", name, line) for name in repeated))
    wrong = [name for name in names if holds_control(name)]
    if wrong:
        raise InputError(*(Fault(file, "columns", RULE, "Rename the column", name, line) for name in wrong))
    return names


def _no_rows(file: str) -> Fault:
    return Fault(file, "rows", "the table has no rows", "Check that the right file was written")
