"""Exercises whose answer is not a CUDA kernel: labs 400 (C++), 106 (a count of warps), 111
(an order of streams), 204 (a model of costs) and 403 (a sum over cards).

The box gets the student's text and inputs, and gives plain values back: numbers, or a list of
what was enqueued. What they are worth is found out here, by the exercise, with what the box never
had.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import exercises
from helpers.course import texts, wire
from helpers.course.verdicts import SENTENCES, Graded, not_begun, without_run
from helpers.exercises import gate
from helpers.exercises.python_exercise import Found, PythonExercise
from helpers.exercises.verdict import Verdict

if TYPE_CHECKING:
    from helpers.course.benches import Benches
    from helpers.course.box import Ended

_MOST = 2 << 20  # bytes of an answer: numbers and names


@dataclass(frozen=True)
class Task:
    """How an exercise is asked in the box. driver: of python_job.py; calls: what the text is
    called with, of a seed; made: what came back, as the exercise's `judged` takes it; text:
    the part of a cell that counts; crashed: what a crash gives.
    """

    exercise: PythonExercise
    driver: str
    calls: Callable[[int], Any]
    made: Callable[[Any, int], Any]
    text: Callable[[str], str] = str
    crashed: Any = None

    @property
    def name(self) -> str:
        """The exercise's, by which exercises.find finds it."""
        return self.exercise.folder.name

    @property
    def begins(self) -> str:
        """How the cell begins."""
        return self.exercise.stub.partition("\n")[0]


def judged(task: Task, text: str, seed: int, benches: Benches) -> tuple[Graded, Ended | None]:
    """Grade an answer; also how the box ended."""
    exercise = task.exercise
    try:
        gate.check(text)
        if exercise.is_stub(text):
            return not_begun(exercise), None
        text = task.text(text)
    except gate.Refused as refusal:
        return without_run(exercise, "refused", str(refusal)), None
    job = wire.pack(
        {
            "text": text,
            "function": exercise.answer,
            "driver": task.driver,
            "calls": task.calls(seed),
        }
    )
    with benches.of("python") as bench:
        ended = bench.run(job, _MOST)
    try:
        return _of_ended(task, ended, seed), ended
    except (
        wire.MessageError,
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        OverflowError,
        RecursionError,
        AttributeError,
    ) as error:
        message = f"the box gave no answer that can be read: {type(error).__name__}: {error}"[:500]
        return without_run(exercise, "crash", message), ended


def _of_ended(task: Task, ended: Ended, seed: int) -> Graded:
    """What a box has found of an answer. Raises many errors for what no job of ours answers."""
    if ended.status == "crash" and task.crashed is not None:
        return Graded(task.exercise.verdict(task.crashed, seed))
    if ended.status != "done":
        return without_run(task.exercise, ended.status, SENTENCES[ended.status].format(ended.said))
    notes = texts.clean(wire.content(ended.answer)[0])
    if "made" in notes:
        return Graded(task.exercise.verdict(task.made(notes["made"], seed), seed))
    status = "compile" if notes.get("kind") == "compile" else "refused"
    said = str(notes.get("said", ""))[:5_000]
    return Graded(Verdict.of(task.exercise.name, status, said, task.exercise.points))


# ---- lab 400: C++ with the loops swapped ----


def _loops_swapped() -> Task:
    from helpers.exercises import loops_swapped as module

    def made(back: Any, seed: int) -> Any:
        if "said" in back:
            return {"said": str(back["said"])[:5_000], "crashed": False}
        cases = module.inputs(seed)
        values: dict[str, Any] = {}
        plain = len(cases) - module.OVERLAPS
        for k, (N, _) in enumerate(cases[:plain]):
            values[f"P{k}"] = _floats(back["P"][k], N.size)
            values[f"outside{k}"] = bool(back["outside"][k])
        for k, (N, _) in enumerate(cases[plain:]):
            values[f"overlapped{plain + k}"] = _floats(back["overlapped"][k], N.size)
        return values

    def calls(seed: int) -> Any:
        cases = [[N.tolist(), filter.tolist()] for N, filter in module.inputs(seed)]
        plain = len(cases) - module.OVERLAPS
        return {"plain": cases[:plain], "overlapped": cases[plain:]}

    text, crashed = module.EXERCISE.bound, {"said": "", "crashed": True}
    return Task(module.EXERCISE, "cpp", calls, made, text, crashed)


def _floats(values: Any, size: int) -> np.ndarray:
    made = np.array([float(v) for v in values], np.float32)
    if made.size != size:
        raise ValueError(f"expected {size} values, got {made.size}")
    return made


# ---- lab 204: a model of costs ----


def _tile_width_cost() -> Task:
    from helpers.exercises import tile_width_cost as module

    def plain_shape(shape: Any) -> dict[str, int]:
        names = [name for name in dir(shape) if not name.startswith("_")]
        return {
            name: getattr(shape, name) for name in names if isinstance(getattr(shape, name), int)
        }

    def calls(seed: int) -> Any:
        counted = module.counted()
        known = [
            [plain_shape(shape), width, vars(counted[layer, width])]
            for layer, shape in module.SHAPES.items()
            for width in module.WIDTHS
        ]
        larger = [
            [plain_shape(shape), width, vars(seen)] for shape, width, seen, _ in module.scaled(seed)
        ]
        untimed = [
            [plain_shape(shape), width, vars(counted[layer, width])]
            for layer, shape in module.UNTIMED.items()
            for width in module.WIDTHS
        ]
        made = {"known": known, "larger": larger, "untimed": untimed}
        return json.loads(json.dumps(made, default=int))

    def made(back: Any, seed: int) -> Any:
        names = [f"{layer}, {width}" for layer in module.SHAPES for width in module.WIDTHS]
        known = dict(zip(names, [float(v) for v in back["known"]], strict=True))
        larger = [float(v) for v in back["larger"]]
        untimed = [float(v) for v in back["untimed"]]
        wanted = len(module.scaled(seed)), len(module.UNTIMED) * len(module.WIDTHS)
        if not back["said"] and (len(larger), len(untimed)) != wanted:
            raise ValueError("not a cost for each layer")
        said = str(back["said"])[:500]
        return {"known": known, "larger": larger, "untimed": untimed, "said": said}

    return Task(module.EXERCISE, "costs", calls, made)


# ---- lab 111: an order of streams ----


def _stream_order() -> Task:
    from helpers.exercises import stream_order as module

    def calls(seed: int) -> Any:
        pieces = len(module.inputs(seed)[0])
        return [[pieces, buffers] for buffers in module.BUFFERS]

    def made(back: Any, seed: int) -> Any:
        """What comes of the calls that the student's function made, replayed on the simulator's
        driver.
        """
        logs = dict(zip(module.BUFFERS, back, strict=True))
        return module.made(lambda pipe: _issue(pipe, logs[pipe.buffers]), seed)

    return Task(module.EXERCISE, "orders", calls, made)


def _issue(pipe: Any, log: list[list[Any]]) -> None:
    streams: tuple[Any, ...] = ()
    events: dict[int, Any] = {}
    for what, *rest in log[:10_000]:
        if what == "streams":
            streams = pipe.streams(min(max(int(rest[0]), len(streams)), 64))
        elif what in ("h2d", "kernel", "d2h"):
            piece, stream, event = map(int, rest)
            events[event] = getattr(pipe, what)(piece, streams[stream])
        elif what == "wait":
            streams[int(rest[0])].wait_for_event(events[int(rest[1])])
        elif what == "record":
            events[int(rest[1])] = pipe.event().record(streams[int(rest[0])])
        elif what == "host waits":
            pipe.wait()
        else:
            raise ValueError(f"{what!r} is no call of a pipeline")


# ---- lab 403: a sum over cards ----


def _gradient_sum() -> Task:
    from helpers.exercises import gradient_sum as module

    def made(back: Any, seed: int) -> Any:
        """What comes of the calls that the student's function made, replayed on simulated cards."""
        logs = {count: iter(steps) for count, steps in zip(module.COUNTS, back, strict=True)}
        events: dict[int, dict[int, Any]] = {count: {} for count in module.COUNTS}

        def total(cards: Any) -> None:
            _sum(cards, next(logs[cards.count], []), events[cards.count])

        return module.made(total, seed)

    return Task(
        module.EXERCISE, "sums", lambda seed: [[n, module.STEPS] for n in module.COUNTS], made
    )


def _sum(cards: Any, log: list[list[Any]], events: dict[int, Any]) -> None:
    for what, number, *rest in log[:1_000]:
        if what in ("give", "put"):
            source, target, part, stream = rest
            on = None if stream is None else cards.streams[int(stream)]
            cells = _cells(part)
            events[int(number)] = getattr(cards, what)(int(source), int(target), cells, on)
        elif what == "add":
            events[int(number)] = cards.add(int(rest[0]), _cells(rest[1]))
        elif what == "event":
            events[int(number)] = cards.event(cards.streams[int(rest[0])])
        elif what == "wait":
            cards.streams[int(number)].wait_for_event(events[int(rest[0])])
        elif what == "host waits":
            cards.streams[int(number)].synchronize()
        elif what == "host waits for":
            events[int(number)].synchronize()
        else:
            raise ValueError(f"{what!r} is no call of cards")


def _cells(part: Any) -> tuple[int, int] | None:
    return None if part is None else (int(part[0]), int(part[1]))


# ---- lab 106: how many warps a multiprocessor holds ----


def _resident_warps() -> Task:
    from helpers.exercises import resident_warps as module

    def made(back: Any, seed: int) -> Any:
        return [v if isinstance(v, int) else str(v)[:200] for v in back]

    return Task(
        module.EXERCISE, "values", lambda seed: [list(row) for row in module.cases(seed)], made
    )


@cache
def _tasks() -> MappingProxyType:
    made = [
        _loops_swapped(),
        _tile_width_cost(),
        _stream_order(),
        _gradient_sum(),
        _resident_warps(),
    ]
    missing = [
        n
        for n in exercises.names()
        if isinstance(exercises.find(n), PythonExercise) and n not in {t.name for t in made}
    ]
    assert not missing, f"no task in the box for {missing}"
    return MappingProxyType({task.name: task for task in made})


TASKS = _tasks()


__all__ = ["TASKS", "Found", "Task", "judged"]
