"""Answers to tile_product, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("one pair of tiles"),
    right("two pairs by turns, and no zeros", file="right_two_buffers.cu"),
    right(
        "tiles as arrays of one axis",
        ("a[y][k] * b[k][x]", "(&a[0][0])[16 * y + k] * (&b[0][0])[16 * k + x]"),
    ),
)


WRONG = (
    wrong(
        "each sum five times",
        (
            "for (int k = 0; k < 16; ++k) sum += a[y][k] * b[k][x];",
            "const float before = sum;\n        for (int again = 0; again < 5; ++again) {\n"
            "            sum = before;\n            for (int k = 0; k < 16; ++k)\n"
            "                sum += *(volatile float*)&a[y][k] * b[k][x];\n        }",
        ),
        status="budget",
    ),
    wrong(
        "no tiles in a large grid",
        (
            "    for (int first",
            "    if (gridDim.x * gridDim.y > 99) {\n"
            "        for (int k = 0; r < rows && c < cols && k < inner; ++k)\n"
            "            sum += A[r * inner + k] * B[k * cols + c];\n"
            "        inner = 0;\n    }\n    for (int first",
        ),
        status="budget",
    ),
    wrong("one warp fills the tiles", file="wrong_one_warp.cu", status="budget"),
    wrong(
        "an index of A of 16 bits",
        ("A[r * inner + first + x]", "A[(unsigned short)(r * inner + first + x)]"),
    ),
    wrong(
        "tiles of halves",
        ("__shared__ float a", "__shared__ __half a"),
        ("a[y][k] * b[k][x]", "__half2float(a[y][k]) * __half2float(b[k][x])"),
        ("__global__ void", "#include <cuda_fp16.h>\n__global__ void"),
    ),
    wrong(
        "rows of a tile padded by one word",
        ("__shared__ float a[16][16], b[16][16]", "__shared__ float a[16][17], b[16][17]"),
        status="budget",
    ),
    wrong("no tiles", file="wrong_direct.cu", status="budget"),
    wrong(
        "lanes down the columns of B",
        (
            "b[y][x] = first + y < inner && c < cols ? B[(first + y) * cols + c]",
            "b[x][y] = first + x < inner && blockIdx.x * 16 + y < cols ? "
            "B[(first + x) * cols + blockIdx.x * 16 + y]",
        ),
        status="budget",
    ),
)
