"""The mistakes of axpy_basic."""

from helpers.exercises.content.conv1d_basic.mutants import OTHER_BLOCKS
from helpers.exercises.kit import mutant

NUMBER = "blockIdx.x * blockDim.x + threadIdx.x"
ELEMENT = "a * x[i] + y[i]"

SAME_NUMBER = (
    "Several threads have the same i, because threadIdx.x begins at 0 in each block. The index "
    "also needs the number of the block, and how many threads a block has: in blocks of 256 "
    "threads, thread 0 of block 1 has element 256."
)
NO_ELEMENT = (
    "Some threads have no element, and read past the end of x. The guard must stop them: an "
    "element exists if i < n."
)
LAST_LEFT_OUT = "The last element is left out: i < n is right, i < n - 1 is not."

# The other exercise of axpy has the same line.
WRONG_SUMS = (
    mutant("y[i] is subtracted: an element is a * x[i] + y[i].", (ELEMENT, "a * x[i] - y[i]")),
    mutant(
        "y[i] is multiplied by a, too: only x[i] is. An element is a * x[i] + y[i].",
        (ELEMENT, "a * (x[i] + y[i])"),
    ),
    mutant("The elements are a * x[i]: y[i] is not added.", (ELEMENT, "a * x[i]")),
    mutant(
        "y[i] is added twice: y[i] = a * x[i] + y[i] already adds it, so write = and not +=.",
        (f"y[i] = {ELEMENT}", f"y[i] += {ELEMENT}"),
    ),
    mutant("x and y are exchanged: an element is a * x[i] + y[i].", (ELEMENT, "a * y[i] + x[i]")),
    mutant(
        "The factor is a constant in the kernel: use the argument a.", ("a * x[i]", "2.0f * x[i]")
    ),
)

MUTANTS = (
    mutant(SAME_NUMBER, (NUMBER, "threadIdx.x"), ("i < n", "true")),  # the stub
    mutant(SAME_NUMBER, (NUMBER, "threadIdx.x")),
    mutant(
        "Block and thread are exchanged: block blockIdx.x begins at element blockIdx.x * "
        "blockDim.x, and threadIdx.x counts on from there.",
        (NUMBER, "threadIdx.x * blockDim.x + blockIdx.x"),
    ),
    mutant(OTHER_BLOCKS, ("* blockDim.x", "* 256")),
    mutant(LAST_LEFT_OUT, ("i < n", "i < n - 1")),
    mutant(NO_ELEMENT, ("i < n", "true")),
    *WRONG_SUMS,
)
