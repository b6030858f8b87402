"""Answers in Python: what the box's program writes down of them, and what is judged outside."""

from __future__ import annotations

import faulthandler
import json
import os

import pytest

from helpers import exercises
from helpers.course import box, python_answers, python_job, wire
from helpers.exercises.judge.base import NOTEBOOK_SEED
from tests import exercises as answers
from tests import golden

EXERCISE = exercises.find("gradient_sum")
TASK = python_answers.PLAYERS["gradient_sum"]
ALL = (*answers.right(EXERCISE), *answers.wrong(EXERCISE))
RUN = [one for one in ALL if one.status in ("pass", "wrong", "finding", "budget")]
PLAYED = [
    (name, one)
    for name, player in python_answers.PLAYERS.items()
    for one in (*answers.right(player.exercise), *answers.wrong(player.exercise))
    if one.status in ("pass", "wrong", "finding", "budget")
]


def judged(text: str, seed: int = 5):
    """The verdict on an answer whose calls went through JSON, as they leave the box."""
    names: dict = {}
    exec(text, names)
    back = json.loads(json.dumps(python_job.DRIVERS["sums"](names["total"], TASK.calls(seed))))
    return EXERCISE.verdict(TASK.made(back, seed), seed)


@pytest.mark.parametrize(("name", "answer"), PLAYED, ids=[f"{n}: {a.what}" for n, a in PLAYED])
def test_the_grader_gives_the_verdict_of_the_notebook(name, answer, tmp_path, monkeypatch):
    """By the box's program, in a process of its own, here without the box."""
    monkeypatch.chdir(tmp_path)
    player = python_answers.PLAYERS[name]
    text = answers.text_of(player.exercise, answer)
    job = {"text": player.text(text), "function": player.exercise.answer, "driver": player.driver,
           "calls": player.calls(NOTEBOOK_SEED)}  # fmt: skip
    place = tmp_path / "answer"
    if (child := os.fork()) == 0:
        faulthandler.disable()  # an answer of C++ may crash, and its traceback would be pytest's
        python_job.run(wire.pack(job), os.open(place, os.O_WRONLY | os.O_CREAT))
        os._exit(0)
    has_crashed = os.waitpid(child, 0)[1] != 0
    ended = box.Ended("crash") if has_crashed else box.Ended("done", answer=place.read_bytes())
    graded = python_answers._of_ended(player, ended, text, NOTEBOOK_SEED)
    assert graded.verdict.status == answer.status, graded.verdict
    key = f"{player.exercise.name}: {answer.what}"
    golden.require("answers", key, golden.of_verdict(graded.verdict))


@pytest.mark.parametrize("answer", RUN, ids=lambda one: one.what)
def test_the_box_gives_the_verdict_of_the_notebook(answer):
    assert judged(answers.text_of(EXERCISE, answer)).status == answer.status


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("cards.give(9, 0)", "there is no card 9"),
        ("[cards.add(0) for _ in range(2000)]", "more than 1,000 calls"),
    ],
)
def test_calls_that_cannot_be(line, words):
    with pytest.raises((IndexError, RuntimeError), match=words):
        judged(f"def total(cards):\n    {line}\n")


@pytest.mark.parametrize("log", [[["free", 0]], [["wait", 0, 77]], [["add", 0, 5, None]]])
def test_a_forged_log_is_no_answer(log):
    """What comes out of the box may be anything."""
    with pytest.raises((ValueError, KeyError, IndexError)):
        TASK.made([[log, log]] * 3, 5)


def test_a_name_that_the_box_does_not_have_is_told_with_advice():
    for said in ("line 2: ModuleNotFoundError: No module named 'helpers'", "NameError: 'n'"):
        answer = wire.pack({"kind": "refused", "said": said})
        found = python_answers._of_ended(TASK, box.Ended("done", answer=answer), "", 5)
        assert said in found.verdict.message and "runs this cell alone" in found.verdict.hint
    answer = wire.pack({"kind": "compile", "said": "SyntaxError: invalid syntax"})
    for text, is_told in (("%matplotlib inline\nx = 1", True), ("x = 1 % 2\ny = (", False)):
        found = python_answers._of_ended(TASK, box.Ended("done", answer=answer), text, 5)
        assert ("no % or ! of IPython" in found.verdict.hint) == is_told
    answer = wire.pack({"kind": "refused", "said": "line 1: ValueError: no"})
    assert not python_answers._of_ended(TASK, box.Ended("done", answer=answer), "", 5).verdict.hint


def test_a_message_of_a_students_is_shown_and_not_obeyed():
    """An instructor reads it in a terminal, and a page may be read from right to left."""
    answer = wire.pack({"kind": "refused", "said": "ValueError: \x1b[2J\x00\x9b\u202e\tPASS\nno"})
    found = python_answers._of_ended(TASK, box.Ended("done", answer=answer), "", 5).to_dict()
    assert found["messages"][0].endswith("ValueError: \ufffd[2J\ufffd\ufffd\ufffd\tPASS\nno")


def test_nothing_is_no_sum():
    assert judged("def total(cards): pass").status == "wrong"
    assert EXERCISE.verdict(TASK.made([[], [], []], 5), 5).status == "wrong"
