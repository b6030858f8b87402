"""In a grader's box: c++ with the loops swapped, compiled and called in the box."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.exercises.content import loops_swapped
from helpers.exercises.content.loops_swapped import EXERCISE
from helpers.exercises.judge.player import Player
from helpers.quantities import quantity


def made(back: Any, seed: int) -> Any:
    if "said" in back:
        return {"said": str(back["said"])[:5_000], "crashed": False}
    cases = loops_swapped.inputs(seed)
    values: dict[str, Any] = {}
    plain = len(cases) - loops_swapped.OVERLAPS
    for k, (N, _) in enumerate(cases[:plain]):
        values[f"P{k}"] = _floats(back["P"][k], N.size)
        values[f"outside{k}"] = bool(back["outside"][k])
    for k, (N, _) in enumerate(cases[plain:]):
        values[f"overlapped{plain + k}"] = _floats(back["overlapped"][k], N.size)
    return values


def calls(seed: int) -> Any:
    cases = [[N.tolist(), filter.tolist()] for N, filter in loops_swapped.inputs(seed)]
    plain = len(cases) - loops_swapped.OVERLAPS
    return {"plain": cases[:plain], "overlapped": cases[plain:]}


def _floats(values: Any, size: int) -> np.ndarray:
    made = np.array([float(v) for v in values], np.float32)
    if made.size != size:
        raise ValueError(f"expected {quantity(size, 'value')}, got {made.size}")
    return made


PLAYER = Player(
    EXERCISE,
    "cpp",
    calls,
    made,
    text=EXERCISE.bound,
    crashed={"said": "", "crashed": True},
    seen=loops_swapped.seen,
)
