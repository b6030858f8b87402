"""Streams and events. The simulator does each call's work at once, and keeps account of its order.
It has no clock: the time between two events is a bound (_times.py).
"""

from __future__ import annotations

import math
import weakref

from . import _devices, _errors, _findings, _order
from ._device import need_context

_DISABLE_TIMING = 2


_SHORTEST_MS = 0.001  # between two events with no work between them


def least_time(what: str, milliseconds: float) -> float:
    """Return a bound in the place of a duration, with a warning that says so."""
    _findings.remark(
        f"{what} is a bound and no measurement: an H200 needs at least so long for the work, and "
        "mostly longer. The simulator has no clock; durations need a GPU, or a recorded "
        "measurement (helpers.bench.results)"
    )
    return math.copysign(max(abs(milliseconds), _SHORTEST_MS), milliseconds)


class Stream:
    """A queue of work. The simulator does the work at the call; _order.py checks whether the
    program may rely on that.

    flags: 0, or 1 (CU_STREAM_NON_BLOCKING) for a stream that does not wait for the null stream, and
    for which the null stream does not wait.
    """

    def __init__(self, flags: int = 0):
        need_context("cuStreamCreate")
        if flags not in (0, 1):
            detail = f"flags must be 0 or 1 (non-blocking), was {flags!r}"
            raise _errors.logic_error("cuStreamCreate", _errors.INVALID_ARGUMENT, detail)
        self._number = _order.new_stream(flags)
        weakref.finalize(self, _order.release, self._number).atexit = False
        self._device = _devices.current()

    @property
    def handle(self) -> int:
        return self._number

    def synchronize(self) -> None:
        """Wait for all work in this stream."""
        need_context("cuStreamSynchronize")
        _order.finish_stream(self._number)

    def is_done(self) -> bool:
        """Return True, because the simulator has done the work. The host knows it then, as after
        synchronize().
        """
        need_context("cuStreamQuery")
        _order.finish_stream(self._number)
        return True

    def wait_for_event(self, evt: Event) -> None:
        """Order all later work of this stream after the work that `evt` marks."""
        if not isinstance(evt, Event):
            raise TypeError(f"wait_for_event takes a pycuda.driver.Event, got {type(evt).__name__}")
        need_context("cuStreamWaitEvent")
        evt._warn_unrecorded("wait_for_event")
        _order.stream_waits(self._number, evt._clock or {})

    def _name(self) -> str:
        return f"stream {self._number}"


_COPIES = ("cuMemcpy", "cuMemset", "record")  # calls that take a stream of any device


def number_of(stream: object, call: str) -> int:
    """Return the number of a stream, 0 (the null stream) for None; else TypeError.

    A stream of another device is an error for kernels and a warning for copies; peer copies may use
    a stream of any device.
    """
    if stream is None:
        return _order.NULL
    if not isinstance(stream, Stream):
        given = type(stream).__name__
        raise TypeError(f"{call}: stream must be a pycuda.driver.Stream or None, got {given}")
    if not call.startswith(_COPIES):
        _devices.require_here(stream._name(), stream._device, call)
    elif call.startswith(_COPIES[:2]) and not call.startswith("cuMemcpyPeer"):
        _devices.warn_of_stream(stream._name(), stream._device, call)
    return stream._number


class Event:
    """A mark in a stream. A program can record it and wait for it; the duration between two is a
    bound, with a warning.
    """

    def __init__(self, flags: int = 0):
        need_context("cuEventCreate")
        if not isinstance(flags, int):
            raise TypeError(
                f"Event takes flags of pycuda.driver.event_flags, got {type(flags).__name__}"
            )
        self._flags = int(flags)
        self._clock: dict[int, int] | None = None
        self._moment = 0.0  # microseconds
        self._device = _devices.current()

    def record(self, stream: Stream | None = None) -> Event:
        """Mark the work that is in the stream (None: the null stream) so far."""
        number = number_of(stream, "record")
        need_context("cuEventRecord")
        name = "the null stream" if stream is None else stream._name()
        owner = _devices.current() if stream is None else stream._device
        _devices.require_same("the event", self._device, name, owner, "cuEventRecord")
        self._clock = _order.snapshot(number)
        self._moment = _order.moment(self._clock)
        return self

    def synchronize(self) -> Event:
        """Wait for the recorded work. It returns at once, as CUDA does, if nothing is recorded."""
        need_context("cuEventSynchronize")
        self._warn_unrecorded("synchronize")
        _order.host_waits(self._clock or {})
        return self

    def query(self) -> bool:
        """Return True, because the simulator has done the work. The host knows it then, as after
        synchronize().
        """
        need_context("cuEventQuery")
        _order.host_waits(self._clock or {})
        return True

    def time_since(self, event: Event) -> float:
        """Return the least milliseconds that an H200 needs from the other event to this one.
        Raises LogicError if one of the two is not recorded or has no timing.
        """
        return self._elapsed(event, self)

    def time_till(self, event: Event) -> float:
        """Return the duration of time_since with the other sign."""
        return self._elapsed(event, event)

    def ipc_handle(self) -> bytearray:
        raise _errors.logic_error(
            "cuIpcGetEventHandle", _errors.NOT_SUPPORTED, "the simulator is one process"
        )

    def _elapsed(self, other: Event, later: Event) -> float:
        if not isinstance(other, Event):
            raise TypeError(
                f"an event is timed against a pycuda.driver.Event, got {type(other).__name__}"
            )
        need_context("cuEventElapsedTime")
        if self._clock is None or other._clock is None:
            detail = "record() both events before asking for the time between them"
            raise _errors.logic_error("cuEventElapsedTime", _errors.INVALID_HANDLE, detail)
        devices = self._device, "the other", other._device
        _devices.require_same("one event", *devices, "cuEventElapsedTime")
        if (self._flags | other._flags) & _DISABLE_TIMING:
            detail = "one of the events was made with event_flags.DISABLE_TIMING"
            raise _errors.logic_error("cuEventElapsedTime", _errors.INVALID_HANDLE, detail)
        if not all(_order.host_knows(clock) for clock in (self._clock, other._clock)):
            message = "an event is asked for its time before the host knows that it has happened"
            cause = (
                'Call synchronize() on the later event first; a GPU answers "device not ready" '
                "where it is still busy."
            )
            _findings.warn(_findings.of_call("unsynchronised", message, cause))
            _order.host_waits(later._clock or {})
        first = other if later is self else self
        return least_time("the time between two events", (later._moment - first._moment) / 1e3)

    def _warn_unrecorded(self, call: str) -> None:
        if self._clock is None:
            message = f"{call} on an event that was never recorded waits for nothing"
            _findings.warn(
                _findings.of_call(
                    "unsynchronised", message, "Call record(stream) on the event first."
                )
            )
