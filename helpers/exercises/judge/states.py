"""The list at the top of a notebook: the exercises of its lab, how far each is, and how many
predictions are made.

    exercises.progress("111")

A check or a prediction changes the list where it stands, by its display_id, so that the cell of the
check has its own output alone. What was passed before the kernel started is read from the file of
the notebook, where Jupyter or VS Code says which file that is. Without HTML, it is text.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from helpers import labs
from helpers.bench import predictions
from helpers.exercises.judge import bar_messages, base, earned
from helpers.exercises.judge.base import BaseExercise
from helpers.labs import stored
from helpers.labs.stored import NOT_BEGUN, PASSED, TRIED
from helpers.quantities import quantity

_SIGNS = {PASSED: "\u2713", TRIED: "\u25d0", NOT_BEGUN: "\u25cb"}


@dataclass
class Progress:
    """How far a lab is. before: what the notebook's file says of each exercise; guesses: of the
    predictions, whether the file has one. Both are older than what this session knows.
    """

    number: str
    every: Sequence[BaseExercise]
    before: dict[str, stored.Asked]
    guesses: dict[str, bool]

    def state(self, exercise: BaseExercise) -> str:
        """Return one of stored.STATES: of the latest check in this session, else in the file."""
        verdict, asked = exercise.latest, self._asked(exercise)
        before = NOT_BEGUN if asked is None else asked.state
        if before == PASSED or earned.has(exercise):
            return PASSED
        if verdict is None:
            return before
        return NOT_BEGUN if verdict.status == "not_begun" else TRIED

    def heading(self, exercise: BaseExercise) -> str:
        """Return the heading above the check of an exercise, "" where no file says it."""
        asked = self._asked(exercise)
        return "" if asked is None else asked.heading

    def _asked(self, exercise: BaseExercise) -> stored.Asked | None:
        alone = self.before.get(self.number) if len(self.every) == 1 else None
        return self.before.get(exercise.name, alone)

    @property
    def summary(self) -> str:
        """How many exercises are passed: "1 of 3 exercises passed"."""
        passed = sum(self.state(exercise) == PASSED for exercise in self.every)
        kind = "exercise" if len(self.every) == 1 else "exercises"
        return f"Lab {self.number}: {passed} of {len(self.every)} {kind} passed"

    @property
    def predicted(self) -> str:
        """How many predictions are made, "" for a lab without any."""
        known = {**self.guesses, **predictions.made()}
        if not known:
            return ""
        return f"Predictions: {sum(known.values())} of {len(known)} made"

    def __str__(self) -> str:
        lines = [self.summary]
        for place, exercise in enumerate(self.every, 1):
            lines.append(f"  {place}. {_title(exercise)}: {self.state(exercise)}")
        return "\n".join([*lines, *filter(None, [self.predicted])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the list; titles lead to the headings of their steps."""
        rows = "\n".join(
            f"<li>{self._link(exercise)}: {_SIGNS[state]} {state}</li>"
            for exercise in self.every
            for state in [self.state(exercise)]
        )
        last = f"\n<p>{self.predicted}</p>" if self.predicted else ""
        return f"<p><strong>{self.summary}</strong></p>\n<ol>\n{rows}\n</ol>{last}"

    def _link(self, exercise: BaseExercise) -> str:
        words = html.escape(_title(exercise))
        heading = self.heading(exercise)
        if not heading:
            return words
        return f'<a href="#{html.escape(quote(stored.anchor(heading)))}">{words}</a>'


def of(number: str, every: Sequence[BaseExercise]) -> Progress:
    """Return how far a lab is, by this session and by the file of its notebook."""
    # The lab itself says where its exercises stand, if the notebook's file is not known.
    files = [stored.notebook(), *labs.LABS.glob(f"{number}_*.ipynb")]
    for file in filter(None, files):
        try:
            text = file.read_text(encoding="utf-8")
            before = stored.exercises_of(text)
            guesses = stored.predictions_of(text)
        except (OSError, ValueError, KeyError):  # removed, or being written
            continue
        if file == files[0]:
            return Progress(number, every, before, guesses)
        begun = {
            name: stored.Asked(name, asked.heading, NOT_BEGUN) for name, asked in before.items()
        }
        return Progress(number, every, begun, dict.fromkeys(guesses, False))
    return Progress(number, every, {}, {})


def show(progress: Progress) -> None:
    """Display the list, and keep it up to date in this session; JupyterLab gets what the exercise
    bars need.
    """
    global _shown
    watched = _Watched(progress)
    _shown = watched
    for watchers in (base.watchers, predictions.watchers):
        if _renew not in watchers:
            watchers.append(_renew)
    watched.publish(update=False)
    bar_messages.send(progress.every)


class _Watched:
    """The list that this session shows last."""

    def __init__(self, progress: Progress):
        self.progress, self._text = progress, ""

    def publish(self, update: bool) -> None:
        from IPython import get_ipython
        from IPython.display import display

        text, shell = str(self.progress), get_ipython()
        if shell is None and not update:
            print(text)
        # A terminal has no display that can be changed: it would print the list once more.
        if shell is None or (update and (text == self._text or not hasattr(shell, "kernel"))):
            return
        self._text = text
        number = self.progress.number
        data = {"text/plain": text, "text/html": self.progress._repr_html_()}
        metadata = {stored.OURS: {"list": number}}
        display(data, metadata=metadata, raw=True, display_id=f"lab-{number}", update=update)
        if update:  # a page that was loaded anew has forgotten the display_id
            bar_messages.tell({"list": number, "data": data})


_shown: _Watched | None = None


def _renew() -> None:
    if _shown is not None:
        _shown.publish(update=True)


def _title(exercise: BaseExercise) -> str:
    return f"{exercise.title} ({quantity(exercise.points, 'point')})"
