"""Three outputs a thread: read every shared cell once, into a register."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers import reference
from helpers.exercises import kit
from helpers.quantities import quantity

MOST, THREADS = 31, 128
TILE = 3 * THREADS


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield sizes around the tile, and ragged; odd widths up to the widest. Budgets hold for whole
    tiles and 31 weights.
    """
    for width in (MOST, 3, int(rng.choice((5, 7, 9, 15)))):
        for n in (4 * TILE, 1, TILE - 1, TILE + 1, int(rng.integers(TILE + 2, 3 * TILE))):
            yield signal(rng, n, width)
    yield signal(rng, kit.MANY, 3)


def signal(rng: np.random.Generator, n: int = 10_000_000, width: int = MOST) -> kit.Case:
    """Return a signal, by default a long one; a block has a tile of outputs."""
    # Behind the filter's weights the symbol holds others, which are not in any sum.
    filter = kit.whole_numbers(rng, MOST)
    given = ("P", "N", np.int32(n), np.int32(width))
    step = kit.Step((kit.ceil_div(n, TILE),), (THREADS,), given, {"filter": filter})
    arrays = {"P": kit.unwritten(n), "N": kit.cells(rng, n)}
    kinds, facts = {"size": n, "width": width}, {"filter": filter[:width]}
    budgeted = (n, width) == (4 * TILE, MOST)
    name = f"n = {n:,}, {quantity(width, 'weight')}"
    return kit.Case(name, arrays, ("P",), (step,), kinds, facts, budgeted)


def convolved(case: kit.Case) -> np.ndarray:
    """Return the convolution."""
    return reference.conv1d(case["N"], case["filter"])


EXERCISE = kit.Exercise(
    name="conv1d_three",
    lab="104_conv1d_tiles",
    place=2,
    title="Read each shared cell once for three outputs",
    timed=signal,
    cases=cases,
    small=lambda rng: (signal(rng, n, w) for n, w in ((7, 3), (7, 5), (TILE + 3, 3))),
    reference=convolved,
    counts={"size": "sizes", "width": "widths"},
    budgets=(
        kit.Budget(
            "global loads per output",
            kit.per_output("global", "load"),
            1 + (MOST - 1) / TILE,
            "The tile loads each cell once: read it from there, not from N.",
        ),
        kit.Budget(
            "shared words per output",
            lambda case, one: one.total("bytes_used", "shared", "load") / 4 / case.count,
            11,
            "Three neighbouring outputs read 33 different cells, not 93: let the outer loop go "
            "over cells, so that a cell is read once and added to all outputs that it belongs to.",
            least=(MOST + 2) / 3,
        ),
        kit.Budget(
            "bank conflicts of shared loads",
            kit.all_of("conflicts", "shared", "load"),
            0,
            "Lanes whose words lie 3 apart fall into different banks; 2 or 4 apart do not.",
        ),
        kit.Budget(
            "shared stores per output",
            kit.per_output("shared", "store"),
            1 + (MOST - 1) / TILE,
            "Each cell of the tile is stored once.",
            quiet=True,
        ),
        kit.Budget(
            "constant requests per warp",
            lambda case, one: one.total("requests", "constant", "load") / kit.warps(case),
            3 * MOST,
            quiet=True,
        ),
        kit.ONE_STORE,
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: TILE,
    hints=(
        "Which cells of the tile do a thread's three outputs read for a filter of 3? Write the "
        "nine reads down: how many differ?",
        "Let the outer loop go over cells, width + 2 of them, and read each into a register.",
        "Cell c takes part in output o with filter[c - o], if c - o lies between 0 and width - 1.",
    ),
)
