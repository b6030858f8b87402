"""Answers to implicit_counting, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("counted with carries"),
    right("carries at the end of a step", "right_at_end.cu"),
    right("one by one, sixteen times", "right_one_by_one.cu"),
)


WRONG = (
    wrong("the stub", "All sums are 0", file="stub.cu", status="not_begun"),
    wrong("divisions in the loop", "divisions per warp", file="wrong_divided.cu", status="budget"),
    wrong("the divisions in a macro", "divisions per warp", file="wrong_macro.cu", status="budget"),
    wrong("divisions of floats", "divisions per warp", file="wrong_float.cu", status="budget"),
    wrong("no carry to channels", "from rows to channels", ("if (p >= K) { p -= K; ++c; }", "")),
    wrong("no carry to rows", "from columns to rows", ("if (q >= K) { q -= K; ++p; }", "")),
    wrong("a carry is forgotten", "carry", ("q -= K; ++p;", "q -= K;"), status="wrong"),
    wrong(
        "one carry for sixteen cells",
        "one carry is not enough",
        ("c += dc, p += dp, q += dq;", "q += TILE;"),
        status="wrong",
    ),
    wrong(
        "no second barrier",
        "before the next loads",
        ("tile_x[k][tx];\n        __syncthreads();", "tile_x[k][tx];"),
        status="finding",
    ),
    wrong(
        "cells loaded twice",
        "loads per tile and step",
        (
            "corner[(c * H + p) * W + q] : 0.0f;",
            "corner[(c * H + p) * W + q] + 0 * corner[0] + 0 * x[1] : 0.0f;",
        ),
        status="budget",
    ),
    wrong(
        "nothing is written",
        "nothing is written",
        ("    if (row < M && col < cols) y", "    if (M < 0) y"),
    ),
    wrong(
        "a rounded quotient",
        "Count in whole numbers",
        (
            "c += dc, p += dp, q += dq;",
            "c = (first + TILE + ty) * (1.0f / (K * K)), q = first + TILE + ty - c * K * K;\n"
            "        p = q * (1.0f / K), q -= p * K;",
        ),
        ("        if (q >= K) { q -= K; ++p; }\n", ""),
        ("        if (p >= K) { p -= K; ++c; }\n", ""),
    ),
    wrong(
        "c and p begin at 0",
        "begin at 0 for every row",
        ("int c = ty / (K * K), p = ty % (K * K) / K, q = ty % K;", "int c = 0, p = 0, q = ty;"),
        (
            "if (q >= K) { q -= K; ++p; }\n        if (p >= K) { p -= K; ++c; }",
            "while (q >= K) { q -= K; ++p; }\n        while (p >= K) { p -= K; ++c; }",
        ),
    ),
    wrong(
        "c, p and q begin at 0",
        "begin at 0 for every row",
        ("int c = ty / (K * K), p = ty % (K * K) / K, q = ty % K;", "int c = 0, p = 0, q = 0;"),
    ),
    wrong(
        "q carries too late",
        "one too late",
        (
            "c += dc, p += dp, q += dq;\n"
            "        if (q >= K) { q -= K; ++p; }\n"
            "        if (p >= K) { p -= K; ++c; }",
            "q += TILE;\n"
            "        while (q > K) { q -= K; ++p; }\n"
            "        while (p >= K) { p -= K; ++c; }",
        ),
    ),
)
