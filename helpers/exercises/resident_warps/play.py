"""In a grader's box: a count of warps, asked in the box for rows of arguments."""

from __future__ import annotations

from typing import Any

from helpers.exercises import resident_warps
from helpers.exercises.player import Player
from helpers.exercises.resident_warps import EXERCISE


def made(back: Any, seed: int) -> Any:
    return [v if isinstance(v, int) else str(v)[:200] for v in back]


PLAYER = Player(
    EXERCISE, "values", lambda seed: [list(row) for row in resident_warps.cases(seed)], made
)
