"""An exercise whose answer is a function of a few numbers that returns a whole number, or a bool.

EXERCISE = numbers.exercise(name="lanes", reference=reference, cases=cases, words=words, ...)
PLAYER = numbers.player(EXERCISE, cases)     # in play.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from helpers.exercises.judge.player import Player
from helpers.exercises.judge.python_exercise import Judgement, PythonExercise
from helpers.quantities import quantity

Case = tuple[int, ...]


def exercise(
    *,
    name: str,
    reference: Callable[..., int],
    cases: Callable[[int], Sequence[Case]],
    words: Callable[[Case], str],
    hint: Callable[[Case, int, int], str],
    counted: str,
    **more: Any,
) -> PythonExercise:
    """Return an exercise whose answer is a function `name`.

    reference: a function of the same numbers; cases: of a seed; words: a case in words; hint: of a
    case, the answer's value and the right one; counted: what the cases are, such as "kernels".
    more: fields of PythonExercise.
    """

    def made(answer: Callable[..., Any], seed: int) -> list[Any]:
        values = []
        for case in cases(seed):
            try:
                values.append(whole(answer(*case)))
            except Exception as error:
                error.args = (f"{error}, for {words(case)}",)
                raise
        return [v if isinstance(v, int) else repr(v) for v in values]

    def judged(values: list[Any], seed: int) -> Judgement:
        rows = cases(seed)
        if len(values) != len(rows):
            text = f"{quantity(len(values), 'answer')} for {len(rows)} {counted}"
            return Judgement("wrong", text, "Return a number.")
        for case, value in zip(rows, values, strict=True):
            want = reference(*case)
            if not isinstance(value, int):
                kind = "True or False" if isinstance(want, bool) else "a whole number"
                text = f"for {words(case)} it returns {value}; return {kind}"
                return Judgement("wrong", text, "Use // for divisions, and return the result.")
            if value != want:
                text = f"for {words(case)} it returns {_text(value, want)}; right is "
                text += _text(want, want)
                return Judgement("wrong", text, hint(case, value, want))
        return Judgement("pass", f"{len(rows)} {counted}", checked=f"{len(rows)} {counted}")

    return PythonExercise(name=name, answer=name, made=made, judged=judged, **more)


def _text(value: int, want: int) -> str:
    return f"{bool(value)}" if isinstance(want, bool) and value in (0, 1) else f"{value:,}"


def whole(value: Any) -> Any:
    """Return a whole number as an int, also a float, as np.ceil() returns it; anything else as it
    is.
    """
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return int(value) if isinstance(value, int) else value


def player(one: PythonExercise, cases: Callable[[int], Sequence[Case]]) -> Player:
    """Return how the exercise is played in a grader's box."""

    def made(back: Any, seed: int) -> Any:
        values = map(whole, back)
        return [v if isinstance(v, int) else repr(v)[:200] for v in values]

    return Player(one, "values", lambda seed: [list(row) for row in cases(seed)], made)
