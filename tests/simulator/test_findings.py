"""How a finding prints itself: whole words in lines that fit beside JupyterLab's file browser; and
what it keeps as data.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import simulator
from helpers.simulator.findings import describe, words
from helpers.simulator.findings.finding_facts import Kind
from helpers.simulator.findings.findings import LINE, Finding
from helpers.simulator.findings.words import Cause, Event, Need, Phrase, Row

# Words are stretches of a formula, of 1 to 30 characters: with hyphens, brackets and letters at
# their ends and in their middles.
FORMULA = "half-warp[i+j]=*-row-of-tile-*" * 2
WORD = st.tuples(st.integers(0, 29), st.integers(1, 30)).map(lambda at: FORMULA[at[0] :][: at[1]])
WORDS = st.lists(WORD, min_size=1, max_size=60).map(" ".join)


def finding(message: str, cause: str = "", text: str = "") -> Finding:
    return Finding(
        "race",
        Event.WORDED(words=message),
        "k.cu",
        7,
        causes=(Cause.WORDED(words=cause),),
        source_lines={7: text},
    )


@given(message=WORDS, cause=WORDS, text=WORDS)
def test_lines_fit_and_no_word_is_broken(message, cause, text):
    shown = str(finding(message, cause, text))
    assert max(map(len, shown.splitlines())) <= LINE
    assert shown.split() == ["race:", *message.split(), "k.cu:7:", *text.split(), *cause.split()]


@pytest.mark.parametrize("filler", range(60, 95))
def test_a_thread_stays_on_one_line(filler):
    shown = str(finding(f"{'x' * filler} thread (10, 20, 30) of block (1, 2, 3) reads tile"))
    assert re.findall(r"\(\d+, \d+, \d+\)", shown) == ["(10, 20, 30)", "(1, 2, 3)"]
    assert max(map(len, shown.splitlines())) <= LINE


def test_a_word_longer_than_a_line_stays_whole():
    assert "y" * 150 in str(finding("y" * 150))


def test_html_keeps_the_lines_and_the_words():
    shown = finding("a < b")._repr_html_()
    assert "a &lt; b" in shown
    assert "white-space: pre-wrap" in shown and "word-break: normal" in shown


def test_the_machine_numbers_the_kinds_as_python_does():
    header = Path(simulator.__file__).parent / "machine" / "findings.h"
    kinds = header.read_text().partition("enum Kind")[2].partition("}")[0]
    declared = {name: int(number) for name, number in re.findall(r"(\w+) = (\d+)", kinds)}
    assert declared == {kind.name: kind.value for kind in Kind}
    assert sorted([*describe._KINDS, *describe._PLAIN]) == sorted(Kind)


# ---- what a finding says, as data ----

TABLES = {table.__name__: table for table in (Event, Cause, Phrase)}
OF_FINDING = {field.name for field in fields(Finding)} | set(words._WORDED)
SOURCES = sorted((Path(simulator.__file__).parent).rglob("*.py"))


def named_rows(tree: ast.AST) -> Iterator[tuple[Row, ast.Attribute]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            row = getattr(TABLES.get(node.value.id), node.attr, None)
            if isinstance(row, Row):
                yield row, node


def calls(tree: ast.AST) -> Iterator[tuple[Row, set[str]]]:
    """The calls that make a sentence of a row, with the names of the facts that they give."""
    rows = {id(node): row for row, node in named_rows(tree)}
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        given = {one.arg for one in call.keywords if one.arg}
        if id(call.func) in rows:
            yield rows[id(call.func)], given
        elif ast.unparse(call.func) == "self.access" and id(call.args[0]) in rows:
            yield rows[id(call.args[0])], given | {"verb", "nbytes"}


def test_each_row_of_the_tables_is_used_and_gets_the_facts_that_it_needs():
    trees = [ast.parse(path.read_text()) for path in SOURCES if path.name != "words.py"]
    used = {row for tree in trees for row, _ in named_rows(tree)}
    assert not [str(row) for table in TABLES.values() for row in table if row not in used]
    made = [call for tree in trees for call in calls(tree)]
    assert len(made) > 100
    missing = [(str(row), row.facts - OF_FINDING - given) for row, given in made]
    assert not [one for one in missing if one[1]]


def test_a_finding_of_a_file_keeps_its_words_and_what_it_needs():
    known = Finding(
        "out-of-bounds",
        Event.PAST_END(verb="reads", nbytes=8, element="x[-5]", past=4, extent="x is {short}"),
        "k.cu",
        7,
        array="x",
        index=-5,
        causes=(Cause.AS_SHORT(meant=65_531), Cause.SAME_LINES(lines=(8, 9))),
        source_lines={7: "x[i] = {0};"},
    )
    stored = json.loads(json.dumps(known.to_dict()))
    again = Finding.from_dict(stored)
    assert str(again) == str(known) and "x is {short}" in again.message
    assert again.need is known.need is Need.WIDER_INDEX
    assert again.to_dict() == known.to_dict()
    with pytest.raises(KeyError):
        Finding.from_dict({**stored, "reason": "NO_SUCH_ROW"})
