"""Answers to conv2d_unrolled, right and wrong."""

from tests.exercises.answers import right, wrong

ROWS = """            #pragma unroll
            for (int p = 0; p < FILTER_WIDTH; ++p) {
"""
COLUMNS = """                #pragma unroll
                for (int q = 0; q < FILTER_WIDTH; ++q)
"""
SUM = "sum += cell[p * W + q] * tap[p * FILTER_WIDTH + q];"

RIGHT = (
    right("two loops, unrolled"),
    right("pointers that move, and one loop over all taps", file="right_one_loop.cu"),
    right(
        "constants, without the pragmas",
        (
            "            // Add up the products of this channel: two loops, and #pragma "
            "unroll above each.\n"
            "            #pragma unroll\n",
            "",
        ),
        ("                #pragma unroll\n", ""),
    ),
)

WRONG = (
    wrong("rows of out_w cells", ("cell[p * W", "cell[p * out_w")),
    wrong(
        "the sum begins anew with each channel",
        (
            "            #pragma unroll\n            for (int p",
            "            sum = 0.0f;\n            for (int p",
        ),
    ),
    wrong("subtracted", ("sum +=", "sum -=")),
    wrong("each product twice", ("sum += cell", "sum += 2.0f * cell")),
    wrong("the last product alone", ("sum +=", "sum =")),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("p and q exchanged", (SUM, SUM.replace("p * FILTER_WIDTH + q", "q * FILTER_WIDTH + p"))),
    wrong("rows that stay a loop", (ROWS, ROWS.replace("unroll", "unroll 1")), status="budget"),
    wrong(
        "columns that stay a loop",
        (COLUMNS, COLUMNS.replace("unroll", "unroll 1")),
        status="budget",
    ),
    wrong("a row too few", (ROWS, ROWS.replace("p < F", "p + 1 < F"))),
    wrong("a column too few", (COLUMNS, COLUMNS.replace("q < F", "q + 1 < F"))),
    wrong(
        "the filter turned",
        (
            SUM,
            SUM.replace(
                "tap[p * FILTER_WIDTH + q]",
                "tap[(FILTER_WIDTH - 1 - p) * FILTER_WIDTH + FILTER_WIDTH - 1 - q]",
            ),
        ),
    ),
    wrong("weights of channel 0", ("filter + (m * C + c)", "filter + (m * C)")),
    wrong(
        "a cell twice",
        (
            SUM,
            SUM.replace("+= ", "+= 0.0f * ((volatile const float*)cell)[0] + "),
        ),
        status="budget",
    ),
)
