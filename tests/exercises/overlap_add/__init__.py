"""Answers to overlap_add, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("a loop for each gap, every sum by an atomic"),
    right("one owner of the sums that no other block has", "right_owner.cu"),
    right(
        "two points a thread, by name",
        "solution.cu",
        (
            "        cells[i] = make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);\n",
            "        cells[i].x = a.x * b.x - a.y * b.y;\n"
            "        cells[i].y = a.y * b.x + a.x * b.y;\n",
        ),
    ),
)

PRODUCT = "a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x"

WRONG = (
    wrong(
        "a conjugate",
        "the conjugate of the other",
        (
            "a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x",
            "a.x * b.x + a.y * b.y, a.x * b.y - a.y * b.x",
        ),
    ),
    wrong("the stub", "a transform reads all size points", file="stub.cu", status="not_begun"),
    wrong("nothing is added", "nothing is added to p", ("atomicAdd(&P[out], cells[i].x)", "")),
    wrong(
        "tails are stored, not added",
        "atomicadd",
        ("atomicAdd(&P[out], cells[i].x)", "P[out] = cells[i].x"),
        status="finding",
    ),
    wrong(
        "tails are left out",
        "tails are missing",
        ("if (0 <= out", "if (i < segment && 0 <= out"),
    ),
    wrong("the places are shifted", "places too late", ("start + i - width / 2;", "start + i;")),
    wrong("no product", "spectra are not multiplied", (PRODUCT, "a.x, a.y + 0 * b.x")),
    wrong("parts one by one", "one by one", (PRODUCT, "a.x * b.x, a.y * b.y")),
    wrong("the wrong sign", "i times i", (PRODUCT, PRODUCT.replace("-", "+", 1))),
    wrong(
        "no zeros behind the segment",
        "must hold 0",
        (
            "        cells[i] = make_float2(is_cell ? N[start + i] : 0.0f, 0.0f);",
            "        if (is_cell) cells[i] = make_float2(N[start + i], 0.0f);",
        ),
        status="finding",
    ),
    wrong(
        "cells behind the end of N",
        "longer than what is left",
        ("i < segment && start + i < n", "i < segment"),
        status="finding",
    ),
    wrong(
        "sums before the first output",
        "before p[0]",
        ("if (0 <= out && out < n)", "if (out < n)"),
        status="finding",
    ),
    wrong(
        "the index is a short",
        "out-of-bounds",
        ("const int start =", "const short start ="),
        status="finding",
    ),
    wrong(
        "a barrier in each turn",
        "waits at barriers",
        ("        const int out =", "        __syncthreads();\n        const int out ="),
        status="budget",
    ),
    wrong("cells of the next segment", "counted twice", ("i < segment && start", "start")),
    wrong(
        "the sign of the imaginary part",
        "sign in the imaginary part",
        ("a.x * b.y + a.y * b.x", "a.x * b.y - a.y * b.x"),
    ),
    wrong(
        "the other sign of the imaginary part",
        "sign in the imaginary part",
        ("a.x * b.y + a.y * b.x", "a.y * b.x - a.x * b.y"),
    ),
    wrong(
        "the real part alone",
        "the imaginary part is as it was",
        (
            "cells[i] = make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);",
            "cells[i].x = a.x * b.x - a.y * b.y;",
        ),
    ),
    wrong(
        "the new real part is read",
        "keep the old one",
        (
            "cells[i] = make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);",
            "cells[i].x = a.x * b.x - a.y * b.y; cells[i].y = cells[i].x * b.y + a.y * b.x;",
        ),
    ),
    wrong(
        "halved sums",
        "half as large",
        ("cells[i].x)", "cells[i].x / 2)"),
    ),
    wrong(
        "divided once more",
        "once more",
        ("cells[i].x)", "cells[i].x / SIZE)"),
    ),
    wrong(
        "imaginary parts are added",
        "but for rounding",
        ("cells[i].x)", "cells[i].y)"),
    ),
    wrong(
        "width / 2 too far",
        "places too late",
        ("start + i - width / 2;", "start + i + width / 2;"),
    ),
    wrong(
        "the last weight in the middle",
        "too early",
        ("start + i - width / 2;", "start + i - width + 1;"),
    ),
    wrong(
        "half of the sums",
        "first half of the sums",
        (
            "i < SIZE; i += blockDim.x) {\n        const int out",
            "i < SIZE / 2; i += blockDim.x) {\n        const int out",
        ),
    ),
    wrong(
        "half of the products",
        "first half of the cells",
        (
            "i < SIZE; i += blockDim.x) {\n        const float2 a",
            "i < SIZE / 2; i += blockDim.x) {\n        const float2 a",
        ),
    ),
    wrong(
        "one cell too many",
        "one cell too many",
        ("i < segment &&", "i <= segment &&"),
    ),
    wrong(
        "half of a tail",
        "only the first half of the tails",
        (
            "i < SIZE; i += blockDim.x) {\n        const int out",
            "i < segment + width / 2; i += blockDim.x) {\n        const int out",
        ),
    ),
    wrong(
        "a cell for each thread",
        "so each loads two points",
        ("i < segment && start + i < n", "i < SIZE / 2 && i < segment && start + i < n"),
    ),
    wrong(
        "thread 0 loads the segment",
        "share its size points",
        (
            "i = threadIdx.x; i < SIZE; i += blockDim.x) {\n        const bool",
            "i = threadIdx.x; threadIdx.x == 0 && i < SIZE; ++i) {\n        const bool",
        ),
        status="budget",
    ),
)
