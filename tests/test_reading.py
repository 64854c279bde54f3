"""Reading tables: forms of files, options, and what reaches the models."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes_irsl.door.reading import read_responses
from bayes_irsl.errors import InputError
from bayes_irsl.numerals import Numerals, Problem
from bayes_irsl.responses import Responses

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def inner(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return inner


def table(*rows: tuple[str, str, object]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["lm", "item", "score"])


GRID = table(("a", "p", 0.1), ("a", "q", 0.2), ("b", "p", 0.3), ("b", "q", 0.4))


@pytest.mark.parametrize(
    "text", ["0", "00", "1.5", ".75", "5.", "-2", "+3e-3", "1E24", " 0.25\t", "9223372036854775808"]
)
def test_decimal_numbers_are_read_as_python_reads_them(text: str) -> None:
    assert Numerals().read(text) == float(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("inf", "infinite"),
        ("-Infinity", "infinite"),
        ("1e400", "overflow"),
        ("1e-400", "underflow"),
        ("True", "truth value"),
        ("0x1", "not a number"),
        ("1_0", "not a number"),
        ("1e", "not a number"),
        ("٣", "not a number"),
        ("−1", "not a number"),
        ("5 %", "percent sign"),
        ("1,000,000", "thousands"),
        ("12'000'000", "thousands"),
        ("0,5", "decimal comma"),
        ("3e20 FLOPs", "unit"),
    ],
)
def test_everything_else_is_a_problem_with_a_kind(text: str, kind: str) -> None:
    problem = Numerals().read(text)
    assert isinstance(problem, Problem)
    assert problem.kind == kind


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_reads_back_exactly(number: float) -> None:
    assert Numerals().read(repr(number)) == number
    assert Numerals(decimal=",").read(repr(number).replace(".", ",")) == number


@given(st.text(max_size=8))
def test_a_text_is_a_number_only_if_python_agrees(text: str) -> None:
    read = Numerals().read(text)
    if isinstance(read, float):
        assert read == float(text)
        assert set(text.strip()) <= set("0123456789+-.eE")


@given(st.integers(min_value=0, max_value=10**30))
def test_declared_thousands_marks_are_read(number: int) -> None:
    assert Numerals(thousands=",").read(f"{number:,}") == float(number)
    assert Numerals(decimal=",", thousands=".").read(f"{number:,}".replace(",", ".") + ",5") == float(f"{number}.5")


def test_wrong_groups_of_digits_are_no_number() -> None:
    assert isinstance(Numerals(thousands=",").read("10,00"), Problem)
    assert isinstance(Numerals(thousands=",").read("1,0000"), Problem)


def test_ids_stay_as_they_are_written(write: Write) -> None:
    path = write("r.csv", "lm,item,score\nNA,0012,0.5\nNA,1e3,0.25\nnull,0012,0.75\nTrue,1e3,.5\n")
    read = read_responses(path)
    assert list(read.lms.lm) == ["NA", "True", "null"]
    assert list(read.items["item"]) == ["0012", "1e3"]


def test_missing_marks_are_counted_and_never_zero(write: Write) -> None:
    marks = ["", "NA", "nan", "NaN", "null", "None", "n/a", "N/A"]
    lines = "".join(f"a,q{i},{mark}\n" for i, mark in enumerate(marks))
    read = read_responses(write("r.csv", f"lm,item,score\na,q,0.5\nb,q,0.5\n{lines}"))
    assert read.missing == 8
    assert read.cells.score.tolist() == [0.5, 0.5]
    assert "8 cells are missing and stay out of the likelihood" in read.notes
    assert any(note.startswith("8 items have missing cells only") for note in read.notes)


names = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=4)


@settings(max_examples=40)
@given(
    st.dictionaries(st.tuples(names, names), st.one_of(st.none(), st.floats(0, 1, allow_subnormal=False)), min_size=1),
    st.randoms(use_true_random=False),
)
def test_forms_of_files_and_orders_of_rows_agree(
    tmp_path_factory: pytest.TempPathFactory, cells: dict[tuple[str, str], float | None], random: object
) -> None:
    if not any(score is not None for score in cells.values()):
        return
    folder = tmp_path_factory.mktemp("forms")
    rows = [{"lm": lm, "item": item, "score": score} for (lm, item), score in cells.items()]
    frame = pd.DataFrame(rows, columns=["lm", "item", "score"])
    frame.to_csv(folder / "r.csv", index=False)
    frame.iloc[::-1].to_csv(folder / "r.tsv", index=False, sep="\t")
    frame.to_parquet(folder / "r.parquet")
    (folder / "r.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    read: list[Responses] = [
        read_responses(source, allow_disconnected=True)
        for source in (frame, *(folder / f"r.{end}" for end in ("csv", "tsv", "parquet", "jsonl")))
    ]
    assert {r.hash() for r in read} == {read[0].hash()}
    assert {r.missing for r in read} == {sum(score is None for score in cells.values())}
    observed = {pair: score for pair, score in cells.items() if score is not None}
    assert {(c.lm, c.item): c.score for c in read[1].cells.itertuples()} == observed


def test_a_quoted_line_end_does_not_shift_line_numbers(write: Write) -> None:
    path = write("r.csv", 'lm,item,score\n"a\nb",q,0.5\n\nc,q,x\n')
    with pytest.raises(InputError, match="line 5, column score, value 'x'"):
        read_responses(path)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("r.csv", "lm;item;score\na;q;0,5\n", '--sep ";"'),
        ("r.csv", "lm,item,score\na,q\na,p,0.5\na,r,1,2\n", "line 2: the row has 2 fields"),
        ("r.csv", "lm,item,score\na,q\na,p,0.5\na,r,1,2\n", "line 4: the row has 4 fields"),
        ("r.csv", "lm,lm,item,score\na,b,q,1\n", "column names are used once"),
        ("r.csv", "lm,item,score\n", "no rows"),
        ("r.csv", "", "no rows"),
        ("r.csv", 'lm,item,score\na,"q,1\n', "line 2: the line cannot be split"),
        ("r.csv", "lm,question,score\na,q,1\n", "--columns item=OLD"),
        ("r.csv", "lm,item,successes\na,q,1\n", "never inferred"),
        ("r.csv", "lm,item,points\na,q,1\n", "neither a column score"),
        ("r.xlsx", "lm", "'.xlsx' is not known"),
        ("r.parquet", "lm", "not a Parquet file"),
        ("r.jsonl", '{"lm": "a"\n[1]\n{"lm": "a", "lm": "b"}\n', "line 1: the line is not one JSON object"),
        ("r.jsonl", '{"lm": "a"\n[1]\n{"lm": "a", "lm": "b"}\n', "line 2: the line is not one JSON object"),
        ("r.jsonl", '{"lm": "a"\n[1]\n{"lm": "a", "lm": "b"}\n', "'lm' is given twice"),
        ("r.jsonl", '{"lm": "a\\u0000", "item": "q", "score": 1}\n', "line 1, column lm, value 'a\\x00': a text holds"),
        ("r.jsonl", '{"lm": "\\ud800", "item": "q", "score": 1}\n', "it holds half of a surrogate pair"),
    ],
)
def test_broken_files_are_told(write: Write, name: str, text: str, says: str) -> None:
    with pytest.raises(InputError) as told:
        read_responses(write(name, text))
    assert says in str(told.value)
    assert name in str(told.value)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"lm,item,score\na,q,1\nb\xe9,q,1\n", "line 3: the file is not UTF-8: byte 0xe9"),
        ("lm,item,score\na,q,1\n".encode("utf-16"), "UTF-16"),
        (b"lm,item,score\na,q\x00,1\n", "line 2: the file holds a zero byte"),
    ],
)
def test_encodings_are_told(tmp_path: Path, raw: bytes, says: str) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(raw)
    with pytest.raises(InputError) as told:
        read_responses(path)
    assert says in str(told.value)


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(b"\xef\xbb\xbflm,item,score\r\na,q,0.5\r\nb,q,0.25\r\n")
    assert read_responses(path).cells.score.tolist() == [0.5, 0.25]


@pytest.mark.parametrize("source", [None, [["a", "q", 0.5]], {"lm": ["a"]}, pd.Series([0.5])])
def test_what_is_no_table_is_told(source: Any) -> None:
    kind = type(source).__name__
    with pytest.raises(
        InputError, match=f"the table of responses: it is neither a file nor a DataFrame but of type {kind}"
    ):
        read_responses(source)


def test_a_missing_file_is_told() -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_responses("nowhere.csv")


def test_faults_of_all_tables_come_together(write: Write) -> None:
    responses = write("r.csv", "lm,item,score\na,p,2\na,q,0.5\nc,p,0.5\n")
    lms = write("l.csv", "lm,flops\na,1\na,2\n")
    items = write("i.csv", "item,chance\np,1.5\nq,x\n")
    with pytest.raises(InputError) as told:
        read_responses(responses, lms, items)
    assert [fault.kind for fault in told.value.faults if not isinstance(fault, str)] == [
        "repeated id",
        "unknown id",
        "not a number",
        "chance",
        "percent",
    ]
    assert str(told.value).startswith("5 faults in the input:")


def test_columns_are_renamed_in_all_tables(write: Write) -> None:
    read = read_responses(
        write("r.csv", "subject,q,response,score\na,p,0.5,7\nb,p,0.25,8\n"),
        write("l.csv", "subject,train_flops\na,1e20\nb,1e21\n"),
        columns={"lm": "subject", "item": "q", "score": "response", "flops": "train_flops"},
    )
    assert read.cells.score.tolist() == [0.5, 0.25]
    assert read.lms.flops.tolist() == [1e20, 1e21]
    assert any("column score is set aside for response" in note for note in read.notes)
    assert read.choices["columns"] == {
        "lm": "subject",
        "item": "q",
        "score": "response",
        "flops": "train_flops",
    }


def test_a_renaming_that_fits_nothing_is_told() -> None:
    with pytest.raises(InputError, match="no table has a column subject"):
        read_responses(GRID, columns={"lm": "subject"})


def test_percent_is_divided_only_where_declared() -> None:
    mixed = table(("a", "p", "50"), ("a", "q", "0.5"), ("b", "p", "7%"), ("b", "q", "0.25"))
    read = read_responses(mixed, scale={"p": "percent"})
    assert read.cells.score.tolist() == [0.5, 0.5, 0.07, 0.25]
    assert read.choices["scale"] == {"percent": 2, "items": 1}
    with pytest.raises(InputError) as told:
        read_responses(mixed)
    assert str(told.value).count("--scale percent") == 2
    with pytest.raises(InputError, match="no such item"):
        read_responses(mixed, scale={"p": "percent", "z": "percent"})


def test_declared_texts_are_mapped_and_counted() -> None:
    marks = table(("a", "p", "C"), ("a", "q", "I"), ("b", "p", True), ("b", "q", "0.5"))
    read = read_responses(marks, map={"C": 1.0, "I": 0.0, "True": 1.0})
    assert read.cells.score.tolist() == [1.0, 0.0, 1.0, 0.5]
    assert read.choices["map"] == {"texts": {"C": 1.0, "I": 0.0, "True": 1.0}, "cells": 3}
    with pytest.raises(InputError, match="value 'c': no score"):
        read_responses(marks, map={"C": 1.0, "I": 0.0, "True": 1.0, "c": 1.0})


def test_decimal_commas_are_read_where_declared(write: Write) -> None:
    path = write("r.csv", "lm;item;score;tokens\na;q;0,5;1.000,5\nb;q;,25;2\n")
    read = read_responses(path, sep=";", decimal=",", thousands=".")
    assert read.cells.score.tolist() == [0.5, 0.25]
    assert read.lms.tokens.tolist() == [1000.5, 2.0]
    with pytest.raises(InputError, match='--decimal ","'):
        read_responses(path, sep=";")


def test_repeats_are_faults_that_name_both_lines(write: Write) -> None:
    path = write("r.csv", "lm,item,score\na,q,0.5\nb,q,0.5\na,q,0.5\nb,q,0.7\n")
    with pytest.raises(InputError) as told:
        read_responses(path)
    assert "line 4, value 'a, q': line 2 has this LM and item already, with the same values" in str(told.value)
    assert "line 5, value 'b, q': line 3 has this LM and item already, with other values (score '0.5')" in str(
        told.value
    )


def test_first_keeps_the_first_response() -> None:
    read = read_responses(
        table(("a", "q", None), ("a", "q", 0.5), ("a", "q", 0.7), ("b", "q", 1)), on_duplicate="first"
    )
    assert read.cells.score.tolist() == [0.5, 1.0]
    assert read.choices["on_duplicate"] == {"policy": "first", "rows dropped": 1}


def test_replicates_of_binary_scores_become_counts() -> None:
    read = read_responses(table(("a", "q", 1), ("a", "q", 0), ("a", "q", 1), ("b", "q", 1)), on_duplicate="replicate")
    assert read.kind == "counts"
    assert read.cells[["successes", "trials"]].to_numpy().tolist() == [[2, 3], [1, 1]]


def test_replicates_of_counts_are_added_up() -> None:
    counts = pd.DataFrame({"lm": ["a", "a", "b"], "item": ["q"] * 3, "successes": [1, 2, 0], "trials": [4, 5, 6]})
    read = read_responses(counts, on_duplicate="replicate")
    assert read.cells[["successes", "trials"]].to_numpy().tolist() == [[3, 9], [0, 6]]


def test_replicates_beside_other_items_make_a_mixed_table() -> None:
    rows = table(("a", "q", 1), ("a", "q", 0), ("b", "q", 1), ("a", "p", 0.5), ("b", "p", 0.25))
    read = read_responses(rows, on_duplicate="replicate")
    assert read.kind == "mixed"
    assert read.cells.trials.tolist() == [0, 2, 0, 1]
    assert read.cells.score.fillna(-1).tolist() == [0.5, -1, 0.25, -1]


def test_replicates_of_other_scores_are_refused() -> None:
    with pytest.raises(InputError, match="only scores of 0 and 1 can be counted up"):
        read_responses(table(("a", "q", 0.5), ("a", "q", 0.6), ("b", "q", 1)), on_duplicate="replicate")


def test_a_filter_chooses_rows_and_is_suggested_for_repeats() -> None:
    rows = pd.concat([GRID.assign(filter="strict"), GRID.assign(filter="flexible", score=0.9)])
    assert read_responses(rows, filter="strict").hash() == read_responses(GRID).hash()
    with pytest.raises(InputError, match="--filter NAME"):
        read_responses(rows)
    with pytest.raises(InputError, match="Choose among flexible, strict"):
        read_responses(rows, filter="loose")
    with pytest.raises(InputError, match="there is no column filter"):
        read_responses(GRID, filter="strict")


def test_counts_win_over_scores_and_items_may_differ() -> None:
    rows = pd.DataFrame(
        {
            "lm": ["a", "b", "a", "b"],
            "item": ["p", "p", "q", "q"],
            "score": [0.5, 0.25, 0.1, 0.2],
            "successes": ["5", "2.0", "", "NA"],
            "trials": [10, 8, None, None],
        }
    )
    read = read_responses(rows)
    assert read.kind == "mixed"
    assert read.cells.trials.tolist() == [10, 0, 8, 0]
    both = read_responses(rows[rows["item"] == "p"])
    assert both.kind == "counts"
    assert "there are scores and counts: counts are used" in both.notes
    assert read_responses(rows, columns={"successes": "", "trials": ""}).kind == "score"
    rows.loc[0, ["successes", "trials"]] = [None, None]
    with pytest.raises(InputError, match="item 'p' has a score here and counts on row 1"):
        read_responses(rows)


def test_constant_columns_of_the_responses_describe_lms_and_items() -> None:
    rows = GRID.assign(flops=[1e20, 1e20, 1e21, 1e21], run=[1, 2, 3, 4], benchmark="k", chance=0.25)
    read = read_responses(rows)
    assert list(read.lms.columns) == ["lm", "flops"]
    assert read.lms.flops.tolist() == [1e20, 1e21]
    assert read.items.to_dict("list") == {"item": ["p", "q"], "benchmark": ["k", "k"], "chance": [0.25, 0.25]}
    assert any(note.endswith("not constant within an LM and not used: run") for note in read.notes)
    with pytest.raises(InputError, match="item 'p' belongs to benchmark 'k' on an earlier row"):
        read_responses(rows.assign(benchmark=["k", "k", "l", "k"]))


def test_covariates_are_numbers_only_if_all_of_them_are(write: Write) -> None:
    lms = write("l.csv", "lm,flops,size,name,usd:log10\na,1e20,7b,NA,3\nb,NA,1,x,\nc,5,5,,2\n")
    read = read_responses(GRID, lms)
    assert read.lms.flops.dtype == np.float64
    assert read.lms.flops.isna().tolist() == [False, True]
    assert read.lms["size"].tolist() == ["7b", "1"]
    assert read.lms.name.tolist() == ["NA", "x"]
    assert read.choices["axes"] == {"usd": "log10"}
    assert any("1 LM has no responses and is left out (c)" in note for note in read.notes)
    assert any("size: 1 of 2 values are not numbers ('7b'), so the column is text" in note for note in read.notes)


def test_benchmarks_default_to_items_and_stay_names() -> None:
    assert read_responses(GRID).items.benchmark.tolist() == ["p", "q"]
    items = pd.DataFrame({"item": ["q", "p", "z"], "benchmark": [1, 2, 3], "chance": ["", "0.25", 0]})
    read = read_responses(GRID, items=items)
    assert read.items.benchmark.tolist() == ["2", "1"]
    assert read.items.chance.fillna(-1).tolist() == [0.25, -1.0]


def test_parts_without_a_link_are_refused_unless_allowed() -> None:
    rows = table(("a", "p", 0.1), ("b", "p", 0.2), ("c", "q", 0.3))
    with pytest.raises(InputError, match=r"2 parts .*2 LMs \(a, b\) on 1 item \(p\); 1 LM \(c\).*--allow-disconnected"):
        read_responses(rows)
    read = read_responses(rows, allow_disconnected=True)
    assert read.choices["allow_disconnected"] == {"parts": 2}
    assert len(read.cells) == 3


def test_nothing_left_is_told() -> None:
    with pytest.raises(InputError, match="every response is missing"):
        read_responses(table(("a", "q", None)))


def test_subset_keeps_the_tables_consistent() -> None:
    read = read_responses(GRID)
    kept = read.subset(lms=["b"], items=["q"])
    assert kept.cells.to_dict("list") == {"lm": ["b"], "item": ["q"], "score": [0.4]}
    assert kept.lms.lm.tolist() == ["b"]
    assert kept.items["item"].tolist() == ["q"]
    assert kept.hash() != read.hash()
    assert read.subset(lms=["b", "a"]).hash() == read.hash()
    with pytest.raises(InputError, match="there is no lm z"):
        read.subset(lms=["z"])
    with pytest.raises(InputError, match="no response is left"):
        read.subset(items=[])


def test_responses_refuse_tables_that_do_not_agree() -> None:
    read = read_responses(GRID)
    with pytest.raises(InputError, match="cells and lms do not have the same ids: b"):
        Responses(read.cells, read.lms[:1], read.items)
    with pytest.raises(InputError, match="cells has a, p twice"):
        Responses(pd.concat([read.cells, read.cells]), read.lms, read.items)


def test_any_change_of_content_changes_the_hash() -> None:
    base = read_responses(GRID).hash()
    assert read_responses(GRID.assign(score=GRID.score + 1e-12)).hash() != base
    assert read_responses(GRID.assign(flops=[1, 1, 2, 2])).hash() != base
    assert read_responses(GRID.assign(chance=0.1)).hash() != base


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"on_duplicate": "last"}, "error, first, replicate"),
        ({"on_boundary": "clip"}, "auto, error, squeeze"),
        ({"decimal": ";"}, "point or a comma"),
        ({"decimal": ",", "thousands": ","}, "differ"),
        ({"scale": "permille"}, 'only scale to declare is "percent"'),
        ({"map": {"x": 2.0}}, "a score from 0 to 1"),
        ({"sep": "::"}, "one character"),
        ({"columns": {"lm": "x", "item": "x"}}, "one new name"),
    ],
)
def test_options_are_checked(tmp_path: Path, options: dict[str, object], says: str) -> None:
    GRID.to_csv(tmp_path / "r.csv", index=False)
    with pytest.raises(InputError) as told:
        read_responses(tmp_path / "r.csv", **options)  # type: ignore[arg-type]
    assert says in str(told.value)


def test_typed_columns_describe_lms_as_texts_would(tmp_path: Path) -> None:
    typed = pd.DataFrame(
        {
            "lm": pd.Categorical(["a", "b"]),
            "tuned": [True, False],
            "date": pd.to_datetime(["2024-01-31", None]),
            "layers": pd.array([12, None], dtype="Int64"),
            "flops": [10**24, None],
            "tags": [["x", "y"], []],
        }
    )
    texts = tmp_path / "l.csv"
    texts.write_text("lm,tuned,date,layers,flops,tags\na,True,2024-01-31,12,1e24,\"['x', 'y']\"\nb,False,,,,[]\n")
    assert read_responses(GRID, typed).hash() == read_responses(GRID, texts).hash()
    arrow = tmp_path / "l.parquet"
    typed.drop(columns=["flops", "tags"]).to_parquet(arrow)
    short = typed.drop(columns=["flops", "tags"])
    assert read_responses(GRID, arrow).hash() == read_responses(GRID, short).hash()


def test_a_tab_may_be_written_as_in_a_shell(write: Write) -> None:
    path = write("r.txt", "lm\titem\tscore\na\tq\t1\nb\tq\t0\n")
    assert read_responses(path, sep="\\t").hash() == read_responses(path, sep="\t").hash()
    with pytest.raises(InputError, match=r'--sep "\\t"'):
        read_responses(path)


def test_columns_may_trade_names() -> None:
    traded = GRID.rename(columns={"lm": "item", "item": "lm"})
    assert read_responses(traded, columns={"lm": "item", "item": "lm"}).hash() == read_responses(GRID).hash()
