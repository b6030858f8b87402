"""The limits of the simulated device, one H200 (compute capability 9.0).

helpers.limits has the limits that hold in the whole project. The others are here; they come from
the CUDA C++ Programming Guide's table of technical specifications.
"""

from helpers import limits

COMPUTE_CAPABILITY = (9, 0)
MAX_THREADS_PER_BLOCK = limits.MAX_THREADS
MAX_BLOCK = limits.MAX_BLOCK
MAX_GRID = limits.MAX_GRID
MAX_STATIC_SHARED = limits.STATIC_SHARED_BYTES
MAX_SHARED = limits.MOST_SHARED_BYTES
SHARED_PER_MULTIPROCESSOR = limits.MULTIPROCESSOR_SHARED_BYTES
RESERVED_SHARED = limits.RESERVED_SHARED_BYTES  # the system takes these bytes of each block
MAX_CONSTANT = limits.CONSTANT_BYTES
MAX_LOCAL = 512 * 1024  # of one thread
HEAP_BYTES = 8 * 1024 * 1024  # for malloc and new in kernels, unless the program asks for more
WARP_SIZE = limits.WARP
REGISTERS = limits.MULTIPROCESSOR_REGISTERS  # one block may have all of them
# A warp gets its registers in units of 256: ptxas's number for one thread, rounded up to a multiple
# of 8, times 32.
REGISTER_UNIT = limits.REGISTER_UNIT
MAX_THREADS_PER_MULTIPROCESSOR = limits.MOST_WARPS * limits.WARP
MAX_BLOCKS_PER_MULTIPROCESSOR = limits.MOST_BLOCKS
SECTOR_BYTES = limits.SECTOR_BYTES
