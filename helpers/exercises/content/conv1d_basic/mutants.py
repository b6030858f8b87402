"""The mistakes of conv1d_basic."""

from helpers.exercises.kit import mutant

NUMBER = "blockIdx.x * blockDim.x + threadIdx.x"
TEST = "cell >= 0 && cell < n"

ONE_OUTPUT = "Only P[0] is written: all threads have the same i. That is gap 1."
NO_SUM = "Every output is 0: nothing is added to `sum` yet. That is gap 3."
ONE_BLOCK = (
    "Only the first block's outputs are written: i is a thread's number in its block. In the whole "
    "grid it is blockIdx.x * blockDim.x + threadIdx.x."
)
OWN_WEIGHTS = (
    "With one filter it is right, with another it is not: read the weights from `filter`, do not "
    "write them down."
)
LAST_LEFT_OUT = "The last output is left out: outputs exist up to P[n - 1]."
OTHER_BLOCKS = "It is right with blocks of 256 threads only: the width of a block is blockDim.x."

MUTANTS = (
    mutant(ONE_OUTPUT, (NUMBER, "0"), ("i < n", "true"), (TEST, "false")),  # the stub
    mutant(ONE_OUTPUT, (NUMBER, "0")),
    mutant(NO_SUM, (TEST, "false")),
    mutant(ONE_BLOCK, (NUMBER, "threadIdx.x")),
    mutant(ONE_BLOCK, (NUMBER, "threadIdx.x"), ("sum += N", "sum = N")),
    mutant(
        "Each of the three terms replaces the one before: += adds to a sum, = replaces it.",
        ("sum += N", "sum = N"),
    ),
    mutant(
        "Each output is only its own cell times filter[1]: the neighbours i - 1 and i + 1 are "
        "missing.",
        ("int j = 0; j < 3", "int j = 1; j < 2"),
    ),
    mutant(
        "Cells outside N repeat the edge cell. Here they count as 0.",
        ("i - 1 + j;", "min(max(i - 1 + j, 0), n - 1);"),
    ),
    mutant(
        "The array wraps around, like a ring. Here a ghost counts as 0.",
        ("i - 1 + j;", "(i - 1 + j + n) % n;"),
    ),
    mutant(
        "Only P[1] is wrong: it leaves out N[0], which is a cell, not a ghost. The left neighbour "
        "of output i exists from i = 1 on.",
        ("cell >= 0 &&", "(j > 0 || i > 1) &&"),
    ),
    mutant(
        "Only P[n - 2] is wrong: it leaves out N[n - 1], which is a cell, not a ghost. The right "
        "neighbour of output i exists up to i = n - 2.",
        ("cell < n", "(j < 2 || i < n - 2)"),
    ),
    mutant(
        "The filter is flipped: filter[0] belongs to the cell on the left, i - 1.",
        ("filter[j]", "filter[2 - j]"),
    ),
    mutant(OTHER_BLOCKS, ("blockDim.x", "256")),
    mutant(
        "filter[2] is never used: it is the weight of the right neighbour.",
        ("filter[j]", "filter[j % 2]"),
    ),
    mutant(
        "No sum has N[0], which is a cell, not a ghost: a cell exists if its number is 0 or more.",
        ("cell >= 0", "cell > 0"),
    ),
    mutant(
        "No sum has N[n - 1], which is a cell, not a ghost: a cell exists if its number is below "
        "n.",
        ("cell < n)", "cell < n - 1)"),
    ),
    mutant(
        "Every output has the cells i - 1, i - 2 and i - 3: filter[j] belongs to cell i - 1 + j.",
        ("i - 1 + j", "i - 1 - j"),
    ),
    mutant(
        "Every output has the cells i, i + 1 and i + 2: filter[j] belongs to cell i - 1 + j.",
        ("i - 1 + j", "i + j"),
    ),
    mutant(
        "The cells of another block count as ghosts. A ghost lies outside of N, and threads read "
        "all of N.",
        ("cell < n)", "cell < n && cell / (int)blockDim.x == (int)blockIdx.x)"),
    ),
    mutant(
        "The first output of each later block leaves out its left neighbour, which exists: test "
        "i, not threadIdx.x. Only cell -1 is a ghost.",
        ("cell >= 0 &&", "(j > 0 || threadIdx.x > 0) &&"),
    ),
    mutant(
        "The last output of each block leaves out its right neighbour, which exists: test i, not "
        "threadIdx.x. Only cell n is a ghost.",
        ("cell < n)", "cell < n && (j < 2 || threadIdx.x < blockDim.x - 1))"),
    ),
    mutant(
        "The first and the last output are left out, but they exist: the ghost beside them counts "
        "as 0.",
        ("if (i < n)", "if (i > 0 && i < n - 1)"),
    ),
    mutant(LAST_LEFT_OUT, ("if (i < n)", "if (i < n - 1)")),
    mutant(OWN_WEIGHTS, ("filter[j]", "(j == 0 ? 1.0f : j == 1 ? 2.0f : 4.0f)")),
    mutant(
        "P[i] += adds to what P held before, which nothing has set: add up in `sum`, and store it "
        "by P[i] = sum.",
        ("P[i] = sum", "P[i] += sum"),
    ),
    mutant(
        "That is the ghost on the left: test that the cell is not below 0 before you read it.",
        ("cell >= 0 && ", ""),
    ),
)
