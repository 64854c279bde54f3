"""Convergence on a hard real table: Pythia checkpoints, most of their items at chance.

19 training runs, 298 checkpoints from step 1000 on, 130 subtasks as counts. Abilities are a line in log compute
with a deviation per run. ``python -m bayes_irsl.studies.pythia FOLDER`` fits the table in FOLDER
(``responses.parquet, subjects.csv, items.csv``), saves the fit and writes its diagnostics.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pandas as pd
from cyclopts import App

from bayes_irsl.diagnostics import diagnose
from bayes_irsl.door.reading import read_responses
from bayes_irsl.engines.hmc import HMC
from bayes_irsl.fitting import fit
from bayes_irsl.responses import Responses
from bayes_irsl.storage import save
from irsl_models import Model

FIRST_STEP = 1000
app = App(help=__doc__)


def read(folder: Path) -> Responses:
    """Checkpoints from `FIRST_STEP` on, without the items that measure a bias and not an ability."""
    cells = pd.read_parquet(folder / "responses.parquet", columns=["subject", "item", "successes", "trials"])
    lms = pd.read_csv(folder / "subjects.csv")
    items = pd.read_csv(folder / "items.csv")
    lms = lms[lms["step"] >= FIRST_STEP]
    items = items[~items["item"].str.startswith("crows_pairs")]
    cells = cells[cells["subject"].isin(lms["subject"]) & cells["item"].isin(items["item"])]
    # The source gives shares; multiplied by the trials they are integers up to rounding.
    cells = cells.assign(successes=cells["successes"].round())
    return read_responses(cells, lms, items, columns={"lm": "subject"})


@app.default
def main(
    folder: Path, out: Path = Path("pythia.nc"), *, draws: int = 1500, warmup: int = 500, chains: int = 4, seed: int = 0
) -> None:
    """Run the study.

    Parameters
    ----------
    folder : Path
        Folder of the table.
    out : Path
        File of the fit; the diagnostics go beside it.
    draws, warmup, chains : int
        Settings of HMC.
    seed : int
        Seed of everything.
    """
    begun = time.monotonic()
    engine = HMC(draws=draws, warmup=warmup, chains=chains)
    fitted = fit(Model(), read(folder), engine, x="flops", group="model", seed=seed)
    save(fitted, out)
    table = diagnose(fitted)
    table.to_csv(out.with_suffix(".csv"), index=False)
    minutes = (time.monotonic() - begun) / 60.0
    sys.stdout.write(f"{table.to_string(index=False)}\nfit, saved and diagnosed in {minutes:.1f} minutes\n")


if __name__ == "__main__":
    app()
