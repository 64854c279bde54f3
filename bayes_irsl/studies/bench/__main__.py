"""Measure the engines: ``python -m bayes_irsl.studies.bench OUT --only kernel samplers``.

Every measurement goes through processes of its own, one after another; let nothing else run meanwhile. All of them take
hours, most of that for the samplers of other packages. What is measured is written as soon as it is there: ``OUT`` gets
``bench.csv``, one figure a row, ``bench.md`` and ``seconds_by_cells.png``. Measurements of earlier runs stay.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Literal

import pandas as pd
from cyclopts import App, Parameter

from bayes_irsl.studies.bench.calibration import agreement, calibration
from bayes_irsl.studies.bench.figure import seconds_by_cells
from bayes_irsl.studies.bench.kernels import kernels
from bayes_irsl.studies.bench.plan import SMALL, Plan
from bayes_irsl.studies.bench.points import points
from bayes_irsl.studies.bench.results import long, page
from bayes_irsl.studies.bench.samplers import samplers
from bayes_irsl.studies.bench.sizes import sizes

Name = Literal["kernel", "samplers", "points", "sizes", "calibration", "agreement"]
MEASUREMENTS: Mapping[Name, Callable[[Plan, Path], pd.DataFrame]] = {
    "kernel": kernels,
    "samplers": samplers,
    "points": points,
    "sizes": sizes,
    "calibration": calibration,
    "agreement": agreement,
}

app = App(help=__doc__)


@app.default
def main(
    out: Path = Path("bench"),
    *,
    figure: Path | None = None,
    only: Annotated[tuple[Name, ...], Parameter(consume_multiple=True)] = tuple(MEASUREMENTS),
    small: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Measure.

    Parameters
    ----------
    out : Path
        Folder for tables, the figure and compiled programs.
    figure : Path, optional
        File of the figure; one in the folder if not given.
    only : tuple of str
        What to measure.
    small : bool
        Take small tables and short runs, to see that everything works.
    """
    plan = SMALL if small else Plan()
    out.mkdir(parents=True, exist_ok=True)
    for name in only:
        table = MEASUREMENTS[name](plan, out / "cache")
        table.to_csv(out / f"{name}.csv", index=False)
        sys.stdout.write(f"{name}\n{table.round(3).to_string(index=False)}\n\n")
        write(out, figure or out / "seconds_by_cells.png")


def write(out: Path, figure: Path) -> None:
    """Put together what has been measured so far."""
    files = {str(name): out / f"{name}.csv" for name in MEASUREMENTS}
    tables = {name: pd.read_csv(file) for name, file in files.items() if file.exists()}
    long(tables).to_csv(out / "bench.csv", index=False, float_format="%.6g")
    (out / "bench.md").write_text(page(tables))
    if "sizes" in tables:
        drawn = seconds_by_cells(tables["sizes"]).get_figure(root=True)
        assert drawn is not None
        drawn.savefig(figure)


if __name__ == "__main__":
    app()
