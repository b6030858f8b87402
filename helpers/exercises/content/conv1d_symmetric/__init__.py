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
            "a random filter": np.concatenate([half, half[1::-1]]),
            "the filter 1, 4, 6, 4, 1": np.array([1, 4, 6, 4, 1], np.float32),
        }
        for name, filter in filters.items():
            kinds = {"size": n, "filter": name}
            title = f"n = {n}, {name}"
            yield signal(rng, n, filter, title, kinds=kinds, budgeted=n < kit.MANY)
    half = kit.whole_numbers(rng, OTHER_WIDTH // 2 + 1)
    filter, n = np.concatenate([half, half[-2::-1]]), 3 * THREADS + 1
    kinds, options = {"size": n, "filter": "wide"}, (f"-DFILTER_WIDTH={OTHER_WIDTH}",)
    title = f"n = {n}, {OTHER_WIDTH} weights"
    yield signal(rng, n, filter, title, kinds=kinds, budgeted=False, options=options)


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield fewer cells than weights, a few more, two blocks, and a wider filter."""
    for n, width in ((4, WIDTH), (11, WIDTH), (THREADS + 3, WIDTH), (11, OTHER_WIDTH)):
        half = kit.whole_numbers(rng, width // 2 + 1)
        filter, options = np.concatenate([half, half[-2::-1]]), (f"-DFILTER_WIDTH={width}",)
        yield signal(rng, n, filter, f"n = {n}, {width} weights", options=options)


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


EXERCISE = kit.Exercise(
    name="conv1d_symmetric",
    lab="102_conv1d_constant_memory",
    place=2,
    title="One weight for two cells of a symmetric filter",
    cases=cases,
    small=small,
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
            "All lanes of a warp need the same weight: leave threadIdx out of its index.",
            quiet=True,
        ),
    ),
    timed=large,
    most_of_a_block=lambda case: THREADS,
    hints=(
        "For RADIUS = 2, which two cells are multiplied by filter[0]? Which by filter[1]? Which "
        "cell has no partner?",
        "Add the two cells of a pair first, each only if it lies inside N, then multiply by "
        "their weight.",
        "for j from 0 to RADIUS - 1: left = i - RADIUS + j, right = i + RADIUS - j; the middle "
        "cell N[i] has no partner.",
    ),
)
