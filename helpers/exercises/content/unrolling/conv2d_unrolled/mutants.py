"""The mistakes of conv2d_unrolled."""

from helpers.exercises.kit import mutant

PRODUCT = (  # what sum_in_y shares
    mutant("All sums are 0: add the product of each cell and its weight.", ("+= c", "+= 0.0f * c")),
    mutant(
        "The rows of cells lie W apart, not FILTER_WIDTH: that is the distance of two rows of "
        "weights.",
        ("cell[p * W", "cell[p * FILTER_WIDTH"),
    ),
    mutant(
        "The rows of weights lie FILTER_WIDTH apart, not W: that is the distance of two rows of "
        "cells.",
        ("tap[p * FILTER_WIDTH", "tap[p * W"),
    ),
)
MUTANTS = (
    *PRODUCT,
    mutant(
        "The filter has the rows 0 to FILTER_WIDTH - 1: p ends one row too late.",
        ("p < FILTER_WIDTH", "p <= FILTER_WIDTH"),
    ),
    mutant(
        "The filter has the columns 0 to FILTER_WIDTH - 1: q ends one column too late.",
        ("q < FILTER_WIDTH", "q <= FILTER_WIDTH"),
    ),
)
