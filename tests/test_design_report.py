"""What the design cannot tell, and the report about it."""

import json

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayes_irsl as bi
from bayes_irsl.door.design_report import report
from bayes_irsl.door.design_rules import DESIGN_RULES, design_notes
from bayes_irsl.door.links import Bridge, bridges, components
from bayes_irsl.door.reading import read_responses
from bayes_irsl.errors import InputError


def links(text: str) -> pd.DataFrame:
    """Pairs such as ``ap`` are LM a on item p."""
    pairs = text.split()
    return pd.DataFrame({"lm": [pair[0] for pair in pairs], "item": [pair[1] for pair in pairs]})


def test_a_check_tells_of_scaling_variables_as_the_command_does() -> None:
    table = pd.DataFrame({"lm": list("abc"), "item": "q", "score": [0.2, 0.3, 0.4]})
    read = read_responses(table.assign(flops=["1e20", "1e21", ""], size=[1, 2, 4]))
    found = bi.check(read, "size")
    assert found.to_text().splitlines()[-1].startswith("- x size (linear): 3 different values over 3 units")
    assert json.loads(json.dumps(found.to_dict()))["x"][0]["n_values"] == 3
    assert [axis.describe() for axis in bi.check(read, ["flops", "size"], missing_x="drop").x] == [
        "flops (log10): 2 different values over 1 decades, too few to tell a line from a curve",
        "size (linear): 2 different values over 1 units, too few to tell a line from a curve",
    ]
    assert bi.check(read).x == ()
    with pytest.raises(InputError, match="column flops, value '': the value is missing"):
        bi.check(read, "flops")
    with pytest.raises(InputError, match="it is not what read_responses returns"):
        bi.check(table)


def test_every_rule_is_listed_once() -> None:
    assert len(set(DESIGN_RULES)) == len(DESIGN_RULES)


def test_items_without_variance_are_named_by_kind() -> None:
    rows = [
        ("a", "p", 1),
        ("b", "p", 1),
        ("a", "q", 0),
        ("b", "q", 0),
        ("a", "r", 0),
        ("b", "r", 1),
        ("a", "s", 1),
    ]
    read = read_responses(pd.DataFrame(rows, columns=["lm", "item", "score"]))
    assert "2 of 4 items have no variance: p (all correct), q (none correct); effective length 2" in design_notes(read)


def test_counts_without_variance_are_seen_as_well() -> None:
    rows = pd.DataFrame({"lm": ["a", "b"] * 2, "item": list("ppqq"), "successes": [1, 2, 3, 3], "trials": [2, 4, 3, 4]})
    assert "1 of 2 items has no variance: p (all equal); effective length 1" in design_notes(read_responses(rows))


def test_lms_and_items_with_one_response_are_named() -> None:
    rows = links("ap aq bp bq cp ar").assign(score=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    notes = design_notes(read_responses(rows))
    assert "c: 1 response" in notes
    assert "1 of 3 items has 1 response: r" in notes
    more = pd.concat([rows, links("dq").assign(score=0.7)])
    assert "2 of 4 LMs have 1 response: c, d" in design_notes(read_responses(more))


def test_look_alikes_are_named() -> None:
    rows = links("ap Ap").assign(score=[0.1, 0.2])
    assert "LMs whose names look alike: 'A' and 'a'" in design_notes(read_responses(rows))


def test_few_benchmarks_are_named() -> None:
    rows = links("ap aq ar bp").assign(score=[0.1, 0.2, 0.3, 0.4], benchmark=["k", "l", "k", "k"])
    assert "2 benchmarks: the scale between benchmarks is mostly the prior's" in design_notes(read_responses(rows))


def test_parts_are_told_again_where_they_are_allowed() -> None:
    rows = links("ap aq bp cr").assign(score=[0.1, 0.2, 0.3, 0.4])
    notes = design_notes(read_responses(rows, allow_disconnected=True))
    assert any(note.startswith("LMs and items fall into 2 parts") for note in notes)


def test_a_bridge_is_the_one_response_between_two_blocks() -> None:
    blocks = links("ap aq bp bq  cr cs dr ds es er  br")
    assert bridges(blocks) == [Bridge("b", "r", 2, 2)]
    assert bridges(links("ap aq bp bq cp")) == []  # c has one response, which is another note
    rows = blocks.assign(score=[n / 20 for n in range(len(blocks))])
    assert "bridge: 2 LMs and 2 items hang on one response, b on r" in design_notes(read_responses(rows))


@settings(max_examples=80)
@given(st.sets(st.tuples(st.sampled_from("abcdef"), st.sampled_from("pqrstu")), min_size=1))
def test_bridges_are_the_responses_whose_loss_splits_a_part(pairs: set[tuple[str, str]]) -> None:
    cells = pd.DataFrame(sorted(pairs), columns=["lm", "item"])
    parts = components(cells)
    expected = set()
    for lm, item in pairs:
        rest = cells[(cells.lm != lm) | (cells["item"] != item)]
        alone = (rest.lm == lm).sum() == 0 or (rest["item"] == item).sum() == 0
        if not alone and len(components(rest)) > len(parts):
            expected.add((lm, item))
    assert {(bridge.lm, bridge.item) for bridge in bridges(cells)} == expected
    assert sum(len(part.lms) for part in parts) == cells.lm.nunique()


def test_the_report_counts_and_is_plain_json() -> None:
    rows = links("ap aq bp bq cp").assign(score=["0", "0.5", "1", "NA", "0.25"])
    lms = pd.DataFrame({"lm": list("abc"), "flops": ["1e20", "", "3e21"], "family": ["x", "y", ""]})
    found = report(read_responses(rows, lms))
    told = json.loads(json.dumps(found.to_dict()))
    assert {name: told[name] for name in ("lms", "items", "benchmarks", "cells", "zeros", "ones")} == {
        "lms": 3,
        "items": 2,
        "benchmarks": 2,
        "cells": 4,
        "zeros": 1,
        "ones": 1,
    }
    assert told["missing_share"] == pytest.approx(2 / 6)
    assert told["marked_missing"] == 1
    assert told["per_lm"] == {"min": 1.0, "median": 1.0, "max": 2.0}
    assert told["covariates"][0] == {
        "name": "flops",
        "type": "number",
        "missing": 1,
        "low": "1e+20",
        "high": "3e+21",
        "common": [],
        "distinct": 2,
    }
    text = found.to_text()
    assert "4 (score); 33.3% of all pairs have no response" in text
    assert "2 of 4 responses are exactly 0 or 1 (1 zero, 1 one)" in text
    assert "family  text    2 values, 1 missing     x, y" in text
