"""Right answers to every exercise pass."""

from __future__ import annotations

import pytest

from helpers import exercises, kernel_cells
from helpers.course import codec, wire
from helpers.exercises.judge import outcome, verdict
from helpers.exercises.judge.exercise import Exercise
from tests import exercises as answers
from tests import golden
from tests.exercises import title

pytestmark = pytest.mark.long

RIGHT = [(one, a) for one in map(exercises.find, exercises.names()) for a in answers.right(one)]


def graded(one: Exercise, text: str, seed: int) -> verdict.Verdict:
    """The verdict of a grader: cases go into the box, and outcomes come back, as messages."""
    cases = one.fitted(kernel_cells.head(text), seed)
    how = {"limit_s": one.limit_s, "turns": one.turns}
    text, boxed, how = codec.work(codec.job(text, cases, how))
    message = codec.answer(boxed, outcome.run(kernel_cells.parse(text), boxed, **how))
    notes, start = wire.content(message)
    return one.verdict(codec.outcomes(notes["outcomes"], cases, message, start), seed)


@pytest.mark.parametrize(("one", "answer"), RIGHT, ids=title)
def test_a_right_answer_passes(one, answer):
    """The solution as a grader judges it, answers that are written differently as the notebook."""
    text = answers.text_of(one, answer)
    is_graded = text == one.solution and isinstance(one, Exercise)
    found = graded(one, text, 12_345) if is_graded else one.judge(text)
    assert found.status == "pass", found
    assert found.points == one.points
    assert found.checked.split(",")[0] in str(found), "a verdict says what was checked"
    golden.require("answers", f"{one.name}: {answer.what}", golden.of_verdict(found))
