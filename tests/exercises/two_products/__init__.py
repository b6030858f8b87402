"""Answers to two_products, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("a loop over two steps"),
    right("two instructions written out", file="right_written_out.cu"),
    right("fragments by ldmatrix", file="right_ldmatrix.cu"),
)


WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong(
        "lane 0 alone stores",
        (
            "    D[8 * group + two] = d[0];",
            "    if (threadIdx.x) return;\n    D[8 * group + two] = d[0];",
        ),
    ),
    wrong("no tensor cores", file="wrong_no_tensor.cu", status="budget"),
    wrong("no tensor cores, and two idle mma", file="wrong_idle.cu", status="budget"),
    wrong("products of doubles, and two idle mma", file="wrong_doubles.cu", status="budget"),
    wrong(
        "A one half at a time",
        (
            "        Pair a[4];",
            "        Pair a[4];\n        Pair c[4];\n"
            "        for (int r = 0; r < 4; ++r) {\n"
            "            const volatile unsigned short* cell = reinterpret_cast<const volatile "
            "unsigned short*>(A + 32 * (group + r % 2 * 8) + inner + r / 2 * 8);\n"
            "            c[r] = cell[0];\n            c[r] |= (unsigned)cell[1] << 16;\n    "
            "    }",
        ),
        (
            '"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])',
            '"r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3])',
        ),
        status="budget",
    ),
)
