"""How many devices are simulated, which one this thread's context is on, and what belongs to which.

HALO_DEVICES says how many: 1 unless it is set, read once, when the driver is initialised, as CUDA
reads CUDA_VISIBLE_DEVICES. All are alike; each has memory of its own. A context is current in the
thread that pushed it and in no other.

What CUDA allows across devices (CUDA C++ Programming Guide, "Stream and Event Behavior" and
"Peer-to-Peer Memory Access"; CUDA Driver API, "Unified Addressing"), and what is found here
("wrong-device"):
- a kernel is launched in the context that its module was loaded in, on a stream of that context:
  anything else is refused;
- a kernel reaches memory of its own device, and of another one after Context.enable_peer_access:
  else it stops with a fault;
- an event is recorded on a stream of its own device, and timed against one of its own device; any
  stream may wait for it;
- memcpy_peer copies between devices. Every copy finds a device by its address, so that it works
  from any context: a copy that names another device than it means is warned of, a memset is
  refused;
- memory is freed in the thread that made its context, or where that context is current: elsewhere
  PyCUDA keeps the memory ("wrong-thread") until the process ends, here until `devices` ends.

Memory that a kernel reaches through a pointer in memory, and not through an argument, is not looked
at.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from helpers.quantities import quantity
from helpers.simulator.findings.findings import Finding
from helpers.simulator.machine import memory

from . import _errors, _findings

VARIABLE = "HALO_DEVICES"
MOST = 16


class _Contexts(threading.local):
    """The contexts that a thread has pushed; the last one is current."""

    def __init__(self) -> None:
        self.stack: list[Any] = []


contexts = _Contexts()
_count = 1
_peers: set[tuple[int, int]] = set()
# What frees memory that a thread gave up without being able to free it.
_kept: list[Callable[[], None]] = []


def wanted() -> int:
    """Return how many devices HALO_DEVICES asks for. Raises ValueError unless it is a whole number
    from 1 to MOST.
    """
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return 1
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= MOST:
        raise ValueError(
            f"{VARIABLE}={text}: it is the number of simulated devices, a whole number from 1 to "
            f"{MOST}. Type {VARIABLE}=2 for two of them, or unset it for one"
        )
    return int(text)


def count() -> int:
    """Return the number of devices."""
    return _count


def set_count(number: int) -> None:
    """Set the number of devices."""
    global _count
    _count = number


@contextlib.contextmanager
def devices(number: int, memory_of: Sequence[int | None] = ()) -> Iterator[None]:
    """Simulate `number` devices inside the block. memory_of: the bytes of the devices, in their
    order; a device without an entry, or with None, has the usual bytes. Memory that no thread could
    free (`keep`) is freed at the end.
    """
    if not 1 <= number <= MOST or len(memory_of) > number:
        raise ValueError(
            f"{quantity(number, 'device')} with {quantity(len(memory_of), 'size')} of memory: give "
            f"1 to {MOST} devices, at most one size for each"
        )
    before, peers, kept = _count, set(_peers), len(_kept)
    set_count(number)
    for device, nbytes in enumerate(memory_of):
        memory.limit(device, nbytes)
    try:
        yield
    finally:
        set_count(before)
        _peers.intersection_update(peers)
        for device in range(len(memory_of)):
            memory.limit(device, None)
        # The next devices have all of their memory.
        while len(_kept) > kept:
            _kept.pop()()


def current() -> int:
    """Return the number of the device of this thread's current context, 0 without a context."""
    return contexts.stack[-1]._device._number if contexts.stack else 0


def several() -> bool:
    """Return whether there are several devices, so that something can be on a wrong one."""
    return _count > 1


def enable_peer(peer: int) -> None:
    _peers.add((current(), peer))


def disable_peer(peer: int) -> None:
    _peers.discard((current(), peer))


def has_peer(peer: int) -> bool:
    """Return whether kernels of the current device may use the memory of another."""
    return (current(), peer) in _peers


# ---- what is on a wrong device ----

_PUSH = (
    "Push the context of device {owner} first (context.push(), and Context.pop() afterwards), or "
    "make it in this one."
)


def require_here(what: str, owner: int, call: str) -> None:
    """Raise LogicError, and records a finding, for a stream, an event or a module of another
    device.
    """
    if owner != current():
        message = (
            f"{what} belongs to device {owner}, and the current context is of device {current()}"
        )
        _refuse(call, _errors.INVALID_HANDLE, message, _PUSH.format(owner=owner))


def require_same(what: str, owner: int, other: str, others: int, call: str) -> None:
    """Raise LogicError, and records a finding, if two things of one call belong to different
    devices.
    """
    if owner != others:
        message = f"{what} belongs to device {owner}, and {other} to device {others}"
        _refuse(
            call,
            _errors.INVALID_HANDLE,
            message,
            f"Make {what} while the context of device {others} is current.",
        )


def _refuse(call: str, reason: str, message: str, cause: str) -> None:
    _findings.keep(_found(f"{call}: {message}", cause, "error"))
    raise _errors.logic_error(call, reason, f"{message}. {cause}")


def warn_of_stream(what: str, owner: int, call: str) -> None:
    """Warn of a copy in a stream of another device than the current one."""
    if owner != current():
        message = (
            f"{call}: {what} belongs to device {owner}, and the current context is of device "
            f"{current()}"
        )
        cause = "A copy works there, a kernel does not. " + _PUSH.format(owner=owner)
        _findings.warn(_found(message, cause, "warning"))


def check_pointer(address: int, call: str, role: str) -> None:
    """Look for memory of another device than the current one: refuse a memset, and warn of a
    copy.
    """
    owner = memory.device_of(address)
    if owner is None or owner == memory.EVERYWHERE or owner == current():
        return
    message = (
        f"{role} is memory of device {owner}, and the current context is of device {current()}"
    )
    if call.startswith("cuMemset"):
        _refuse(call, _errors.INVALID_ARGUMENT, message, _PUSH.format(owner=owner))
    cause = (
        "Copy between devices by memcpy_peer, which names both; else push the context of device "
        f"{owner} first."
    )
    _findings.warn(_found(f"{call}: {message}", cause, "warning"))


def warn_of_place(address: int, wanted: int, call: str, role: str) -> None:
    """Warn of memory that is not on the device that a peer copy names."""
    owner = memory.device_of(address)
    if owner is None or owner in (memory.EVERYWHERE, wanted):
        return
    message = (
        f"{call}: {role} is memory of device {owner}, and {role}_context is of device {wanted}"
    )
    cause = (
        f"The copy finds the devices by the addresses; give the context of device {owner} as "
        f"{role}_context."
    )
    _findings.warn(_found(message, cause, "warning"))


def unreachable(address: int, kernel: str, parameter: str) -> Finding | None:
    """Return the finding for a kernel of the current device that gets memory which it cannot
    reach.
    """
    owner = memory.device_of(address)
    if owner is None or owner in (memory.EVERYWHERE, current()) or has_peer(owner):
        return None
    message = (
        f"kernel {kernel} runs on device {current()}, and its argument `{parameter}` is memory of "
        f"device {owner}"
    )
    cause = (
        "On a GPU the kernel stops with an illegal address, and its context is lost. Allocate "
        f"while the context of device {current()} is current, copy by memcpy_peer, or let kernels "
        f"reach it: Context.enable_peer_access(context of device {owner})."
    )
    return _found(message, cause, "error", parameter)


def keep(release: Callable[[], None], nbytes: int) -> None:
    """Keep memory that is freed in a thread in which PyCUDA cannot free it, and warn of that.

    release: frees it after all, when these devices end.
    """
    _kept.append(release)
    message = (
        f"free() in the thread {threading.current_thread().name!r} leaves "
        f"{quantity(nbytes, 'byte')} of "
        "device memory allocated: their context was made in another thread and is not current here"
    )
    cause = "Free memory in the thread that allocated it, while its context is current."
    _findings.warn(_findings.of_call("wrong-thread", message, cause))


def _found(message: str, cause: str, severity: str, array: str | None = None) -> Finding:
    return _findings.of_call("wrong-device", message, cause, array=array, severity=severity)
