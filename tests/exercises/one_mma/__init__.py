"""Answers to one_mma, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

GROUP, TWO = "group = lane / 4;", "two = lane % 4 * 2;"
A1, A2 = "A + 16 * (group + 8) + two);", "A + 16 * group + two + 8);"
B0 = "pair(B[8 * two + group], B[8 * (two + 1) + group])"
B1 = "pair(B[8 * (two + 8) + group], B[8 * (two + 9) + group])"

RIGHT = (
    right("ours"),
    right("pointers to the lane's rows and columns", "right_pointers.cu"),
    right("terms in another order, A by two requests", "right_renamed.cu"),
    right(
        "bits for divisions",
        "solution.cu",
        (GROUP, "group = lane >> 2;"),
        (TWO, "two = 2 * (lane & 3);"),
    ),
)

WRONG = (
    wrong(
        "an mma of ones that lets products of integers pass",
        "need fewer products of integers",
        file="wrong_gate.cu",
        status="budget",
    ),
    wrong(
        "an idle mma, and products of integers",
        "tensor cores should make all",
        file="wrong_integers.cu",
        status="budget",
    ),
    wrong(
        "the pair in b[1] the wrong way round",
        "two halves of b[1]",
        (
            "pair(B[8 * (two + 8) + group], B[8 * (two + 9) + group])",
            "pair(B[8 * (two + 9) + group], B[8 * (two + 8) + group])",
        ),
    ),
    wrong(
        "a[3] is a[2] again",
        "8 rows below those",
        ("16 * (group + 8) + two + 8", "16 * group + two + 8"),
    ),
    wrong("the stub", "gap 2", file="stub.cu", status="not_begun"),
    wrong(
        "two registers of A exchanged",
        "a[1] and a[2] are exchanged",
        (A1, "A2);"),
        (A2, A1),
        ("A2);", A2),
    ),
    wrong(
        "groups of every eighth lane",
        "four lanes side by side",
        (GROUP, "group = lane % 8;"),
        (TWO, "two = lane / 8 * 2;"),
    ),
    wrong("one column for a place", "even column", (TWO, "two = lane % 4;"), status="finding"),
    wrong(
        "group by 8 lanes",
        "which rows and columns",
        (TWO, "two = lane / 4 * 2;"),
        (GROUP, "group = lane;"),
        status="finding",
    ),
    wrong(
        "pairs of B the wrong way round",
        "lower 16 bits",
        (B0, "pair(B[8 * (two + 1) + group], B[8 * two + group])"),
        (B1, "pair(B[8 * (two + 9) + group], B[8 * (two + 8) + group])"),
    ),
    wrong(
        "B by rows",
        "of one column",
        (B0, "pair(B[8 * group + two], B[8 * group + two + 1])"),
        (B1, "pair(B[8 * (group + 8) + two], B[8 * (group + 8) + two + 1])"),
    ),
    wrong(
        "a[2] begins too far left",
        "a[2] begins 8 columns beside a[0]",
        (A2, "A + 16 * group + two + 4);"),
    ),
    wrong(
        "b[0] and b[1] exchanged",
        "b[0] and b[1] are exchanged",
        ("b[0] = ", "b[7] = "),
        ("b[1] = ", "b[0] = "),
        ("b[7] = ", "b[1] = "),
    ),
    wrong(
        "the halves of D exchanged",
        "upper and the lower half of D",
        ("two] = d[0];", "two] = d[9];"),
        ("two] = d[2];", "two] = d[0];"),
        ("two] = d[9];", "two] = d[2];"),
        ("1] = d[1];", "1] = d[9];"),
        ("1] = d[3];", "1] = d[1];"),
        ("1] = d[9];", "1] = d[3];"),
    ),
    wrong(
        "d[1] below d[0]",
        "d[1] and d[2] are exchanged",
        ("= d[1];", "= d[9];"),
        ("= d[2];", "= d[1];"),
        ("= d[9];", "= d[2];"),
    ),
    wrong(
        "columns of D exchanged",
        "neighbouring columns of D",
        ("two] = d[0];", "two] = d[9];"),
        ("group + two + 1] = d[1];", "group + two + 1] = d[0];"),
        ("two] = d[9];", "two] = d[1];"),
        ("8) + two] = d[2];", "8) + two] = d[9];"),
        ("8) + two + 1] = d[3];", "8) + two + 1] = d[2];"),
        ("= d[9];", "= d[3];"),
    ),
    wrong(
        "rows of 8 halves",
        "16 halves, not 8",
        ("A + 16 * group + two);", "A + 8 * group + two);"),
        (A1, "A + 8 * (group + 8) + two);"),
        (A2, "A + 8 * group + two + 8);"),
        ("A + 16 * (group + 8) + two + 8);", "A + 8 * (group + 8) + two + 8);"),
    ),
    wrong(
        "registers that nobody loads",
        "never set",
        ("    b[1] = " + B1 + ";\n", ""),
        status="finding",
    ),
    wrong(
        "both rows of D in one",
        "eight rows below",
        ("D[8 * (group + 8) + two] = d[2];", "D[8 * (group + 1) + two] = d[2];"),
        status="finding",
    ),
)
