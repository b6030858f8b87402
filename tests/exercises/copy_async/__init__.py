"""Answers to copy_async, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

NEXT = """        if (start + stride < outputs) {
            start_copy(tiles[current ^ 1], N, start + stride, n);
        }
        COMMIT();       // after the last tile the group is empty
"""
WAITS = "        WAIT_BUT(1);\n        __syncthreads();\n"


def behind(wait: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """The next copy started behind the barrier, where all groups are waited for."""
    return (NEXT, ""), (WAITS, f"{WAITS.replace('WAIT_BUT(1)', wait)}{NEXT}")


RIGHT = (
    right("ours"),
    right(  # a tile behind the last one has no vectors
        "no question for a next tile", ("if (start + stride < outputs) {", "{")
    ),
    right("the next copy behind the barrier", *behind("WAIT_BUT(0)")),
    right(
        "everything is waited for, then the next copy",
        *behind('asm volatile("cp.async.wait_all;" ::: "memory")'),
    ),
    right(
        "a wait of its own for the last tile",
        (
            NEXT + WAITS,
            "        if (start + stride < outputs) {\n"
            "            start_copy(tiles[current ^ 1], N, start + stride, n);\n"
            "            COMMIT();\n            WAIT_BUT(1);\n        } else {\n"
            "            WAIT_BUT(0);\n        }\n        __syncthreads();\n",
        ),
    ),
)

WRONG = (
    wrong(
        "every second block does the work of two",
        ("stride = gridDim.x * TILE_WIDTH;", "stride = (gridDim.x + 1) / 2 * TILE_WIDTH;"),
        (
            "int start = blockIdx.x * TILE_WIDTH;",
            "int start = blockIdx.x % 2 ? outputs : blockIdx.x / 2 * TILE_WIDTH;",
        ),
        status="budget",
    ),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("everything is waited for", ("WAIT_BUT(1)", "WAIT_BUT(0)"), status="budget"),
    wrong(
        "outputs of N itself",
        ("sum += cells[o + j] * filter[j];", "sum += N[start + o + j] * filter[j];"),
        status="budget",
    ),
    wrong(
        "thread 0 copies a tile",
        (
            "for (int v = threadIdx.x; v < vectors; v += THREADS) {",
            "for (int v = 0; threadIdx.x == 0 && v < vectors; ++v) {",
        ),
        status="budget",
    ),
)
