"""Wrong and cheating answers to every exercise get the verdict and the hint that they must."""

from __future__ import annotations

import dataclasses

import pytest

from helpers import exercises
from helpers.exercises.content import loops_swapped
from helpers.exercises.judge import verdict
from tests import exercises as answers
from tests import golden
from tests.exercises import title

pytestmark = pytest.mark.long

WRONG = [(one, a) for one in map(exercises.find, exercises.names()) for a in answers.wrong(one)]


@pytest.mark.parametrize(("one", "answer"), WRONG, ids=title)
def test_a_wrong_answer_is_rejected_with_its_hint(one, answer, monkeypatch):
    if answer.status == "time":  # a student waits longer for the same words
        if one.name == "mine":  # the operating system counts whole seconds, here the first one
            monkeypatch.setattr(loops_swapped, "LIMIT_S", 0)
        else:
            one = dataclasses.replace(one, limit_s=0.3)
    found = one.judge(answers.text_of(one, answer))
    assert found.status == answer.status, found
    assert found.points < one.points
    if found.status == "not_begun":
        assert found.points == 0 and str(found).startswith("NOT BEGUN")
        assert not found.lines, "a line of the given text is marked as an error"
    assert max(map(len, str(found).splitlines())) <= verdict.LINE + 40  # paths and source lines
    golden.require("answers", f"{one.name}: {answer.what}", golden.of_verdict(found))
