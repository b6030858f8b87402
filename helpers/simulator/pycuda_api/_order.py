"""The order of work in streams, events, the null stream and the host, as CUDA defines it.

The simulator does work at once, at the call. So a program that forgets synchronize() gets the right
bytes here, but sometimes the wrong ones on a GPU. Therefore every piece of work has a number in its
stream and a clock: for each stream the latest work that is finished before this piece begins. Two
accesses to the same bytes are a finding ("unsynchronised") if one of them writes and neither is in
the other's past.

The rules (CUDA C++ Programming Guide, "Asynchronous Concurrent Execution"; CUDA Driver API, "Stream
synchronization behavior" and "API synchronization behavior"):
- work in a stream runs in order; the null stream waits for every blocking stream, and each of them
  waits for the null stream;
- a stream with flag 1 (CU_STREAM_NON_BLOCKING) does not wait for the null stream, and the null
  stream does not wait for it;
- launches, memsets, and copies within the device return to the host before they are done;
- copies from and to the host without `_async` return when they are done; `_async` copies to
  pageable memory do so, too, and those from pageable memory return when they have read it;
- the host knows that work is done after Stream.synchronize, Event.synchronize and
  Context.synchronize, and after a query that returns True;
- each device has a null stream of its own, which orders nothing on another device;
  Context.synchronize waits for one device; memcpy_peer (without `_async`) comes after everything on
  both devices, and before everything that follows there.

Addresses of all devices differ, so the rules for two accesses to the same bytes hold for work on
two devices, too. All threads of the host count as one: if one of them has waited for work, the
others know that it is done.

A kernel's pointers tell what it accesses: it reads behind a `const` pointer and writes behind any
other. If several streams share an allocation in pieces, a kernel has the piece that its pointer
points to. An access that overlaps with this piece only further on is no finding.
"""

from __future__ import annotations

import functools
import threading
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TypeVar

from . import _account, _devices, _findings

NULL = 0  # the null stream of the current device; that of device d has the number -d
_NON_BLOCKING = 1
_Given = TypeVar("_Given")
_KEPT = 4096


@dataclass(eq=False)
class Work:
    """One piece of work: `number` in `stream`, its name in words, the clock with itself in it, the
    program's line, and why it runs beside no other, where an account is kept.
    """

    stream: int
    number: int
    what: str
    clock: dict[int, int] = field(repr=False)
    site: tuple[str, int]
    hold: _account.Hold | None = None

    def where(self) -> str:
        place = "the null stream" if self.stream <= NULL else f"stream {self.stream}"
        if _devices.several():
            place += f" of device {device_of(self.stream)}"
        return f"{self.what} on {place}" + (f" (line {self.site[1]})" if self.site[1] else "")


@dataclass
class _Access:
    """Bytes [start, end) that work accesses; end is None if only the start is known (a kernel's
    pointer).
    """

    start: int
    end: int | None
    write: bool
    work: Work

    def meets(self, start: int, end: int | None) -> bool:
        if self.end is None:
            return self.start == start if end is None else start <= self.start < end
        return (
            self.start <= start < self.end if end is None else start < self.end and self.start < end
        )


class _State:
    def __init__(self) -> None:
        self.streams = 0  # that were ever created
        # Numbers of streams that the program has let go of; see _drop_released.
        self.released: deque[int] = deque()
        self.counts = {NULL: 0}
        # The work that the next work of a stream waits for.
        self.clocks: dict[int, dict[int, int]] = {NULL: {}}
        self.devices: dict[int, int] = {}  # of each stream that is not a null stream
        # by device: of all its blocking streams together
        self.blocking: dict[int, dict[int, int]] = {0: {}}
        self.host: dict[int, int] = {}  # what the host knows to be done
        self.non_blocking: set[int] = set()
        self.device: list[_Access] = []
        self.pinned: list[_Access] = []
        # Start -> end of device memory that the host may touch: managed, mapped.
        self.shared: dict[int, int] = {}
        self.locked: dict[int, int] = {}  # start -> end of page-locked host memory
        self.ends: dict[int, float] = {}  # when a stream's work is done at the earliest, in us
        self.are_timed = False  # an event has been recorded


_state = _State()
# Threads that drive devices of their own share this account. Python may collect garbage inside of
# it, and arrays are forgotten then: so a thread can enter it again.
_door = threading.RLock()


def _alone(function: Callable[..., _Given]) -> Callable[..., _Given]:
    """Return the function in a form that one thread at a time runs."""

    @functools.wraps(function)
    def run(*args, **kwargs):
        with _door:
            return function(*args, **kwargs)

    return run


@_alone
def new_stream(flags: int) -> int:
    """Return the number of a new stream of the current device, from 1 on."""
    _drop_released()
    _state.streams += 1
    number = _state.streams
    _state.counts[number] = 0
    _state.clocks[number] = {}
    _state.devices[number] = _devices.current()
    if flags & _NON_BLOCKING:
        _state.non_blocking.add(number)
    return number


def release(stream: int) -> None:
    """Record that the program has no object of a stream any more. Python calls this wherever it
    collects garbage, so that nothing but the number is noted here.
    """
    _state.released.append(stream)


def _drop_released() -> None:
    """Drop the released streams whose work the host knows to be done.

    Each clock has a number for each stream: in a program that creates streams in a loop, clocks
    would grow without end, and each piece of work would copy them.
    """
    for _ in range(len(_state.released)):
        stream = _state.released.popleft()
        if _state.host.get(stream, 0) < _state.counts[stream]:
            _state.released.append(stream)
            continue
        del _state.counts[stream], _state.clocks[stream], _state.devices[stream]
        _state.non_blocking.discard(stream)
        for clock in (_state.host, *_state.clocks.values(), *_state.blocking.values()):
            clock.pop(stream, None)


def device_of(stream: int) -> int:
    """Return the device of a stream."""
    return -stream if stream <= NULL else _state.devices[stream]


def _known(stream: int) -> int:
    """Return a stream's number; for NULL, that of the current device's null stream."""
    if stream != NULL:
        return stream
    device = _devices.current()
    if -device not in _state.counts:
        _state.counts[-device], _state.clocks[-device] = 0, {}
    return -device


def _device_streams(device: int) -> list[int]:
    return [stream for stream in _state.counts if device_of(stream) == device]


@_alone
def begin(stream: int, what: str, microseconds: float = 0.0) -> Work:
    """Enqueue work in a stream. microseconds: that it takes at least, see _times.py."""
    return _begin(_known(stream), what, {}, microseconds)


@_alone
def begin_between(
    devices: Collection[int], what: str, microseconds: float = 0.0
) -> Work:
    """Enqueue work after everything on these devices, and before all that follows there."""
    streams = [stream for device in devices for stream in _device_streams(device)]
    past = {stream: _state.counts[stream] for stream in streams}
    work = _begin(_known(NULL), what, past, microseconds)
    for stream in past:
        _join(_state.clocks[stream], work.clock)
    for device in devices:
        _join(_state.clocks.setdefault(-device, {}), work.clock)
        _state.counts.setdefault(-device, 0)
    return work


def _begin(stream: int, what: str, past: dict[int, int], microseconds: float) -> Work:
    state, device = _state, device_of(stream)
    blocking = state.blocking.setdefault(device, {})
    clock = dict(state.clocks[stream])
    _join(clock, state.host)
    _join(clock, past)
    if stream <= NULL:
        _join(clock, blocking)
    elif stream not in state.non_blocking:
        _join(clock, state.clocks.get(-device, {}))
    state.ends[stream] = _end_of(clock) + microseconds
    state.counts[stream] += 1
    clock[stream] = number = state.counts[stream]
    state.clocks[stream] = clock
    if stream > NULL and stream not in state.non_blocking:
        _join(blocking, clock)
    is_kept = _account.is_kept()
    site = _findings.call_site() if is_kept or _watching() else ("", 0)
    if is_kept:
        _account.note(what, site, 1, microseconds)
    work = Work(stream, number, what, clock, site)
    if stream <= NULL and any(s > NULL and s not in state.non_blocking for s in state.counts):
        _hold(work, _account.Hold.NULL_STREAM)
    return work


def _end_of(clock: dict[int, int]) -> float:
    """Return when the work of a clock is done at the earliest, in microseconds: where a stream has
    more work since, that of the other streams decides.
    """
    counts, ends = _state.counts, _state.ends
    done = (s for s, number in clock.items() if counts.get(s) == number)
    return max((ends.get(stream, 0.0) for stream in done), default=0.0)


@_alone
def lasts(work: Work, microseconds: float) -> None:
    """Say how long the last work of a stream takes at least, once that is known."""
    _state.ends[work.stream] += microseconds
    if _account.is_kept():
        _account.note(work.what, work.site, microseconds=microseconds)


@_alone
def is_copy(work: Work, hold: _account.Hold | None) -> None:
    """Say for the account of times that work copies between the host and the device. hold: why it
    runs beside no other.
    """
    if _account.is_kept():
        _account.note(work.what, work.site).is_copy = True
    if hold is not None:
        _hold(work, hold)


def _hold(work: Work, hold: _account.Hold) -> None:
    """Record why work runs beside no other; what is known last counts."""
    if _account.is_kept():
        holds = _account.note(work.what, work.site).holds
        holds.update([hold])
        if work.hold is not None:
            holds.subtract([work.hold])
        work.hold = hold


@_alone
def keep_account() -> None:
    """Keep an account of all work from now on, with the times of launches."""
    _account.keep()
    _state.are_timed = True


@_alone
def account_in_words() -> str:
    """Return the account of all work as a table."""
    return _account.text(max(_state.ends.values(), default=0.0))


@_alone
def moment(clock: dict[int, int]) -> float:
    """Return when the work of a clock is done at the earliest, in microseconds. From now on,
    launches are timed.
    """
    _state.are_timed = True
    return _end_of(clock)


def are_timed() -> bool:
    """Return whether the program may ask how long later work takes."""
    return _state.are_timed


def _join(clock: dict[int, int], other: dict[int, int]) -> None:
    for stream, number in list(other.items()):
        if clock.get(stream, 0) < number and stream in _state.counts:
            clock[stream] = number


def _watching() -> bool:
    """Return whether anything but the null stream can access device memory; if not, every access is
    in order.
    """
    return _state.streams > 0 or len(_state.counts) > 1 or bool(_state.shared)


@_alone
def touch_device(work: Work, start: int, end: int | None, *, write: bool) -> None:
    """Record that `work` accesses device memory, and report work of other streams if the two have
    no order.
    """
    if _watching():
        _touch(_state.device, _Access(start, end, write, work))


@_alone
def touch_pinned(work: Work, start: int, end: int, *, write: bool) -> None:
    """Record that `work` accesses page-locked host memory."""
    if not work.site[1]:
        work.site = _findings.call_site()
    _touch(_state.pinned, _Access(start, end, write, work))


def _touch(accesses: list[_Access], new: _Access) -> None:
    kept = []
    for old in reversed(accesses):  # what follows the latest in its stream follows the others, too
        if _done(old.work, _state.host):
            continue  # whatever comes now comes later
        meets = old.meets(new.start, new.end)
        ordered = _done(old.work, new.work.clock)
        if meets and (old.write or new.write) and not ordered:
            shifted = _shifted(old, new) if accesses is _state.device else ""
            _report(old, new.work.where(), new.write, shifted)
            _join(new.work.clock, old.work.clock)  # one missing wait, one finding
            continue
        replaced = (
            ordered
            and new.end == old.end
            and new.start == old.start
            and (new.write or not old.write)
        )
        if not replaced:
            kept.append(old)
    accesses[:] = [*kept[:_KEPT][::-1], new]


def _shifted(old: _Access, new: _Access) -> str:
    """Return what to say of two pieces of memory of one size that overlap in part, as pieces do
    whose program has counted elements where an address counts bytes; "" for others.
    """
    if old.end is None or new.end is None or old.start == new.start:
        return ""
    size = new.end - new.start
    if old.end - old.start != size:
        return ""
    both = size - abs(new.start - old.start)
    return (
        f"Of the {size:,} bytes of each, {both:,} are the same: an offset that is added to an "
        "address counts bytes, so it is the number of elements times the itemsize. If the two "
        "should overlap, order them. "
    )


def _done(work: Work, clock: dict[int, int]) -> bool:
    # The host knows the work of a dropped stream to be done, and so does whatever comes now.
    return work.stream not in _state.counts or clock.get(work.stream, 0) >= work.number


@_alone
def host_touches(start: int, end: int, *, write: bool, what: str) -> None:
    """Report work that may still use host memory, or device memory that the host sees, while the
    host accesses it.
    """
    for accesses in (_state.pinned, _state.device if _is_shared(start) else []):
        for old in reversed(list(accesses)):
            if _done(old.work, _state.host):
                accesses.remove(old)
            elif (old.write or write) and _overlaps_host(old, start, end):
                accesses.remove(old)
                _report(old, f"{what} by the host", write)
                finished(old.work)  # one missing wait, one finding


def _overlaps_host(old: _Access, start: int, end: int) -> bool:
    """Return a kernel's pointer into memory that it shares with the host may reach all of it, and
    so may the host's view.
    """
    last = (
        old.end
        if old.end is not None
        else next((e for s, e in _state.shared.items() if s <= old.start < e), old.start + 1)
    )
    return start < last and old.start < end


def _is_shared(address: int) -> bool:
    return any(start <= address < end for start, end in _state.shared.items())


def _report(old: _Access, what: str, write: bool, first: str = "") -> None:
    """Warn of two accesses that nothing orders. first: what causes it here, before what usually
    does.
    """
    verb = "writes" if write else "reads"
    state = "writing" if old.write else "reading"
    message = (
        f"{what} {verb} memory that {old.work.where()} may still be {state}: nothing orders the two"
    )
    cause = (
        f"{first}Call synchronize() on the stream (or on an event recorded after that work) "
        "before the host touches the memory; "
        "let one stream wait for another with event.record(first) and second.wait_for_event(event)."
    )
    _findings.warn(_findings.of_call("unsynchronised", message, cause, old.work.site))


@_alone
def forget(start: int, end: int) -> None:
    """Forget memory that is freed."""
    for accesses in (_state.device, _state.pinned):
        accesses[:] = [old for old in accesses if not start <= old.start < end]
    _state.shared.pop(start, None)


@_alone
def lock(start: int, nbytes: int) -> None:
    """Record that host memory is page-locked from now on."""
    _state.locked[start] = start + nbytes


@_alone
def unlock(start: int) -> None:
    _state.locked.pop(start, None)


@_alone
def is_locked(start: int, end: int) -> bool:
    """Return whether host memory is page-locked, so that asynchronous copies use it after their
    call has returned.
    """
    return any(first <= start and end <= last for first, last in _state.locked.items())


@_alone
def share(start: int, nbytes: int) -> None:
    """Record device memory that the host reads and writes in place."""
    _state.shared[start] = start + nbytes


@_alone
def finished(work: Work) -> None:
    """Record that the host has waited for `work`."""
    _join(_state.host, work.clock)


@_alone
def finish_stream(stream: int) -> None:
    _join(_state.host, snapshot(stream))


@_alone
def finish_all() -> None:
    """Record that the host has waited for all work of the current device, and for the work before
    it.
    """
    _drop_released()
    for stream in _device_streams(_devices.current()):
        _join(_state.host, {stream: _state.counts[stream]})
        _join(_state.host, _state.clocks[stream])


@_alone
def snapshot(stream: int) -> dict[int, int]:
    """Return an event's clock: the work that is done when a stream comes to this point."""
    stream = _known(stream)
    device = device_of(stream)
    clock = dict(_state.clocks[stream])
    if stream <= NULL:
        _join(clock, _state.blocking.get(device, {}))
    elif stream not in _state.non_blocking:
        _join(clock, _state.clocks.get(-device, {}))
    return clock


@_alone
def stream_waits(stream: int, clock: dict[int, int]) -> None:
    _join(_state.clocks[_known(stream)], clock)


@_alone
def host_waits(clock: dict[int, int]) -> None:
    _join(_state.host, clock)


@_alone
def host_knows(clock: dict[int, int]) -> bool:
    return all(
        stream not in _state.counts or _state.host.get(stream, 0) >= number
        for stream, number in clock.items()
    )
