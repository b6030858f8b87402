"""The mistakes of conv1d_constant_divergent."""

from helpers.exercises.kit import mutant

TAP = "(threadIdx.x + j) % FILTER_WIDTH"
TWICE = (
    "Some weights are taken twice and others never: a thread takes FILTER_WIDTH different ones, "
    "and starts again at 0 after the last one."
)

MUTANTS = (
    mutant("All threads take weight 0 in each step: replace the line.", (TAP, "0")),
    mutant(
        "Each thread takes the same weight in all steps: it must also depend on j.",
        (TAP, "threadIdx.x % FILTER_WIDTH"),
    ),
    mutant(
        "The filter is flipped: weight `tap` belongs to cell i - RADIUS + tap.",
        ("filter[tap]", "filter[FILTER_WIDTH - 1 - tap]"),
    ),
    mutant(
        "It is right with 7 weights only: their number is FILTER_WIDTH.",
        (TAP, "(threadIdx.x + j) % 7"),
    ),
    mutant(TWICE, (TAP, "(threadIdx.x + j) % (FILTER_WIDTH - 1)")),
    mutant(TWICE, (TAP, "(threadIdx.x * j) % FILTER_WIDTH")),
    mutant(TWICE, (TAP, "min(threadIdx.x + j, FILTER_WIDTH - 1)")),
    mutant(
        "Weights have numbers from 0 to FILTER_WIDTH - 1. Which C++ operator starts again at 0? % "
        "gives the remainder of a division.",
        (TAP, "threadIdx.x + j"),
    ),
)
