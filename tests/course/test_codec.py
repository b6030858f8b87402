"""What comes out of the box is a student's word: only what can be true is read."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping

import numpy as np
import pytest

from helpers import exercises, kernel_cells
from helpers.course import codec, wire
from helpers.exercises.judge.cases import Case
from helpers.exercises.judge.exercise import Exercise

EDGE = exercises.find("conv1d_edge")
CASES = EDGE.fitted(kernel_cells.parse(EDGE.solution), 5)
ANSWER = codec.answer(CASES, EDGE.run(EDGE.solution, 5))
NOTES, START = wire.content(ANSWER)


def read(notes, cases=CASES, answer=ANSWER):
    return codec.outcomes(notes, cases, answer, START)


def test_an_answer_is_read():
    assert EDGE.verdict(read(NOTES["outcomes"]), 5).passed


KEPT = {"title", "arrays", "outputs", "steps", "budgeted", "within", "options", "architecture"}
OUTSIDE = {"kinds", "facts", "mistaken"}  # for the reference and the verdict, which no box has


def contents(arrays: Mapping[str, np.ndarray]) -> dict[str, tuple]:
    """Types, shapes and bytes: NaN is equal to nothing."""
    made = {name: np.asarray(array) for name, array in arrays.items()}
    return {name: (a.dtype, a.shape, a.tobytes()) for name, a in made.items()}


def test_each_field_of_a_case_goes_into_the_box_or_stays_outside():
    assert {one.name for one in dataclasses.fields(Case)} == KEPT | OUTSIDE


@pytest.mark.parametrize("name", [
    name for name in exercises.names() if isinstance(exercises.find(name), Exercise)
])  # fmt: skip
def test_the_box_gets_the_cases_of_each_exercise(name):
    one = exercises.find(name)
    cases = one.fitted(kernel_cells.parse(one.solution), 5)
    text, found, how = codec.work(codec.job(one.solution, cases, {"each": False}))
    assert (text, how, len(found)) == (one.solution, {"each": False}, len(cases))
    for mine, theirs in zip(found, cases, strict=True):
        for field in KEPT - {"arrays", "steps"}:
            assert getattr(mine, field) == getattr(theirs, field), field
        assert contents(mine.arrays) == contents(theirs.arrays)
        plans = [case.plan(kernel_cells.parse(text)) for case in (mine, theirs)]
        for a, b in zip(*plans, strict=True):
            assert (a.grid, a.block, a.options, a.source) == (b.grid, b.block, b.options, b.source)
            assert list(a.arguments) == list(b.arguments)
            assert contents(a.constants) == contents(b.constants)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda notes: notes.append(notes[0]), "more outcomes than cases"),
        (lambda notes: notes[0].update(stopped="finding"), "stopped without a finding"),
        (lambda notes: notes[0].update(counts=[]), "not every launch has counters"),
        (lambda notes: notes[0]["counts"][0].update(barriers=-1), "a counter is -1"),
        (lambda notes: notes[0]["counts"][0]["traffic"][0].update(lanes=-3), "a counter is -3"),
        (lambda notes: notes[0]["spread"].update(dict.fromkeys(notes[0]["spread"], -2)), "is -2"),
        (lambda notes: notes.pop(), "bytes of arrays"),
    ],
)
def test_what_cannot_be_true_is_refused(change, says):
    notes = copy.deepcopy(NOTES["outcomes"])
    change(notes)
    with pytest.raises(wire.MessageError, match=says):
        read(notes)


def test_texts_are_cut_and_unknown_words_are_refused():
    notes = copy.deepcopy(NOTES["outcomes"])
    finding = {
        "kind": "race", "message": "m" * 9_000, "file": "f", "line": 1, "thread": [0, 0, 0],
        "block": [1, 2, 3], "array": None, "index": [4, 5], "severity": "error", "cause": "",
        "other_line": None, "count": 1, "source_lines": {"1": "x" * 9_000},
    }  # fmt: skip
    names = {"N": "p" * 9_000, "no array": "P"}
    notes[0].update(stopped="sudo", said="s" * 9_000, findings=[finding], misplaced=names)
    one = read(notes)[0]
    assert one.misplaced == {"N": "p" * 100}
    (found,) = one.findings
    assert one.stopped == "refused" and len(one.said) == 5_000
    assert len(found.message) == len(found.source_lines[1]) == 2_000
    assert (found.block, found.index) == ((1, 2, 3), (4, 5))
