"""The mistakes of my_entry."""

from helpers.exercises.content.rung.mutants import AFTER_SUMS, BEFORE_SUMS, LAST_GROUP, LAST_TILE
from helpers.exercises.kit import mutant

MUTANTS = (
    mutant(
        "Channels 0 to 3 alone are added up, as many as LeNet's layers have: their number is the "
        "argument C.",
        ("c < C;", "c < C && c < 4;"),
    ),
    mutant(BEFORE_SUMS, ("        __syncthreads();   // other threads' cells are read next\n", "")),
    mutant(AFTER_SUMS, ("        __syncthreads();   // not before all have read\n", "")),
    mutant(LAST_GROUP, ("m + i % 4 < M ? filter", "C > 0 ? filter")),
    mutant(LAST_GROUP, ("if (m + j < M && ", "if (")),
    mutant(LAST_TILE, ("top + r < H && left + s < W ? plane", "C > 0 ? plane")),
    mutant(
        "The map of outputs ends before this one: the last tile needs a guard, right and below.",
        ("top + ty < out_h && w < out_w", "C > 0"),
    ),
)
