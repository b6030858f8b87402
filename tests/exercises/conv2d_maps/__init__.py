"""Answers to conv2d_maps, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("x for columns, y for maps"),
    right(
        "a number of the thread, divided",
        ("threadIdx.y;", "(threadIdx.x + 16 * threadIdx.y) / 16;"),
        (
            "blockIdx.x * 16 + threadIdx.x",
            "blockIdx.x * 16 + (threadIdx.x + 16 * threadIdx.y) % 16",
        ),
    ),
    right("pointers", file="right_pointers.cu"),
)


WRONG = (
    wrong(
        "axes exchanged in large grids",
        ("* 16 + threadIdx.y;", "* 16 + (gridDim.y < 99 ? threadIdx.y : threadIdx.x);"),
        ("* 16 + threadIdx.x;", "* 16 + (gridDim.y < 99 ? threadIdx.x : threadIdx.y);"),
        status="budget",
    ),
    wrong(
        "outputs stored column by column",
        ("m) * out_h + h) * out_w + w]", "m) * out_w + w) * out_h + h]"),
    ),
    wrong("no width of a row", ("+ p) * W", "+ p)")),
    wrong("p for both", ("w + q]", "w + p]")),
    wrong("row 0 of the filter alone", ("* K + p) * K + q]", "* K) * K + q]")),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("the filter turned", ("* K + p) * K + q]", "* K + K - 1 - p) * K + K - 1 - q]")),
    wrong("a dummy load for each tap", ("sum += x", "sum += 0.0f * x[q] + x"), status="budget"),
    wrong("block 0 does everything", file="wrong_one_block.cu", status="budget"),
    wrong("nothing is written", ("    y[((b", "    if (K < 0) y[((b")),
)
