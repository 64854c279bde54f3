"""Public names that import their module when they are first used: the program starts in a fraction of a second."""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def attach(package: str, stub: Path) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make the ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Parameters
    ----------
    package : str
        Name of the package.
    stub : Path
        File of ``from MODULE import NAME [as NAME]`` lines, which type checkers and editors read as well.

    Examples
    --------
    >>> import bayes_irsl
    >>> "fit" in dir(bayes_irsl), bayes_irsl.fit.__module__
    (True, 'bayes_irsl.fitting')
    """
    imports = [node for node in ast.parse(stub.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)]
    homes = {alias.asname or alias.name: (str(node.module), alias.name) for node in imports for alias in node.names}

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, original = homes[name]
        # A module of the package itself is not its attribute before it is imported.
        found = (
            import_module(f"{package}.{original}") if module == package else getattr(import_module(module), original)
        )
        setattr(sys.modules[package], name, found)
        return found

    names = sorted(homes)
    return find, lambda: names, names
