"""One program of a Triton kernel, in NumPy: its places, its mask, its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from helpers.exercises.content.at_work import LAB
from helpers.exercises.judge.python_exercise import Judgement, PythonExercise
from helpers.quantities import quantity

SIZES = ((8, 4), (10, 4), (3, 8), (1, 1), (70_000, 1024))  # cells, and cells of a program


def wanted(x: np.ndarray) -> np.ndarray:
    """Return the outputs of the chain."""
    return np.maximum(2 * x + 1, 0) * 0.5


def cases(seed: int) -> list[tuple[int, list[float], int]]:
    """Return every program of small arrays, and the ends of a large one: (pid, x, BLOCK)."""
    rng = np.random.default_rng(seed)
    found = []
    for n, block in (*SIZES, (int(rng.integers(20, 60)), int(rng.integers(5, 17)))):
        # One of the arrays has large numbers: no limit on the values is asked for.
        x = rng.integers(-40, 40, n) / 4 * (2**20 if n == 10 else 1)
        programs = -(-n // block)
        for pid in range(programs) if programs < 20 else (0, programs - 1):
            found.append((pid, x.tolist(), block))
    return found


def made(program: Callable[[int, list[float], int], Any], seed: int) -> list[Any]:
    """Return what the answer returns for each program."""
    return [_of_one(program, case) for case in cases(seed)]


def _of_one(program: Callable[..., Any], case: tuple[int, list[float], int]) -> Any:
    try:
        return plain(program(*case))
    except IndexError as error:
        return f"IndexError: {error}"


def plain(back: Any) -> Any:
    """Return (places, values) as lists; text for anything else."""
    try:
        places, values = (np.asarray(part, float).ravel().tolist() for part in back)
    except (TypeError, ValueError):
        return repr(back)[:200]
    return [places, values]


def judged(values: list[Any], seed: int) -> Judgement:
    """Return whether each program writes its own places, all of them, with the right values."""
    rows = cases(seed)
    if len(values) != len(rows):
        return Judgement(
            "wrong", f"{quantity(len(values), 'answer')} for {len(rows)} programs", "Return a pair."
        )
    for (pid, cells, block), value in zip(rows, values, strict=True):
        words = f"program {pid} of {quantity(len(cells), 'cell')} in blocks of {block}"
        if isinstance(value, str) and value.startswith("IndexError"):
            hint = "A place lies past the last cell: inside must be true only below len(x)."
            return Judgement("wrong", f"{words}: {value}", hint)
        if isinstance(value, str):
            hint = "Return two lists: the places, and the values."
            return Judgement("wrong", f"{words} returns {value}", hint)
        places, got = value
        right = list(range(pid * block, min((pid + 1) * block, len(cells))))
        if places != right:
            text = f"{words} writes {_few(places)}, must write {_few(right)}"
            return Judgement("wrong", text, _hint(places, pid, block, len(cells)))
        want = wanted(np.array(cells)[right]).tolist()
        if got != want:
            text = f"{words}: the values are {_few(got)}, must be {_few(want)}"
            hint = "First 2 * x + 1, then the larger of that and 0, then times 0.5."
            return Judgement("wrong", text, hint)
    return Judgement("pass", f"{len(rows)} programs", checked=f"{len(rows)} programs")


def _hint(places: list[float], pid: int, block: int, cells: int) -> str:
    if not places:
        return "Nothing is written: inside is true where a place lies in x."
    if max(places) >= cells:
        return "The last program has fewer cells than BLOCK: its mask must leave the others out."
    if pid and min(places) == 0:
        return "Every program writes the first places: begin at pid * BLOCK."
    if len(places) < min(block, cells - pid * block):
        return "A program has BLOCK places, and writes all of them that lie in x."
    return "The places of program pid are pid * BLOCK to pid * BLOCK + BLOCK - 1."


def _few(numbers: Sequence[float]) -> str:
    shown = ", ".join(f"{number:g}" for number in numbers[:4])
    return f"[{shown}{', ...' if len(numbers) > 4 else ''}] ({len(numbers)})"


EXERCISE = PythonExercise(
    name="block_program",
    lab=LAB,
    title="One program of a Triton kernel",
    place=1,
    points=5,
    answer="program",
    made=made,
    judged=judged,
    hints=(
        "With BLOCK = 4, program 0 has the places 0 to 3, and program 2 the places 8 to 11.",
        "np.arange(BLOCK) is 0, 1, ..., BLOCK - 1. A comparison of an array with a number is an "
        "array of truths.",
        "place = pid * BLOCK + np.arange(BLOCK); inside = place < len(x). For the values, "
        "np.maximum(a, 0) is the larger of both in each place.",
    ),
)
