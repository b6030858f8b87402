"""Answers to conv1d_edge, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("a tile", "right_tile.cu"),
    right("clamp by min and max"),
    right("clamp by conditional expressions", "right_conditional.cu"),
    right("the middle first, then both neighbours", "right_unrolled.cu"),
)


WRONG = (
    wrong(
        "lanes in turn, 20 times", "do again what", file="wrong_lanes_in_turn.cu", status="budget"
    ),
    wrong(
        "a sum in double",
        "a double takes two",
        ("float sum = 0.0f", "double sum = 0.0"),
        status="budget",
    ),
    wrong("the stub", "nothing is written", file="stub.cu", status="not_begun"),
    wrong("cells outside count as 0", "cell -1 must count as N[0]", file="wrong_zeros.cu"),
    wrong(
        "only the left end",
        "at the right end",
        ("min(max(i - 1 + j, 0), n - 1)", "max(i - 1 + j, 0)"),
        ("sum += N", "if (cell < n) sum += N"),
    ),
    wrong(
        "only the right end",
        "at the left end",
        ("min(max(i - 1 + j, 0), n - 1)", "min(i - 1 + j, n - 1)"),
        ("sum += N", "if (cell >= 0) sum += N"),
    ),
    wrong(
        "one end is read outside",
        "out-of-bounds",
        ("min(max(i - 1 + j, 0), n - 1)", "max(i - 1 + j, 0)"),
        status="finding",
    ),
    wrong("the second cell is repeated", "second cell", file="wrong_reflect.cu"),
    wrong(
        "min and max exchanged",
        "are min and max exchanged",
        ("min(max(i - 1 + j, 0), n - 1)", "max(min(i - 1 + j, 0), n - 1)"),
    ),
    wrong(
        "the last cell one too far",
        "off by one",
        ("min(max(i - 1 + j, 0), n - 1)", "min(max(i - 1 + j, 0), n)"),
        status="finding",
    ),
    wrong("a ring", "like a ring", ("min(max(i - 1 + j, 0), n - 1)", "(i - 1 + j + n) % n")),
    wrong(
        "the last cell to the left of the first",
        "Only the ends are wrong",
        ("min(max(i - 1 + j, 0), n - 1)", "i + j == 0 ? n - 1 : min(i - 1 + j, n - 1)"),
    ),
    wrong(
        "half precision inside",
        "of",
        ("extern", "#include <cuda_fp16.h>\nextern"),
        ("N[cell] *", "__half2float(__float2half(N[cell])) *"),
    ),
    wrong(
        "other names, and each cell read three times",
        "loads of N per output",
        ("const float* N,", "const float* in,"),
        (
            "N[cell]",
            "0 * ((volatile const float*)in)[cell] + ((volatile const float*)in)[cell]",
        ),
        status="budget",
    ),
    wrong(
        "weights written into the kernel",
        "do not write them down",
        ("filter[j]", "(j == 0 ? 1.0f : j == 1 ? 2.0f : 4.0f)"),
    ),
    wrong("the filter is flipped", "flipped", ("filter[j]", "filter[2 - j]")),
    wrong("nothing is written", "nothing is written", ("P[i] = sum", "if (n < 0) P[i] = sum")),
    wrong(
        "the sums go into the input",
        "writes to N, which is an input",
        ("P[i] = sum", "const_cast<float*>(N)[i] = sum"),
        status="finding",
    ),
    wrong("a NaN is computed", "a nan was computed", ("P[i] = sum", "P[i] = sum / (sum - sum)")),
    wrong("the last cell is not written", "never written", ("if (i < n)", "if (i < n - 1)")),
    wrong(
        "a fourth load",
        "4 loads of n per output",
        ("P[i] = sum", "P[i] = sum + 0 * N[n - 1 - i]"),
        status="budget",
    ),
    wrong("block 0 does everything", "own part", file="wrong_one_block.cu", status="budget"),
    wrong(
        "a loop that never ends",
        "reached its time limit",
        ("++j) {", "j += 0) {"),
        status="time",
    ),
    wrong(
        "it does not compile",
        "does not compile",
        ("P[i] = sum;", "P[i] = sum"),
        status="compile",
    ),
    wrong("clamped to 1", "only the ends are wrong", ("i - 1 + j, 0)", "i - 1 + j, 1)")),
    wrong("blocks of 256, whatever they are", "is blockDim.x", ("blockDim.x", "256")),
)
