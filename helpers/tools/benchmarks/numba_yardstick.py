"""Times of three kernels in numba-cuda's simulator, a yardstick for our simulator.

    python helpers/tools/benchmarks/numba_yardstick.py FOLDER SAMPLES

`python -m helpers.tools.benchmarks simulator` runs this in a process of its own: Numba decides at
its import whether it simulates, and it may be installed in another Python than the labs. The
program needs only numba-cuda and NumPy. FOLDER/inputs.npz has the inputs; FOLDER/outputs.npz gets
each kernel's output, and the seconds of each sample under "<kernel> seconds". The kernels compute
the same as the .cu files of their names.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

THREADS = 256

# main() sets them: it must choose Numba's simulator before it imports Numba.
cuda: Any
float32: Any


def kernels(weights: np.ndarray) -> dict:
    """Return the kernels by name. The tiled one has `weights` in constant memory.

    `cuda` must be a global name, because Numba's simulator replaces it among a kernel's globals.
    """
    width = weights.size
    radius, tile_width = width // 2, THREADS
    staged = tile_width + 2 * radius

    @cuda.jit
    def axpy_basic(y, x, n, a):
        i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        if i < n:
            y[i] = a * x[i] + y[i]

    @cuda.jit
    def conv1d_basic(P, N, filter, n):
        i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        if i < n:
            total = float32(0.0)
            for j in range(width):
                cell = i - radius + j
                if cell >= 0 and cell < n:
                    total += N[cell] * filter[j]
            P[i] = total

    @cuda.jit
    def conv1d_tiled_steps(P, N, n):
        tile = cuda.shared.array(staged, float32)
        filter = cuda.const.array_like(weights)
        first = cuda.blockIdx.x * tile_width - radius
        for s in range(cuda.threadIdx.x, staged, tile_width):
            cell = first + s
            tile[s] = N[cell] if cell >= 0 and cell < n else float32(0.0)
        cuda.syncthreads()
        i = cuda.blockIdx.x * tile_width + cuda.threadIdx.x
        if i < n:
            total = float32(0.0)
            for j in range(width):
                total += tile[cuda.threadIdx.x + j] * filter[j]
            P[i] = total

    return {
        "axpy_basic": axpy_basic,
        "conv1d_basic": conv1d_basic,
        "conv1d_tiled_steps": conv1d_tiled_steps,
    }


def main(folder: Path, samples: int) -> None:
    """Run each kernel once to warm up, then `samples` times, on new outputs."""
    global cuda, float32
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    import numba
    from numba import cuda, float32

    inputs = np.load(folder / "inputs.npz")
    x, y, weights = inputs["x"], inputs["y"], inputs["weights"]
    n = x.size
    by_name = kernels(weights)
    results: dict[str, Any] = {"version": np.array(numba.__version__)}
    for name, kernel in by_name.items():
        seconds = []
        for _ in range(samples + 1):
            output = y.copy()
            rest = {
                "axpy_basic": (n, np.float32(2)),
                "conv1d_basic": (weights, n),
                "conv1d_tiled_steps": (n,),
            }[name]
            start = time.perf_counter()
            kernel[-(-n // THREADS), THREADS](output, x, *rest)
            seconds.append(time.perf_counter() - start)
        results[name], results[f"{name} seconds"] = output, np.array(seconds[1:])
    np.savez(folder / "outputs.npz", **results)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
