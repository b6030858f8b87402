"""The mistakes of axpy_two."""

from helpers.exercises.content.axpy_basic.mutants import LAST_LEFT_OUT, WRONG_SUMS
from helpers.exercises.content.conv1d_basic.mutants import OTHER_BLOCKS
from helpers.exercises.kit import mutant

GUARD = "The guard must stop each thread at n, the argument: i < n."

MUTANTS = (
    mutant(LAST_LEFT_OUT, ("i < n", "i < n - 1")),
    mutant(
        "Half of the elements keep their old value: with half the blocks, each thread must also "
        "compute a second element.",
        ("k < 2", "k < 1"),
        ("2 * blockIdx.x", "blockIdx.x"),
    ),
    mutant(
        OTHER_BLOCKS,
        ("2 * blockIdx.x * blockDim.x", "2 * blockIdx.x * 256"),
        ("k * blockDim.x", "k * 256"),
    ),
    mutant(GUARD, ("i < n", "true")),
    mutant(
        "Two threads write the same element: is each element the first or the second of one thread "
        "only?",
        ("k * blockDim.x", "k"),
    ),
    *WRONG_SUMS,
)
