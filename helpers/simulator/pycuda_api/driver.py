"""pycuda.driver, for machines without a GPU: the same names, run by the simulator.

Differences that a program can see: every call has done its work when it returns (who may rely on
that is checked: a missing synchronize() is a warning); durations are NaN; a launch that reads or
writes out of bounds raises LaunchError at once, names the access, and leaves the context usable (on
a GPU a later call raises LogicError, and the context is lost); arguments of the wrong type or size
are refused by name.
"""

from __future__ import annotations

from . import _errors
from ._arguments import ArgumentHandler, In, InOut, Out
from ._device import Context, Device, get_driver_version, get_version, init
from ._enums import (
    compute_mode,
    ctx_flags,
    device_attribute,
    event_flags,
    func_cache,
    function_attribute,
    limit,
    memory_type,
    pointer_attribute,
    shared_config,
)
from ._errors import (
    CompileError,
    Error,
    LaunchError,
    LogicError,
    MemoryError,
    RuntimeError,
    SimulatorWarning,
)
from ._host import (
    AlignedHostAllocation,
    HostAllocation,
    HostPointer,
    ManagedAllocation,
    PagelockedHostAllocation,
    RegisteredHostMemory,
    aligned_empty,
    aligned_empty_like,
    aligned_zeros,
    aligned_zeros_like,
    host_alloc_flags,
    managed_empty,
    managed_empty_like,
    managed_zeros,
    managed_zeros_like,
    mem_attach_flags,
    mem_host_register_flags,
    pagelocked_empty,
    pagelocked_empty_like,
    pagelocked_zeros,
    pagelocked_zeros_like,
    register_host_memory,
)
from ._launch import Function, Module, module_from_buffer, module_from_file
from ._memcpy import (
    from_device,
    from_device_like,
    memcpy_dtod,
    memcpy_dtod_async,
    memcpy_dtoh,
    memcpy_dtoh_async,
    memcpy_htod,
    memcpy_htod_async,
    memcpy_peer,
    memcpy_peer_async,
    to_device,
)
from ._memcpy_pitched import Memcpy2D, Memcpy3D
from ._memory import (
    DeviceAllocation,
    PointerHolderBase,
    mem_alloc,
    mem_alloc_like,
    mem_alloc_pitch,
    mem_get_address_range,
    mem_get_info,
)
from ._memset import (
    memset_d2d8,
    memset_d2d8_async,
    memset_d2d16,
    memset_d2d16_async,
    memset_d2d32,
    memset_d2d32_async,
    memset_d8,
    memset_d8_async,
    memset_d16,
    memset_d16_async,
    memset_d32,
    memset_d32_async,
)
from ._stream import Event, Stream

CUDA_DEBUGGING = False


def set_debugging(flag: bool = True) -> None:
    """Change nothing: the simulator always knows the lines."""
    global CUDA_DEBUGGING
    CUDA_DEBUGGING = flag


def start_profiler() -> None:
    """Do nothing; helpers.simulator.profile has the counters of a launch."""


def stop_profiler() -> None:
    """Do nothing."""


def have_gl_ext() -> bool:
    return False


_NEED_A_GPU = {
    **dict.fromkeys(
        (
            "Array", "ArrayDescriptor", "ArrayDescriptor3D", "SurfaceReference",
            "TextureReference", "array_format", "address_mode",
            "bind_array_to_texref", "dtype_to_array_format", "filter_mode", "gpuarray_to_array",
            "make_multichannel_2d_array",
            "matrix_to_array", "matrix_to_texref", "memcpy_atoa", "memcpy_atod", "memcpy_atoh",
            "memcpy_dtoa", "memcpy_htoa",
            "np_to_array",
        ),
        _errors.NO_TEXTURES,
    ),
    **dict.fromkeys(("IPCMemoryHandle", "mem_get_ipc_handle", "Memcpy3DPeer"),
    "the simulator is one device in one process"),
    "Linker": "the simulator has no device linker",
}


class _NeedsAGpu:
    """A name that needs a GPU: every use of it raises LogicError, which says why."""

    def __init__(self, name: str):
        self._error = _errors.logic_error(name, _errors.NOT_SUPPORTED, _NEED_A_GPU[name])

    def __call__(self, *args, **kwargs):
        raise self._error

    def __getattr__(self, name: str):
        if name.startswith("__"):  # Python's own questions, such as of copy and inspect
            raise AttributeError(name)
        raise self._error


def __getattr__(name: str):
    """Let names that need a GPU be imported; using them says why not."""
    if name not in _NEED_A_GPU:
        raise AttributeError(f"module 'pycuda.driver' has no attribute {name!r} in the simulator")
    return _NeedsAGpu(name)
