"""What commands print of a fit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bayes_irsl.cli.output import say, show

if TYPE_CHECKING:
    from bayes_irsl.fitting import Fit


def show_fit(fit: Fit, notes: Iterable[str] = ()) -> None:
    """Print choices, notes and the parameters that are single numbers."""
    from bayes_irsl import names, summaries

    described = names.to_dict(fit.model)
    axis = "none" if fit.axis is None else f"{fit.axis.name} ({fit.axis.how})"
    say(f"x           {axis}")
    say(f"trend       {described['trend']}")
    say(f"curve       {described['curve']}")
    say(f"likelihood  {described['likelihood']}")
    say(f"engine      {fit.tree.attrs['engine']}")
    for note in (*notes, *fit.notes):
        say(f"- {note}")
    show(summaries.summarise_parameters(fit.posterior), "Parameters")


def show_diagnostics(fit: Fit) -> bool:
    """Print the table of checks, and tell whether one failed."""
    from bayes_irsl.diagnostics import diagnose, failed

    table = diagnose(fit)
    show(table, "Diagnostics")
    return bool(failed(table))
