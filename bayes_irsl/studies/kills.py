"""Kills: whether a fit that is killed and goes on ends with the draws of one that was left alone.

The command line fits a small simulated table in a process of its own: once undisturbed, then again and again. Each of
these fits is killed (SIGKILL) at a random moment and goes on with ``--resume``, up to three times, and is then left to
end. Draws count as the same if no bit differs.

``python -m bayes_irsl.studies.kills`` writes one row per fit.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from cyclopts import App

from bayes_irsl.simulation import simulate
from bayes_irsl.storage import load
from irsl_models import Model, likelihoods

MOST_KILLS = 3
# Share of kills that may come before a process samples, which is most of the time that a small fit takes.
EARLY = 0.2
MOMENTS = ("before", "warmup", "draws")
app = App(help=__doc__)


def study(kills: int, *, engine: str = "hmc", draws: int = 5000, seed: int = 0) -> pd.DataFrame:
    """Kill fits until there were enough kills.

    Returns
    -------
    pandas.DataFrame
        ``fit``; how many kills came ``before`` its first checkpoint, in its ``warmup`` and among its ``draws``; and
        whether its draws are the ``same`` to the last bit.
    """
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = simulate(Model(likelihood=likelihoods.beta), n_lms=12, n_items=6, seed=seed).responses
        table.cells.to_csv(folder / "cells.csv", index=False)
        table.lms.to_csv(folder / "lms.csv", index=False)
        words = ["fit", "cells.csv", "--lms", "lms.csv", "--x", "x", "--engine", engine, "--draws", str(draws)]
        words += ["--checkpoint-every", "0", "--resume", "--overwrite", "--out"]
        _fit(folder, *words, "compiled.nc")
        begun = time.monotonic()
        undisturbed = _started(folder, *words, "undisturbed.nc")
        _wait_for_state(folder / "undisturbed.nc.checkpoint", undisturbed)
        begins = time.monotonic() - begun
        _end(undisturbed)
        runs = time.monotonic() - begun - begins
        while kills > 0:
            moments = []
            for _ in range(rng.integers(1, MOST_KILLS + 1)):
                early = rng.uniform() < EARLY
                after = rng.uniform(0.0, begins if early else runs)
                moments.append(_killed(folder, [*words, "killed.nc"], after, early=early))
            _fit(folder, *words, "killed.nc")
            counts = {moment: moments.count(moment) for moment in MOMENTS}
            rows.append({"fit": len(rows), **counts, "same": _same(folder / "undisturbed.nc", folder / "killed.nc")})
            kills -= sum(counts.values())
            (folder / "killed.nc").unlink()
    return pd.DataFrame(rows)


def _started(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    program = (sys.executable, "-c", "from bayes_irsl.cli.main import run; run()")
    return subprocess.Popen((*program, *words), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let a fit end; that a check of so small a fit fails is no matter here."""
    told = process.communicate()[1]
    if process.returncode not in (0, 1):
        raise RuntimeError(f"exit status {process.returncode}: {told.decode()}")


def _fit(folder: Path, *words: str) -> None:
    _end(_started(folder, *words))


def _wait_for_state(checkpoint: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until a process has written one more checkpoint, or has ended."""
    before = set(checkpoint.glob("state-*"))
    while process.poll() is None and set(checkpoint.glob("state-*")) <= before:
        time.sleep(0.01)


def _killed(folder: Path, words: Sequence[str], after: float, *, early: bool) -> str:
    """Kill a fit some seconds after its start or its first checkpoint; tell how far it was, or nothing if it ended."""
    process = _started(folder, *words)
    checkpoint = folder / "killed.nc.checkpoint"
    if not early:
        _wait_for_state(checkpoint, process)
    try:
        process.communicate(timeout=after)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
    else:
        return ""
    names = {path.name.split("-")[0] for path in checkpoint.glob("*-*")}
    return "draws" if "draws" in names else "warmup" if "state" in names else "before"


def _same(one: Path, other: Path) -> bool:
    trees = [load(path).tree for path in (one, other)]
    first, second = ([tree[group].to_dataset() for group in ("sites", "sample_stats")] for tree in trees)
    return all(mine.equals(other) for mine, other in zip(first, second, strict=True))


@app.default
def main(
    out: Path = Path("kills.csv"), *, kills: int = 20, engine: str = "hmc", draws: int = 5000, seed: int = 0
) -> None:
    """Run the study.

    Parameters
    ----------
    out : Path
        CSV file to write.
    kills : int
        Kills, at least.
    engine : str
        hmc, nuts or svi.
    draws : int
        Draws of each chain: enough of them, and most kills come while they are made.
    seed : int
        Seed of the table and of the moments.
    """
    table = study(kills, engine=engine, draws=draws, seed=seed)
    table.to_csv(out, index=False)
    hit = {moment: int(table[moment].sum()) for moment in MOMENTS}
    sys.stdout.write(
        f"{sum(hit.values())} kills ({', '.join(f'{count} {moment}' for moment, count in hit.items())}); "
        f"{int(table['same'].sum())} of {len(table)} fits end with the same draws\n"
    )


if __name__ == "__main__":
    app()
