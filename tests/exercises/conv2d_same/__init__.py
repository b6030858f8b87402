"""Answers to conv2d_same, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("outside is skipped"),
    right("loops over what lies inside", "right_bounds.cu"),
    right("a choice between the cell and 0", "right_choice.cu"),
)


WRONG = (
    wrong(
        "a radius rounded up",
        "which is rounded down",
        ("h - K / 2 + p, column = w - K / 2", "h - (K + 1) / 2 + p, column = w - (K + 1) / 2"),
    ),
    wrong("q for both", "q stands for both", ("h - K / 2 + p", "h - K / 2 + q")),
    wrong("the stub", "nothing is written", file="stub.cu", status="not_begun"),
    wrong("as conv2d_basic", "must not be loaded", file="wrong_corner.cu", status="finding"),
    wrong("not centred", "centred", ("h - K / 2 + p", "h + p"), ("w - K / 2 + q", "w + q")),
    wrong(
        "one cell off",
        "one cell off",
        ("h - K / 2 + p", "h - (K - 1) / 2 + min(K - 1, 1) + p"),
        ("w - K / 2 + q", "w - (K - 1) / 2 + min(K - 1, 1) + q"),
    ),
    wrong("one filter for all maps", "weights of map 0", ("(m * C + c) * K", "c * K")),
    wrong("the edge is repeated", "repeated", file="wrong_edge.cu"),
    wrong("a ring", "like a ring", file="wrong_ring.cu"),
    wrong(
        "the filter turned",
        "half a turn",
        ("h - K / 2 + p", "h + K / 2 - p"),
        ("w - K / 2 + q", "w + K / 2 - q"),
    ),
    wrong("p and q exchanged", "exchanged", ("K + p) * K + q", "K + q) * K + p")),
    wrong("tiles of a smaller map", "last tiles", ("(W + 15)", "(W - K + 16)")),
    wrong(
        "no test of columns",
        "must not be loaded",
        (" || column < 0 || column >= W", ""),
        status="finding",
    ),
    wrong(
        "a guard of the smaller output",
        "never written",
        ("h >= H || w >= W", "h > H - K || w > W - K"),
    ),
    wrong(
        "a store into maps of the smaller output",
        "H rows and W columns",
        ("* H + h) * W + w] = sum", "* (H - K + 1) + h) * (W - K + 1) + w] = sum"),
        status="finding",
    ),
    wrong(
        "each cell loaded twice",
        "loads per output and tap",
        ("sum += x", "sum += 0 * x[((b * C + C - 1 - c) * H + row) * W + column] + x"),
        status="budget",
    ),
    wrong("block 0 does everything", "own part", file="wrong_one_block.cu", status="budget"),
    wrong("nothing is written", "nothing is written", ("    y[((b", "    if (K < 0) y[((b")),
)
