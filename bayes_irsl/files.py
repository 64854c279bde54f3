"""Files that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a place to write to, which takes the place of `path` once everything is written.

    Examples
    --------
    >>> import tempfile
    >>> kept = Path(tempfile.mkdtemp()) / "table.csv"
    >>> with replacing(kept) as unfinished:
    ...     _ = unfinished.write_text("lm,item,score")
    >>> kept.read_text()
    'lm,item,score'
    """
    target = path.resolve()  # behind a link: the link stays
    unfinished = target.with_name(f".{target.stem}.{os.getpid()}{target.suffix}")
    try:
        yield unfinished
        _to_disk(unfinished)
        os.replace(unfinished, target)
        if os.name == "posix":  # elsewhere a folder cannot be opened
            _to_disk(target.parent)
    except OSError as problem:
        if problem.filename is not None and str(problem.filename) == str(unfinished):
            problem.filename = str(path)
        raise
    finally:
        unfinished.unlink(missing_ok=True)


def _to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, would survive a loss of power."""
    number = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(number)
    finally:
        os.close(number)
