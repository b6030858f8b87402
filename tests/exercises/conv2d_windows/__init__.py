"""Answers to conv2d_windows, right and wrong."""

from tests.exercises.answers import right, wrong

WINDOW = "column / ACROSS * 2 * ROW + column % ACROSS + q;"
LOW = "n / K * PLANE + (n % K + row) * ROW;"
PAIR, MAP = "first + 2 * q + i % 2;", "g + i / 2 * 8;"

RIGHT = (
    right("ours"),
    right(
        "row and column named",
        (f"const int window = {WINDOW}",
         "const int r = column / ACROSS, c = column - r * ACROSS, window = (2 * r) * ROW + c + q;"),
        ("const int n = 2 * step;", "const int n = step + step, c = n / K;"),
        (LOW, "c * PLANE + (n - c * K + row) * ROW;")),
    right("registers by shifts", (PAIR, "first + (q << 1 | i & 1);"),
          (MAP, "g | (i & 2) << 2;")),
)  # fmt: skip

WRONG = (
    wrong("every second block does the work of two",
          ("for (int b = blockIdx.x; b < B; b += gridDim.x) {",
           "if (blockIdx.x % 2) return;\n    for (int turn = 0;; ++turn) {\n"
           "        const int block = blockIdx.x + turn % 2;\n"
           "        const int b = turn / 2 * gridDim.x + block;\n"
           "        if (turn / 2 * gridDim.x + blockIdx.x >= B) break;\n"
           "        if (b >= B || block >= gridDim.x) continue;"),
          status="budget"),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("plain halves",
          ("multiply(sum[row][shift], a[0], lo[low], lo[high]);", "")),
)  # fmt: skip
