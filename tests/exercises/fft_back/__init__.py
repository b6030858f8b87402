"""Answers to fft_back, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("spans up, the conjugate"),
    right("divided and taken modulo", "right_modulo.cu"),
    right("the twiddle conjugated first", "right_conjugate.cu"),
    right("two stages at a time", "right_two_stages.cu"),
)


WRONG = (
    wrong("the stub", "as it came", file="stub.cu", status="not_begun"),
    wrong(
        "the transform by its definition",
        "by its definition",
        file="wrong_definition.cu",
        status="budget",
    ),
    wrong(
        "divided by n",
        "divided by n",
        (
            "x[blockIdx.x * POINTS + i] = cells[i]",
            "x[blockIdx.x * POINTS + i] = make_float2(cells[i].x / POINTS, cells[i].y / POINTS)",
        ),
    ),
    wrong(
        "the pairs turn forward",
        "turn forward",
        (
            "c.x * w.x + c.y * w.y, c.y * w.x - c.x * w.y",
            "c.x * w.x - c.y * w.y, c.y * w.x + c.x * w.y",
        ),
    ),
    wrong(
        "no barrier in the loop",
        "a barrier must lie between",
        ("        __syncthreads();\n", ""),
        status="finding",
    ),
    wrong(
        "pairs that share a cell",
        "the pairs of two threads share a cell",
        ("first = 2 * (t - place) + place", "first = t"),
        status="finding",
    ),
    wrong("the last stage is missing", "last stage", ("span < POINTS", "span < POINTS / 2")),
    wrong(
        "two barriers a stage",
        "waits at barriers",
        ("        cells[first] =", "        __syncthreads();\n        cells[first] ="),
        status="budget",
    ),
    wrong(
        "parts exchanged",
        "exchanged",
        (
            "x[blockIdx.x * POINTS + i] = cells[i]",
            "x[blockIdx.x * POINTS + i] = make_float2(cells[i].y, cells[i].x)",
        ),
    ),
    wrong(
        "nothing is written",
        "nothing is written",
        ("i += POINTS / 2) x[", "i += POINTS / 2) if (POINTS < 0) x["),
    ),
    wrong(
        "the first stage first",
        "undone with the first one first",
        (
            "int span = 1; span < POINTS; span *= 2",
            "int span = POINTS / 2; span > 0; span /= 2",
        ),
    ),
    wrong(
        "the cell conjugated",
        "one sign of the product",
        ("c.y * w.x - c.x * w.y", "c.x * w.y - c.y * w.x"),
    ),
    wrong(
        "the sign of the real part",
        "one sign of the product",
        ("c.x * w.x + c.y * w.y", "c.x * w.x - c.y * w.y"),
    ),
    wrong(
        "the sign of the imaginary part",
        "one sign of the product",
        ("c.y * w.x - c.x * w.y", "c.y * w.x + c.x * w.y"),
    ),
    wrong(
        "parts one by one",
        "one by one",
        ("c.x * w.x + c.y * w.y, c.y * w.x - c.x * w.y", "c.x * w.x, c.y * w.y"),
    ),
    wrong(
        "nothing is turned",
        "no cell is turned",
        ("c.x * w.x + c.y * w.y, c.y * w.x - c.x * w.y", "c.x, c.y + 0 * w.x"),
    ),
    wrong(
        "the first cell is turned",
        "it must be the second one",
        ("a = cells[first], c = cells[first + span]", "c = cells[first], a = cells[first + span]"),
    ),
    wrong(
        "halved sums",
        "the sum of a pair is halved",
        ("make_float2(a.x + b.x, a.y + b.y)", "make_float2((a.x + b.x) / 2, (a.y + b.y) / 2)"),
    ),
    wrong(
        "halved differences",
        "the difference of a pair is halved",
        ("make_float2(a.x - b.x, a.y - b.y)", "make_float2((a.x - b.x) / 2, (a.y - b.y) / 2)"),
    ),
    wrong(
        "second minus first",
        "has the wrong sign",
        ("make_float2(a.x - b.x, a.y - b.y)", "make_float2(b.x - a.x, b.y - a.y)"),
    ),
    wrong(
        "sum and difference in each other's place",
        "have changed places",
        ("make_float2(a.x + b.x, a.y + b.y)", "make_float2(a.x - b.x, a.y - b.y) "),
        ("= make_float2(a.x - b.x, a.y - b.y);", "= make_float2(a.x + b.x, a.y + b.y);"),
    ),
    wrong(
        "one turn for all stages",
        "its own turns",
        ("place * (POINTS / 2 / span)", "place"),
    ),
    wrong(
        "twice the turn",
        "points / 2 twiddles",
        ("POINTS / 2 / span", "POINTS / span"),
        status="finding",
    ),
    wrong(
        "the stage with span 1 is missing",
        "the stage with span 1",
        ("span = 1;", "span = 2;"),
    ),
    wrong(
        "64 points written into the kernel",
        "points / 2 twiddles",
        ("place * (POINTS / 2 / span)", "place * (32 / span)"),
        status="finding",
    ),
    wrong(
        "the real part alone turned",
        "only the real part of the second cell is turned",
        ("c.y * w.x - c.x * w.y);", "c.y);"),
    ),
    wrong(
        "the imaginary part alone turned",
        "only the imaginary part of the second cell is turned",
        ("make_float2(c.x * w.x + c.y * w.y, c.y", "make_float2(c.x, c.y"),
    ),
    wrong(
        "the new real part in the imaginary part",
        "keep the old one in a variable",
        (
            "        const float2 b = make_float2(c.x * w.x + c.y * w.y, c.y * w.x - c.x * w.y);",
            "        float2 b = c;\n        b.x = b.x * w.x + b.y * w.y;\n"
            "        b.y = b.y * w.x - b.x * w.y;",
        ),
    ),
)
