"""A symmetric filter: one request of constant memory for two cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from helpers import reference
from helpers.exercises import kit

WIDTH, OTHER_WIDTH, RADIUS, THREADS = 5, 9, 2, 128


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield sizes down to one cell, around a block, ragged; two symmetric filters, a wider one."""
    for n in (int(rng.integers(600, 999)), 1, 2, 4, THREADS, THREADS + 1, kit.MANY):
        half = kit.whole_numbers(rng, 3)
        filters = {
            "drawn": np.concatenate([half, half[1::-1]]),
            "1, 4, 6, 4, 1": np.array([1, 4, 6, 4, 1], np.float32),
        }
        for name, filter in filters.items():
            kinds = {"size": n, "filter": name}
            title = f"n = {n}, filter {name}"
            yield signal(rng, n, filter, title, kinds=kinds, budgeted=n < kit.MANY)
    half = kit.whole_numbers(rng, OTHER_WIDTH // 2 + 1)
    filter, n = np.concatenate([half, half[-2::-1]]), 3 * THREADS + 1
    kinds, options = {"size": n, "filter": "wide"}, (f"-DFILTER_WIDTH={OTHER_WIDTH}",)
    title = f"n = {n}, {OTHER_WIDTH} weights"
    yield signal(rng, n, filter, title, kinds=kinds, budgeted=False, options=options)


def signal(
    rng: np.random.Generator, n: int, filter: np.ndarray, title: str, **more: Any
) -> kit.Case:
    """Return n cells, a thread for each. more: other fields of the case."""
    arrays, held = {"P": kit.unwritten(n), "N": kit.cells(rng, n)}, {"filter": filter}
    grid = (kit.ceil_div(n, THREADS),)
    return kit.one_launch(
        title, arrays, grid, (THREADS,), n, constants=held, facts=held, **more
    )


def large(rng: np.random.Generator) -> kit.Case:
    """Return ten million cells."""
    return signal(rng, 10_000_000, np.array([1, 4, 6, 4, 1], np.float32), "n = 10,000,000")


def words_of_an_output(case: kit.Case, one: kit.Outcome) -> float:
    """Return the words that threads load from global and shared memory, per output."""
    return sum(one.total("lanes", space, "load") for space in ("global", "shared")) / case.count


def with_weights(*factors: float):
    """Return a function of a case: what comes out if weight j of five is multiplied by
    factors[j].
    """
    return lambda case: (
        None
        if case["filter"].size != WIDTH
        else reference.conv1d(case["N"], (case["filter"] * np.array(factors)).astype(np.float32))
    )


def with_first_in_the_middle(case: kit.Case) -> np.ndarray:
    """Return what comes out if the middle cell has the weight of the first one."""
    filter = case["filter"].copy()
    filter[filter.size // 2] = filter[0]
    return reference.conv1d(case["N"], filter)


def whole_pairs(case: kit.Case) -> np.ndarray:
    """Return what comes out if a pair counts only where both of its cells lie inside N."""
    N, filter = case["N"], case["filter"]
    radius, sums = filter.size // 2, N * filter[filter.size // 2]
    for away in range(1, radius + 1):
        both = slice(away, N.size - away)
        if 2 * away < N.size:
            sums[both] += (N[: N.size - 2 * away] + N[2 * away :]) * filter[radius - away]
    return sums


def without_end(case: kit.Case, end: int) -> np.ndarray:
    """Return what comes out if cell 0, or the last one (-1), counts in its own output alone."""
    N, filter = case["N"].copy(), case["filter"]
    N[end] = 0
    made = reference.conv1d(N, filter)
    made[end] += case["N"][end] * filter[filter.size // 2]
    return made


EXERCISE = kit.Exercise(
    name="conv1d_symmetric",
    lab="102_conv1d_constant_memory",
    place=2,
    title="One weight for two cells of a symmetric filter",
    cases=cases,
    reference=lambda case: reference.conv1d(case["N"], case["filter"]),
    counts={"size": "sizes", "filter": "filters"},
    budgets=(
        kit.Budget(
            "constant requests per warp",
            lambda case, one: one.total("requests", "constant", "load") / kit.warps(case),
            RADIUS + 1,
            "Load each weight once, and multiply it by the sum of the two cells that share it.",
        ),
        kit.Budget(
            "loads of N per output", kit.per_output("global", "load", "N"), WIDTH, quiet=True
        ),
        kit.Budget(
            "loads from global memory per output",
            kit.per_output("global", "load"),
            WIDTH,
            "The weights belong in constant memory: `filter` is filled before the launch.",
            quiet=True,
        ),
        kit.ONE_STORE,
        # A tile of cells is loaded once, and read for each weight; a table of weights besides.
        kit.Budget(
            "words per output from global and shared memory",
            words_of_an_output,
            WIDTH + 2,
            "The weights stay in constant memory: with a copy of them in shared memory each output "
            "loads 2R + 1 words more.",
            quiet=True,
        ),
        kit.none_of("local", what="accesses to local memory"),
        kit.NO_ATOMICS,
        kit.shuffles(
            hint="A broadcast by shuffles costs more than the constant request that it saves."
        ),
        kit.Budget(
            "replays of constant loads",
            lambda case, one: one.total("replays", "constant", "load"),
            0,
            "All lanes of a warp need the same weight: threadIdx has no place in its index.",
            quiet=True,
        ),
    ),
    timed=large,
    most_of_a_block=lambda case: THREADS,
    mistakes=(
        kit.Mistake(
            "The middle weight is counted twice: it has one cell, all others have two.",
            gives=with_weights(1, 1, 2, 1, 1),
        ),
        kit.Mistake(
            "At the ends a cell counts alone, if its partner is a ghost: test the two one by one.",
            gives=whole_pairs,
        ),
        kit.Mistake(
            "The middle weight is counted three times: the loop goes over the pairs alone, j < "
            "RADIUS.",
            gives=with_weights(1, 1, 3, 1, 1),
        ),
        kit.Mistake(
            "Of each pair the right cell is subtracted: both cells have the same weight.",
            gives=with_weights(1, 1, 1, -1, -1),
        ),
        kit.Mistake(
            "N[0] is left out of the outputs beside it: it is a cell and no ghost, left >= 0.",
            gives=lambda case: without_end(case, 0),
        ),
        kit.Mistake(
            "N[n - 1] is left out of the outputs beside it: it is a cell and no ghost, right < n.",
            gives=lambda case: without_end(case, -1),
        ),
        kit.Mistake(
            "The middle cell has the first weight: its own is filter[RADIUS].",
            gives=with_first_in_the_middle,
        ),
        kit.Mistake("The middle weight is left out.", gives=with_weights(1, 1, 0, 1, 1)),
        kit.Mistake("Only the left cell of each pair is added.", gives=with_weights(1, 1, 1, 0, 0)),
        kit.Mistake(
            "Only the right cell of each pair is added.", gives=with_weights(0, 0, 1, 1, 1)
        ),
        kit.Mistake(
            "The pairs have each other's weights: filter[0] belongs to the cells RADIUS away.",
            gives=lambda case: (
                None
                if case["filter"].size != WIDTH
                else reference.conv1d(case["N"], case["filter"][[1, 0, 2, 0, 1]])
            ),
        ),
        kit.Mistake(
            f"It is right with {WIDTH} weights only: use FILTER_WIDTH and RADIUS for their number.",
            when=lambda case, got, want: case["filter"].size != WIDTH,
        ),
        kit.Mistake(
            "With one filter it is right, with another it is not: read the weights from "
            "`filter`, do not write them down.",
            when=lambda case, got, want: (
                case.kinds["filter"] in ("drawn", "wide") and bool(np.isfinite(got).all())
            ),
        ),
    ),
    findings=(
        kit.FindingHint(
            "out-of-bounds",
            "Cells outside N count as 0: each of the two cells needs its own test.",
            when=lambda found: found.array == "N",
        ),
    ),
    hints=(
        "For RADIUS = 2, which two cells are multiplied by filter[0]? Which by filter[1]? Which "
        "cell has no partner?",
        "Add the two cells of a pair first, each only if it lies inside N, then multiply by "
        "their weight.",
        "for j from 0 to RADIUS - 1: left = i - RADIUS + j, right = i + RADIUS - j; the middle "
        "cell N[i] stands alone.",
    ),
)
