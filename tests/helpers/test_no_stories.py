"""Right answers have no story."""

from __future__ import annotations

import contextlib

import pytest

from helpers import exercises, kernel_cells
from helpers.exercises.judge import stories
from tests.exercises import right, text_of

pytestmark = pytest.mark.long

WITH_SMALL = [
    name for name in exercises.names() if getattr(exercises.find(name), "small", None) is not None
]


@pytest.mark.parametrize("name", WITH_SMALL)
def test_right_answers_have_no_story(name: str) -> None:
    one = exercises.find(name)
    cases = stories.small_cases(one, kernel_cells.parse(str(one.solution)))
    refused: contextlib.AbstractContextManager[object]
    if any(len(case.steps) != 1 or case.within for case in cases):
        refused = pytest.raises(stories.NoStory, match="several launches")
    else:
        refused = contextlib.nullcontext()
    for answer in right(one):
        with refused:
            told = stories.story_of(one, kernel_cells.parse(text_of(one, answer)))
            assert told is None, answer.what
