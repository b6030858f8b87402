"""The mistakes of sum_table."""

from helpers.exercises.content.puzzles.flip_rows.mutants import AXES_EXCHANGED
from helpers.exercises.kit import mutant

SUM = "column[y] + row[x];"

MUTANTS = (
    AXES_EXCHANGED,
    mutant(
        "The rows have no gaps between them: the stride from one row to the next is `pitch`, not "
        "`width`.",
        ("y * pitch", "y * width"),
    ),
    mutant(
        "The padding is written, too: in each row the cells from column `width` on must stay as "
        "they are.",
        ("x < width", "x < pitch"),
        ("row[x];", "(x < width ? row[x] : 0.0f);"),
    ),
    mutant(
        "`column` has a number for each row, column[y]; `row` has one for each column, row[x].",
        (SUM, "column[x] + row[y];"),
    ),
    mutant(
        "`row` has a number for each of the `width` columns: threads beyond the last one are not "
        "stopped.",
        ("x < width && ", ""),
    ),
    mutant(
        "Two guards are needed: threads below the last row are not stopped.",
        (" && y < height", ""),
    ),
    mutant(
        "The first column is all that is right: row[x] belongs to column x, not row[0].",
        (SUM, "column[y] + row[0];"),
    ),
    mutant(
        "The first row is all that is right: column[y] belongs to row y, not column[0].",
        (SUM, "column[0] + row[x];"),
    ),
    mutant("The numbers are multiplied, and must be added.", (SUM, "column[y] * row[x];")),
)
