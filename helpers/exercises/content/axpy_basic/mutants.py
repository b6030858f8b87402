"""The mistakes of axpy_basic."""

from helpers.exercises.content.conv1d_basic.mutants import OTHER_BLOCKS
from helpers.exercises.kit import mutant

NUMBER = "blockIdx.x * blockDim.x + threadIdx.x"
ELEMENT = "a * x[i] + y[i]"

SAME_NUMBER = (
    "Several threads have the same i, because threadIdx.x begins at 0 in each block. Gap 1 needs "
    "the number of the block, too, and how many threads a block has: thread 0 of block 1 has "
    "element 256 if blocks have 256 threads."
)
NO_ELEMENT = (
    "Some thread has no element, and reads behind the end of x. Gap 2 must stop it: an element "
    "exists where i < n."
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
        "y[i] is added twice: y[i] = a * x[i] + y[i] adds it already, so write = in place of +=.",
        (f"y[i] = {ELEMENT}", f"y[i] += {ELEMENT}"),
    ),
    mutant("x and y are exchanged: an element is a * x[i] + y[i].", (ELEMENT, "a * y[i] + x[i]")),
    mutant(
        "A factor is written into the kernel: keep the argument a.", ("a * x[i]", "2.0f * x[i]")
    ),
)

MUTANTS = (
    mutant(SAME_NUMBER, (NUMBER, "threadIdx.x"), ("i < n", "true")),  # the stub
    mutant(SAME_NUMBER, (NUMBER, "threadIdx.x")),
    mutant(
        "Block and thread are exchanged: block blockIdx.x begins at element blockIdx.x * "
        "blockDim.x, and its threads go on from there by threadIdx.x.",
        (NUMBER, "threadIdx.x * blockDim.x + blockIdx.x"),
    ),
    mutant(OTHER_BLOCKS, ("* blockDim.x", "* 256")),
    mutant(LAST_LEFT_OUT, ("i < n", "i < n - 1")),
    mutant(NO_ELEMENT, ("i < n", "true")),
    *WRONG_SUMS,
)
