"""In a grader's box: choices of tools, asked table by table."""

from __future__ import annotations

from typing import Any

from helpers.exercises.content.at_work import choose_tool
from helpers.exercises.content.at_work.choose_tool import EXERCISE
from helpers.exercises.judge.player import Player


def made(back: Any, seed: int) -> Any:
    return [str(value)[:200] for value in back]


def calls(seed: int) -> list[Any]:
    return [list(case) for case in choose_tool.cases(seed)]


PLAYER = Player(EXERCISE, "values or errors", calls, made)
