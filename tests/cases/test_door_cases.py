"""Inputs that are often got wrong: each as a table of our own and, where it is there, as a shared file."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bayes_irsl.covariates import fit_axis
from bayes_irsl.door.design_report import report
from bayes_irsl.door.reading import read_responses
from bayes_irsl.errors import Fault, InputError
from bayes_irsl.responses import Responses

SHARED = Path(__file__).parents[2].parent / "shared" / "cases"
NAMES = {"lm": "subject"}
BINARY = {"lm": "subject", "score": "correct"}

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def inner(*lines: str, name: str = "r.csv") -> Path:
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return inner


def shared(folder: str, name: str) -> Path:
    path = SHARED / folder / name
    if not path.is_file():
        pytest.skip("the shared inputs are not here")
    return path


def faults(call: Callable[[], object]) -> list[Fault]:
    with pytest.raises(InputError) as told:
        call()
    return [fault for fault in told.value.faults if isinstance(fault, Fault)]


# Exact zeros and ones among other scores.


def check_zeros_and_ones(path: Path, columns: dict[str, str]) -> None:
    read = read_responses(path, columns=columns)
    assert "5 of 12 responses are exactly 0 or 1 (1 zero, 4 ones)" in read.notes
    assert read.cells.score.max() == 1.0
    assert 0.9999999 in set(read.cells.score)
    squeezed = read_responses(path, columns=columns, on_boundary="squeeze")
    assert squeezed.cells.score.min() == pytest.approx(0.0416667, abs=5e-8)
    assert squeezed.cells.score.max() == pytest.approx(0.9583333, abs=5e-8)
    assert squeezed.choices["on_boundary"] == {"policy": "squeeze", "n": 12, "zeros": 1, "ones": 4}
    refused = faults(lambda: read_responses(path, columns=columns, on_boundary="error"))
    assert len(refused) == 5


def test_exact_zeros_and_ones(write: Write) -> None:
    scores = ["0.9999999", "1", "0.2", "0.3", "1.000", "0.5", "0.6", "1.0", "0.8", "0", "0.07", "1"]
    rows = [f"m{n // 4},q{n % 4},{score}" for n, score in enumerate(scores)]
    check_zeros_and_ones(write("lm,item,score", *rows), {})


@pytest.mark.shared
def test_exact_zeros_and_ones_shared() -> None:
    check_zeros_and_ones(shared("01-exact-zero-one", "scores.csv"), NAMES)


@pytest.mark.parametrize("one", ["1", "1.0", "1.000", "1e0", "+1", " 1 "])
def test_all_ways_to_write_one_are_one(write: Write, one: str) -> None:
    read = read_responses(write("lm,item,score", f"a,q,{one}", "b,q,0.5"))
    assert read.cells.score.tolist() == [1.0, 0.5]


def test_binary_tables_have_no_boundary(write: Write) -> None:
    path = write("lm,item,score", "a,q,1", "b,q,0")
    plain = read_responses(path)
    assert not any("exactly" in note for note in plain.notes)
    assert read_responses(path, on_boundary="squeeze").hash() == plain.hash()
    assert read_responses(path, on_boundary="error").hash() == plain.hash()


# Items that everybody or nobody solves.


def check_no_variance(read: Responses) -> None:
    note = "3 of 6 items have no variance: t1, t2 (all correct), t3 (none correct); effective length 3"
    assert note in report(read).notes
    assert len(read.items) == 6


def test_items_without_variance(write: Write) -> None:
    live = {"t1": "11111", "t2": "11111", "t3": "00000", "t4": "10110", "t5": "01010", "t6": "11001"}
    rows = [f"s{n},{item},{mark}" for item, marks in live.items() for n, mark in enumerate(marks)]
    check_no_variance(read_responses(write("lm,item,score", *rows)))


@pytest.mark.shared
def test_items_without_variance_shared() -> None:
    check_no_variance(read_responses(shared("03-no-variance-items", "binary.csv"), columns=BINARY))


# An LM with one response.


def check_single_response(read: Responses) -> None:
    assert "new: 1 response" in report(read).notes
    assert "new" in set(read.lms.lm)


def test_an_lm_with_one_response_stays_and_is_named(write: Write) -> None:
    rows = [f"{lm},{item},{int(item < 'k3')}" for lm in ("x", "y") for item in ("k1", "k2", "k3", "k4")]
    check_single_response(read_responses(write("lm,item,score", *rows, "new,k2,1")))


@pytest.mark.shared
def test_an_lm_with_one_response_stays_and_is_named_shared() -> None:
    check_single_response(read_responses(shared("04-single-response-subject", "binary.csv"), columns=BINARY))


# Text, missing marks and infinities among scores.


def check_texts(path: Path, columns: dict[str, str]) -> None:
    told = faults(lambda: read_responses(path, columns=columns))
    assert [(fault.line, fault.value) for fault in sorted(told, key=lambda fault: fault.line or 0)] == [
        (6, "inf"),
        (7, "-inf"),
        (8, "1e400"),
        (9, "True"),
        (10, "correct"),
        (11, "0.5%"),
        (15, "0x1"),
        (16, "1_0"),
    ]
    ways = {fault.value: fault.way_out for fault in told}
    assert 'scale="percent"' in ways["0.5%"]
    assert "--map True=1" in ways["True"]
    assert "map=" in ways["correct"]


def test_texts_missing_marks_and_infinities(write: Write) -> None:
    marks = [
        "0.5",
        "NA",
        "nan",
        "",
        "inf",
        "-inf",
        "1e400",
        "True",
        "correct",
        "0.5%",
        " 0.25 ",
        "1e-3",
        ".75",
    ]
    rows = [f"m{n % 2},q,{mark}" if n < 2 else f"m{n},q,{mark}" for n, mark in enumerate([*marks, "0x1", "1_0"])]
    check_texts(write("lm,item,score", *rows), {})
    good = [row for line, row in enumerate(rows, start=2) if line not in (6, 7, 8, 9, 10, 11, 15, 16)]
    read = read_responses(write("lm,item,score", *good))
    assert sorted(read.cells.score) == [1e-3, 0.25, 0.5, 0.75]
    assert read.missing == 3
    assert "3 cells are missing and stay out of the likelihood" in read.notes


@pytest.mark.shared
def test_texts_missing_marks_and_infinities_shared() -> None:
    check_texts(shared("06-non-numeric", "scores.csv"), NAMES)


# A scaling variable that is zero, negative, missing or text.


def check_scaling_variable(read: Responses, file: str) -> None:
    told = faults(lambda: fit_axis(read, "train_flops"))
    assert [fault.value for fault in told] == ["0", "-3e20", "", "3e20 FLOPs"]
    assert [fault.where for fault in told] == [f"{file}, line {line}, LM p-{line - 1}" for line in (4, 5, 6, 7)]
    assert "untrained checkpoint" in told[0].way_out
    assert "train_flops:linear" in told[0].way_out
    assert "--missing-x no-trend" in told[2].way_out
    assert told[3].way_out == "Strip the unit"
    kept = read.subset(lms=["p-1", "p-2", "p-5", "p-7"])
    axis, x, same = fit_axis(kept, "train_flops", "no-trend")
    assert axis.how == "log10"
    assert axis.centre == pytest.approx(21.301030, abs=5e-7)
    assert axis.n_values == 3
    assert len(same.lms) == 4
    assert np.isnan(x).tolist() == [False, False, True, False]
    np.testing.assert_allclose(x[~np.isnan(x)] * axis.unit + axis.centre, [20, 21.505150, 22.397940], atol=5e-7)
    assert (axis.encode([1e24])[0]) * axis.unit == pytest.approx(2.699, abs=5e-4)
    assert axis.extrapolation(["1e24"])[0] == pytest.approx(1.602, abs=5e-4)
    assert same.choices["missing_x"] == {
        "policy": "no-trend",
        "names": ["train_flops"],
        "lms": ["p-5"],
        "cells": 3,
    }
    _, x, dropped = fit_axis(kept, "train_flops", "drop")
    assert dropped.lms.lm.tolist() == ["p-1", "p-2", "p-7"]
    assert len(dropped.cells) == 9
    assert not np.isnan(x).any()
    assert any("1 LM has no value of train_flops: left out with 3 cells (p-5)" in note for note in dropped.notes)


def test_bad_values_of_the_scaling_variable(write: Write) -> None:
    values = ["1e20", "3.2e21", "0", "-3e20", "", "3e20 FLOPs", "2.5e22"]
    lms = write("lm,train_flops", *(f"p-{n},{value}" for n, value in enumerate(values, 1)), name="l.csv")
    rows = [f"p-{n},q{k},{(n * k) % 2}" for n in range(1, 8) for k in range(3)]
    check_scaling_variable(read_responses(write("lm,item,score", *rows), lms), str(lms))


@pytest.mark.shared
def test_bad_values_of_the_scaling_variable_shared() -> None:
    lms = shared("07-bad-flops", "subjects.csv")
    read = read_responses(shared("07-bad-flops", "scores.csv"), lms, columns=BINARY)
    check_scaling_variable(read, str(lms))


# One LM only.


def check_one_lm(read: Responses) -> None:
    assert "1 LM: ability and mean difficulty are separated by the prior only" in report(read).notes
    assert len(read.cells) == 8
    assert read.cells.score.sum() == 5


def test_one_lm_is_read_and_named(write: Write) -> None:
    path = write("lm,item,score,flops", *(f"only,q{n},{int(n < 5)},1e20" for n in range(8)))
    read = read_responses(path)
    check_one_lm(read)
    with pytest.raises(InputError, match="1 LM: a trend needs"):
        fit_axis(read, "flops")


@pytest.mark.shared
def test_one_lm_is_read_and_named_shared() -> None:
    check_one_lm(read_responses(shared("08-one-subject", "binary.csv"), columns=BINARY))


# Counts that cannot be counts.


def check_counts(path: Path, columns: dict[str, str]) -> None:
    told = faults(lambda: read_responses(path, columns=columns))
    assert sorted((fault.line, fault.column) for fault in told) == [
        (3, "successes"),
        (4, "successes"),
        (5, "successes"),
        (7, "successes"),
        (8, "trials"),
    ]


def test_counts_that_cannot_be(write: Write) -> None:
    pairs = ["3,10", "11,10", "-1,10", "2.5,10", "0,0", "5,0", "7,", "10,10", "4.0,8.0"]
    rows = [f"m{n},q,{pair}" for n, pair in enumerate(pairs)]
    check_counts(write("lm,item,successes,trials", *rows), {})
    read = read_responses(write("lm,item,successes,trials", rows[0], rows[4], *rows[7:]))
    assert read.cells[["successes", "trials"]].to_numpy().tolist() == [[3, 10], [10, 10], [4, 8]]
    assert read.cells.dtypes[["successes", "trials"]].tolist() == [np.int64, np.int64]
    assert read.missing == 1
    assert "1 cell is 0 of 0: no information, treated as missing" in read.notes


@pytest.mark.shared
def test_counts_that_cannot_be_shared() -> None:
    check_counts(shared("10-bad-counts", "counts.csv"), NAMES)


# Compute beyond 64-bit integers.


def responses_of(lms: Path, ids: list[str], write: Write, column: str, **options: str) -> Responses:
    rows = write(f"{column},item,score", *(f"{lm},q,0.5" for lm in ids))
    return read_responses(rows, lms, columns={"lm": column}, **options)  # type: ignore[arg-type]


def check_big_compute(csv: Path, jsonl: Path, write: Write, column: str) -> None:
    bad = responses_of(csv, ["f-1", "f-2", "f-3", "f-4", "f-5"], write, column)
    told = faults(lambda: fit_axis(bad, "train_flops"))
    assert [fault.where for fault in told] == [f"{csv}, line 6, LM f-5"]
    assert 'thousands="," (--thousands ",")' in told[0].way_out.replace("Give ", "")
    good = responses_of(csv, ["f-1", "f-2", "f-3", "f-4", "f-5"], write, column, thousands=",")
    axis, x, _ = fit_axis(good, "train_flops")
    logs = x * axis.unit + axis.centre
    np.testing.assert_allclose(logs, [24, 25.491362, 24, 18.964890, 24], atol=5e-7)
    assert x[0] == x[2] == x[4]
    flops = np.log10(6) + np.log10(good.lms.params) + np.log10(good.lms.tokens)
    assert flops[0] == pytest.approx(24.799341, abs=5e-7)
    three = ["f-1", "f-2", "f-4"]
    by_csv, by_json = (fit_axis(responses_of(path, three, write, column, thousands=","), "train_flops")[:2]
                       for path in (csv, jsonl))  # fmt: skip
    assert by_csv[0] == by_json[0]
    np.testing.assert_array_equal(by_csv[1], by_json[1])


def test_compute_beyond_64_bit_integers(write: Write) -> None:
    csv = write(
        "lm,train_flops,params,tokens",
        "f-1,1000000000000000000000000,70000000000,15000000000000",
        "f-2,3.1e25,405000000000,",
        "f-3,1E24,,",
        "f-4,9223372036854775808,1000000000,1000000000",
        'f-5,"1,000,000,000,000,000,000,000,000",,',
        name="l.csv",
    )
    jsonl = write(
        '{"lm": "f-1", "train_flops": 1000000000000000000000000}',
        '{"lm": "f-2", "train_flops": 3.1e25}',
        '{"lm": "f-4", "train_flops": 9223372036854775808}',
        name="l.jsonl",
    )
    check_big_compute(csv, jsonl, write, "lm")


@pytest.mark.shared
def test_compute_beyond_64_bit_integers_shared(write: Write) -> None:
    csv, jsonl = shared("15-big-flops", "subjects.csv"), shared("15-big-flops", "subjects.jsonl")
    check_big_compute(csv, jsonl, write, "subject")


# Real tables, with columns named otherwise.


@pytest.mark.shared
@pytest.mark.parametrize(
    ("folder", "file", "kind", "cells", "lms", "items", "benchmarks"),
    [
        ("frontier", "responses.csv", "score", 2515, 534, 58, 58),
        ("pythia", "responses.parquet", "counts", 51346, 452, 152, 10),
        ("openlm_scaling", "responses.parquet", "mixed", 4508, 98, 46, 46),
    ],
)
def test_real_tables(folder: str, file: str, kind: str, cells: int, lms: int, items: int, benchmarks: int) -> None:
    at = Path("..", "data", folder)
    read = read_responses(
        shared(str(at), file),
        shared(str(at), "subjects.csv"),
        shared(str(at), "items.csv"),
        columns={"lm": "subject", "score": "response"},
    )
    found = report(read)
    assert (found.kind, found.cells, found.lms, found.items) == (kind, cells, lms, items)
    assert found.benchmarks == benchmarks
    if folder == "frontier":
        assert fit_axis(read, "date")[0].how == "date"
    if folder == "pythia":
        told = faults(lambda: fit_axis(read, "flops"))
        assert {fault.value for fault in told} == {"0"}
        assert {fault.kind for fault in told} == {"zero"}
