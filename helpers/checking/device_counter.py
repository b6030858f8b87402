"""A count of wrong values on the device, for results that are too large to copy back."""

from __future__ import annotations

import numpy as np

# Each thread has a count, and the host sums them. A NaN, such as a cell that nobody wrote, counts
# as wrong.
_COUNT_SOURCE = """
extern "C" __global__ void count_wrong(
    unsigned* wrong, const float* got, const float* want, float tolerance, long long n)
{
    const long long threads = (long long)gridDim.x * blockDim.x;
    const long long mine = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned count = 0;
    for (long long i = mine; i < n; i += threads) {
        if (!(fabsf(got[i] - want[i]) <= tolerance)) {   // NaN is neither within nor beyond
            ++count;
        }
    }
    wrong[mine] = count;
}
"""
POISON = 0x7FC00000  # the bits of a NaN


class DeviceCounter:
    """Counts wrong float32 values on the device, for results that are too large to copy back.

    It takes addresses on the selected device and returns a number. For a diagnosis, use `check` on
    a part of the result on the host.
    """

    def __init__(self) -> None:
        import pycuda.driver as cuda
        from pycuda.compiler import SourceModule

        self._cuda, self._module = cuda, SourceModule(_COUNT_SOURCE, no_extern_c=True)
        self._count = self._module.get_function("count_wrong")

    def poison(self, output: int, n: int) -> None:
        """Fill n float32 values with NaN, so that `wrong` counts the cells that nobody writes."""
        self._cuda.memset_d32(output, POISON, n)

    def wrong(self, got: int, want: int, tolerance: float, n: int) -> int:
        """Count the n values at ``got`` that are not within ``tolerance`` of those at ``want``."""
        threads = 256
        blocks = min(1056, -(-n // threads))
        counts = np.zeros(blocks * threads, np.uint32)
        there = self._cuda.mem_alloc(counts.nbytes)
        try:
            arguments = (there, np.uintp(got), np.uintp(want), np.float32(tolerance), np.int64(n))
            self._count(*arguments, block=(threads, 1, 1), grid=(blocks, 1))
            self._cuda.memcpy_dtoh(counts, there)
        finally:
            there.free()
        return int(counts.sum(dtype=np.int64))
