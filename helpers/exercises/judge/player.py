"""How an exercise in Python is played in a grader's box, which gets its text and inputs and gives
plain values back. Each such exercise has a PLAYER in the module `play` of its folder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from helpers.exercises.judge.python_exercise import PythonExercise


@dataclass(frozen=True)
class Player:
    """driver: of helpers/course/python_job.py; calls: what the text is called with, of a seed;
    made: what came back, as the exercise's `judged` takes it; text: the part of a cell that
    counts; crashed: what a crash gives; seen: what the text itself tells, to join what came back.
    """

    exercise: PythonExercise
    driver: str
    calls: Callable[[int], Any]
    made: Callable[[Any, int], Any]
    text: Callable[[str], str] = str
    crashed: Any = None
    seen: Callable[[str], dict[str, Any]] | None = None
