"""What leaves the program: files that are whole or not there, and tables people can read."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayes_irsl.errors import Fault, InputError
from bayes_irsl.files import replacing

if TYPE_CHECKING:
    import pandas as pd

    from bayes_irsl.summaries import Kind, Rows

TABLE_ENDINGS = (".csv", ".tsv", ".parquet", ".pq", ".jsonl", ".ndjson")
FIT_ENDINGS = (".nc",)
FIGURE_ENDINGS = (".png", ".pdf", ".svg")
MOST_ROWS_SHOWN = 40
# Wide enough that a file or a pipe gets one line for each row.
WIDTH_WITHOUT_TERMINAL = 400


def check_target(
    path: Path, endings: Iterable[str], inputs: Iterable[Path] = (), option: str = "out", *, overwrite: bool
) -> None:
    """Make sure before any work that a file can be written where it is wanted.

    Parameters
    ----------
    path : Path
        File to write.
    endings : iterable of str
        Endings that we know how to write.
    inputs : iterable of Path
        Files that are read: none of them may be replaced by the result.
    option : str
        Option that names the file.
    overwrite : bool
        Whether the result may take the place of a file that is there.

    Raises
    ------
    InputError
        If the ending is not known, the folder is missing or closed, the file is an input, or it is there and may not
        be replaced.
    """

    def fault(rule: str, way_out: str) -> InputError:
        return InputError(Fault(f"option {option}", "option", rule, way_out, str(path)))

    endings = tuple(endings)
    if path.suffix.lower() not in endings:
        raise fault(f"the ending {path.suffix!r} is not known", f"Use one of {', '.join(endings)}")
    if path.is_dir():
        raise fault("it is a folder", "Name a file")
    if not path.parent.is_dir():
        raise fault(f"there is no folder {path.parent}", "Make it first, or write elsewhere")
    if not os.access(path.parent, os.W_OK):
        raise fault(f"nothing can be written into {path.parent}", "Write elsewhere, or change its rights")
    if any(path.resolve() == given.resolve() for given in inputs):
        raise fault("this command uses the file for something else, which would be lost", "Give it another name")
    if path.exists() and not overwrite:
        raise fault("the file is there already", "Give it another name, or --overwrite to replace it")


@contextmanager
def growing(path: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Give a function that puts a table behind those it was given before; the file appears when it is whole."""
    with replacing(path) as unfinished:
        ending = path.suffix.lower()
        if ending not in (".parquet", ".pq"):
            yield partial(_append, unfinished, ending)
            return
        with ExitStack() as opened:
            yield _Parquet(unfinished, opened)


class _Parquet:
    """A Parquet file that is opened with the columns of its first table."""

    def __init__(self, path: Path, opened: ExitStack) -> None:
        self._path, self._opened = path, opened
        self._writer: Any = None

    def __call__(self, table: pd.DataFrame) -> None:
        from pyarrow import Table
        from pyarrow.parquet import ParquetWriter

        rows = Table.from_pandas(table, preserve_index=False)
        if self._writer is None:
            self._writer = self._opened.enter_context(ParquetWriter(self._path, rows.schema))
        self._writer.write_table(rows)


def _append(path: Path, ending: str, table: pd.DataFrame) -> None:
    is_first = not path.exists()
    if ending in (".jsonl", ".ndjson"):
        table.to_json(path, orient="records", lines=True, double_precision=15, mode="w" if is_first else "a")
    else:
        separator = "\t" if ending == ".tsv" else ","
        table.to_csv(path, index=False, sep=separator, header=is_first, mode="w" if is_first else "a")


def write_summary(
    parts: Iterable[Rows], kind: Kind, prob: float, out: Path, draws_out: Path | None = None
) -> pd.DataFrame:
    """Summarise draws part by part, and write the summary and, where they are wanted, the draws."""
    import pandas as pd

    summaries = []
    with ExitStack() as unfinished:
        # Both are opened before anything is drawn: what cannot be written is known at once.
        files = [unfinished.enter_context(growing(path)) for path in (out, *([draws_out] if draws_out else []))]
        for rows in parts:
            if draws_out:
                files[1](rows.long())
            summaries.append(rows.summary(kind, prob))
        table = pd.concat(summaries, ignore_index=True)
        files[0](table)
    return table


@contextmanager
def speaking_of(path: Path) -> Iterator[None]:
    """Say the name of the file where a message is about the fit that was loaded from it."""
    try:
        yield
    except InputError as problem:
        named = [
            replace(fault, where=str(path)) if isinstance(fault, Fault) and fault.where == "fit" else fault
            for fault in problem.faults
        ]
        raise InputError(*named) from problem


def say(text: str) -> None:
    """Print a text as it is."""
    sys.stdout.write(text + "\n")


def tell(text: str) -> None:
    """Print a text that is no result."""
    sys.stderr.write(text + "\n")


def show(table: pd.DataFrame, title: str = "") -> None:
    """Print the first rows of a table; ids are printed as they are, whatever signs they hold."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table(title=Text(title) if title else None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in table.columns:
        number = table[column].dtype.kind in "fiu"
        grid.add_column(Text(str(column)), justify="right" if number else "left", overflow="fold")
    for row in table.head(MOST_ROWS_SHOWN).itertuples(index=False):
        grid.add_row(*(Text(f"{value:.4g}" if isinstance(value, float) else str(value)) for value in row))
    console = Console(file=sys.stdout)
    if not console.is_terminal:
        console.width = WIDTH_WITHOUT_TERMINAL
    console.print(grid)
    if len(table) > MOST_ROWS_SHOWN:
        say(f"... and {len(table) - MOST_ROWS_SHOWN} more rows")
