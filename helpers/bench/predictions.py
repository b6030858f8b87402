"""A reader's predictions: noted before a measurement, set beside it afterwards.

    prediction = Prediction()
    prediction.number("loads", None, "global loads of N per output")     # a number in place of None
    prediction.choice("fastest", None, "the fastest of the three", among=("steps", "input tile"))
    ...
    print(prediction.beside(loads=1.13, fastest="input tile"))

A question that is left at None counts as not answered, and the table says so; nothing fails.
JupyterLab shows each question as a card, which writes the guess in place of None (cards.js in
helpers/jupyterlab/share), and gets what it needs from `known`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from helpers import tables
from helpers.bench.counts import NOT_YET
from helpers.quantities import percent

OPEN = "-"
Measured = float | str | tuple[str, ...] | None  # a tuple: several answers that are right
watchers: list[Callable[[], None]] = []  # called after each prediction, and after each answer
_known: dict[str, dict[str, Any]] = {}
CLOSE = 1.10  # a guess within 10 % counts as right: the questions ask for orders, not for digits


def computed(head: str, numbers: Mapping[str, tuple[Any, float]]) -> str:
    """Return a reader's computed numbers as a table, with the right one beside each that is right.

    head: what they are of, with their unit. numbers: what -> (the reader's, None or ... for not
    yet; the right one). Within 2 % a number is right.
    """
    rows = []
    for what, (own, right) in numbers.items():
        if own is None or own is ...:
            rows.append((what, NOT_YET, OPEN))
            continue
        met = abs(own - right) <= 0.02 * right
        side = "low" if own < right else "high"
        said = f"{own:.3g}" + ("" if met else f": too {side}, compute again")
        rows.append((what, said, f"{right:.3g}" if met else OPEN))
    return tables.text((head, "yours", "right"), rows)


class PredictionError(LookupError):
    """An answer to a question that no cell has asked; the message says which cell to run."""


@dataclass(frozen=True)
class _Question:
    words: str
    guess: float | str | None
    unit: str
    among: tuple[str, ...]


class Prediction:
    """The predictions of one lab, by key."""

    def __init__(self) -> None:
        self._questions: dict[str, _Question] = {}
        self._measured: dict[str, Measured] = {}

    def number(self, key: str, guess: float | None, question: str, unit: str = "") -> None:
        """Note a number, in `unit`, for the quantity that `question` names.

        Raises TypeError for a guess that is no number and ValueError for one that is not finite.
        Running the cell again replaces the guess.
        """
        if guess is not None and (isinstance(guess, bool) or not isinstance(guess, int | float)):
            raise TypeError(
                f"{key}: write a number in place of None, as in 12 or 0.5; got {guess!r}"
            )
        if guess is not None and not math.isfinite(guess):
            raise ValueError(f"{key}: write a finite number in place of None; got {guess!r}")
        self._note(key, _Question(question, guess, unit, ()))

    def choice(self, key: str, guess: str | None, question: str, among: Sequence[str]) -> None:
        """Note one of the answers in `among`. Raises ValueError for any other guess."""
        if guess is not None and guess not in among:
            allowed = ", ".join(repr(answer) for answer in among)
            raise ValueError(f"{key}: choose one of {allowed}; got {guess!r}")
        self._note(key, _Question(question, guess, "", tuple(among)))

    def _note(self, key: str, question: _Question) -> None:
        self._questions[key] = question
        self._publish(key)

    def _publish(self, *keys: str) -> None:
        """Keep what is known of some questions, and tell those who watch."""
        for key in keys:
            question, measured = self._questions[key], self._measured.get(key)
            _known[key] = {
                "question": question.words,
                "unit": question.unit,
                "among": list(question.among),
                "guess": question.guess,
                "you": _shown(question.guess, question),
                "measured": _shown(measured, question),
                "verdict": _verdict(question.guess, measured),
            }
        for watcher in watchers:
            watcher()

    def beside(self, **measured: Measured) -> str:
        """Return a table of predictions beside what was measured, by the keys of the questions.

        Only the questions of these keys are shown: a step answers those of the step before. A
        number counts as right within 10 %, a choice if it is one of several that are right; None
        stands for what was not measured here.
        Raises PredictionError if a key has no question.
        """
        if unknown := sorted(set(measured) - set(self._questions)):
            raise PredictionError(
                f"nothing has asked for a prediction of {', '.join(map(repr, unknown))} yet: run "
                "the cell above with prediction.number(...) or prediction.choice(...), then this "
                f"one. Asked so far: {', '.join(map(repr, self._questions)) or 'nothing'}"
            )
        self._measured.update(measured)
        self._publish(*measured)
        asked = {key: question for key, question in self._questions.items() if key in measured}
        rows = [
            (
                question.words,
                _shown(question.guess, question),
                _shown(measured[key], question),
                _verdict(question.guess, measured[key]),
            )
            for key, question in asked.items()
        ]
        table = tables.text(("", "you", "answer", ""), rows, left=(0, 3))
        open_ones = sum(question.guess is None for question in asked.values())
        if open_ones:
            made = f"only {len(rows) - open_ones} of {len(rows)} predictions"
            table += f"\n\nYou made {made if open_ones < len(rows) else 'no prediction'} here. "
            table += "Replace each None above by your answer, then run that cell and this one."
        return table


def made() -> dict[str, bool]:
    """Return, by the key of each question of this session, whether the reader has answered it."""
    return {key: row["guess"] is not None for key, row in _known.items()}


def known() -> dict[str, dict[str, Any]]:
    """Return what a card shows of each question of this session, by its key: question, unit, among
    and guess as they were given; you, measured and verdict as the table shows them.
    """
    return dict(_known)


def _shown(value: Measured, question: _Question) -> str:
    if value is None:
        return OPEN
    if isinstance(value, tuple):
        return " or ".join(value)
    if isinstance(value, str):
        return value
    if question.unit == "%":
        return percent(value / 100)
    whole = abs(value) >= 100 or value == int(value)  # .3g would write 999.7 as 1e+03
    return f"{f'{value:,.0f}' if whole else f'{value:.3g}'} {question.unit}".rstrip()


def _verdict(guess: float | str | None, measured: Measured) -> str:
    """Return how a guess compares: right, not quite, or by which factor a number is too high or
    low.
    """
    if guess is None or measured is None:
        return ""
    if isinstance(measured, tuple):
        return "right" if guess in measured else "not quite"
    if isinstance(guess, str) or isinstance(measured, str):
        return "right" if guess == measured else "not quite"
    if guess == measured:
        return "right"
    if guess * measured <= 0:
        return "off"  # of another sign, or one of them zero: there is no factor between them
    factor = guess / measured
    if 1 / CLOSE <= factor <= CLOSE:
        return "right"
    times, word = (factor, "high") if factor > 1 else (1 / factor, "low")
    return f"{f'{times:,.0f}' if times >= 10 else f'{times:.2g}'} times too {word}"
