"""Answers to copy_bulk, right and wrong."""

from tests.exercises.answers import right, wrong

BYTES = "16 * min(VECTORS, (n - start) / 4)"
NEXT = """        if (threadIdx.x == 0 && start + stride < outputs) {
            start_copy(tiles[current ^ 1], N, start + stride, n, &arrived[current ^ 1]);
        }
"""
WAIT = "        wait(&arrived[current], turn / 2 % 2);\n"

RIGHT = (
    right("ours"),
    right("the next copy behind the wait", (NEXT, ""), (WAIT, WAIT + NEXT)),
    right("bits", (BYTES, "min(4 * VECTORS, n - start) << 2"), ("turn / 2 % 2", "(turn & 2) >> 1")),
    right(
        "the last thread starts the copies",
        (
            "threadIdx.x == 0 && start + stride < outputs",
            "threadIdx.x == THREADS - 1 && start + stride < outputs",
        ),
    ),
    right(
        "waited for, and then started behind the barrier",
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
        ("stride = gridDim.x * TILE_WIDTH;", "stride = (gridDim.x + 1) / 2 * TILE_WIDTH;"),
        (
            "int start = blockIdx.x * TILE_WIDTH;",
            "int start = blockIdx.x % 2 ? outputs : blockIdx.x / 2 * TILE_WIDTH;",
        ),
        status="budget",
    ),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong(
        "one tile after another",
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
        "parities in an array",
        ("    for (int turn = 0;", "    int parity[2] = {};\n    for (int turn = 0;"),
        (
            "wait(&arrived[current], turn / 2 % 2);",
            "wait(&arrived[current], parity[current]);\n        parity[current] ^= 1;",
        ),
        status="budget",
    ),
)
