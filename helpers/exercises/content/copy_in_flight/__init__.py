"""A copy in which a thread starts several loads before it waits for the first one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.judge import outcome
from helpers.quantities import quantity

THREADS, LOADS = 64, 4


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield whole rounds, ragged ones, one cell; other numbers of loads, and other blocks."""
    for blocks, n, loads, threads in (
        (2, 3 * 2 * 256, 4, 64),
        (2, 1, 4, 64),
        (3, int(rng.integers(1_000, 2_000)), 4, 64),
        (1, 255, 4, 64),
        (2, int(rng.integers(3_000, 4_000)), 8, 64),
        (2, 1_000, 1, 32),
        (5, 2_999, 2, 128),
    ):
        yield array(rng, n, blocks, loads, threads)
    yield array(rng, kit.MANY, 6, budgeted=False)


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield several rounds and a ragged one, of a few threads, and of blocks of 64."""
    for blocks, n, loads, threads in ((2, 5, 2, 4), (2, 37, 2, 4), (1, 30, 8, 2), (2, 700, 4, 64)):
        yield array(rng, n, blocks, loads, threads)


def array(
    rng: np.random.Generator,
    n: int = 2**25,
    blocks: int = 132 * 8,
    loads: int = LOADS,
    threads: int = THREADS,
    budgeted: bool = True,
) -> kit.Case:
    """Return an array, by default a large one that eight blocks on each multiprocessor of an H200
    copy.
    """
    return kit.one_launch(
        f"n = {n:,}, {blocks} x {quantity(threads, 'thread')}, {quantity(loads, 'load')}",
        {"out": kit.unwritten(n), "in": kit.cells(rng, n)},
        (blocks,),
        (threads,),
        n,
        kinds={"size": n, "loads": loads},
        facts={"blocks": blocks, "loads": loads, "threads": threads},
        budgeted=budgeted,
        options=(f"-DTHREADS={threads}", f"-DLOADS={loads}"),
    )


def rounds(case: kit.Case) -> int:
    """Return the rounds of block 0."""
    return rounds_of(case, 0)


def rounds_of(case: kit.Case, block: int) -> int:
    """Return the rounds of a block; 0 where it has no cell."""
    each = case["threads"] * case["loads"]
    return max(kit.ceil_div(case.count - block * each, case["blocks"] * each), 0)


def left_over(case: kit.Case) -> int:
    """Return how many cells whole rounds have beyond those that exist."""
    return rounds(case) * case["blocks"] * case["threads"] * case["loads"] - case.count


def turns(case: kit.Case, one: kit.Outcome) -> float:
    """Return how often a warp of the watched block begins to load, for each round; 1 where the
    block has no cell.
    """
    begins, own = one.executed(outcome.TURNS_TO_LOADS), rounds_of(case, case.watched[0])
    return begins / own if own else 1.0


EXERCISE = kit.Exercise(
    name="copy_in_flight",
    lab="106_hiding_latency",
    title="Several loads in flight in each thread",
    points=5,
    timed=array,
    cases=cases,
    small=small,
    reference=lambda case: case["in"],
    counts={"size": "sizes", "loads": "numbers of loads"},
    budgets=(
        kit.Budget(
            "waits of a warp in each round",
            turns,
            1,
            "A thread must have the value that it stores, so it waits at its first store. Start "
            "all LOADS loads before that. (This is the order of your lines; the compiler may move "
            "a load up only where it knows that the arrays do not overlap.)",
            least=0.5,
        ),
        kit.Budget(
            "loads per output",
            kit.per_output("global", "load"),
            # In the last round a thread may load the last cell again, for one that does not exist.
            lambda case: (case.count + left_over(case)) / case.count,
            "Load each cell once.",
            least=1,
        ),
        kit.Budget(
            "sectors of loads per output",
            kit.per_output("global", "load", counter="sectors"),
            # The loads of the warp that the last cell divides may become requests of their own.
            # A warp that loads the last cell again moves a sector for it.
            lambda case: (
                (kit.ceil_div(case.count, 8) + 1 + 2 * case["loads"] + left_over(case) / 32)
                / case.count
            ),
            "Neighbouring lanes should load neighbouring cells: the cells of one thread lie "
            "THREADS apart.",
        ),
        kit.ONE_STORE,
        kit.none_of("shared"),
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: rounds(case) * case["threads"] * case["loads"],
    hints=(
        "Which line is the first that cannot continue without a loaded value? Everything above "
        "it in the round is under way at the same time.",
        "Two loops over k, one after the other. The first one only loads, into value[k]; the "
        "second one only stores.",
        "In the last round some cells do not exist. The guard belongs to the load (else 0.0f) and "
        "to the store; a thread must not leave the loop early.",
    ),
)
