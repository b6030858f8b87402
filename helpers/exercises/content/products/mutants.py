"""The mistakes of both exercises of the ladder of products."""

from __future__ import annotations

from helpers.exercises.judge.mutants import Edit, Mutant
from helpers.exercises.kit import mutant

STEPS = "first < inner; first"


def of_steps(products: Edit, sums: Edit, a: Edit, x: Edit) -> tuple[Mutant, ...]:
    """Return the mistakes of a sum over steps. products: what leaves them out; sums: what begins
    them anew; a, x: what takes the cell of step 0.
    """
    return (
        mutant("All sums are 0: add up the products of the staged cells.", products),
        mutant(
            "Only the first step along inner is multiplied: the sums continue from step to step.",
            (STEPS, STEPS.replace("inner", "1")),
        ),
        mutant(
            "A sum has only its first terms: the loop over the steps runs to `inner`.",
            (STEPS, STEPS.replace("inner", "32")),
        ),
        mutant(
            "Only the last term of each sum is there: add to the sum, do not replace it.", sums
        ),
        mutant("Every step takes the cell of X of step 0: step i needs row i of tile_x.", x),
        mutant("Every step takes the cell of A of step 0: step i needs column i of tile_a.", a),
        mutant(
            "The last of the DEPTH steps is missing: i goes from 0 to DEPTH - 1.",
            ("i < DEPTH; ++i", "i < DEPTH - 1; ++i"),
        ),
    )
