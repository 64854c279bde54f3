"""Characters that no text of a table may hold: a saved fit could not keep them, and nobody means to write them."""

import re

# Tabs and line ends stand in quoted cells.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

RULE = "a text holds no control characters"


def holds_control(text: str) -> bool:
    r"""Tell whether a text holds a control character other than a tab or a line end.

    Examples
    --------
    >>> holds_control("a"), holds_control("a\x00"), holds_control("a\tb")
    (False, True, False)
    """
    return _CONTROL.search(text) is not None
