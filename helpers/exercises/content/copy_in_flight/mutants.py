"""The mistakes of copy_in_flight."""

from helpers.exercises.judge.mutants import Edit
from helpers.exercises.kit import mutant

LOAD = "value[k] = i < n ? in[i] : 0.0f;"
STORE_BACKWARDS = ("out[i] = value[k]", "out[i] = value[LOADS - 1 - k]")
WRONG_PLACES = (
    "The right values are in wrong places: store value[k] to the cell from which it was loaded, "
    "first + k * THREADS."
)


def loops(cell: str, end: str = "LOADS") -> tuple[Edit, Edit]:
    """Return the edits that give the loads and the stores another cell, or another end."""

    def head(cell: str, end: str, line: str) -> str:
        return f"k < {end}; ++k) {{\n            const int i = {cell};\n            {line}"

    loads, stores = (
        (head("first + k * THREADS", "LOADS", line), head(cell, end, line))
        for line in ("value[k]", "if (i < n)")
    )
    return loads, stores


MUTANTS = (
    mutant(
        "Only the first cell of each thread is copied: store value[k] for each k.",
        (LOAD, "value[k] = k == 0 ? in[i] : 0.0f;"),
    ),
    mutant(
        "All threads copy the same cells, 0, THREADS, 2 * THREADS ...: those of a thread begin "
        "with its `first`.",
        *loops("k * THREADS"),
    ),
    mutant(
        "Only the cells of the first round are copied: those of a thread begin with `first`, which "
        "grows by `round`.",
        *loops("start + k * THREADS"),
    ),
    mutant(
        "Only the first cell of each thread is copied: cell k lies k * THREADS after `first`.",
        *loops("first + k * round"),
    ),
    mutant(
        "The last cell of each thread is not copied: k goes from 0 to LOADS - 1.",
        *loops("first + k * THREADS", "LOADS - 1"),
    ),
    mutant(
        "The cells of a thread lie side by side in yours: cell k is first + k * THREADS, and not "
        "first + k.",
        *loops("first + k"),
    ),
    mutant(
        "A thread stores the last cell that it loads to all its places: is there one value for all "
        "loads? Each needs its own register, value[k].",
        ("float value[LOADS];", "float value = 0.0f;"),
        (LOAD, "value = i < n ? in[i] : 0.0f;"),
        ("out[i] = value[k]", "out[i] = value"),
    ),
    mutant(
        "It is right with blocks of 64 threads only: a thread's cells lie THREADS apart.",
        *loops("first + k * 64"),
    ),
    mutant(
        "Zeros are stored: does each load put its cell into value[k]?", (LOAD, "value[k] = 0.0f;")
    ),
    mutant(WRONG_PLACES, STORE_BACKWARDS),
    mutant(WRONG_PLACES, STORE_BACKWARDS, (LOAD, "value[k] = in[i < n ? i : first];")),
    mutant(
        "value has LOADS places, and LOADS is not always 4: let the loops end there.",
        *loops("first + k * THREADS", "4"),
    ),
    mutant(
        "The last round goes past the end: load only if i < n, and put 0 into the register "
        "otherwise.",
        (LOAD, "value[k] = in[i];"),
    ),
    mutant(
        "The last round goes past the end: store only if i < n.", ("if (i < n) out[i]", "out[i]")
    ),
    mutant(
        "Two threads store to the same cell: the cells of one thread lie THREADS apart, "
        "first + k * THREADS.",
        loops("first + k")[1],
    ),
)
