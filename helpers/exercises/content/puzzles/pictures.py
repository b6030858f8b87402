"""The pictures and the table of the lab with the twelve puzzles.

puzzles.drawing("squares")     its task: a few values in, what must come out, and from where
puzzles.accesses(squares)      the memory accesses of the student's own kernel, from the simulator
puzzles.table()                the verdicts of all puzzles that were checked
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from helpers import exercises, labs, plotting, simulator, tables
from helpers.exercises.content.puzzles import LAB, Puzzle
from helpers.exercises.judge.base import NOTEBOOK_SEED
from helpers.exercises.judge.cases import Case
from helpers.quantities import quantity
from helpers.simulator import Profile, Request
from helpers.simulator.machine.faults import LaunchRefused

MOST_DRAWN = 6  # requests of one kind in a panel
_SPACES = ("global", "shared")
_VERBS = {"load": ("loads", "from"), "store": ("stores", "to"), "atomic": ("updates", "in")}
_WORDS = {
    "pass": "solved",
    "budget": "right, over its budget",
    "wrong": "a wrong result",
    "finding": "stopped at a finding",
    "compile": "does not compile",
    "refused": "refused",
    "time": "did not end",
    "not_begun": "not begun",
}


def all_puzzles() -> tuple[Puzzle, ...]:
    """Return the twelve, in their order."""
    found = exercises.of_lab(labs.number(LAB))
    return tuple(one for one in found if isinstance(one, Puzzle))


def _puzzle(name: str) -> Puzzle:
    for one in all_puzzles():
        if one.name == name:
            return one
    raise LookupError(
        f"there is no puzzle {name!r}; there are: {', '.join(one.name for one in all_puzzles())}"
    )


# ---- the task ----


def drawing(name: str) -> Figure:
    """Draw the example of a puzzle. What comes out is computed by the reference of its check.

    Raises LookupError for a name that is no puzzle's.
    """
    one = _puzzle(name)
    assert one.example is not None
    case, (output,) = one.example, one.example.outputs
    inputs = [
        _cells(one, case, name, case[name], one.comes_from.get(name, ()))
        for name in case.arrays
        if name != output
    ]
    want = one.wanted(case)[output]
    made = _cells(one, case, output, want, (one.follow,))
    flat = all(len(array.rows) == 1 for array in inputs)
    rows = sum(len(array.rows) for array in (*inputs, made))
    figure, ax = plt.subplots(figsize=(8, 0.3 + 1.1 * rows if flat else 2.4))
    plotting.cells(ax, inputs, made, title=_sentence(one, output, want[one.follow]))
    return figure


def _cells(one: Puzzle, case: Case, name: str, values: np.ndarray, marked: Any) -> plotting.Cells:
    kind = next((fact for fact in ("warp", "share", "block") if fact in case.facts), "")
    width = case.facts.get(kind, 0)
    grouped = width if values.ndim == 1 and name not in one.upright else 0
    # A result for each block has no blocks of its own.
    if values.size * width <= max(a.size for a in case.arrays.values()) + width:
        grouped = 0
    of = "warp" if kind == "warp" else "block"
    return plotting.Cells(name, values, tuple(marked), grouped, of, name in one.upright)


def _sentence(one: Puzzle, output: str, value: Any) -> str:
    places = [f"{name}{_at(place)}" for name, all_ in one.comes_from.items() for place in all_]
    named = " and ".join((", ".join(places[:-1]), places[-1])) if len(places) > 1 else places[0]
    return f"{output}{_at(one.follow)} = {value:g} comes from {named}"


def _at(place: tuple[int, ...]) -> str:
    return "".join(f"[{index}]" for index in place)


# ---- the student's kernel ----


def profile(kernel: Any) -> Profile:
    """Run a %%kernel function in the simulator, on one case of its puzzle.

    Raises LookupError for a kernel of another name; TypeError, ValueError and LaunchRefused for one
    that cannot be launched like the stub.
    """
    one = _puzzle(kernel.name)
    case = one.all_cases(NOTEBOOK_SEED)[one.pictured]
    step = case.steps[0]
    arrays = {name: array.copy() for name, array in case.arrays.items()}
    given = [arrays[a] if isinstance(a, str) else a for a in step.arguments]
    return simulator.profile(
        kernel.source,
        kernel.name,
        *given,
        grid=step.grid,
        block=step.block,
        options=list(kernel.options),
        constants=step.constants,
        watch=one.watch,
        outputs=(),
        time_limit=one.limit_s,
    )


def accesses(kernel: Any) -> Figure | None:
    """Draw which memory one warp of a puzzle's kernel touches: a panel for each array and kind of
    access. The simulator runs the kernel for it, on a GPU, too: a GPU does not tell who reads what.

    Where there is nothing to draw, the reason is printed, and None is returned.
    """
    if not all(hasattr(kernel, name) for name in ("source", "name", "options")):
        raise TypeError(
            f"accesses() takes the function that a %%kernel cell makes, got "
            f"{type(kernel).__name__}: run that cell, and pass its name"
        )
    one = _puzzle(kernel.name)
    try:
        seen = profile(kernel)
    except (TypeError, ValueError, LaunchRefused) as error:
        print(f"No picture of {kernel.name}: the simulator could not launch it.\n{error}")
        return None
    for finding in seen.findings[:1]:
        print(
            f"The simulator stopped the kernel, and what came before is drawn:\n{finding.brief()}"
        )
    return figure_of(seen, f"warp {one.watch[1]} of block {one.watch[0]}")


def figure_of(seen: Profile, who: str = "warp 0 of block (0, 0, 0)") -> Figure | None:
    """Draw what the watched warp touches. Where that is nothing, say so, and return None."""
    groups: dict[tuple[str, str, str], list[Request]] = {}
    for request in seen.requests:
        if request.space in _SPACES:
            key = (request.space, request.kind, request.array)
            groups.setdefault(key, []).append(request)
    if not groups:
        print(f"Nothing to draw: {who} of {seen.kernel} touches no memory.")
        return None
    heights = [4.2 if _conflicts(seen, *key) else 2.7 for key in groups]
    figure, axes = plt.subplots(
        len(groups),
        1,
        figsize=(9, sum(heights)),
        height_ratios=heights,
        squeeze=False,
        layout="constrained",
    )
    for ax, (key, requests) in zip(axes[:, 0], groups.items(), strict=True):
        _draw(ax, seen, key, requests, who)
    return figure


def _draw(
    ax: Any, seen: Profile, key: tuple[str, str, str], requests: list[Request], who: str
) -> None:
    space, kind, array = key
    verb, where = _VERBS[kind]
    what = f"{who} {verb} {array} {where} {space} memory"
    if _conflicts(seen, *key):
        title = f"{what}, and waits for banks"
        plotting.bank_conflicts(ax, seen, array=array, kind=kind, title=_capital(title))
        return
    drawn = min(len(requests), MOST_DRAWN)
    count = quantity(len(requests), "request")
    if drawn < len(requests):
        count = f"the first {drawn} of {quantity(len(requests), 'request')}"
    title = _capital(f"{what}: {count}")
    plotting.access_map(ax, seen, array=array, kind=kind, space=space, first=drawn, title=title)


def _conflicts(seen: Profile, space: str, kind: str, array: str) -> int:
    return seen.total("conflicts", space, kind, array) if kind != "atomic" else 0


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# ---- the results ----


def table() -> str:
    """Return the latest verdict of each puzzle in this session, and the points."""
    rows = []
    for one in all_puzzles():
        verdict = one.latest
        words = "not checked yet" if verdict is None else _WORDS[verdict.status]
        points = 0 if verdict is None else verdict.points
        rows.append((str(one.place), one.name, words, f"{points:g} of {one.points}"))
    return tables.text(("", "puzzle", "latest check", "points"), rows, left=(1, 2))


def result() -> str:
    """Return how many puzzles are solved, and the points of all."""
    every = all_puzzles()
    verdicts = [one.latest for one in every]
    solved = sum(verdict is not None and verdict.passed for verdict in verdicts)
    points = sum(verdict.points for verdict in verdicts if verdict is not None)
    most = sum(one.points for one in every)
    return (
        f"{solved} of {quantity(len(every), 'puzzle')} solved, {points:g} of "
        f"{quantity(most, 'point')}"
    )
