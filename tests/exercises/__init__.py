"""Answers to the exercises, right and wrong: a folder for each exercise, by the name of its own.

text_of(one, answer)     the text of an answer: a file here or of the exercise, with edits
right(one), wrong(one)   the answers of an exercise
edited(one, *edits)      the solution with edits
is_right(one, text)      whether the results of an answer are right
title(value)             what a test of an exercise, or of an answer, is called
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from helpers import kernel_cells
from helpers.exercises.content.puzzles import Puzzle
from helpers.exercises.judge import outcome
from helpers.exercises.judge.base import NOTEBOOK_SEED
from helpers.exercises.judge.exercise import Exercise
from tests.exercises import answers
from tests.exercises.answers import Answer

HERE = Path(__file__).parent
_OF_A_PUZZLE = answers.wrong("the stub", file="stub.cu", status="not_begun")


def right(one: Any) -> tuple[Answer, ...]:
    """Return the answers that must pass."""
    return _module(one).RIGHT


def wrong(one: Any) -> tuple[Answer, ...]:
    """Return the answers that must not pass."""
    found = _module(one).WRONG
    return (*found, _OF_A_PUZZLE) if isinstance(one, Puzzle) else found


def text(one: Any, file: str) -> str:
    """Return the text of an answer's file, which lies here or beside the exercise."""
    return one.text(file, HERE / one.folder.name if file.startswith(("right_", "wrong_")) else None)


def text_of(one: Any, answer: Answer) -> str:
    """Return the text of an answer. Raises mutants.EditError."""
    return answer.applied(lambda file: text(one, file))


def edited(one: Any, *edits: answers.Edit) -> str:
    """Return the solution with edits, each of a text that stands in it once."""
    return text_of(one, answers.right("edited", *edits))


def is_right(one: Exercise, text: str) -> bool:
    """Return whether the results of an answer are right in all cases, the smallest first, whatever
    its budgets. That takes a part of the time of a verdict with its counters, hint and story.

    Raises DoesNotCompile.
    """
    cell = kernel_cells.parse(text)
    for case in sorted(one.fitted(cell, NOTEBOOK_SEED), key=lambda case: case.count):
        (seen,) = outcome.checked(cell, [case], limit_s=one.limit_s, each=True)
        if seen.stopped or not one.is_right(case, seen.arrays):
            return False
    return True


def title(value: object) -> str:
    """Return what a test of an exercise, or of an answer, is called."""
    return getattr(value, "what", None) or getattr(value, "name", "")


def words(text: object) -> str:
    """Return a text with one space between its words, wherever its lines end."""
    return " ".join(str(text).split())


def _module(one: Any) -> Any:
    return importlib.import_module(f"tests.exercises.{one.folder.name}")
