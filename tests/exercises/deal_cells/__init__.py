"""Answers to deal_cells, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

BARRIER = "    __syncthreads();\n"

RIGHT = (
    right("copied to a barrier of <cuda/barrier>", "right_barrier.cu"),
    right("filled and read"),
    right("filled from the other end, by pointers", "right_pointers.cu"),
    right("an unsigned index", "solution.cu", ("[(step * t) %", "[(unsigned)(step * t) %")),
)


WRONG = (
    wrong(
        "one warp loads all cells",
        "others have nothing to do",
        file="wrong_one_warp.cu",
        status="budget",
    ),
    wrong("no barrier", "between filling and reading", (BARRIER, ""), status="finding"),
    wrong(
        "the barrier stands before the filling",
        "between filling and reading",
        (
            f"    cells[t] = N[start + t];\n{BARRIER}",
            f"{BARRIER}    cells[t] = N[start + t];\n",
        ),
        status="finding",
    ),
    wrong(
        "read from global memory",
        "lane t should load cell t",
        ("= cells[(step * t) % 256]", "= N[start + (step * t) % 256]"),
        status="budget",
    ),
    wrong(
        "dealt while loading",
        "lane t should load cell t",
        ("= N[start + t]", "= N[start + (step * t) % 256]"),
        ("= cells[(step * t) % 256]", "= cells[t]"),
        status="budget",
    ),
    wrong("copied", "in their order", ("cells[(step * t) % 256]", "cells[t]")),
    wrong(
        "the wrong way around",
        "wrong way around",
        ("cells[t] =", "cells[(step * t) % 256] ="),
        ("= cells[(step * t) % 256]", "= cells[t]"),
    ),
    wrong("block 0's outputs", "two blocks write", ("P[start + t]", "P[t]"), status="finding"),
    wrong(
        "the block's start in shared memory",
        "whatever block it is",
        ("cells[(step * t) % 256]", "cells[start + (step * t) % 256]"),
        status="finding",
    ),
    wrong("% 255", "must be its cell", ("% 256]", "% 255]")),
    wrong(
        "no block anywhere",
        "does each block write outputs of its own",
        ("blockIdx.x * 256", "0"),
    ),
    wrong("block 0's cells", "cells of block 0", ("= N[start + t]", "= N[t]")),
    wrong("a step written into the kernel", "it is an argument", ("[(step * t)", "[(3 * t)")),
    wrong(
        "half of the cells are filled",
        "must be filled",
        ("    cells[t] = N", "    if (t < 128) cells[t] = N"),
        status="finding",
    ),
    wrong(
        "a size that the launch should give",
        "the check's launch gives no dynamic shared memory",
        ("__shared__ float cells[256];", "extern __shared__ float cells[];"),
        status="finding",
    ),
)
