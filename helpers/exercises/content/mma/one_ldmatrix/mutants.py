"""The mistakes of one_ldmatrix."""

from helpers.exercises.content.mma.mutants import REGISTERS
from helpers.exercises.kit import mutant

COPY_A = "    a_rows[lane / 2][lane % 2] = reinterpret_cast<const Eight*>(A)[lane];\n"
COPY_B = "        b_rows[lane] = reinterpret_cast<const Eight*>(B)[lane];\n"
WAIT = "    __syncwarp();   // ldmatrix reads what other lanes have stored\n"
ROW_OF_A, ROW_OF_B = "&a_rows[lane % 16][lane / 16]", "&b_rows[lane % 16]"

NOT_COPIED = (
    "ldmatrix reads a row that no lane has copied: A has 32 eights, one for each lane, and B has "
    "16."
)

MUTANTS = (
    mutant(
        NOT_COPIED,
        (COPY_A, ""),
        (COPY_B, ""),
        (WAIT, ""),
        (ROW_OF_A, "&a_rows[0][0]"),
        (ROW_OF_B, "&b_rows[0]"),
    ),  # the stub
    mutant(NOT_COPIED, (COPY_A, f"    if (lane < 16) {COPY_A}")),
    mutant(NOT_COPIED, ("    if (lane < 16) {", "    if (lane < 8) {")),
    mutant(
        "ldmatrix reads what other lanes have copied: __syncwarp() must be between the copies "
        "and the first ldmatrix.",
        (WAIT, ""),
    ),
    mutant(
        "Each lane names the eight that it has copied. Lanes 0 to 7 must name the rows 0 to 7 of "
        "the upper left square, lanes 8 to 15 those of the square below.",
        (ROW_OF_A, "&a_rows[lane / 2][lane % 2]"),
    ),
    mutant(
        "All lanes from 16 on name the left half of A again: squares 2 and 3 are on the right.",
        (ROW_OF_A, "&a_rows[lane % 16][0]"),
    ),
    mutant(
        "The lower squares of A are copies of the upper ones: lanes 8 to 15, and 24 to 31, name "
        "rows 8 to 15.",
        (ROW_OF_A, "&a_rows[lane % 8][lane / 16]"),
    ),
    mutant(
        "The second square of B is a copy of the first: lanes 8 to 15 name rows 8 to 15.",
        (ROW_OF_B, "&b_rows[lane % 8]"),
    ),
    mutant(
        "All lanes name the first row of A and of B: each of 8 lanes names its own row of a "
        "square.",
        (ROW_OF_A, "&a_rows[0][0]"),
        (ROW_OF_B, "&b_rows[0]"),
    ),
    mutant(
        "B comes with rows and columns of each square exchanged: a register of B has two "
        "neighbours of one column, and memory has the cells of one row side by side.",
        (".x2.trans.", ".x2."),
    ),
    mutant(
        "a_rows has 16 rows of two eights: the eight of lane 17, for example, is row 8, part 1 of "
        "A.",
        (COPY_A, COPY_A.replace("[lane / 2][lane % 2]", "[lane][0]")),
    ),
    mutant(
        "a_rows has 16 rows of two eights: lanes 16 to 31 name those on the right.",
        (ROW_OF_A, "&a_rows[lane][0]"),
    ),
    mutant("B has 16 eights, for lanes 0 to 15.", ("    if (lane < 16) {", "    {")),
    *REGISTERS,
)
