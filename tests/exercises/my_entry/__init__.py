"""Answers to entry, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("a tile, three columns, four maps"),
    right("registers without a tile", file="right_register.cu"),
)


WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong(
        "a shuffle for each cell",
        (
            "                const float cell = row[12 * o];\n",
            "                float cell = row[12 * o];\n"
            "                for (int k = 0; k < 3; ++k) cell = __shfl_sync(__activemask(), "
            "cell, threadIdx.x + 12 * threadIdx.y & 31);\n",
        ),
        status="budget",
    ),
    wrong(
        "a block that CUDA does not allow", ("-DTILE_WIDTH=12", "-DTILE_WIDTH=40"), status="refused"
    ),
    wrong(
        "another signature",
        ("int H, int W, int K)\n{", "int H, int W)\n{\n    const int K = 7;"),
        status="refused",
    ),
    wrong(
        "nothing is written", ("            if (m + j < M", "            if (K < 0 && m + j < M")
    ),
)
