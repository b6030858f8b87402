"""In a grader's box: a model of costs, asked in the box for every layer and width."""

from __future__ import annotations

import json
from typing import Any

from helpers.exercises.content import cost as task
from helpers.exercises.content.cost import EXERCISE
from helpers.exercises.judge.player import Player


def plain_shape(shape: Any) -> dict[str, int]:
    names = [name for name in dir(shape) if not name.startswith("_")]
    return {name: getattr(shape, name) for name in names if isinstance(getattr(shape, name), int)}


def calls(seed: int) -> Any:
    counted = task.counted()
    known = [
        [plain_shape(shape), width, vars(counted[layer, width])]
        for layer, shape in task.SHAPES.items()
        for width in task.WIDTHS
    ]
    larger = [
        [plain_shape(shape), width, vars(seen)] for shape, width, seen, _ in task.scaled(seed)
    ]
    untimed = [
        [plain_shape(shape), width, vars(counted[layer, width])]
        for layer, shape in task.UNTIMED.items()
        for width in task.WIDTHS
    ]
    made = {"known": known, "larger": larger, "untimed": untimed}
    return json.loads(json.dumps(made, default=int))


def made(back: Any, seed: int) -> Any:
    names = [f"{layer}, {width}" for layer in task.SHAPES for width in task.WIDTHS]
    known = dict(zip(names, [float(v) for v in back["known"]], strict=True))
    larger = [float(v) for v in back["larger"]]
    untimed = [float(v) for v in back["untimed"]]
    wanted = (
        len(task.scaled(seed)),
        len(task.UNTIMED) * len(task.WIDTHS),
    )
    if not back["said"] and (len(larger), len(untimed)) != wanted:
        raise ValueError("not a cost for each layer")
    said = str(back["said"])[:500]
    return {"known": known, "larger": larger, "untimed": untimed, "said": said}


PLAYER = Player(EXERCISE, "costs", calls, made)
