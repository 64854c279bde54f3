"""`bayes-irsl plot`: one figure of a saved fit."""

from __future__ import annotations

from pathlib import Path

from bayes_irsl.cli.output import FIGURE_ENDINGS, check_target, say
from bayes_irsl.cli.words import part
from bayes_irsl.files import replacing

EXAMPLE = "Example: bayes-irsl plot fit.nc scores --out scores.png"


def plot(fit: Path, figure: str, /, *, out: Path, overwrite: bool = False) -> None:
    """Draw one figure of a fit.

    Parameters
    ----------
    fit : Path
        File that fit wrote.
    figure : str
        abilities, curves or scores.
    out : Path
        File to write: .png, .pdf or .svg.
    overwrite : bool
        Replace OUT if it is there.
    """
    check_target(out, FIGURE_ENDINGS, [fit], overwrite=overwrite)

    from bayes_irsl.plots.catalogue import FIGURES
    from bayes_irsl.storage import load

    draw = part("figure", FIGURES, figure)
    found = draw(load(fit))
    with replacing(out) as unfinished:
        found.savefig(unfinished)
    say(f"saved: {out}")
