"""Answers to conv1d_basic, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

INDEX = "blockIdx.x * blockDim.x + threadIdx.x"

RIGHT = (
    right("neighbours by shuffles", "right_shuffles.cu"),
    right("a tile", "right_tile.cu"),
    right("a loop with a test"),
    right("three tests, one after the other", "right_three_tests.cu"),
    right(
        "threads without an output leave at once",
        "solution.cu",
        ("    if (i < n) {\n", "    if (i >= n) return;\n    {\n"),
    ),
    right(
        "a conditional expression for a ghost",
        "solution.cu",
        ("            if (cell >= 0 && cell < n) {\n", "            {\n"),
        ("sum += N[cell] * filter[j]", "sum += cell < 0 || cell >= n ? 0 : N[cell] * filter[j]"),
    ),
)


WRONG = (
    wrong("adds to what nothing has set", "+= or atomicAdd", ("P[i] = sum", "P[i] += sum")),
    wrong(
        "one weight for both neighbours", "filter[2] is in no sum", ("filter[j]", "filter[j % 2]")
    ),
    wrong("blocks of 256, whatever they are", "is blockDim.x", ("blockDim.x", "256")),
    wrong("a sum in an int", "no output has a fraction", ("float sum = 0.0f", "int sum = 0")),
    wrong(
        "a tile without a barrier",
        "a __syncthreads() is missing",
        file="wrong_no_barrier.cu",
        status="finding",
    ),
    wrong("cell n - 1 as a ghost", "n[n - 1] is in no sum", ("cell < n)", "cell < n - 1)")),
    wrong("cells to the left", "i - 2 and i - 3", ("i - 1 + j", "i - 1 - j")),
    wrong(
        "the cells of other blocks as ghosts",
        "cells of another block",
        ("cell < n)", "cell < n && cell / (int)blockDim.x == (int)blockIdx.x)"),
    ),
    wrong(
        "the left guard by threadIdx.x",
        "test i, and not threadIdx.x. Only cell -1",
        ("cell >= 0 &&", "(j > 0 || threadIdx.x > 0) &&"),
    ),
    wrong(
        "the right guard by threadIdx.x",
        "test i, and not threadIdx.x. Only cell n",
        ("cell < n)", "cell < n && (j < 2 || threadIdx.x < blockDim.x - 1))"),
    ),
    wrong("the stub", "that is gap 1", file="stub.cu", status="not_begun"),
    wrong("a left ghost too many", "leaves out N[0]", ("cell >= 0 &&", "(j > 0 || i > 1) &&")),
    wrong(
        "gaps 1 and 2 alone",
        "that is gap 3",
        ("int i = 0", f"int i = {INDEX}"),
        ("true", "i < n"),
        file="stub.cu",
    ),
    wrong("the number in the block", "in the whole grid it is", (INDEX, "threadIdx.x")),
    wrong(
        "the number in the block, and the sum replaced",
        "in the whole grid it is",
        (INDEX, "threadIdx.x"),
        ("sum += N", "sum = N"),
    ),
    wrong("a right ghost too many", "leaves out N[n - 1]", ("cell < n", "(j < 2 || i < n - 2)")),
    wrong("every thread computes P[0]", "that is gap 1", (INDEX, "0")),
    wrong("no guard", "writes p[", ("i < n", "true"), status="finding"),
    wrong("no test on the left", "ghost on the left", ("cell >= 0 && ", ""), status="finding"),
    wrong("no test on the right", "out-of-bounds", (" && cell < n", ""), status="finding"),
    wrong("cell 0 is taken for a ghost", "n[0] is in no sum", ("cell >= 0", "cell > 0")),
    wrong(
        "the outputs at the ends are left out",
        "those at the ends",
        ("if (i < n)", "if (i > 0 && i < n - 1)"),
    ),
    wrong("the last output is left out", "never written", ("if (i < n)", "if (i < n - 1)")),
    wrong(
        "its own cell alone",
        "neighbours i - 1 and i + 1",
        ("int j = 0; j < 3", "int j = 1; j < 2"),
    ),
    wrong(
        "the edge cell is repeated",
        "here they count as 0",
        ("i - 1 + j;", "min(max(i - 1 + j, 0), n - 1);"),
    ),
    wrong("a ring", "like a ring", ("i - 1 + j;", "(i - 1 + j + n) % n;")),
    wrong("the filter is flipped", "flipped", ("filter[j]", "filter[2 - j]")),
    wrong("the cells i, i + 1, i + 2", "1 cell too early", ("i - 1 + j;", "i + j;")),
    wrong(
        "weights written into the kernel",
        "do not write them down",
        ("filter[j]", "(j == 0 ? 1.0f : j == 1 ? 2.0f : 4.0f)"),
    ),
    wrong(
        "the index is a short",
        "out-of-bounds",
        ("const int i =", "const short i ="),
        status="finding",
    ),
    wrong(
        "each cell is read twice",
        "loads of n per output",
        (
            "N[cell] *",
            "(0 * ((volatile const float*)N)[cell] + ((volatile const float*)N)[cell]) *",
        ),
        status="budget",
    ),
    wrong(
        "it does not compile",
        "does not compile",
        ("P[i] = sum;", "P[i] = sum"),
        status="compile",
    ),
)
