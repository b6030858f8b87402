"""Answers to conv2d_patch, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("eight rows, two rows of sums"),
    right("two conditions", "right_conditions.cu"),
    right("the lower row one turn later", "right_later.cu"),
)


WRONG = (
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
