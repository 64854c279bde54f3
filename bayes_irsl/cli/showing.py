"""What commands print of a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayes_irsl.cli.output import say, show

if TYPE_CHECKING:
    from bayes_irsl.fitting import Fit


def show_fit(fit: Fit) -> None:
    """Print choices, notes and the parameters that are single numbers."""
    from bayes_irsl import names, summaries

    described = names.to_dict(fit.model)
    say(f"x           {'none' if fit.axis is None else fit.axis.describe()}")
    say(f"trend       {described['trend']}")
    say(f"curve       {described['curve']}")
    say(f"likelihood  {described['likelihood']}")
    settings = ", ".join(f"{name} {value}" for name, value in fit.tree.attrs["settings"].items())
    say(f"engine      {fit.tree.attrs['engine']} ({settings})")
    for note in fit.notes:
        say(f"- {note}")
    show(summaries.summarise_parameters(fit.posterior), "Parameters")


def show_diagnostics(fit: Fit) -> bool:
    """Print the table of checks, and tell whether one failed."""
    from bayes_irsl.diagnostics import diagnose, failed

    table = diagnose(fit)
    show(table, "Diagnostics")
    return bool(failed(table))
