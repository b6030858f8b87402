"""The mistakes of all products by one warp."""

from helpers.exercises.judge.mutants import Edit
from helpers.exercises.kit import mutant

EVEN = "% 4 * 2;"  # of a lane's first column

LOWER_BITS = "the upper row belongs in the lower 16 bits."


def exchanged(first: str, second: str) -> tuple[Edit, Edit, Edit]:
    """Return the edits that put two texts in each other's place."""
    return (first, "(the first)"), (second, first), ("(the first)", second)


def turned(register: str) -> Edit:
    """Return the edit that exchanges the two halves of a register, where mma takes it."""
    return f'"r"({register})', f'"r"(__byte_perm({register}, 0, 0x1032))'


# The registers that mma takes: of each answer that fills them.
REGISTERS = (
    mutant(
        "a[1] and a[2] are exchanged: a[1] is the square below a[0], a[2] the one beside it.",
        *exchanged('"r"(a[1])', '"r"(a[2])'),
    ),
    mutant(
        "b[0] and b[1] are exchanged: b[0] has rows 0 to 7 of B, b[1] rows 8 to 15.",
        *exchanged('"r"(b[0])', '"r"(b[1])'),
    ),
    mutant(
        f"The two halves of each pair of B are exchanged: {LOWER_BITS}",
        turned("b[0]"),
        turned("b[1]"),
    ),
)
# The groups and places of lanes, where their cells are loaded one by one, and where sums belong.
LANES = (
    mutant(f"The two halves of b[0] are exchanged: {LOWER_BITS} b[1] is right.", turned("b[0]")),
    mutant(f"The two halves of b[1] are exchanged: {LOWER_BITS} b[0] is right.", turned("b[1]")),
    mutant(
        "A group is four lanes side by side: lanes 0 to 3, 4 to 7 and so on. Yours are every "
        "eighth lane.",
        ("/ 4;", "% 8;"),
        (EVEN, "/ 8 * 2;"),
    ),
    *(
        mutant(
            "There are 8 groups, of four lanes each, and their places are 0 to 3: yours have "
            "larger numbers.",
            ("/ 4;", "% 32;"),
            (EVEN, two),
        )
        for two in (EVEN, "/ 4 * 2;", "/ 8 * 2;")
    ),
    mutant(
        "A pair is 4 bytes and begins at an even column: `two` is 0, 2, 4 or 6.", (EVEN, "% 4;")
    ),
    mutant(
        "a[1] is a copy of a[0], and a[3] one of a[2]: their cells of A are 8 rows below.",
        ('"r"(a[1])', '"r"(a[0])'),
        ('"r"(a[3])', '"r"(a[2])'),
    ),
    mutant(
        "a[3] is a copy of a[2]: its cells of A are 8 rows below those of a[2].",
        ('"r"(a[3])', '"r"(a[2])'),
    ),
    mutant(
        "a[3] is a copy of a[1]: its cells of A are 8 columns beside those of a[1].",
        ('"r"(a[3])', '"r"(a[1])'),
    ),
    mutant(
        "a[2] is a copy of a[0], and a[3] one of a[1]: their cells of A are 8 columns beside.",
        ('"r"(a[2])', '"r"(a[0])'),
        ('"r"(a[3])', '"r"(a[1])'),
    ),
    mutant(
        "b[1] is a copy of b[0]: its rows of B are 8 below those of b[0].",
        ('"r"(b[1])', '"r"(b[0])'),
    ),
    mutant(
        "The upper and the lower half of D are exchanged: d[0] and d[1] belong to row `group`, "
        "d[2] and d[3] to row group + 8.",
        *exchanged("= d[0];", "= d[2];"),
        *exchanged("= d[1];", "= d[3];"),
    ),
    mutant(
        "Neighbouring columns of D are exchanged: d[0] and d[2] belong to column `two`.",
        *exchanged("= d[0];", "= d[1];"),
        *exchanged("= d[2];", "= d[3];"),
    ),
    mutant(
        "d[1] and d[2] are exchanged: d[1] is beside d[0], d[2] is 8 rows below it.",
        *exchanged("= d[1];", "= d[2];"),
    ),
    mutant(
        "D comes with rows and columns of each square exchanged: the lane's sums are in row "
        "`group`, side by side in columns `two` and two + 1.",
        ("D[8 * group + two] =", "D[8 * two + group] ="),
        ("D[8 * group + two + 1] =", "D[8 * (two + 1) + group] ="),
        ("D[8 * (group + 8) + two] =", "D[8 * (two + 8) + group] ="),
        ("D[8 * (group + 8) + two + 1] =", "D[8 * (two + 9) + group] ="),
    ),
    mutant(
        "Two lanes store one number of D: each of the 128 belongs to one lane, d[0] and d[1] in "
        "row `group`, d[2] and d[3] eight rows below.",
        ("D[8 * (group + 8) + two] = d[2]", "D[8 * (group + 1) + two] = d[2]"),
    ),
)
