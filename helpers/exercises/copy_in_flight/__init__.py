"""A copy in which a thread starts several loads before it waits for the first one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from helpers.exercises import kit, outcome
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
        (blocks,), (threads,), n,
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


def first_only(case: kit.Case) -> np.ndarray | None:
    """Return what comes out if only the first of each thread's cells is copied, and the others are
    0.
    """
    place = np.arange(case.count) // case["threads"] % case["loads"]
    return np.where(place == 0, case["in"], 0) if case["loads"] > 1 else None


def last_for_all(case: kit.Case) -> np.ndarray | None:
    """Return what comes out if a thread stores the last cell that it loads to all its places."""
    cell = np.arange(case.count)
    place = cell // case["threads"] % case["loads"]
    last = cell + (case["loads"] - 1 - place) * case["threads"]
    padded = np.append(case["in"], np.float32(0))
    return padded[np.minimum(last, case.count)] if case["loads"] > 1 else None


def copied(
    is_copied: Callable[[np.ndarray, int, int], np.ndarray],
) -> Callable[[kit.Case], np.ndarray]:
    """Return a function of a case: what comes out if some cells are copied, and nobody writes the
    others. is_copied: which of the cells, by their numbers, with so many threads and loads.
    """

    def made(case: kit.Case) -> np.ndarray:
        kept = is_copied(np.arange(case.count), case["threads"], case["loads"])
        return np.where(kept, case["in"], case["out"])

    return made


def first_round(case: kit.Case) -> np.ndarray:
    """Return what comes out if every round copies the cells of the first one."""
    cells = case["blocks"] * case["threads"] * case["loads"]
    return np.where(np.arange(case.count) < cells, case["in"], case["out"])


EXERCISE = kit.Exercise(
    name="copy_in_flight",
    lab="106_hiding_latency",
    title="Several loads in flight in each thread",
    points=5,
    timed=array,
    cases=cases,
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
    mistakes=(
        kit.Mistake(
            "Only the first cell of each thread is copied: store value[k] for each k.",
            gives=first_only,
        ),
        kit.Mistake(
            "All threads copy the same cells, 0, THREADS, 2 * THREADS ...: those of a thread begin "
            "with its `first`.",
            gives=copied(lambda i, threads, loads: (i % threads == 0) & (i // threads < loads)),
        ),
        kit.Mistake(
            "Only the cells of the first round are copied: those of a thread begin with `first`, "
            "which grows by `round`.",
            gives=first_round,
        ),
        kit.Mistake(
            "Only the first cell of each thread is copied: cell k lies k * THREADS behind `first`.",
            gives=copied(lambda i, threads, loads: i // threads % loads == 0),
        ),
        kit.Mistake(
            "The last cell of each thread is not copied: k goes from 0 to LOADS - 1.",
            gives=copied(lambda i, threads, loads: i // threads % loads < loads - 1),
        ),
        kit.Mistake(
            "The cells of a thread lie side by side in yours: cell k is first + k * THREADS, and "
            "not first + k.",
            gives=copied(lambda i, threads, loads: i % (threads * loads) < threads + loads - 1),
        ),
        kit.Mistake(
            "A thread stores the last cell that it loads to all its places: is there one value for "
            "all loads? Each needs a register of its own, value[k].",
            gives=last_for_all,
        ),
        kit.Mistake(
            "It is right with blocks of 64 threads only: a thread's cells lie THREADS apart.",
            when=lambda case, got, want: case["threads"] != THREADS,
        ),
        kit.all_zero("Zeros are stored: does each load put its cell into value[k]?"),
        kit.Mistake(
            "The right values stand in wrong places: store value[k] to the cell from which it "
            "was loaded, first + k * THREADS.",
            when=lambda case, got, want: bool(np.isin(got, want).all()),
        ),
    ),
    findings=(
        kit.FindingHint(
            "out-of-bounds",
            "value has LOADS places, and LOADS is not always 4: let the loops end there.",
            when=lambda found: found.array == "value",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "The last round goes past the end: load only if i < n, and put 0 into the register "
            "otherwise.",
            when=lambda found: found.array == "in",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "The last round goes past the end: store only if i < n.",
            when=lambda found: found.array == "out",
        ),
        kit.FindingHint(
            "race",
            "Two threads store to the same cell: the cells of one thread lie THREADS apart, "
            "first + k * THREADS.",
        ),
    ),
    hints=(
        "Which line is the first that cannot go on without a loaded value? Everything that stands "
        "above it in the round is under way at the same time.",
        "Two loops over k, one behind the other. The first one only loads, into value[k]; the "
        "second one only stores.",
        "In the last round some cells do not exist. The guard belongs to the load (else 0.0f) and "
        "to the store; a thread must not leave the loop early.",
    ),
)
