"""In a grader's box: programs of a Triton kernel, asked one by one."""

from __future__ import annotations

from typing import Any

from helpers.exercises.content.at_work import block_program
from helpers.exercises.content.at_work.block_program import EXERCISE
from helpers.exercises.judge.player import Player


def made(back: Any, seed: int) -> Any:
    # An error came back as its text.
    return [value if isinstance(value, str) else block_program.plain(value) for value in back]


def calls(seed: int) -> list[Any]:
    return [list(case) for case in block_program.cases(seed)]


PLAYER = Player(EXERCISE, "values or errors", calls, made)
