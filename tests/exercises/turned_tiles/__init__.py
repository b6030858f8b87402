"""Answers to turned_tiles, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

WAIT = '        asm volatile("cp.async.wait_group 1;" ::: "memory");\n'  # of the solution
START = """        if (start + stride < n) {
            start_copy(tiles[current ^ 1], N, start + stride);
        }
        asm volatile("cp.async.commit_group;");
"""


def later(wait: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """The solution with the wait before the next copy is started."""
    waits = WAIT.replace("wait_group 1", wait)
    both = f"{WAIT}        __syncthreads();\n"
    return (START, ""), (both, f"{waits}        __syncthreads();\n{START}")


RIGHT = (
    right("two buffers, wait_group 1"),
    right("three buffers, two copies under way", file="right_three.cu"),
    *(
        right(f"the next copy behind the wait, by {wait}", *later(wait))
        for wait in ("wait_all", "wait_group 0")
    ),
    right("CUDA's functions for cp.async", file="right_pipeline.cu"),
)


WRONG = (
    wrong(
        "every second block does the work of two",
        ("stride = 256 * gridDim.x;", "stride = 256 * ((gridDim.x + 1) / 2);"),
        (
            "int start = 256 * blockIdx.x;",
            "int start = blockIdx.x % 2 ? n : 256 * (blockIdx.x / 2);",
        ),
        status="budget",
    ),
    wrong("the stub", file="stub.cu", status="not_begun"),
    *(
        wrong(
            f"everything is waited for, by {wait}",
            ("cp.async.wait_group 1;", f"cp.async.{wait};"),
            status="budget",
        )
        for wait in ("wait_all", "wait_group 0")
    ),
    wrong("one tile after another", file="wrong_in_turn.cu", status="budget"),
    wrong("outputs read from N, copies idle", file="wrong_direct.cu", status="budget"),
    wrong("nothing is written", ("o < 256", "o < 0")),
)
