"""Answers to conv2d_patch, right and wrong."""

from tests.exercises.answers import right, wrong

CELL = "h + r < H && w + i < W ? x[(h + r) * W + w + i] : 0.0f"
PRODUCT = "sum[o][i] += cell[i + q] * filter[(m * 7 + r - o) * 7 + q];"

RIGHT = (
    right("all eight rows first", file="right_eight_rows.cu"),
    right("from the lowest row up", ("r = 0; r < 8; ++r", "r = 7; r >= 0; --r")),
    right(
        "the last cells again, outside of the image",
        (CELL, "x[min(h + r, H - 1) * W + min(w + i, W - 1)]"),
    ),
    right("eight rows, two rows of sums"),
    right("two conditions", file="right_conditions.cu"),
    right("the lower row one turn later", file="right_later.cu"),
)


WRONG = (
    wrong("one cell for a row of weights", (PRODUCT, PRODUCT.replace("i + q", "i"))),
    wrong("each product replaces the sum", ("sum[o][i] +=", "sum[o][i] =")),
    wrong(
        "rows and columns of the filter exchanged",
        ("(m * 7 + r - o) * 7 + q", "(m * 7 + q) * 7 + r - o"),
    ),
    wrong(
        "a cell number in a short",
        ("x[(h + r) * W + w + i]", "x[short((h + r) * W + w + i)]"),
        status="finding",
    ),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong(
        "each row of outputs loads its own rows of cells",
        file="wrong_rows_twice.cu",
        status="budget",
    ),
    wrong("the filter turned", ("(m * 7 + r - o) * 7 + q", "(m * 7 + 6 - r + o) * 7 + 6 - q")),
    wrong(
        "a loop over columns that stays a loop: the cells have no registers",
        ("for (int q = 0;", "#pragma unroll 1\n            for (int q = 0;"),
        status="budget",
    ),
    wrong("nothing is written", ("if (h + o < out_h && w + i < out_w)", "if (h < 0)")),
)
