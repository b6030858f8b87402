"""Answers to sum_in_y, right and wrong."""

from tests.exercises.answers import right, wrong

PARAMETERS = (
    "    float* __restrict__ y, const float* __restrict__ x, const float* __restrict__ filter,\n"
)
SUM = "*sum += cell[p * W + q] * tap[p * FILTER_WIDTH + q];"

RIGHT = (
    right("a promise for each array"),
    right("a sum in a register, and no promise", file="right_register.cu"),
    right(
        "a promise for what is written",
        (PARAMETERS, "    float* __restrict__ y, const float* x, const float* filter,\n"),
    ),
)

WRONG = (
    wrong(
        "a block does the work of two",
        (
            "__global__ void sum_in_y(\n",
            "__device__ void of_block(int, float* __restrict__, const float* __restrict__,\n"
            "    const float* __restrict__, int, int, int, int, int);\n"
            "__global__ void sum_in_y(float* y, const float* x, const float* filter,\n"
            "    int B, int C, int M, int H, int W)\n{\n"
            "    for (int k = 0; blockIdx.x % 2 == 0 && k < 2 && blockIdx.x + k < gridDim.x; ++k)\n"
            "        of_block(blockIdx.x + k, y, x, filter, B, C, M, H, W);\n}\n"
            "__device__ void of_block(\n    int block,\n",
        ),
        ("blockIdx.x / across", "block / across"),
        ("blockIdx.x % across", "block % across"),
        status="budget",
    ),
    wrong(
        "read by __ldg",
        (
            "+= cell[p * W + q] * tap[p * FILTER_WIDTH + q]",
            "+= __ldg(cell + p * W + q) * __ldg(tap + p * FILTER_WIDTH + q)",
        ),
        status="budget",
    ),
    wrong(
        "read by __ldg, and no promise",
        (PARAMETERS, "    float* y, const float* x, const float* filter,\n"),
        (SUM, "*sum += __ldg(cell + p * W + q) * __ldg(tap + p * FILTER_WIDTH + q);"),
        status="budget",
    ),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong(
        "no promise",
        (PARAMETERS, "    float* y, const float* x, const float* filter,\n"),
        status="budget",
    ),
    wrong("not begun with 0", ("        *sum = 0.0f;\n", "")),
    wrong("the weights of channel 0", ("filter + (m * C + c)", "filter + (m * C)")),
)
