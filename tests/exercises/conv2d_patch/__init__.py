"""Answers to conv2d_patch, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

CELL = "h + r < H && w + i < W ? x[(h + r) * W + w + i] : 0.0f"
PRODUCT = "sum[o][i] += cell[i + q] * filter[(m * 7 + r - o) * 7 + q];"

RIGHT = (
    right("all eight rows first", "right_eight_rows.cu"),
    right("from the lowest row up", "solution.cu", ("r = 0; r < 8; ++r", "r = 7; r >= 0; --r")),
    right(
        "the last cells again, outside of the image",
        "solution.cu",
        (CELL, "x[min(h + r, H - 1) * W + min(w + i, W - 1)]"),
    ),
    right("eight rows, two rows of sums"),
    right("two conditions", "right_conditions.cu"),
    right("the lower row one turn later", "right_later.cu"),
)


WRONG = (
    wrong(
        "one cell for a row of weights", "depends on q", (PRODUCT, PRODUCT.replace("i + q", "i"))
    ),
    wrong(
        "one column for four", "columns of a patch", (PRODUCT, PRODUCT.replace("i + q", "o + q"))
    ),
    wrong("each product replaces the sum", "do not replace", ("sum[o][i] +=", "sum[o][i] =")),
    wrong(
        "rows and columns of the filter exchanged",
        "exchanged",
        ("(m * 7 + r - o) * 7 + q", "(m * 7 + q) * 7 + r - o"),
    ),
    wrong("cells up to the last output", "last K - 1 columns", ("w + i < W ?", "w + i < out_w ?")),
    wrong(
        "no guard for columns",
        "one of the next row",
        (" && w + i < out_w", ""),
        status="finding",
    ),
    wrong(
        "a cell number in a short",
        "as a short",
        ("x[(h + r) * W + w + i]", "x[short((h + r) * W + w + i)]"),
        status="finding",
    ),
    wrong("the stub", "All sums are 0", file="stub.cu", status="not_begun"),
    wrong(
        "each row of outputs loads its own rows of cells",
        "global loads per output",
        file="wrong_rows_twice.cu",
        status="budget",
    ),
    wrong("out_h deduced from W", "two numbers", ("out_h = H - 6", "out_h = W - 22")),
    wrong(
        "the lower row with the upper one's weights",
        "only the upper row",
        ("(m * 7 + r - o) * 7", "(m * 7 + min(r, 6)) * 7"),
    ),
    wrong(
        "no test of the filter's rows",
        "rows 0 to 6",
        ("if (r - o >= 0 && r - o < 7)", ""),
        status="finding",
    ),
    wrong(
        "no guard of cells",
        "two numbers",
        ("h + r < H && w + i < W ? x[(h + r) * W + w + i] : 0.0f", "x[(h + r) * W + w + i]"),
        status="finding",
    ),
    wrong(
        "the lower row is not stored",
        "never written",
        ("if (h + o < out_h && w + i < out_w)", "if (o < 1 && w + i < out_w)"),
    ),
    wrong(
        "the filter turned",
        "half a turn",
        ("(m * 7 + r - o) * 7 + q", "(m * 7 + 6 - r + o) * 7 + 6 - q"),
    ),
    wrong(
        "a loop over columns that stays a loop: the cells have no registers",
        "accesses to local memory",
        ("for (int q = 0;", "#pragma unroll 1\n            for (int q = 0;"),
        status="budget",
    ),
    wrong("six rows", "rows 6 to 7 of the window", ("r < 8", "r < 6")),
    wrong(
        "the filter's rows from 6 on are left out",
        "rows from 6 on",
        ("r - o >= 0 && r - o < 7", "r - o >= 0 && r - o <= 5"),
    ),
    wrong("six columns", "columns from 6 on", ("q < 7", "q < 6")),
    wrong("seven rows", "only the upper row", ("r < 8", "r < 7")),
    wrong(
        "nothing is written",
        "nothing is written",
        ("if (h + o < out_h && w + i < out_w)", "if (h < 0)"),
    ),
)
