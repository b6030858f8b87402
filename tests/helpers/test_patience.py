"""Time limits of answers: a slow machine gives more time, and a loop without an end still stops."""

from __future__ import annotations

import logging
import signal
import sys
from dataclasses import replace
from types import FrameType

import pytest

from helpers import exercises, kernel_cells
from helpers.exercises.judge import outcome, patience
from helpers.exercises.judge.exercise import Exercise
from helpers.exercises.judge.python_exercise import PythonExercise, StoppedError, _stopped_after


@pytest.mark.parametrize(
    ("slowness", "limits"), [(1.0, [2.0]), (1.4, [2.0]), (3.0, [2.0, 6.0]), (40.0, [2.0, 10.0])]
)
def test_a_late_answer_runs_again_on_a_slow_machine(monkeypatch, slowness, limits):
    monkeypatch.setattr(patience, "slowness", lambda: slowness)
    asked: list[float] = []
    patience.with_patience(asked.append, lambda _: True, 2.0)
    assert asked == pytest.approx(limits)


def test_an_answer_in_time_runs_once(monkeypatch):
    monkeypatch.setattr(patience, "slowness", lambda: pytest.fail("it was measured"))
    assert patience.with_patience(lambda limit_s: limit_s, lambda _: False, 2.0) == 2.0


def test_slowness_is_the_time_of_the_work(monkeypatch):
    clock = iter([10.0, 10.0 + 3 * patience._WORK_S])
    monkeypatch.setattr(patience.time, "perf_counter", lambda: next(clock))
    assert patience.slowness() == pytest.approx(3.0)


@pytest.fixture
def a_machine(monkeypatch):
    """Return a function that makes this machine so many times as slow."""

    def make(slowness: float) -> None:
        monkeypatch.setattr(patience, "slowness", lambda: slowness)
        monkeypatch.setattr(patience, "_MOST", slowness)

    return make


def test_a_right_kernel_is_judged_on_a_slow_machine(a_machine):
    exercise = exercises.find("axpy_basic")
    assert isinstance(exercise, Exercise)
    slow = exercise.solution.replace(
        "if (i < n)", "for (volatile int turn = 0; turn < 3000; ++turn) {}\n    if (i < n)"
    )
    assert slow != exercise.solution
    hurried = replace(exercise, limit_s=1e-3)
    cell = kernel_cells.parse(slow)
    cases = hurried.fitted(cell, 3)
    a_machine(1.0)
    assert outcome.checked(cell, cases, limit_s=hurried.limit_s)[-1].stopped == "time"
    verdict = hurried.judge(slow)
    assert verdict.status == "time" and "reached its time limit" in verdict.message
    a_machine(1e5)
    done = outcome.checked(cell, cases, limit_s=hurried.limit_s)
    assert [one.stopped for one in done] == [""] * len(cases)
    verdict = hurried.judge(slow)  # its loop is more than what the exercise allows
    assert verdict.status == "budget" and "right, but" in verdict.message


def test_a_right_python_answer_passes_on_a_slow_machine(a_machine):
    exercise = exercises.find("in_turn")
    assert isinstance(exercise, PythonExercise)
    hurried = replace(exercise, limit_s=1e-4)
    a_machine(1.0)
    verdict = hurried.judge(exercise.solution)
    assert verdict.status == "time" and "0.0001 s" in verdict.message
    with pytest.raises(StoppedError):
        hurried.run(exercise.solution, 3)
    a_machine(1e6)
    assert hurried.judge(exercise.solution).passed
    assert hurried.run(exercise.solution, 3) is not None


def test_an_alarm_amid_loggings_locks_is_put_off():
    """Around a fork, Python ignores an error in logging's own functions."""
    frames: list[FrameType] = []

    class Here(logging.Handler):
        def emit(self, record):
            frames.append(sys._getframe(1))

    logger = logging.Logger("of this test")
    logger.addHandler(Here())
    logger.warning("its caller is a function of logging")
    with _stopped_after(60):
        alarm = signal.getsignal(signal.SIGALRM)
        assert callable(alarm)
        assert alarm(signal.SIGALRM, frames[0]) is None
        first, every = signal.getitimer(signal.ITIMER_REAL)
        assert first > 0 and every > 0, "another alarm comes"
        with pytest.raises(StoppedError):
            alarm(signal.SIGALRM, sys._getframe())
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0), "it is raised once"
