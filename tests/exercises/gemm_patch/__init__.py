"""Answers to gemm_patch, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("8 and 8 cells, each with each"),
    right(
        "a row of the patch at a time",
        "solution.cu",
        ("                a[p] = tile_a[ty + p * ACROSS][i];\n", ""),
        (
            "            for (int r = 0; r < PATCH; ++r) {\n"
            "                #pragma unroll\n"
            "                for (int s = 0; s < PATCH; ++s) {\n"
            "                    sum[r][s] += a[r] * x[s];\n",
            "            for (int r = 0; r < PATCH; ++r) {\n"
            "                a[r] = tile_a[r * ACROSS + ty][i];\n"
            "                #pragma unroll\n"
            "                for (int s = 0; s < PATCH; ++s) {\n"
            "                    sum[r][s] = fmaf(x[s], a[r], sum[r][s]);\n",
        ),
    ),
)
WRONG = (
    wrong("the stub", "All sums are 0", file="stub.cu", status="not_begun"),
    wrong("products that are never added", "All sums are 0", ("+= a[r] * x[s]", "+= 0")),
    wrong(
        "the diagonal alone",
        "each of the 8 cells",
        ("sum[r][s] += a[r] * x[s];", "if (r == s) sum[r][s] += a[r] * x[s];"),
    ),
    wrong(
        "neighbouring rows",
        "stand in other places",
        ("tile_a[ty + p * ACROSS][i]", "tile_a[ty * PATCH + p][i]"),
    ),
    wrong(
        "neighbouring columns",
        "columns are right",
        ("tile_x[i][tx + p * ACROSS]", "tile_x[i][tx * PATCH + p]"),
    ),
    wrong(
        "neighbours both ways",
        "outputs are right",
        ("tile_a[ty + p * ACROSS][i]", "tile_a[ty * PATCH + p][i]"),
        ("tile_x[i][tx + p * ACROSS]", "tile_x[i][tx * PATCH + p]"),
    ),
    wrong("the first rows", "first 8 rows", ("tile_a[ty + p * ACROSS][i]", "tile_a[p][i]")),
    wrong("the first columns", "first 8 columns", ("tile_x[i][tx + p * ACROSS]", "tile_x[i][p]")),
    wrong(
        "tx and ty exchanged",
        "tx counts columns",
        ("tile_a[ty + p * ACROSS][i]", "tile_a[tx + p * ACROSS][i]"),
        ("tile_x[i][tx + p * ACROSS]", "tile_x[i][ty + p * ACROSS]"),
    ),
    wrong(
        "rows and columns exchanged",
        "a[r] belongs to the rows",
        ("sum[r][s] += a[r] * x[s]", "sum[r][s] += a[s] * x[r]"),
    ),
    wrong(
        "the first step alone",
        "go on from step to step",
        ("first < inner; first", "first < 1; first"),
    ),
    wrong("sums that begin again", "do not replace it", ("sum[r][s] +=", "sum[r][s] =")),
    wrong(
        "each cell read for each product",
        "keeps in a variable",
        (
            "sum[r][s] += a[r] * x[s];",
            "sum[r][s] += *(volatile float*)&tile_a[ty + r * ACROSS][i] * x[s];",
        ),
        status="budget",
    ),
    wrong(
        "rows PATCH apart",
        "cells of a are tile_a[ty + p * across][i]. they are patch apart",
        ("tile_a[ty + p * ACROSS]", "tile_a[ty + p * PATCH]"),
    ),
    wrong(
        "columns PATCH apart",
        "cells of x are tile_x[i][tx + p * across]. they are patch apart",
        ("tile_x[i][tx + p * ACROSS]", "tile_x[i][tx + p * PATCH]"),
    ),
    wrong(
        "both PATCH apart",
        "they are patch apart",
        ("tile_a[ty + p * ACROSS]", "tile_a[ty + p * PATCH]"),
        ("tile_x[i][tx + p * ACROSS]", "tile_x[i][tx + p * PATCH]"),
    ),
    wrong(
        "neighbours, and overlapping",
        "they are neighbours",
        ("tile_a[ty + p * ACROSS]", "tile_a[ty + p]"),
    ),
    wrong(
        "the same for all threads",
        "the same for all threads",
        ("tile_x[i][tx + p * ACROSS]", "tile_x[i][p * ACROSS]"),
    ),
    wrong(
        "one cell",
        "one and the same cell",
        ("tile_x[i][tx + p * ACROSS]", "tile_x[i][tx]"),
    ),
    wrong(
        "16 apart from thread to thread",
        "begin across apart",
        ("tile_a[ty + p * ACROSS]", "tile_a[(ty * ACROSS + p) % TILE]"),
    ),
    wrong(
        "tx for the rows",
        "tx stands in the place of ty",
        ("tile_a[ty + p * ACROSS]", "tile_a[tx + p * ACROSS]"),
    ),
    wrong(
        "ty for the columns",
        "ty stands in the place of tx",
        ("tile_x[i][tx + p * ACROSS]", "tile_x[i][ty + p * ACROSS]"),
    ),
    wrong(
        "r twice",
        "a[r] times x[r]",
        ("a[r] * x[s]", "a[r] * x[r]"),
    ),
    wrong(
        "s twice",
        "a[s] times x[s]",
        ("a[r] * x[s]", "a[s] * x[s]"),
    ),
    wrong(
        "half of the patch",
        "s up to r",
        (
            "for (int s = 0; s < PATCH; ++s) {\n                    sum",
            "for (int s = 0; s <= r; ++s) {\n                    sum",
        ),
    ),
    wrong(
        "seven rows",
        "the last row of each patch",
        (
            "for (int r = 0; r < PATCH; ++r) {\n                #",
            "for (int r = 0; r < PATCH - 1; ++r) {\n                #",
        ),
    ),
    wrong(
        "seven columns",
        "the last column of each patch",
        (
            "for (int s = 0; s < PATCH; ++s) {\n                    sum",
            "for (int s = 0; s < PATCH - 1; ++s) {\n                    sum",
        ),
    ),
    wrong(
        "sums in double",
        "the sums are floats",
        ("float sum[PATCH][PATCH]", "double sum[PATCH][PATCH]"),
        status="budget",
    ),
    wrong(
        "32 terms, whatever `inner` is",
        "only its first terms",
        ("first < inner; first", "first < 32; first"),
    ),
)
