"""Answers to conv1d_edge, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("a tile", file="right_tile.cu"),
    right("clamp by min and max"),
    right("clamp by conditional expressions", file="right_conditional.cu"),
    right("the middle first, then both neighbours", file="right_unrolled.cu"),
)


WRONG = (
    wrong("lanes in turn, 20 times", file="wrong_lanes_in_turn.cu", status="budget"),
    wrong("a sum in double", ("float sum = 0.0f", "double sum = 0.0"), status="budget"),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong(
        "half precision inside",
        ("extern", "#include <cuda_fp16.h>\nextern"),
        ("N[cell] *", "__half2float(__float2half(N[cell])) *"),
    ),
    wrong(
        "other names, and each cell read three times",
        ("const float* N,", "const float* in,"),
        (
            "N[cell]",
            "0 * ((volatile const float*)in)[cell] + ((volatile const float*)in)[cell]",
        ),
        status="budget",
    ),
    wrong("nothing is written", ("P[i] = sum", "if (n < 0) P[i] = sum")),
    wrong(
        "the sums go into the input",
        ("P[i] = sum", "const_cast<float*>(N)[i] = sum"),
        status="finding",
    ),
    wrong("a NaN is computed", ("P[i] = sum", "P[i] = sum / (sum - sum)")),
    wrong("a fourth load", ("P[i] = sum", "P[i] = sum + 0 * N[n - 1 - i]"), status="budget"),
    wrong("block 0 does everything", file="wrong_one_block.cu", status="budget"),
    wrong("a loop that never ends", ("++j) {", "j += 0) {"), status="time"),
    wrong("it does not compile", ("P[i] = sum;", "P[i] = sum"), status="compile"),
)
