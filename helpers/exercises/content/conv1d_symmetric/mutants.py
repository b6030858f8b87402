"""The mistakes of conv1d_symmetric."""

from helpers.exercises.content.conv1d_basic.mutants import OWN_WEIGHTS
from helpers.exercises.kit import mutant

MIDDLE = "N[i] * filter[RADIUS]"
LEFT, RIGHT = "left >= 0 ? N[left] : 0.0f", "right < n ? N[right] : 0.0f"
OWN_TEST = "Cells outside N count as 0: each of the two cells needs its own test."

MUTANTS = (
    mutant(
        "The middle weight is counted twice: it has one cell, all others have two.",
        (MIDDLE, f"2 * {MIDDLE}"),
    ),
    mutant(
        "At the ends, a cell whose partner is a ghost still counts: test each of the two by "
        "itself.",
        (LEFT, "left >= 0 && right < n ? N[left] : 0.0f"),
        (RIGHT, "left >= 0 && right < n ? N[right] : 0.0f"),
    ),
    mutant(
        "The middle weight is counted three times: the loop goes over the pairs alone, j < RADIUS.",
        ("j < RADIUS;", "j <= RADIUS;"),
    ),
    mutant(
        "Of each pair the right cell is subtracted: both cells have the same weight.",
        ("0.0f) + (right", "0.0f) - (right"),
    ),
    mutant(
        "N[0] is left out of the outputs beside it: it is a cell, not a ghost.",
        ("left >= 0", "left > 0"),
    ),
    mutant(
        "N[n - 1] is left out of the outputs beside it: it is a cell, not a ghost.",
        ("right < n", "right < n - 1"),
    ),
    mutant(
        "The middle cell has the first weight: its own is filter[RADIUS].",
        ("filter[RADIUS]", "filter[0]"),
    ),
    mutant("The middle weight is left out.", (MIDDLE, "0")),
    mutant("Only the left cell of each pair is added.", (f" + ({RIGHT})", "")),
    mutant("Only the right cell of each pair is added.", (f"({LEFT}) + ", "")),
    mutant(
        "The pairs have each other's weights: filter[0] belongs to the cells RADIUS away.",
        ("pair * filter[j]", "pair * filter[RADIUS - 1 - j]"),
    ),
    mutant(
        "Each pair has the next pair's weight: filter[j] belongs to the cells RADIUS - j away.",
        ("pair * filter[j]", "pair * filter[j + 1]"),
    ),
    mutant(
        "It is right with 5 weights only: use FILTER_WIDTH and RADIUS for their number.",
        ("(FILTER_WIDTH / 2)", "2"),
    ),
    mutant(
        OWN_WEIGHTS,
        ("filter[RADIUS]", "6.0f"),
        ("pair * filter[j]", "pair * (j == 0 ? 1.0f : 4.0f)"),
    ),
    mutant(
        OWN_WEIGHTS,
        (
            f"float sum = {MIDDLE}",
            "const float w[FILTER_WIDTH] = {1, 4, 6, 4, 1}; float sum = N[i] * w[RADIUS]",
        ),
        (LEFT, "left >= 0 ? N[left] * w[j] : 0.0f"),
        (RIGHT, "right < n ? N[right] * w[FILTER_WIDTH - 1 - j] : 0.0f"),
        ("pair * filter[j]", "pair"),
    ),
    mutant(OWN_TEST, (LEFT, "N[left]")),
    mutant(OWN_TEST, (RIGHT, "N[right]")),
)
