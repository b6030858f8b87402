"""Answers to copy_bulk, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

BYTES = "16 * min(VECTORS, (n - start) / 4)"
NEXT = """        if (threadIdx.x == 0 && start + stride < outputs) {
            start_copy(tiles[current ^ 1], N, start + stride, n, &arrived[current ^ 1]);
        }
"""
WAIT = "        wait(&arrived[current], turn / 2 % 2);\n"
END = "        __syncthreads();\n    }\n}"

RIGHT = (
    right("ours"),
    right("the next copy behind the wait", "solution.cu", (NEXT, ""), (WAIT, WAIT + NEXT)),
    right(
        "bits",
        "solution.cu",
        (BYTES, "min(4 * VECTORS, n - start) << 2"),
        ("turn / 2 % 2", "(turn & 2) >> 1"),
    ),
    right(
        "the last thread starts the copies",
        "solution.cu",
        (
            "threadIdx.x == 0 && start + stride < outputs",
            "threadIdx.x == THREADS - 1 && start + stride < outputs",
        ),
    ),
    right(
        "waited for, and then started behind the barrier",
        "solution.cu",
        (
            "        if (threadIdx.x == 0 && start + stride < outputs) {\n"
            "            start_copy(tiles[current ^ 1], N, start + stride, n, "
            "&arrived[current ^ 1]);\n"
            "        }\n",
            "",
        ),
        (
            "        wait(&arrived[current], turn / 2 % 2);\n",
            "        wait(&arrived[current], turn / 2 % 2);\n"
            "        __syncthreads();\n"
            "        if (threadIdx.x == 0 && start + stride < outputs)\n"
            "            start_copy(tiles[current ^ 1], N, start + stride, n, "
            "&arrived[current ^ 1]);\n",
        ),
    ),
)

WRONG = (
    wrong(
        "every second block does the work of two",
        "each block must do its own part",
        ("stride = gridDim.x * TILE_WIDTH;", "stride = (gridDim.x + 1) / 2 * TILE_WIDTH;"),
        (
            "int start = blockIdx.x * TILE_WIDTH;",
            "int start = blockIdx.x % 2 ? outputs : blockIdx.x / 2 * TILE_WIDTH;",
        ),
        status="budget",
    ),
    wrong("the stub", "nothing was copied", file="stub.cu", status="not_begun"),
    wrong(
        "cells for bytes",
        "whole vectors",
        ("const int bytes = 16 *", "const int bytes = 4 *"),
        status="finding",
    ),
    wrong(
        "the announcement alone in cells",
        "announced bytes",
        ('"r"(bytes) : "memory");\n    asm', '"r"(bytes / 4) : "memory");\n    asm'),
        status="finding",
    ),
    wrong(
        "whole tiles to the end",
        "may be shorter",
        (BYTES, "16 * VECTORS"),
        status="finding",
    ),
    wrong(
        "all that is left of N", "room for vectors", (BYTES, "4 * (n - start)"), status="finding"
    ),
    wrong(
        "cells, and no whole vectors",
        "whole vectors",
        (BYTES, "4 * min(TILE_WIDTH + FILTER_WIDTH - 1, n - start)"),
        status="finding",
    ),
    wrong(
        "a tile behind the last one",
        "fewer than 0 bytes",
        ("if (threadIdx.x == 0 && start + stride < outputs)", "if (threadIdx.x == 0)"),
        status="finding",
    ),
    wrong(
        "the tile beside its own",
        "cells further on",
        ("N, start + stride, n, &arrived", "N, start + TILE_WIDTH, n, &arrived"),
    ),
    wrong("a parity for each turn", "which parity", ("turn / 2 % 2", "turn % 2"), status="finding"),
    wrong("always parity 0", "which parity", ("turn / 2 % 2", "0"), status="finding"),
    wrong("no wait", "which parity", (WAIT, ""), status="finding"),
    wrong(
        "the other buffer's mbarrier",
        "nobody has started a copy",
        ("wait(&arrived[current]", "wait(&arrived[current ^ 1]"),
        status="finding",
    ),
    wrong(
        "all threads start",
        "only thread 0 starts",
        ("if (threadIdx.x == 0 && start + stride < outputs)", "if (start + stride < outputs)"),
        status="finding",
    ),
    wrong("no barrier at the end", "end of each turn", (END, "    }\n}"), status="finding"),
    wrong(
        "one tile after another",
        "must be under way",
        (
            "if (threadIdx.x == 0 && start + stride < outputs) {",
            "if (threadIdx.x == 0 && turn > 0) {",
        ),
        (
            "start_copy(tiles[current ^ 1], N, start + stride, n, &arrived[current ^ 1]);",
            "start_copy(tiles[current], N, start, n, &arrived[current]);",
        ),
        status="budget",
    ),
    wrong(
        "the buffer in work",
        "the other one is",
        (
            "start_copy(tiles[current ^ 1], N, start + stride",
            "start_copy(tiles[current], N, start + stride",
        ),
        status="finding",
    ),
    wrong(
        "the buffer in work and its mbarrier",
        "whose phase is not over yet",
        (
            "start_copy(tiles[current ^ 1], N, start + stride, n, &arrived[current ^ 1]);",
            "start_copy(tiles[current], N, start + stride, n, &arrived[current]);",
        ),
        status="finding",
    ),
    wrong(
        "a turn that ends with __syncwarp()",
        "a warp is a turn behind the others",
        (END, "        __syncwarp();\n    }\n}"),
        status="finding",
    ),
    wrong(
        "parities in an array",
        "take single variables",
        ("    for (int turn = 0;", "    int parity[2] = {};\n    for (int turn = 0;"),
        (
            "wait(&arrived[current], turn / 2 % 2);",
            "wait(&arrived[current], parity[current]);\n        parity[current] ^= 1;",
        ),
        status="budget",
    ),
)
