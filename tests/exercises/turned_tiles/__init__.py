"""Answers to turned_tiles, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

WAIT = '        asm volatile("cp.async.wait_group 1;" ::: "memory");\n'  # of the solution
START = """        if (start + stride < n) {
            start_copy(tiles[current ^ 1], N, start + stride);
        }
        asm volatile("cp.async.commit_group;");
"""


def later(wait: str) -> tuple[str, tuple[str, str], tuple[str, str]]:
    """The solution with the wait before the next copy is started."""
    waits = WAIT.replace("wait_group 1", wait)
    both = f"{WAIT}        __syncthreads();\n"
    return "solution.cu", (START, ""), (both, f"{waits}        __syncthreads();\n{START}")


RIGHT = (
    right("two buffers, wait_group 1"),
    right("three buffers, two copies under way", "right_three.cu"),
    *(
        right(f"the next copy behind the wait, by {wait}", *later(wait))
        for wait in ("wait_all", "wait_group 0")
    ),
    right("CUDA's functions for cp.async", "right_pipeline.cu"),
)


WRONG = (
    wrong(
        "every second block does the work of two",
        "each block must do its own part",
        ("stride = 256 * gridDim.x;", "stride = 256 * ((gridDim.x + 1) / 2);"),
        (
            "int start = 256 * blockIdx.x;",
            "int start = blockIdx.x % 2 ? n : 256 * (blockIdx.x / 2);",
        ),
        status="budget",
    ),
    wrong(
        "only vectors change places",
        "four cells of each",
        ("cells[255 - o]", "cells[252 - o / 4 * 4 + o % 4]"),
    ),
    wrong("the stub", "copy each tile by cp.async", file="stub.cu", status="not_begun"),
    wrong(
        "no wait",
        "wait for this tile's group",
        (WAIT, ""),
        status="finding",
    ),
    wrong(
        "too many groups may be under way",
        "wait for this tile's group",
        ("wait_group 1", "wait_group 2"),
        status="finding",
    ),
    wrong(
        "a barrier, then the wait",
        "in this order",
        (
            f"{WAIT}        __syncthreads();\n",
            f"        __syncthreads();\n{WAIT}",
        ),
        status="finding",
    ),
    wrong(
        "a commit only with a copy",
        "behind the last tile, too",
        (
            "            start_copy(tiles[current ^ 1], N, start + stride);\n        }\n"
            '        asm volatile("cp.async.commit_group;");',
            "            start_copy(tiles[current ^ 1], N, start + stride);\n"
            '            asm volatile("cp.async.commit_group;");\n        }',
        ),
        status="finding",
    ),
    wrong(
        "no barrier at the end of a turn",
        "end of each turn",
        (
            "            P[start + o] = cells[255 - o];\n        }\n        __syncthreads();",
            "            P[start + o] = cells[255 - o];\n        }",
        ),
        status="finding",
    ),
    wrong(
        "one buffer",
        "into the same buffer",
        ("tiles[current ^ 1]", "tiles[current]"),
        ("start += stride, current ^= 1", "start += stride"),
        status="finding",
    ),
    wrong(
        "a copy behind the end",
        "no tile behind the last one",
        (
            "        if (start + stride < n) {\n"
            "            start_copy(tiles[current ^ 1], N, start + stride);\n        }",
            "        start_copy(tiles[current ^ 1], N, start + stride);",
        ),
        status="finding",
    ),
    *(
        wrong(
            f"everything is waited for, by {wait}",
            "must be under way",
            ("cp.async.wait_group 1;", f"cp.async.{wait};"),
            status="budget",
        )
        for wait in ("wait_all", "wait_group 0")
    ),
    wrong("one tile after another", "must be under way", file="wrong_in_turn.cu", status="budget"),
    wrong("not turned around", "not turned around", ("cells[255 - o]", "cells[o]")),
    wrong(
        "outputs read from N, copies idle",
        "copied once",
        file="wrong_direct.cu",
        status="budget",
    ),
    wrong(
        "nothing is written",
        "nothing is written",
        ("o < 256", "o < 0"),
    ),
    wrong(
        "the tile beside its own",
        "cells further on",
        (
            "start_copy(tiles[current ^ 1], N, start + stride)",
            "start_copy(tiles[current ^ 1], N, start + 256)",
        ),
    ),
    wrong(
        "one cell too far",
        "does the index stay in the tile",
        ("cells[255 - o]", "cells[256 - o]"),
        status="finding",
    ),
    wrong(
        "one tile for each block",
        "does each block write outputs of its own",
        ("    for (; start < n; start += stride, current ^= 1) {", "    if (start < n) {"),
    ),
    wrong(
        "a first tile for every block",
        "only if the block has a tile",
        ("    if (start < n) {\n        start_copy", "    {\n        start_copy"),
        status="finding",
    ),
)
