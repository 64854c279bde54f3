"""Rules on tables: each finds its faults, all of them, and nothing else."""

from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes_irsl.door.draft import Draft
from bayes_irsl.door.options import Options
from bayes_irsl.door.reading import read_responses
from bayes_irsl.door.rules.catalogue import RULES, find_faults
from bayes_irsl.door.sources import load_table
from bayes_irsl.errors import SHOWN_PER_KIND, Fault, InputError


def found(
    responses: pd.DataFrame,
    lms: pd.DataFrame | None = None,
    items: pd.DataFrame | None = None,
    options: Options | None = None,
) -> list[tuple[int | None, str, str]]:
    draft = Draft(
        load_table(responses, "responses"),
        None if lms is None else load_table(lms, "lms"),
        None if items is None else load_table(items, "items"),
        options or Options(),
    )
    return [(fault.line, fault.column, fault.kind) for fault in find_faults(draft)]


def scores(*texts: object) -> pd.DataFrame:
    return pd.DataFrame({"lm": "a", "item": [f"q{n}" for n in range(len(texts))], "score": list(texts)})


def counts(*pairs: tuple[object, object]) -> pd.DataFrame:
    items = [f"q{n}" for n in range(len(pairs))]
    columns = {"successes": [s for s, _ in pairs], "trials": [t for _, t in pairs]}
    return pd.DataFrame({"lm": "a", "item": items, **columns})


def test_every_rule_is_listed_once_and_says_what_it_requires() -> None:
    assert len(set(RULES)) == len(RULES)
    assert all(rule.__doc__ for rule in RULES)


def test_good_tables_have_no_faults() -> None:
    items = pd.DataFrame({"item": ["q0", "q1"], "benchmark": ["k", "k"], "chance": ["", "0.25"]})
    assert found(scores("0.5", "1"), pd.DataFrame({"lm": ["a", "b"]}), items) == []
    assert found(counts(("3", "10"), ("", ""))) == []


GOOD_SCORES = st.one_of(
    st.floats(0, 1, allow_subnormal=False).map(repr), st.sampled_from(["", "NA", "nan", "0", "1.000", " .5 "])
)
BAD_SCORES = st.sampled_from(
    [
        "inf",
        "-inf",
        "1e999",
        "True",
        "right",
        "5%",
        "0x1",
        "1_0",
        "1.5",
        "-0.1",
        "101",
        "0,5",
        "1,000",
        "nan%",
        "--1",
    ]
)


@settings(max_examples=60)
@given(st.lists(st.one_of(GOOD_SCORES.map(lambda t: (t, True)), BAD_SCORES.map(lambda t: (t, False))), min_size=1))
def test_every_bad_score_is_told_and_none_invented(cells: list[tuple[str, bool]]) -> None:
    told = found(scores(*(text for text, _ in cells)))
    assert [line for line, _, _ in sorted(told)] == [row for row, (_, good) in enumerate(cells) if not good]
    assert {column for _, column, _ in told} <= {"score"}


GOOD_COUNTS = st.one_of(
    st.tuples(st.integers(0, 9), st.integers(9, 20)).map(lambda c: (str(c[0]), f"{c[1]}.0")),
    st.sampled_from([("", ""), ("NA", "nan"), ("0", "0"), ("0", "7"), ("7", "7")]),
)
BAD_COUNTS = st.sampled_from(
    [
        ("11", "10"),
        ("-1", "10"),
        ("2.5", "10"),
        ("5", "0"),
        ("7", ""),
        ("", "7"),
        ("x", "10"),
        ("1", "inf"),
        ("0", "-3"),
    ]
)


@settings(max_examples=60)
@given(st.lists(st.one_of(GOOD_COUNTS.map(lambda t: (t, True)), BAD_COUNTS.map(lambda t: (t, False))), min_size=1))
def test_every_bad_count_is_told_and_none_invented(cells: list[tuple[tuple[str, str], bool]]) -> None:
    told = found(counts(*(pair for pair, _ in cells)))
    assert sorted({line for line, _, _ in told if line is not None}) == [
        row for row, (_, good) in enumerate(cells) if not good
    ]


@pytest.mark.parametrize(
    ("pair", "column", "kind"),
    [
        (("11", "10"), "successes", "too many successes"),
        (("-1", "10"), "successes", "negative count"),
        (("2.5", "10"), "successes", "fractional count"),
        (("1", "9.5"), "trials", "fractional count"),
        (("5", "0"), "successes", "too many successes"),
        (("7", ""), "trials", "half a count"),
        (("", "7"), "successes", "half a count"),
        (("1", "1e16"), "trials", "large count"),
    ],
)
def test_the_column_of_a_bad_count_is_named(pair: tuple[str, str], column: str, kind: str) -> None:
    assert found(counts(pair)) == [(0, column, kind)]


def test_ids_are_named_and_bare() -> None:
    rows = pd.DataFrame({"lm": ["a", "", " a", "a "], "item": ["p", "q", "  ", "q"], "score": "0.5"})
    assert found(rows) == [
        (1, "lm", "blank id"),
        (2, "item", "blank id"),
        (2, "lm", "padded id"),
        (3, "lm", "padded id"),
    ]


def test_control_characters_are_found_in_every_text_that_is_kept() -> None:
    rows = pd.DataFrame({"lm": ["a", "a\0", "b"], "item": "q", "score": ["0.5", "0.5\0", "NA"]})
    lms = pd.DataFrame({"lm": ["a", "b"], "family": ["x\x1b", "tab\tand\nend"], "flops": [1.0, 2.0]})
    items = pd.DataFrame({"item": ["q"], "benchmark": ["k\x85"]})
    assert [told for told in found(rows, lms, items) if told[2] == "control character"] == [
        (1, "lm", "control character"),
        (0, "family", "control character"),
        (0, "benchmark", "control character"),
    ]


def test_names_of_columns_hold_no_control_characters() -> None:
    with pytest.raises(InputError, match=r"value 'fam\\x00ily': a text holds no control"):
        load_table(pd.DataFrame({"lm": ["a"], "fam\0ily": ["x"]}), "lms")
    with pytest.raises(InputError, match=r"option columns, value 'a\\x00': a text holds no control"):
        Options(columns={"a\0": "b"})


def test_ids_of_typed_tables_are_texts_or_whole_numbers() -> None:
    rows = pd.DataFrame({"lm": [1, 2], "item": [1.0, 2.0], "score": 0.5})
    assert (None, "item", "id type") in found(rows)
    assert not [told for told in found(rows.astype({"item": int})) if told[2] == "id type"]


@pytest.mark.parametrize(
    "ids", [[True, False], [1.5, 2.5], [1j, 2j], pd.to_datetime(["2024-01-01", "2024-01-02"]), pd.to_timedelta([1, 2])]
)
def test_columns_of_other_types_are_no_ids(ids: Any) -> None:
    assert (None, "lm", "id type") in found(pd.DataFrame({"lm": ids, "item": "q", "score": 0.5}))
    as_category = pd.DataFrame({"lm": pd.Categorical(ids), "item": "q", "score": 0.5})
    assert [told for told in found(as_category) if told[2] == "id type"] != []


def test_cells_of_other_types_are_no_ids() -> None:
    ids = pd.Series(["a", 7, ("b",), True, 1.5, pd.Timestamp(0), None, 2**70], dtype=object)
    rows = pd.DataFrame({"lm": ids, "item": "q", "score": 0.5})
    assert [told for told in found(rows) if told[2] != "repeated response"] == [
        *((row, "lm", "id type") for row in (2, 3, 4, 5)),
        (6, "lm", "blank id"),
    ]


def test_complex_numbers_are_no_scores() -> None:
    told = found(pd.DataFrame({"lm": "a", "item": ["p", "q"], "score": [0.5 + 0.5j, 0.5]}))
    assert told == [(0, "score", "not a number"), (1, "score", "not a number")]


def test_tables_join_and_name_each_unknown_id_once() -> None:
    rows = pd.DataFrame({"lm": ["a", "z", "z"], "item": ["p", "p", "q"], "score": "0.5"})
    lms, items = pd.DataFrame({"lm": ["a", "b", "b"]}), pd.DataFrame({"item": ["p", "p"]})
    with pytest.raises(InputError) as told:
        read_responses(rows, lms, items)
    text = str(told.value)
    assert "the table of lms, row 2, column lm, value 'b': the id stands on row 1 already" in text
    assert "the table of items, row 1, column item, value 'p'" in text
    assert "row 1, column lm, value 'z': the table of lms has no row for this id (used in 2 rows)" in text
    assert "row 2, column item, value 'q': the table of items has no row for this id (used in 1 row)" in text
    assert len(told.value.faults) == 4


@pytest.mark.parametrize(("chance", "good"), [("0", True), ("0.999", True), ("", True), ("1", False), ("-0.1", False)])
def test_chance_is_at_least_0_and_below_1(chance: str, good: bool) -> None:
    items = pd.DataFrame({"item": ["q0"], "chance": [chance]})
    assert found(scores("0.5"), items=items) == ([] if good else [(0, "chance", "chance")])


def test_items_name_their_benchmark() -> None:
    items = pd.DataFrame({"item": ["q0", "q1"], "benchmark": ["k", " "]})
    assert found(scores("0.5", "0.5"), items=items) == [(1, "benchmark", "blank benchmark")]


def test_boundaries_are_faults_only_on_request_and_among_other_scores() -> None:
    strict = Options(on_boundary="error")
    assert found(scores("0", "0.5", "1.0"), options=strict) == [
        (0, "score", "boundary"),
        (2, "score", "boundary"),
    ]
    assert found(scores("0", "1", "1.0"), options=strict) == []
    assert found(scores("0", "0.5", "1.0")) == []
    assert found(counts(("0", "5"), ("5", "5"), ("1", "5")), options=strict) == []


def test_percentages_are_told_apart_from_other_excess() -> None:
    assert found(scores("55.5", "100", "101", "-3")) == [
        (0, "score", "percent"),
        (1, "score", "percent"),
        (2, "score", "range"),
        (3, "score", "range"),
    ]
    assert found(scores("55.5", "101"), options=Options(scale="percent")) == [(1, "score", "range")]


def test_long_lists_are_capped_with_the_exact_total() -> None:
    with pytest.raises(InputError) as told:
        read_responses(scores(*["x"] * 50, *["7"] * 3))
    text = str(told.value)
    assert text.startswith("53 faults in the input:")
    assert f"... and {50 - SHOWN_PER_KIND} more (not a number)" in text
    assert text.count("value 'x'") == SHOWN_PER_KIND
    assert text.count("value '7'") == 3
    assert len(told.value.faults) == 53


def test_faults_come_in_the_order_of_the_file() -> None:
    with pytest.raises(InputError) as told:
        read_responses(scores("x", "5%", "7", "y", "inf"))
    rows = [line.split("row ")[1][0] for line in str(told.value).splitlines()[1:]]
    assert rows == ["0", "1", "2", "3", "4"]


def test_faults_of_several_files_are_told_file_by_file() -> None:
    kinds = [("a.csv", 9), ("b.csv", 2), ("a.csv", 4), ("a.csv", None)]
    message = str(InputError(*(Fault(where, f"kind {n}", "rule", "Way out", line=n) for where, n in kinds), "last"))
    assert [line.split(":")[0] for line in message.splitlines()[1:]] == [
        "- a.csv",
        "- a.csv, line 4",
        "- a.csv, line 9",
        "- b.csv, line 2",
        "- last",
    ]


def test_a_fault_names_place_value_rule_and_way_out() -> None:
    fault = Fault("r.csv", "range", "a score runs from 0 to 1", "Correct it", "7", 3, "score")
    assert str(InputError(fault)) == "r.csv, line 3, column score, value '7': a score runs from 0 to 1. Correct it."
