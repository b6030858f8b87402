"""Streams and events. The simulator finishes every call before it returns, and it has no clock."""

from __future__ import annotations

import itertools

from . import _errors
from ._device import need_context
from ._errors import LogicError

_handles = itertools.count(1)


def no_clock(call: str) -> LogicError:
    """The error for every question about a duration."""
    detail = "the simulator does not model time; durations need a GPU, or a recorded measurement (helpers.results)"
    return LogicError(_errors.message(call, _errors.NOT_SUPPORTED, detail))


class Stream:
    """A queue of work. In the simulator it is always empty: work is done at the call that asks for it."""

    def __init__(self, flags: int = 0):
        need_context("cuStreamCreate")
        self.handle = next(_handles)

    def synchronize(self) -> None:
        need_context("cuStreamSynchronize")

    def is_done(self) -> bool:
        need_context("cuStreamQuery")
        return True

    def wait_for_event(self, evt: Event) -> None:
        if not isinstance(evt, Event):
            raise TypeError(f"wait_for_event takes a pycuda.driver.Event, was given {type(evt).__name__}")


class Event:
    """A mark in a stream. It can be recorded and waited for; it cannot tell a duration, which raises LogicError."""

    def __init__(self, flags: int = 0):
        need_context("cuEventCreate")
        self._recorded = False

    def record(self, stream: Stream | None = None) -> Event:
        if stream is not None and not isinstance(stream, Stream):
            raise TypeError(f"record takes a pycuda.driver.Stream or None, was given {type(stream).__name__}")
        need_context("cuEventRecord")
        self._recorded = True
        return self

    def synchronize(self) -> Event:
        need_context("cuEventSynchronize")
        return self

    def query(self) -> bool:
        need_context("cuEventQuery")
        return True

    def time_since(self, event: Event) -> float:
        return self._elapsed(event)

    def time_till(self, event: Event) -> float:
        return self._elapsed(event)

    def _elapsed(self, other: Event) -> float:
        if not isinstance(other, Event):
            raise TypeError(f"an event is timed against a pycuda.driver.Event, was given {type(other).__name__}")
        if not (self._recorded and other._recorded):
            detail = "record() both events before asking for the time between them"
            raise LogicError(_errors.message("cuEventElapsedTime", _errors.INVALID_HANDLE, detail))
        raise no_clock("cuEventElapsedTime")
