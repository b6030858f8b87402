"""The mistakes of conv1d_edge."""

from helpers.exercises.content.conv1d_basic.mutants import LAST_LEFT_OUT, OTHER_BLOCKS, OWN_WEIGHTS
from helpers.exercises.kit import mutant

CELL = "min(max(i - 1 + j, 0), n - 1)"
EXCHANGED = (
    "max(cell, 0) is never below 0, and min(cell, n - 1) is never above the last cell. Are the two "
    "exchanged, or is one of them off by one?"
)

MUTANTS = (
    mutant(
        "Cells outside N still count as 0: cell -1 must count as N[0], and cell n as N[n - 1].",
        (CELL, "i - 1 + j"),
        ("sum += N", "if (cell >= 0 && cell < n) sum += N"),
    ),
    mutant(
        "Only the right end is wrong: cell n still counts as 0, and must count as N[n - 1].",
        (CELL, "max(i - 1 + j, 0)"),
        ("sum += N", "if (cell < n) sum += N"),
    ),
    mutant(
        "Only the left end is wrong: cell -1 still counts as 0, and must count as N[0].",
        (CELL, "min(i - 1 + j, n - 1)"),
        ("sum += N", "if (cell >= 0) sum += N"),
    ),
    mutant(
        "At each end the second cell is repeated, N[1] and N[n - 2]: the edge cell itself is N[0] "
        "and N[n - 1].",
        (CELL, "n == 1 ? 0 : i - 1 + j < 0 ? 1 : i - 1 + j >= n ? n - 2 : i - 1 + j"),
    ),
    mutant(
        "Every output uses only one end of N: are min and max exchanged? max(cell, 0) is never "
        "below 0.",
        (CELL, "max(min(i - 1 + j, 0), n - 1)"),
    ),
    mutant(
        "Every output uses only one end of N: are min and max exchanged? min(cell, n - 1) is "
        "never above the last cell.",
        (CELL, "min(max(i - 1 + j, n - 1), 0)"),
    ),
    mutant(
        "The array wraps around, like a ring. Here the edge cell is repeated.",
        (CELL, "(i - 1 + j + n) % n"),
    ),
    mutant(
        "The filter is flipped: filter[j] belongs to cell i - 1 + j.",
        ("filter[j]", "filter[2 - j]"),
    ),
    mutant(OTHER_BLOCKS, ("blockDim.x", "256")),
    mutant(
        "At the left end cell -1 counts as N[n - 1], like a ring. It must count as N[0].",
        (CELL, "i + j == 0 ? n - 1 : min(i - 1 + j, n - 1)"),
    ),
    mutant("Cell 0 counts as cell 1: max(cell, 0) leaves it as it is.", ("j, 0)", "j, 1)")),
    mutant(
        "Cell n - 1 counts as cell n - 2: min(cell, n - 1) leaves it as it is.",
        ("n - 1)", "max(n - 2, 0))"),
    ),
    mutant(LAST_LEFT_OUT, ("if (i < n)", "if (i < n - 1)")),
    mutant(OWN_WEIGHTS, ("filter[j]", "(j == 0 ? 1.0f : j == 1 ? 2.0f : 4.0f)")),
    mutant(EXCHANGED, (CELL, "i - 1 + j")),
    mutant(EXCHANGED, (CELL, "max(i - 1 + j, 0)")),
)
