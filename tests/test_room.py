"""Draws that do not fit into memory."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayes_irsl as bi
from bayes_irsl import drawing, forecasting, prediction, room, summaries
from bayes_irsl.cli.output import growing

LMS = pd.DataFrame({"lm": ["near", "far"], "x": [0.5, 2.0], "group": ["group-0", "ours"]})


def on_disk(values: np.ndarray) -> bool:
    """Whether an array, or the one that it shows, is mapped from a file."""
    return isinstance(values, np.memmap) or (isinstance(values.base, np.ndarray) and on_disk(values.base))


@pytest.fixture(params=["memory", "disk"])
def most(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_IN_MEMORY", 10 if request.param == "disk" else 1000)


@pytest.mark.usefixtures("most")
def test_values_are_where_they_were_put() -> None:
    made = room.Room((3, 4), np.dtype(float))
    made.add(np.arange(5.0))
    made.add(np.arange(5.0, 12.0)[:, None])
    np.testing.assert_array_equal(made.array(), np.arange(12.0).reshape(3, 4))


def test_draws_on_disk_are_those_in_memory(fit: bi.Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = bi.forecast(fit, LMS, seed=3)
    expected = [bi.summarise(usual, by, kind) for by in ("item", "benchmark") for kind in ("score", "expected")]
    monkeypatch.setattr(room, "MOST_IN_MEMORY", 100)
    monkeypatch.setattr(summaries, "_MOST_VALUES", 1000)
    monkeypatch.setattr(prediction, "_MOST_VALUES", 24 * 90)
    drawn = bi.forecast(fit, LMS, seed=3)
    assert on_disk(drawn["score"].to_numpy())
    np.testing.assert_allclose(drawn["score"], usual["score"], rtol=1e-11)
    found = [bi.summarise(drawn, by, kind) for by in ("item", "benchmark") for kind in ("score", "expected")]
    for one, other in zip(found, expected, strict=True):
        pd.testing.assert_frame_equal(one, other, rtol=1e-10)


@pytest.mark.parametrize("by", ["item", "benchmark"])
@pytest.mark.parametrize("kind", ["score", "expected"])
def test_one_part_is_what_all_draws_say(fit: bi.Fit, by: Any, kind: Any) -> None:
    (rows,) = forecasting.new_cells(fit, LMS, seed=3).parts(by, kind)
    whole = bi.summarise(bi.forecast(fit, LMS, seed=3), by, kind)
    pd.testing.assert_frame_equal(rows.summary(kind, 0.9), whole, rtol=1e-12)


@pytest.mark.parametrize(("by", "most_rows", "n_parts"), [("item", 7, 4), ("benchmark", 4, 2), ("benchmark", 1, 6)])
def test_parts_share_lms_and_not_noise(
    fit: bi.Fit, monkeypatch: pytest.MonkeyPatch, by: Any, most_rows: int, n_parts: int
) -> None:
    """Abilities of new LMs, and so expected scores, are the same in all parts; noise is drawn anew."""
    cells = forecasting.new_cells(fit, LMS, seed=3)
    (whole,) = cells.parts(by, "expected")
    monkeypatch.setattr(drawing, "MOST_IN_MEMORY", most_rows * 600)
    parts = list(cells.parts(by, "expected"))
    assert len(parts) == n_parts
    pd.testing.assert_frame_equal(pd.concat([part.keys for part in parts], ignore_index=True), whole.keys)
    expected, score = (np.hstack([part.drawn for part in cells.parts(by, kind)]) for kind in ("expected", "score"))
    np.testing.assert_allclose(expected, whole.drawn, rtol=1e-9)
    # Noise of two rows, of whatever parts, has nothing to do with one another.
    correlation = np.corrcoef((score - expected).T)[np.triu_indices(len(whole.keys), 1)]
    assert np.abs(correlation).max() < 0.2


def test_rows_of_a_benchmark_stay_together(fit: bi.Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "_MOST_CELLS", 5)
    cells = forecasting.known_cells(fit, seed=1)
    rows = list(cells.parts("benchmark", "expected"))
    assert len(rows) > 1
    table = pd.concat([part.summary("expected", 0.9) for part in rows], ignore_index=True)
    usual = bi.summarise(bi.predict(fit, seed=1), "benchmark", "expected")
    pd.testing.assert_frame_equal(table, usual, rtol=1e-9)


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".jsonl"])
def test_tables_grow(tmp_path: Path, ending: str) -> None:
    read: dict[str, Callable[[Path], pd.DataFrame]] = {
        ".csv": pd.read_csv,
        ".tsv": lambda path: pd.read_csv(path, sep="\t"),
        ".parquet": pd.read_parquet,
        ".jsonl": lambda path: pd.read_json(path, lines=True),
    }
    path, table = tmp_path / f"table{ending}", pd.DataFrame({"lm": list("abcd"), "value": [0.1, 0.25, 0.5, 1.0]})
    with growing(path) as grow:
        grow(table.iloc[:3].reset_index(drop=True))
        assert not path.exists()
        grow(table.iloc[3:].reset_index(drop=True))
    pd.testing.assert_frame_equal(read[ending](path), table)


# 600 draws of 100,000 cells are 480 megabytes.
LARGE = """
import resource
import numpy as np
import pandas as pd
import bayes_irsl as bi
from bayes_irsl import drawing, forecasting
from test_pointwise import Near

drawing.MOST_IN_MEMORY = 2**21
truth = bi.simulate(bi.Model(likelihood=bi.likelihoods.beta), n_lms=3, n_items=2000, n_benchmarks=2, seed=1)
fit = bi.fit(bi.Model(), truth.responses, Near(truth.sites, draws=300), x="x:linear", seed=1)
new = pd.DataFrame({"lm": [f"new {number}" for number in range(50)], "x": 0.5})
next(forecasting.new_cells(fit, new[:2], seed=3).parts("item", "expected")).summary("expected", 0.9)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
parts = forecasting.new_cells(fit, new, seed=3).parts("item", "expected")
table = pd.concat([rows.summary("expected", 0.9) for rows in parts])
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
spread = table.groupby("item")["mean"].std().max()
print(len(table), round(grown), round(spread, 4))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count memory in other units")
def test_a_summary_takes_less_memory_than_its_draws() -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    done = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    rows, grown, spread = map(float, done.stdout.split())
    assert rows == 100_000
    assert grown < 200
    # All are LMs of the same x; means of 600 draws differ by their Monte Carlo error alone.
    assert spread < 0.05
