"""Answers to deal_cells, right and wrong."""

from tests.exercises.answers import right, wrong

BARRIER = "    __syncthreads();\n"

RIGHT = (
    right("copied to a barrier of <cuda/barrier>", file="right_barrier.cu"),
    right("filled and read"),
    right("filled from the other end, by pointers", file="right_pointers.cu"),
    right("an unsigned index", ("[(step * t) %", "[(unsigned)(step * t) %")),
)


WRONG = (
    wrong("one warp loads all cells", file="wrong_one_warp.cu", status="budget"),
    wrong(
        "the barrier stands before the filling",
        (
            f"    cells[t] = N[start + t];\n{BARRIER}",
            f"{BARRIER}    cells[t] = N[start + t];\n",
        ),
        status="finding",
    ),
    wrong(
        "read from global memory",
        ("= cells[(step * t) % 256]", "= N[start + (step * t) % 256]"),
        status="budget",
    ),
    wrong(
        "dealt while loading",
        ("= N[start + t]", "= N[start + (step * t) % 256]"),
        ("= cells[(step * t) % 256]", "= cells[t]"),
        status="budget",
    ),
    wrong("no block anywhere", ("blockIdx.x * 256", "0")),
    wrong(
        "a size that the launch should give",
        ("__shared__ float cells[256];", "extern __shared__ float cells[];"),
        status="finding",
    ),
)
