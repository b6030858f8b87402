"""The limits of the simulated device, one H200 (compute capability 9.0).

From the CUDA C++ Programming Guide's table of technical specifications.
"""

MAX_THREADS_PER_BLOCK = 1024
MAX_BLOCK = (1024, 1024, 64)
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_STATIC_SHARED = 48 * 1024
MAX_SHARED = 227 * 1024
SHARED_PER_MULTIPROCESSOR = 228 * 1024
RESERVED_SHARED = 1024  # of each block, taken by the system
MAX_CONSTANT = 64 * 1024
WARP_SIZE = 32
REGISTERS = 64 * 1024  # of a multiprocessor; one block may have all of them
# Registers are given to a warp in units of 256: ptxas's number for one thread, rounded up to a multiple of 8, times 32.
REGISTER_UNIT = 8
MAX_THREADS_PER_MULTIPROCESSOR = 2048
MAX_BLOCKS_PER_MULTIPROCESSOR = 32
MULTIPROCESSORS = 132
