"""The mistakes of conv2d_constant."""

from helpers.exercises.kit import mutant

WEIGHT = "* filter[((m * C + c) * K + p) * K + q];"

MUTANTS = (
    mutant("All sums are 0: multiply each cell with a weight.", (WEIGHT, "* 0.0f * filter[0];")),
    mutant(
        "Every map and channel has the same K * K weights: m and c belong to the index, too.",
        (WEIGHT, "* filter[p * K + q];"),
    ),
)
