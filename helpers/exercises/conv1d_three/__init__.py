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


def turned(case: kit.Case) -> np.ndarray:
    """Return what comes out if a thread's first and last outputs have each other's weights."""
    N, width = case["N"], case["filter"].size
    more = -N.size % 3 + 3  # outputs behind the end, of which a thread stores none
    sums = reference.conv1d(np.pad(N, (0, more + width)), case["filter"])[: N.size + more]
    return sums[: (N.size + more) // 3 * 3].reshape(-1, 3)[:, ::-1].reshape(-1)[: N.size]


def one_apart(case: kit.Case) -> np.ndarray:
    """Return what comes out if the windows of neighbouring threads begin one cell apart, not three.
    """
    place = np.arange(case["N"].size)
    thread, output = place % TILE // 3, place % 3
    return convolved(case)[place // TILE * TILE + thread + output]


def only(*kept: int):
    """Return a function of a case: what comes out if of each thread's three outputs only these are
    right and the others are 0.
    """

    def made(case: kit.Case) -> np.ndarray:
        P = convolved(case)
        P[~np.isin(np.arange(P.size) % 3, kept)] = 0
        return P

    return made


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
            "The tile brings each cell once: read it from there, not from N.",
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
    mistakes=(
        kit.Mistake("All sums are 0: the gap adds the cells of the tile to them.", gives=only()),
        kit.Mistake(
            f"It is right with {MOST} weights only: their number is the argument width.",
            when=lambda case, got, want: case.kinds["width"] != MOST,
        ),
        kit.Mistake(
            "Of three outputs only the first is right: the others start at 0 and stay there.",
            gives=only(0),
        ),
        kit.Mistake(
            "The third output of each thread is 0: a cell belongs to up to three outputs.",
            gives=only(0, 1),
        ),
        kit.Mistake(
            "The filter runs backwards: output o reads cell c with filter[c - o].",
            gives=lambda case: reference.conv1d(case["N"], case["filter"][::-1]),
        ),
        kit.Mistake(
            "Outputs 0 and 2 of a thread have each other's weights: cell c and output o have "
            "weight c - o.",
            gives=turned,
        ),
        kit.Mistake(
            "The window of thread t begins at cell 3 * t of the tile, which is `mine`.",
            gives=one_apart,
        ),
        kit.Mistake(
            "Only the first output of each thread is wrong: cell 0 of its window belongs to it.",
            when=lambda case, got, want: bool(
                (got[1::3] == want[1::3]).all() and (got[2::3] == want[2::3]).all()
            ),
        ),
        kit.Mistake(
            "The last two cells of the window are left out: three outputs need width + 2 cells.",
            when=lambda case, got, want: (
                case["filter"].size > 1 and bool((got[0::3] == want[0::3]).all())
            ),
        ),
    ),
    findings=(
        kit.FindingHint(
            "out-of-bounds",
            "Weight c - o exists only from 0 to width - 1: test it before you use it. Cell 0, for "
            "instance, belongs to output 0 alone.",
            when=lambda found: found.array == "filter",
        ),
        kit.FindingHint(
            "uninitialised",
            "Nobody has loaded this cell of the tile. A thread's window has width + 2 cells, and "
            "width is an argument, which is not always 31.",
            when=lambda found: found.array == "tile",
        ),
    ),
    hints=(
        "Which cells of the tile do a thread's three outputs read for a filter of 3? Write the "
        "nine reads down: how many differ?",
        "Let the outer loop go over cells, width + 2 of them, and read each into a register.",
        "Cell c takes part in output o with filter[c - o], if c - o lies between 0 and width - 1.",
    ),
)
