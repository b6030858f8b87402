"""The simulated devices, their limits (those of one NVIDIA H200), and contexts."""

from __future__ import annotations

import builtins
import threading

from helpers.quantities import quantity
from helpers.simulator.machine import architecture, memory

from . import _devices, _errors, _order
from ._devices import contexts as _contexts
from ._enums import compute_mode, device_attribute, func_cache, limit, shared_config

NAME = "Halo Labs simulator"
PCI_BUS_ID = "0000:{:02x}:00.0"  # of each device, by its number
_initialised = False
_limits = {
    limit.STACK_SIZE: 1024,
    limit.PRINTF_FIFO_SIZE: 8 * 1024 * 1024,
    limit.MALLOC_HEAP_SIZE: architecture.HEAP_BYTES,
    limit.DEV_RUNTIME_SYNC_DEPTH: 2,
    limit.DEV_RUNTIME_PENDING_LAUNCH_COUNT: 2048,
}
_cache_config = func_cache.PREFER_NONE


def init(flags: int = 0) -> None:
    """Start the driver; every other call needs it. A second call does nothing."""
    global _initialised
    if flags != 0:
        raise _errors.logic_error(
            "cuInit", _errors.INVALID_ARGUMENT, f"flags must be 0, was {flags}"
        )
    if not _initialised:
        _devices.set_count(_devices.wanted())
    _initialised = True


def get_version() -> tuple[int, int, int]:
    """Return the CUDA version that the simulator replaces."""
    return (13, 0, 0)


def get_driver_version() -> int:
    """Return the driver's version as CUDA numbers it: 1000 * major + 10 * minor."""
    _need_init("cuDriverGetVersion")
    return 13000


def _need_init(call: str) -> None:
    if not _initialised:
        detail = "type import pycuda.autoinit (in a lab: device.select()) first"
        raise _errors.logic_error(call, _errors.NOT_INITIALIZED, detail)


def need_context(call: str) -> Context:
    """Return the current context. Without one it raises LogicError, which names the driver call
    that needs it.
    """
    _need_init(call)
    if not _contexts.stack:
        here = threading.current_thread()
        if here is threading.main_thread():
            detail = (
                "no context is current: call device.select() (or import pycuda.autoprimaryctx) "
                "first"
            )
        else:
            detail = (
                f"no context is current in the thread {here.name!r}: a context is current in the "
                "thread that pushed it and in no other. Retain and push one in this thread, and "
                "pop it before the thread ends"
            )
        raise _errors.logic_error(call, _errors.INVALID_CONTEXT, detail)
    return _contexts.stack[-1]


class Device:
    """One of the simulated devices, by its number from 0 on."""

    def __init__(self, number: int | str):
        _need_init("cuDeviceGet")
        there = _devices.count()
        number = {PCI_BUS_ID.format(k): k for k in range(there)}.get(str(number), number)
        if isinstance(number, str) or not isinstance(number, int):
            raise TypeError(
                f"Device takes the number of a device, an int, or a PCI bus id, got {number!r}"
            )
        if not 0 <= number < there:
            several = f"{quantity(there, 'device')}, numbers 0 to {there - 1}"
            has = "one device, number 0" if there == 1 else several
            more = f"{_devices.VARIABLE}, set before the first use, gives more"
            detail = f"the simulator has {has}, was asked for number {number}; {more}"
            raise _errors.logic_error("cuDeviceGet", _errors.INVALID_DEVICE, detail)
        self._number = int(number)

    @staticmethod
    def count() -> int:
        _need_init("cuDeviceGetCount")
        return _devices.count()

    def name(self) -> str:
        return NAME

    def pci_bus_id(self) -> str:
        return PCI_BUS_ID.format(self._number)

    def can_access_peer(self, device: Device) -> bool:
        """Return whether kernels here may get access to the other device's memory."""
        if not isinstance(device, Device):
            given = type(device).__name__
            raise TypeError(f"can_access_peer takes a pycuda.driver.Device, got {given}")
        return device._number != self._number

    def compute_capability(self) -> tuple[int, int]:
        return architecture.COMPUTE_CAPABILITY

    def total_memory(self) -> int:
        """Return the bytes of the device's memory."""
        return memory.total(self._number)

    def get_attribute(self, attribute: device_attribute) -> int:
        """Return the value of one attribute; raises LogicError for one that needs a clock or a
        memory chip.
        """
        if not isinstance(attribute, device_attribute):
            raise TypeError(
                f"get_attribute takes a member of pycuda.driver.device_attribute, got {attribute!r}"
            )
        value = attribute.simulated
        if value is None:
            detail = f"the simulator does not model time, so it has no {attribute.name}"
            raise _errors.logic_error("cuDeviceGetAttribute", _errors.NOT_SUPPORTED, detail)
        return compute_mode(value) if attribute == device_attribute.COMPUTE_MODE else value

    def get_attributes(self) -> dict[device_attribute, int]:
        """Return every attribute that the simulated device has."""
        return {
            member: self.get_attribute(member)
            for member in device_attribute
            if member.simulated is not None
        }

    def __getattr__(self, name: str) -> int:
        try:
            attribute = device_attribute[name.upper()]
        except KeyError:
            raise AttributeError(f"Device has no attribute {name!r}") from None
        return self.get_attribute(attribute)

    def make_context(self, flags: int = 0) -> Context:
        context = Context._make(self)
        _contexts.stack.append(context)
        return context

    def retain_primary_context(self) -> Context:
        """Return the device's own context. It is not current yet: push() it."""
        return Context._make(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other._number == self._number

    def __hash__(self) -> int:
        return self._number


class Context:
    """A context. The contexts of one device share its memory; the same calls fail as on a GPU."""

    _device: Device
    _valid: bool
    _thread: int

    def __init__(self) -> None:
        raise builtins.RuntimeError(
            "make a context with Device(0).retain_primary_context() or .make_context()"
        )

    @classmethod
    def _make(cls, device: Device) -> Context:
        self = object.__new__(cls)
        self._device = device
        self._valid = True
        self._thread = threading.get_ident()
        return self

    def push(self) -> None:
        if not self._valid:
            raise _errors.logic_error(
                "cuCtxPushCurrent", _errors.INVALID_CONTEXT, "this context was detached"
            )
        _contexts.stack.append(self)

    @staticmethod
    def pop() -> None:
        if not _contexts.stack:
            raise _errors.logic_error(
                "context::pop", _errors.INVALID_CONTEXT, "no context is current to take off"
            )
        _contexts.stack.pop()

    def detach(self) -> None:
        if not self._valid:
            detail = "this context was detached before"
            raise _errors.logic_error("context::detach", _errors.INVALID_CONTEXT, detail)
        self._valid = False
        _contexts.stack[:] = [context for context in _contexts.stack if context is not self]
        if not _contexts.stack:
            memory.end_heap()

    @staticmethod
    def get_device() -> Device:
        return need_context("cuCtxGetDevice")._device

    @staticmethod
    def get_current() -> Context | None:
        return _contexts.stack[-1] if _contexts.stack else None

    @staticmethod
    def synchronize() -> None:
        """Wait for all work of all streams of the current context's device."""
        need_context("cuCtxSynchronize")
        _order.finish_all()

    @staticmethod
    def set_limit(which: limit, value: int) -> None:
        """Store a limit for get_limit. Kernels that call themselves run into that of the stack."""
        need_context("cuCtxSetLimit")
        _limits[limit(which)] = value

    @staticmethod
    def get_limit(which: limit) -> int:
        need_context("cuCtxGetLimit")
        return _limits[limit(which)]

    @staticmethod
    def attach(flags: int = 0) -> Context:
        """Return the current context, for a library that keeps it."""
        return need_context("cuCtxAttach")

    @property
    def handle(self) -> int:
        return id(self)

    def get_api_version(self) -> int:
        return 13000

    @staticmethod
    def set_cache_config(config: func_cache) -> None:
        """Store the split between L1 and shared memory for get_cache_config. It has no other
        effect, because the simulator has no L1.
        """
        global _cache_config
        need_context("cuCtxSetCacheConfig")
        _cache_config = func_cache(config)

    @staticmethod
    def get_cache_config() -> func_cache:
        need_context("cuCtxGetCacheConfig")
        return _cache_config

    @staticmethod
    def set_shared_config(config: shared_config) -> None:
        """Change nothing: every GPU since 2014 has banks of 4 bytes."""
        need_context("cuCtxSetSharedMemConfig")
        shared_config(config)

    @staticmethod
    def get_shared_config() -> shared_config:
        need_context("cuCtxGetSharedMemConfig")
        return shared_config.FOUR_BYTE_BANK_SIZE

    @staticmethod
    def enable_peer_access(peer: Context, flags: int = 0) -> None:
        """Let kernels of the current context use the memory of the other context's device."""
        call = "cuCtxEnablePeerAccess"
        other = _peer(peer, call)
        if flags != 0:
            detail = f"flags must be 0, was {flags}"
            raise _errors.logic_error(call, _errors.INVALID_ARGUMENT, detail)
        if _devices.has_peer(other):
            detail = f"device {_devices.current()} reaches device {other} already"
            raise _errors.logic_error(call, _errors.PEER_ENABLED, detail)
        _devices.enable_peer(other)

    @staticmethod
    def disable_peer_access(peer: Context) -> None:
        """End what enable_peer_access began."""
        call = "cuCtxDisablePeerAccess"
        other = _peer(peer, call)
        if not _devices.has_peer(other):
            detail = f"device {_devices.current()} does not reach device {other}"
            raise _errors.logic_error(call, _errors.PEER_NOT_ENABLED, detail)
        _devices.disable_peer(other)


def _peer(peer: Context, call: str) -> int:
    """Return the number of another context's device. Raises LogicError for the current device."""
    here = need_context(call)
    if not isinstance(peer, Context):
        raise TypeError(f"{call} takes a pycuda.driver.Context, got {type(peer).__name__}")
    if not here._device.can_access_peer(peer._device):
        detail = (
            f"the other context is of device {peer._device._number}, too: a device reaches its own "
            "memory anyway"
        )
        raise _errors.logic_error(call, _errors.INVALID_DEVICE, detail)
    return peer._device._number
