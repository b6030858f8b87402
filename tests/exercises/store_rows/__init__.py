"""Answers to store_rows, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("a tile of 8 x 48"),
    right("a tile of 8 x 34 without gaps", "right_dense.cu"),
    right("stores of float4", "right_float4.cu"),
)


WRONG = (
    wrong("the stub", "nothing is written", file="stub.cu", status="not_begun"),
    wrong(
        "each lane stores its four sums at once",
        "sectors written",
        file="wrong_at_once.cu",
        status="budget",
    ),
    wrong(
        "sums read again from global memory",
        "bytes of sums loaded",
        file="wrong_again.cu",
        status="budget",
    ),
    wrong(
        "no __syncwarp()",
        "__syncwarp() must lie",
        ("    __syncwarp();   // lanes read what others staged\n", ""),
        status="finding",
    ),
    wrong("rows of 48", "48 columns", ("staged[i / 34][i % 34]", "staged[i / 48][i % 48]")),
    wrong("in the order of the lanes", "order of the lanes", file="wrong_order.cu"),
    wrong("the tail is not stored", "never written", ("i < 8 * 34", "i < 8 * 32")),
    wrong("shuffles", "shuffles", file="wrong_shuffles.cu", status="budget"),
    wrong(
        "nothing is written",
        "nothing is written",
        ("i += 32) y[i]", "i += 32) if (i < 0) y[i]"),
    ),
    wrong(
        "the lanes that march together",
        "name them yourself",
        ("    __syncwarp();   //", "    __syncwarp(__activemask());   //"),
    ),
    wrong(
        "the four floats from the right",
        "the wrong way round",
        (
            "= sums[n * 32 + lane];",
            "= make_float4(sums[n * 32 + lane].w, sums[n * 32 + lane].z, sums[n * 32 + "
            "lane].y, sums[n * 32 + lane].x);",
        ),
    ),
    wrong(
        "places 12 columns apart",
        "lie 12 columns apart",
        ("n * 16 + q * 4", "n * 4 + q * 12"),
    ),
    wrong(
        "g and q by 8",
        "g and q are mixed up",
        ("g = lane / 4, q = lane % 4", "g = lane % 8, q = lane / 8"),
    ),
    wrong(
        "rows of 34, unguarded",
        "belong to no row",
        ("float staged[8][48];", "float staged[8 * 34 + 16];"),
        (
            "*reinterpret_cast<float4*>(&staged[g][n * 16 + q * 4]) = sums[n * 32 + lane];",
            "for (int i = 0; i < 4; ++i)\n"
            "            staged[34 * g + n * 16 + q * 4 + i] = ((const float*)&sums[n "
            "* 32 + lane])[i];",
        ),
        ("staged[i / 34][i % 34]", "staged[i]"),
        status="finding",
    ),
)
