"""The mistakes of gemm_patch."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.exercises.content.products.mutants import of_steps
from helpers.exercises.judge.mutants import Edit, Mutant
from helpers.exercises.kit import mutant

ROWS, COLUMNS = "tile_a[ty + p * ACROSS]", "tile_x[i][tx + p * ACROSS]"
PRODUCT = "a[r] * x[s]"
R_LOOP = "int r = 0; r < PATCH; ++r) {\n                #"
S_LOOP = "int s = 0; s < PATCH; ++s) {\n                    sum"


def rows(place: str) -> Edit:
    """Return the edit by which thread t reads other rows of A."""
    return ROWS, f"tile_a[{place.replace('t', 'ty')}]"


def columns(place: str) -> Edit:
    """Return the edit by which thread t reads other columns of X."""
    return COLUMNS, f"tile_x[i][{place.replace('t', 'tx')}]"


# What a thread t reads for p, and what is wrong with it.
PLACES = (
    ("t + p * PATCH", "lie PATCH apart in yours, and must lie ACROSS apart"),
    ("t + p", "are neighbours in yours, and must lie ACROSS apart"),
    ("p * ACROSS", "are the same for all threads in yours"),
    ("t", "are one and the same in yours"),
    ("(t * ACROSS + p) % TILE", "begin ACROSS apart in yours, thread by thread"),
)


def of_places() -> Iterator[Mutant]:
    """Yield the mistakes of PLACES in the rows of A, in the columns of X, and in both."""
    for place, words in PLACES:
        yield mutant(f"The 8 rows of A that a thread reads {words}.", rows(place))
        yield mutant(f"The 8 columns of X that a thread reads {words}.", columns(place))
        yield mutant(
            f"The 8 rows of A and the 8 columns of X that a thread reads {words}.",
            rows(place),
            columns(place),
        )


MUTANTS = (
    *of_steps(
        products=(PRODUCT, f"0 * {PRODUCT}"),
        sums=("sum[r][s] +=", "sum[r][s] ="),
        a=(f"{ROWS}[i]", f"{ROWS}[0]"),
        x=(COLUMNS, COLUMNS.replace("[i]", "[0]")),
    ),
    mutant(
        "Only sum[r][r] is right: multiply each of the 8 cells of A by each of the 8 of X.",
        ("sum[r][s] +=", "if (r == s) sum[r][s] +="),
    ),
    mutant(
        "sum[r][s] has the row of s and the column of r: a[r] belongs to the rows, x[s] to the "
        "columns.",
        (PRODUCT, "a[s] * x[r]"),
    ),
    mutant(
        "The rows are right, and are in other places: row r of a thread is ty + r * ACROSS, as "
        "the store has it.",
        rows("t * PATCH + p"),
    ),
    mutant(
        "The columns are right, and are in other places: column s of a thread is "
        "tx + s * ACROSS, as the store has it.",
        columns("t * PATCH + p"),
    ),
    mutant(
        "The outputs are right, and are in other places: a thread has rows ty + r * ACROSS and "
        "columns tx + s * ACROSS, as the store has them.",
        rows("t * PATCH + p"),
        columns("t * PATCH + p"),
    ),
    mutant("Every thread reads the first 8 rows of tile_a: yours depend on ty.", rows("p")),
    mutant("Every thread reads the first 8 columns of tile_x: yours depend on tx.", columns("p")),
    mutant(
        "tx and ty have changed places: tx counts columns, so it belongs to tile_x.",
        (ROWS, ROWS.replace("ty", "tx")),
        (COLUMNS, COLUMNS.replace("tx", "ty")),
    ),
    *of_places(),
    mutant(
        "tx stands in the place of ty, which counts the rows of tile_a.",
        (ROWS, ROWS.replace("ty", "tx")),
    ),
    mutant(
        "ty stands in the place of tx, which counts the columns of tile_x.",
        (COLUMNS, COLUMNS.replace("tx", "ty")),
    ),
    mutant(
        "sum[r][s] is a[r] times x[r]: its column is that of x[s].",
        (PRODUCT, "a[r] * x[r]"),
    ),
    mutant("sum[r][s] is a[s] times x[s]: its row is that of a[r].", (PRODUCT, "a[s] * x[s]")),
    mutant(
        "Only sum[r][s] with s up to r is made: both r and s go from 0 to PATCH - 1.",
        (S_LOOP, S_LOOP.replace("s < PATCH", "s <= r")),
    ),
    mutant(
        "The last row of each patch is 0: r goes from 0 to PATCH - 1.",
        (R_LOOP, R_LOOP.replace("PATCH", "PATCH - 1")),
    ),
    mutant(
        "The last column of each patch is 0: s goes from 0 to PATCH - 1.",
        (S_LOOP, S_LOOP.replace("PATCH", "PATCH - 1")),
    ),
)
