"""The embedded table: its size, some facts in it, and that it is what it was taken from."""

from importlib.resources import files
from pathlib import Path

import pandas as pd
import pytest

from bayes_irsl import datasets
from bayes_irsl.responses import Responses

SOURCE = Path(__file__).parents[2] / "shared/data/frontier"


@pytest.fixture(scope="module")
def responses() -> Responses:
    return datasets.frontier()


def test_frontier_has_its_full_size(responses: Responses) -> None:
    assert (len(responses.cells), len(responses.lms), len(responses.items)) == (2515, 534, 58)
    assert responses.kind == "score"
    assert responses.missing == 0


def test_frontier_scores_are_the_reported_ones(responses: Responses) -> None:
    score = responses.cells.set_index(["lm", "item"])["score"]
    assert score["Aria", "video_mme"] == 0.676
    assert score["Baichuan-13B-Base", "bbh"] == 0.4301
    assert score.between(0, 1).all()
    assert (score == 0).sum() == 64
    assert (score == 1).sum() == 0


def test_frontier_dates_and_chance_levels(responses: Responses) -> None:
    date = responses.lms.set_index("lm")["date"]
    assert date["Aria"] == "2024-09-30"
    assert date.max() < "2026-01-01"
    chance = responses.items.set_index("item")["chance"]
    assert chance["gpqa_diamond"] == 0.25
    assert chance.notna().sum() == 10
    assert (responses.items["benchmark"] == responses.items["item"]).all()


def test_frontier_files_are_small_and_name_their_source() -> None:
    folder = files("bayes_irsl") / "data_files" / "frontier"
    for name in ("responses.csv", "lms.csv", "items.csv"):
        assert len((folder / name).read_bytes()) < 500_000
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert "Epoch AI" in readme
    assert "CC BY 4.0" in readme
    assert "benchprobe" in readme


@pytest.mark.shared
def test_frontier_equals_its_source(responses: Responses) -> None:
    if not SOURCE.exists():
        pytest.skip("the source table is not here")
    cells = pd.read_csv(SOURCE / "responses.csv").rename(columns={"subject": "lm", "response": "score"})
    cells["item"] = cells["item"].str.removesuffix("_external")
    items = pd.read_csv(SOURCE / "items.csv")[["item", "chance"]]
    items["item"] = items["item"].str.removesuffix("_external")
    lms = pd.read_csv(SOURCE / "subjects.csv").rename(columns={"subject": "lm"})[["lm", "date"]]
    for ours, theirs, by in (
        (responses.cells, cells[["lm", "item", "score"]], ["lm", "item"]),
        (responses.lms, lms, ["lm"]),
        (responses.items[["item", "chance"]], items, ["item"]),
    ):
        pd.testing.assert_frame_equal(ours, theirs.sort_values(by, ignore_index=True), check_dtype=False)
