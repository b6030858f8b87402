"""In a grader's box: programs of a Triton kernel, asked one by one."""

from __future__ import annotations

from typing import Any

from helpers.exercises.at_work import block_program
from helpers.exercises.at_work.block_program import EXERCISE
from helpers.exercises.player import Player


def made(back: Any, seed: int) -> Any:
    return [block_program.plain(value) for value in back]


PLAYER = Player(
    EXERCISE, "values", lambda seed: [list(case) for case in block_program.cases(seed)], made
)
