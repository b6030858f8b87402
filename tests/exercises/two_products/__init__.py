"""Answers to two_products, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("a loop over two steps"),
    right("two instructions written out", "right_written_out.cu"),
    right("fragments by ldmatrix", "right_ldmatrix.cu"),
)


WRONG = (
    wrong(
        "b[0] and b[1] exchanged",
        "b[0] and b[1] are exchanged",
        ("b[0] = ", "b[2 - 1] = "),
        ("b[1] = ", "b[0] = "),
    ),
    wrong(
        "the second step's rows of B first",
        "rows 16 to 31 of B, and the second one",
        (
            "pair(B[8 * inner + group], B[8 * (inner + 1) + group])",
            "pair(B[8 * (inner ^ 16) + group], B[8 * (inner ^ 16) + 8 + group])",
        ),
        (
            "pair(B[8 * (inner + 8) + group], B[8 * (inner + 9) + group])",
            "pair(B[8 * (inner ^ 16) + 64 + group], B[8 * (inner ^ 16) + 72 + group])",
        ),
    ),
    wrong(
        "a step every 4 columns of A and rows of B",
        "column k of A times row k of B",
        ("16 * step + two;", "2 * step + 2 * two;"),
    ),
    wrong("the stub", "nothing is written", file="stub.cu", status="not_begun"),
    wrong(
        "the sums begin at zero again",
        "last 16 terms alone",
        ("{%8, %9}, {%0, %1, %2, %3};", "{%8, %9}, {%10, %10, %10, %10};"),
        ('"r"(b[1]));', '"r"(b[1]), "f"(0.0f));'),
    ),
    wrong("one step", "where is the second mma", ("step < 2", "step < 1")),
    wrong(
        "columns 8 to 23",
        "begins at column 16",
        ("A + 32 * group + inner);", "A + 32 * group + inner - 8 * step);"),
        ("A + 32 * (group + 8) + inner);", "A + 32 * (group + 8) + inner - 8 * step);"),
        ("A + 32 * group + inner + 8);", "A + 32 * group + inner + 8 - 8 * step);"),
        ("A + 32 * (group + 8) + inner + 8);", "A + 32 * (group + 8) + inner + 8 - 8 * step);"),
    ),
    wrong(
        "the first rows of B twice",
        "first 16 rows of B again",
        (
            "pair(B[8 * inner + group], B[8 * (inner + 1) + group])",
            "pair(B[8 * two + group], B[8 * (two + 1) + group])",
        ),
        (
            "pair(B[8 * (inner + 8) + group], B[8 * (inner + 9) + group])",
            "pair(B[8 * (two + 8) + group], B[8 * (two + 9) + group])",
        ),
    ),
    wrong(
        "rows of 16",
        "32 halves here",
        ("A + 32 * group + inner);", "A + 16 * group + inner);"),
        ("A + 32 * (group + 8) + inner);", "A + 16 * (group + 8) + inner);"),
        ("A + 32 * group + inner + 8);", "A + 16 * group + inner + 8);"),
        ("A + 32 * (group + 8) + inner + 8);", "A + 16 * (group + 8) + inner + 8);"),
    ),
    wrong(
        "two registers of A exchanged",
        "a[1] and a[2] are exchanged",
        ("a[1] = *", "a[9] = *"),
        ("a[2] = *", "a[1] = *"),
        ("a[9] = *", "a[2] = *"),
    ),
    wrong(
        "pairs of B the wrong way round",
        "lower 16 bits",
        ("__half_as_ushort(first) |", "__half_as_ushort(second) |"),
        ("(unsigned)__half_as_ushort(second) << 16", "(unsigned)__half_as_ushort(first) << 16"),
    ),
    wrong(
        "group and place exchanged",
        "which rows and columns",
        ("group = threadIdx.x / 4", "group = threadIdx.x % 32"),
        ("two = threadIdx.x % 4 * 2", "two = threadIdx.x / 8 * 2"),
        status="finding",
    ),
    wrong(
        "lane 0 alone stores",
        "never written",
        (
            "    D[8 * group + two] = d[0];",
            "    if (threadIdx.x) return;\n    D[8 * group + two] = d[0];",
        ),
    ),
    wrong("no tensor cores", "tensor cores", file="wrong_no_tensor.cu", status="budget"),
    wrong(
        "no tensor cores, and two idle mma",
        "tensor cores should make",
        file="wrong_idle.cu",
        status="budget",
    ),
    wrong(
        "products of doubles, and two idle mma",
        "tensor cores should make",
        file="wrong_doubles.cu",
        status="budget",
    ),
    wrong(
        "A one half at a time",
        "one load of 4 bytes",
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
