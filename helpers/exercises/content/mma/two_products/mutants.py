"""The mistakes of two_products."""

from helpers.exercises.content.mma.mutants import LANES, REGISTERS
from helpers.exercises.kit import mutant

B0 = "pair(B[8 * inner + group], B[8 * (inner + 1) + group])"
B1 = "pair(B[8 * (inner + 8) + group], B[8 * (inner + 9) + group])"
ROW_OF_B = "8 * (16 * step + group)"
A0, A1 = "A + 32 * group + inner);", "A + 32 * (group + 8) + inner);"
A2, A3 = "A + 32 * group + inner + 8);", "A + 32 * (group + 8) + inner + 8);"

MUTANTS = (
    mutant(
        "D holds the last 16 terms alone: the second mma must add to the sums of the first.",
        ("{%8, %9}, {%0, %1, %2, %3};", "{%8, %9}, {%10, %10, %10, %10};"),
        ('"r"(b[1]));', '"r"(b[1]), "f"(0.0f));'),
    ),
    mutant("D holds the first 16 terms alone: where is the second mma?", ("step < 2", "step < 1")),
    mutant(
        "Some columns of A are added twice, and others never: step s takes columns 16 * s to 16 * "
        "s + 15 of A, and as many rows of B.",
        ("16 * step + two;", "2 * step + 2 * two;"),
    ),
    mutant(
        "The second step reads columns 8 to 23 of A: it begins at column 16.",
        *((a, a.replace("inner", "inner - 8 * step")) for a in (A0, A1, A2, A3)),
    ),
    mutant(
        "The second step multiplies by the first 16 rows of B again.",
        (B0, B0.replace("inner", "two")),
        (B1, B1.replace("inner", "two")),
    ),
    mutant(
        "The second step multiplies the first 16 columns of A again.",
        *((a, a.replace("inner", "two")) for a in (A0, A1, A2, A3)),
    ),
    mutant(
        "The first step multiplies by rows 16 to 31 of B, and the second one by rows 0 to 15: step "
        "s takes columns 16 * s to 16 * s + 15 of A, and the rows of B of these numbers.",
        (B0, B0.replace("inner", "(inner ^ 16)")),
        (B1, B1.replace("inner", "(inner ^ 16)")),
    ),
    mutant(
        "A row of A has 32 halves here, not 16.",
        *((a, a.replace("32", "16")) for a in (A0, A1, A2, A3)),
    ),
    mutant(
        "B comes with rows and columns of each square exchanged: a register of B has two "
        "neighbours of one column, and memory has the cells of one row side by side.",
        (B0, f"pair(B[{ROW_OF_B} + two], B[{ROW_OF_B} + two + 1])"),
        (B1, f"pair(B[{ROW_OF_B} + 64 + two], B[{ROW_OF_B} + 65 + two])"),
    ),
    *REGISTERS,
    *LANES,
)
