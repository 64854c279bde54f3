"""What a seed is, here and on the command line."""

from __future__ import annotations

from numbers import Integral

from bayes_irsl.errors import Fault, InputError

LARGEST = 2**63 - 1
"""JAX makes keys of signed numbers of 64 bits."""


def checked(seed: object) -> int:
    """Return a seed that JAX and NumPy can both take.

    Raises
    ------
    InputError
        If it is not a whole number from 0 to `LARGEST`.

    Examples
    --------
    >>> checked(7)
    7
    """
    if not isinstance(seed, bool) and isinstance(seed, Integral) and 0 <= int(seed) <= LARGEST:
        return int(seed)
    rule = "a seed is a whole number from 0 to 2^63 - 1"
    raise InputError(Fault("option seed", "option", rule, "Correct it", repr(seed)))
