"""Answers to one_ldmatrix, right and wrong."""

from tests.exercises.answers import right, wrong

ROW_OF_A, ROW_OF_B = "&a_rows[lane % 16][lane / 16];", "&b_rows[lane % 16];"
COPY = "a_rows[lane / 2][lane % 2] = reinterpret_cast<const Eight*>(A)[lane];"

RIGHT = (
    right("ours"),
    right("a pitch without conflicts", ("-DPITCH=2", "-DPITCH=3")),
    right(
        "rows by squares, a barrier of the block",
        (ROW_OF_A, "&a_rows[lane % 8 + lane / 8 % 2 * 8][lane >> 4];"),
        (ROW_OF_B, "b_rows + (lane & 15);"),
        ("__syncwarp();   //", "__syncthreads();   //"),
    ),
)

WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong(
        "halves one at a time",
        (
            COPY,
            "for (int k = lane; k < 256; k += 32) {\n"
            "        reinterpret_cast<__half*>(&a_rows[k / 16][k / 8 % 2])[k % 8] = A[k];\n    }",
        ),
        status="budget",
    ),
    wrong(
        "the lanes that march together",
        ("    __syncwarp();   //", "    __syncwarp(__activemask());   //"),
    ),
    wrong(
        "fragments cell by cell, beside two idle ldmatrix",
        (
            "    float d[4];\n",
            "    const unsigned* pairs = reinterpret_cast<const unsigned*>(a_rows);\n"
            "    const unsigned short* cells = reinterpret_cast<const unsigned short*>(b_rows);\n"
            "    const int group = lane / 4, two = lane % 4 * 2;\n"
            "    for (int r = 0; r < 4; ++r)\n"
            "        a[r] = pairs[4 * PITCH * (group + r % 2 * 8) + lane % 4 + r / 2 * 4];\n"
            "    for (int r = 0; r < 2; ++r)\n"
            "        b[r] = cells[8 * (two + 8 * r) + group]\n"
            "             | (unsigned)cells[8 * (two + 8 * r + 1) + group] << 16;\n"
            "    float d[4];\n",
        ),
        status="budget",
    ),
)
