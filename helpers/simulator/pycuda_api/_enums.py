"""The enumerations of pycuda.driver. Their numbers are those of cuda.h."""

from __future__ import annotations

from enum import IntEnum
from typing import Self

from helpers.simulator.machine import architecture


class _Names(IntEnum):
    """Numbers that print their names, as PyCUDA's do."""

    def __str__(self) -> str:
        return self.name


class device_attribute(_Names):
    """Properties of a device: the number in cuda.h, and the value of the simulated one.

    The value is None where it would need a clock or a memory chip, which the simulator lacks. The
    others are what the CUDA driver reports for one H200, except those that describe the computer
    around it.
    """

    simulated: int | None

    def __new__(cls, number: int, simulated: int | None) -> Self:
        self = int.__new__(cls, number)
        self._value_, self.simulated = number, simulated
        return self

    MAX_THREADS_PER_BLOCK = 1, architecture.MAX_THREADS_PER_BLOCK
    MAX_BLOCK_DIM_X = 2, architecture.MAX_BLOCK[0]
    MAX_BLOCK_DIM_Y = 3, architecture.MAX_BLOCK[1]
    MAX_BLOCK_DIM_Z = 4, architecture.MAX_BLOCK[2]
    MAX_GRID_DIM_X = 5, architecture.MAX_GRID[0]
    MAX_GRID_DIM_Y = 6, architecture.MAX_GRID[1]
    MAX_GRID_DIM_Z = 7, architecture.MAX_GRID[2]
    MAX_SHARED_MEMORY_PER_BLOCK = 8, architecture.MAX_STATIC_SHARED
    SHARED_MEMORY_PER_BLOCK = MAX_SHARED_MEMORY_PER_BLOCK
    TOTAL_CONSTANT_MEMORY = 9, architecture.MAX_CONSTANT
    WARP_SIZE = 10, architecture.WARP_SIZE
    MAX_PITCH = 11, 2**31 - 1
    MAX_REGISTERS_PER_BLOCK = 12, 64 * 1024
    REGISTERS_PER_BLOCK = MAX_REGISTERS_PER_BLOCK
    CLOCK_RATE = 13, None
    TEXTURE_ALIGNMENT = 14, 512
    GPU_OVERLAP = 15, 1
    MULTIPROCESSOR_COUNT = 16, 132
    KERNEL_EXEC_TIMEOUT = 17, 0
    INTEGRATED = 18, 0
    CAN_MAP_HOST_MEMORY = 19, 1
    COMPUTE_MODE = 20, 0
    SURFACE_ALIGNMENT = 30, 512
    CONCURRENT_KERNELS = 31, 1
    ECC_ENABLED = 32, 0
    PCI_BUS_ID = 33, 0
    PCI_DEVICE_ID = 34, 0
    TCC_DRIVER = 35, 0
    MEMORY_CLOCK_RATE = 36, None
    GLOBAL_MEMORY_BUS_WIDTH = 37, None
    L2_CACHE_SIZE = 38, 60 * 1024 * 1024
    MAX_THREADS_PER_MULTIPROCESSOR = 39, architecture.MAX_THREADS_PER_MULTIPROCESSOR
    ASYNC_ENGINE_COUNT = 40, 3
    UNIFIED_ADDRESSING = 41, 1
    PCI_DOMAIN_ID = 50, 0
    COMPUTE_CAPABILITY_MAJOR = 75, architecture.COMPUTE_CAPABILITY[0]
    COMPUTE_CAPABILITY_MINOR = 76, architecture.COMPUTE_CAPABILITY[1]
    MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81, architecture.SHARED_PER_MULTIPROCESSOR
    MAX_REGISTERS_PER_MULTIPROCESSOR = 82, architecture.REGISTERS
    MANAGED_MEMORY = 83, 1
    MULTI_GPU_BOARD = 84, 0
    STREAM_PRIORITIES_SUPPORTED = 78, 0
    GLOBAL_L1_CACHE_SUPPORTED = 79, 1
    LOCAL_L1_CACHE_SUPPORTED = 80, 1
    PAGEABLE_MEMORY_ACCESS = 88, 0
    CONCURRENT_MANAGED_ACCESS = 89, 0
    MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97, architecture.MAX_SHARED
    MAX_BLOCKS_PER_MULTIPROCESSOR = 106, architecture.MAX_BLOCKS_PER_MULTIPROCESSOR
    RESERVED_SHARED_MEMORY_PER_BLOCK = 111, architecture.RESERVED_SHARED
    MEMORY_POOLS_SUPPORTED = 115, 0


class function_attribute(_Names):
    """Properties of a kernel; the numbers are those of cuda.h."""

    MAX_THREADS_PER_BLOCK = 0
    SHARED_SIZE_BYTES = 1
    CONST_SIZE_BYTES = 2
    LOCAL_SIZE_BYTES = 3
    NUM_REGS = 4
    PTX_VERSION = 5
    BINARY_VERSION = 6
    CACHE_MODE_CA = 7
    MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
    PREFERRED_SHARED_MEMORY_CARVEOUT = 9


class compute_mode(_Names):
    """Who may use the device."""

    DEFAULT = 0
    PROHIBITED = 2
    EXCLUSIVE_PROCESS = 3


class ctx_flags(_Names):
    """How a context waits for the device."""

    SCHED_AUTO = 0
    SCHED_SPIN = 1
    SCHED_YIELD = 2
    SCHED_BLOCKING_SYNC = 4
    BLOCKING_SYNC = 4
    SCHED_MASK = 7
    MAP_HOST = 8
    LMEM_RESIZE_TO_MAX = 16
    FLAGS_MASK = 31


class event_flags(_Names):
    """Options of an event."""

    DEFAULT = 0
    BLOCKING_SYNC = 1
    DISABLE_TIMING = 2
    INTERPROCESS = 4


class func_cache(_Names):
    """How to split the memory of L1 and shared memory."""

    PREFER_NONE = 0
    PREFER_SHARED = 1
    PREFER_L1 = 2
    PREFER_EQUAL = 3


class shared_config(_Names):
    """How wide a bank of shared memory is."""

    DEFAULT_BANK_SIZE = 0
    FOUR_BYTE_BANK_SIZE = 1
    EIGHT_BYTE_BANK_SIZE = 2


class limit(_Names):
    """Resources of a context that can be resized."""

    STACK_SIZE = 0
    PRINTF_FIFO_SIZE = 1
    MALLOC_HEAP_SIZE = 2
    DEV_RUNTIME_SYNC_DEPTH = 3
    DEV_RUNTIME_PENDING_LAUNCH_COUNT = 4


class pointer_attribute(_Names):
    """What a driver knows of a pointer."""

    CONTEXT = 1
    MEMORY_TYPE = 2
    DEVICE_POINTER = 3
    HOST_POINTER = 4


class memory_type(_Names):
    """Where memory lies."""

    HOST = 1
    DEVICE = 2
    ARRAY = 3
    UNIFIED = 4
