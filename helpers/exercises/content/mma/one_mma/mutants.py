"""The mistakes of one_mma."""

from helpers.exercises.content.mma.mutants import LANES, REGISTERS
from helpers.exercises.kit import mutant

REGISTER_NAMES = "a[0]", "a[1]", "a[2]", "a[3]", "b[0]", "b[1]"
B0 = "pair(B[8 * two + group], B[8 * (two + 1) + group])"
B1 = "pair(B[8 * (two + 8) + group], B[8 * (two + 9) + group])"

NEVER_SET = "These registers were never set: gap 2 loads the lane's fragments of A and of B."

MUTANTS = (
    mutant(
        NEVER_SET, *((f"    {register} = ", "    // ") for register in REGISTER_NAMES)
    ),  # the stub
    mutant(NEVER_SET, (f"b[1] = {B1};", "")),
    mutant(
        "A row of A has 16 halves, not 8: cell A[row][column] is A[16 * row + column].",
        ("A + 16 * group + two);", "A + 8 * group + two);"),
        ("A + 16 * (group + 8) + two);", "A + 8 * (group + 8) + two);"),
        ("A + 16 * group + two + 8);", "A + 8 * group + two + 8);"),
        ("A + 16 * (group + 8) + two + 8);", "A + 8 * (group + 8) + two + 8);"),
    ),
    mutant(
        "B comes with rows and columns of each square exchanged: a register of B has two "
        "neighbours of one column, and memory has the cells of one row side by side.",
        (B0, "pair(B[8 * group + two], B[8 * group + two + 1])"),
        (B1, "pair(B[8 * (group + 8) + two], B[8 * (group + 8) + two + 1])"),
    ),
    mutant(
        "The cells of a[2] begin 8 columns beside those of a[0]. Yours begin 4 columns beside.",
        ("A + 16 * group + two + 8);", "A + 16 * group + two + 4);"),
    ),
    *REGISTERS,
    *LANES,
)
