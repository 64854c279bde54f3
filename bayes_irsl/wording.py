"""Numbers and lists in sentences."""

from collections.abc import Sequence


def counted(n: int, noun: str) -> str:
    """Write a number of things.

    Examples
    --------
    >>> counted(1, "LM"), counted(1200, "cell")
    ('1 LM', '1200 cells')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def listed(names: Sequence[object], most: int = 5) -> str:
    """Write a list, its end counted where it is long.

    Examples
    --------
    >>> listed(["a", "b"]), listed("abcdefgh")
    ('a, b', 'a, b, c, d, e, ... and 3 more')
    """
    shown = ", ".join(map(str, names[:most]))
    return shown + (f", ... and {len(names) - most} more" if len(names) > most else "")
