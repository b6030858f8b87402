"""How a finding prints itself: whole words in lines that fit beside JupyterLab's file browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import simulator
from helpers.simulator.findings.finding_facts import Kind
from helpers.simulator.findings.findings import LINE, Finding
from helpers.simulator.findings.words import Cause, Event

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
