"""Exercises whose answer is not a CUDA kernel. Each has a player, in play.py of its folder.

The box gets the student's text and inputs, and gives plain values back: numbers, or a list of
what was enqueued. What they are worth is found out here, by the exercise, with what the box never
had.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from helpers import exercises
from helpers.course import texts, wire
from helpers.course.grades import SENTENCES, Graded, not_begun, unreadable, without_run
from helpers.exercises.judge import gate
from helpers.exercises.judge.player import Player
from helpers.exercises.judge.python_exercise import ALONE, PythonExercise
from helpers.exercises.judge.verdict import Verdict

if TYPE_CHECKING:
    from helpers.course.box import Benches, Ended

_MOST = 2 << 20  # bytes of an answer: numbers and names


def judged(player: Player, text: str, seed: int, benches: Benches) -> tuple[Graded, Ended | None]:
    """Grade an answer; also how the box ended."""
    exercise = player.exercise
    try:
        gate.check(text)
        if exercise.is_stub(text):
            return not_begun(exercise), None
        text = player.text(text)
    except gate.Refused as refusal:
        return without_run(exercise, "refused", str(refusal)), None
    job = wire.pack(
        {
            "text": text,
            "function": exercise.answer,
            "driver": player.driver,
            "calls": player.calls(seed),
        }
    )
    with benches.of("python") as bench:
        ended = bench.run(job, _MOST)
    try:
        return _of_ended(player, ended, text, seed), ended
    except wire.UNREADABLE as error:
        return unreadable(exercise, error), ended


def _of_ended(player: Player, ended: Ended, text: str, seed: int) -> Graded:
    """Return what a box has found of an answer. Raises many errors for what no job of ours answers.
    """
    if ended.status == "crash" and player.crashed is not None:
        return Graded(player.exercise.verdict(player.crashed, seed))
    if ended.status != "done":
        sentence = SENTENCES[ended.status].format(ended.said)
        return without_run(player.exercise, ended.status, sentence)
    notes = texts.clean(wire.content(ended.answer)[0])
    if "made" in notes:
        made = player.made(notes["made"], seed)
        if player.seen is not None and "said" not in made:
            made = {**made, **player.seen(text)}
        return Graded(player.exercise.verdict(made, seed))
    status = "compile" if notes.get("kind") == "compile" else "refused"
    said = str(notes.get("said", ""))[:5_000]
    is_of_notebook = re.search(r"^\s*[%!]", text, re.MULTILINE) and status == "compile"
    lacks_a_name = re.search(r"\b(Name|ModuleNotFound|Import)Error: ", said)
    hint = ALONE if is_of_notebook or lacks_a_name else ""
    return Graded(Verdict.of(player.exercise.name, status, said, player.exercise.points, hint))


def _players() -> MappingProxyType[str, Player]:
    """Return the players of all exercises in Python, by the exercise's folder."""
    found = {}
    for name in exercises.names():
        exercise = exercises.find(name)
        if isinstance(exercise, PythonExercise):
            folder = exercise.folder.relative_to(Path(exercises.__file__).parent)
            module = importlib.import_module(".".join(("helpers.exercises", *folder.parts, "play")))
            found[name] = module.PLAYER
    return MappingProxyType(found)


PLAYERS = _players()
