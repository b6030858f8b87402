"""In a grader's box: an order of streams. The box writes down its calls, which are replayed here
on the simulator's driver.
"""

from __future__ import annotations

from typing import Any

from helpers.exercises.content import stream_order
from helpers.exercises.content.stream_order import EXERCISE
from helpers.exercises.judge.player import Player


def calls(seed: int) -> Any:
    batches, _ = stream_order.inputs(seed)
    return [[len(x), one] for x, one in zip(batches, stream_order.BUFFERS, strict=True)]


def made(back: Any, seed: int) -> Any:
    """Return what comes of the calls that the student's function made, replayed on the simulator's
    driver.
    """
    logs = dict(zip(stream_order.BUFFERS, back, strict=True))
    return stream_order.made(lambda pipe: _issue(pipe, logs[pipe.buffers]), seed)


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


PLAYER = Player(EXERCISE, "orders", calls, made)
