"""The sum of the vectors of two cards, on both of them: three works, and what each waits for."""

from __future__ import annotations

import functools

from helpers.exercises.content import gradient_sum
from helpers.exercises.judge.python_exercise import PythonExercise

COUNTS = (2,)  # of cards

EXERCISE = PythonExercise(
    name="two_cards",
    lab=gradient_sum.LAB,
    place=1,
    title="Add the vectors of two cards",
    points=4,
    answer="both",
    made=functools.partial(gradient_sum.made, counts=COUNTS),
    judged=functools.partial(gradient_sum.judged, counts=COUNTS),
    limit_s=8.0,
    hints=(
        "Three works: card 1 gives its vector, card 0 adds, card 0 puts the sum back. On which "
        "card's stream does each of them stand?",
        "given = cards.give(1, 0) stands on the stream of card 1, and cards.add(0) on that of "
        "card 0: cards.streams[0] must wait for `given` before it adds.",
        "cards.put(0, 1) stands behind the addition, on the stream of card 0. Card 1 goes on with "
        "its vector afterwards: cards.streams[1] must wait for the event of put().",
    ),
)
