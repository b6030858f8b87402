"""Every mutant of an exercise is rejected, and its author gets its hint."""

from __future__ import annotations

import json

import pytest

from helpers import exercises, kernel_cells
from helpers.exercises.judge import mutants
from tests import exercises as answers
from tests.exercises import title

pytestmark = pytest.mark.long

RECORDED = [one for one in map(exercises.find, exercises.names()) if one.name in mutants.recorded()]


@pytest.mark.parametrize("one", RECORDED, ids=title)
def test_a_mutant_is_rejected_and_recognised(one):
    every = mutants.of(one)
    rows = mutants.recorded()[one.name]
    assert len(rows) == len(every), "`python -m helpers.tools.exercise_records --write`"
    assert len({json.dumps(traces) for _, traces in rows}) == len(rows), "two mutants do the same"
    for mutant in every:
        text = mutants.edited(one.solution, mutant.edits)
        small = one.run_small(kernel_cells.parse(text))
        assert mutants.hint_of(one, small) == mutant.hint, mutant.edits
        assert not answers.is_right(one, text), mutant.edits
    assert mutants.hint_of(one, one.run_small(kernel_cells.parse(one.solution))) == ""
