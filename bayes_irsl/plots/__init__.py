"""Figures of a fit; `FIGURES` lists them by name. matplotlib is imported when the first one is drawn."""

from pathlib import Path as _Path

from bayes_irsl import lazily as _lazily

# The names are in __init__.pyi.
__getattr__, __dir__, __all__ = _lazily.attach(__name__, _Path(__file__).with_suffix(".pyi"))
