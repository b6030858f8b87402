"""Choose a tool from a table of times: the least work that is fast enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from helpers.exercises.content.at_work import LAB
from helpers.exercises.judge.python_exercise import Judgement, PythonExercise
from helpers.quantities import quantity

TOOLS = ("CUDA", "cuDNN", "torch.compile", "Triton", "CUTLASS")
Case = tuple[dict[str, float | None], dict[str, int], float]

FIXED: tuple[Case, ...] = (
    # the fastest is close enough alone
    ({"CUDA": 1.0, "cuDNN": 6.0, "Triton": 3.0}, {"CUDA": 200, "cuDNN": 1, "Triton": 30}, 1.5),
    # the library is as fast as ours
    ({"CUDA": 1.0, "cuDNN": 1.02, "Triton": 1.3}, {"CUDA": 200, "cuDNN": 1, "Triton": 30}, 1.1),
    # one that nobody measured
    ({"CUDA": 2.0, "CUTLASS": None, "Triton": 2.1}, {"CUDA": 90, "CUTLASS": 5, "Triton": 30}, 1.2),
    # exactly at the limit
    ({"cuDNN": 1.5, "Triton": 1.0}, {"cuDNN": 1, "Triton": 30}, 1.5),
    # as few lines: the faster one
    ({"cuDNN": 1.2, "torch.compile": 1.1, "CUDA": 1.0}, {"cuDNN": 2, "torch.compile": 2,
                                                       "CUDA": 80}, 1.3),
    # only the best is good enough
    ({"cuDNN": 1.001, "CUDA": 1.0}, {"cuDNN": 1, "CUDA": 80}, 1.0),
)


def reference(ms: Mapping[str, float | None], lines: Mapping[str, int], within: float) -> str:
    """Return the tool with the fewest lines of those within `within` times the best time."""
    measured = {tool: time for tool, time in ms.items() if time is not None}
    best = min(measured.values())
    enough = [tool for tool, time in measured.items() if time <= within * best]
    return min(enough, key=lambda tool: (lines[tool], measured[tool]))


def cases(seed: int) -> list[Case]:
    """Return the fixed tables, and drawn ones."""
    rng = np.random.default_rng(seed)
    drawn: list[Case] = []
    for _ in range(20):
        times = [float(time) for time in rng.integers(4, 40, len(TOOLS)) / 4]
        ms: dict[str, float | None] = dict(zip(TOOLS, times, strict=True))
        ms[TOOLS[int(rng.integers(1, len(TOOLS)))]] = None
        lines = {tool: int(count) for tool, count in zip(TOOLS, rng.permutation(5), strict=True)}
        drawn.append((ms, lines, float(rng.choice((1.0, 1.25, 1.5, 2.0)))))
    return [*FIXED, *drawn]


def made(choose: Callable[..., Any], seed: int) -> list[Any]:
    """Return what the answer returns for each table."""
    return [_of_one(choose, case) for case in cases(seed)]


def _of_one(choose: Callable[..., Any], case: Case) -> str:
    try:
        return str(choose(*case))
    except (TypeError, ValueError, IndexError) as error:
        return f"{type(error).__name__}: {error}"


def judged(values: list[Any], seed: int) -> Judgement:
    """Return whether each choice is the reference's."""
    rows = cases(seed)
    if len(values) != len(rows):
        return Judgement(
            "wrong", f"{quantity(len(values), 'answer')} for {len(rows)} tables", "Return a name."
        )
    for case, value in zip(rows, values, strict=True):
        want = reference(*case)
        if value != want:
            ms, lines, within = case
            table = ", ".join(
                f"{tool} {'not measured' if time is None else f'{time:g} ms'} and "
                f"{quantity(lines[tool], 'line')}"
                for tool, time in ms.items()
            )
            said = f"chooses {value}" if value in ms else f"ends with {value[:200]}"
            text = f"{table}; within {within:g}: it {said}, must choose {want}"
            return Judgement("wrong", text, _hint(case, value))
    return Judgement("pass", f"{len(rows)} tables", checked=f"{len(rows)} tables")


def _hint(case: Case, value: str) -> str:
    ms, lines, within = case
    if value.startswith("TypeError"):
        return "None is no time, and cannot be compared: leave out what was not measured first."
    if value.startswith(("ValueError", "IndexError")):
        return "No tool is left: the best one itself is fast enough, also where within is 1."
    if value not in ms:
        return "Return the name of a tool, a key of ms."
    time = ms[value]
    if time is None:
        return "Nobody measured this tool: you cannot know that it is fast enough."
    best = min(other for other in ms.values() if other is not None)
    if time > within * best:
        return "This tool is too slow: fast enough is at most `within` times the best time."
    want = reference(*case)
    if lines[want] < lines[value]:
        return "Another tool is fast enough, too, and takes fewer lines."
    return "Another tool takes as few lines, and is faster."


EXERCISE = PythonExercise(
    name="choose_tool",
    lab=LAB,
    title="Choose the tool from the table",
    place=2,
    answer="choose",
    made=made,
    judged=judged,
    hints=(
        "Begin with a dict of the tools that have a time. What is the best time in it?",
        "A tool is fast enough if its time is at most within * best.",
        "min(enough, key=lambda tool: (lines[tool], ms[tool])) compares lines first, and the "
        "times only of equally few.",
    ),
)
