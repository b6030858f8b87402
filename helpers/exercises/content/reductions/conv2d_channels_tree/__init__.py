"""The channels of an output split over four threads, and their sums joined by a tree."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit, layers
from helpers.exercises.content.reductions import LAB
from helpers.exercises.judge import indices
from helpers.limits import ConvShape

TILE, THREADS = 16, 4  # outputs along a side of a block, and threads of an output
SMALL_TILE, MORE_THREADS = 8, 16  # in one case: four threads do not show how their sums are joined


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield one channel, fewer and more than there are threads, ragged maps, whole
    tiles side by side, more threads, and many
    outputs.
    """
    drawn = ConvShape(2, 6, 2, 20 + int(rng.integers(0, 9)), 19 + int(rng.integers(0, 9)), 3)
    for shape in (
        drawn,
        ConvShape(1, 4, 2, 20, 34, 3),
        ConvShape(1, 1, 2, 12, 12, 7),
        ConvShape(1, 3, 1, 5, 5, 5),
        ConvShape(3, 9, 2, 9, 8, 2),
    ):
        yield layer(rng, shape)
    yield compiled(rng, ConvShape(1, 19, 1, 18, 13, 3), SMALL_TILE, MORE_THREADS)
    yield kit.without_budgets(layer(rng, ConvShape(1, 1, 1, *kit.MANY_ROWS, 1)))


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield fewer and more channels than there are threads, several images, and more threads."""
    yield compiled(rng, ConvShape(1, 1, 2, 5, 6, 3), 4, THREADS)
    yield compiled(rng, ConvShape(2, 9, 2, 6, 5, 2), 4, THREADS)
    yield compiled(rng, ConvShape(1, 19, 1, 5, 7, 3), 4, MORE_THREADS)


def compiled(rng: np.random.Generator, shape: ConvShape, tile: int, threads: int) -> kit.Case:
    """Return a layer for a kernel with another tile, and another number of threads."""
    case = layer(rng, shape, tile, threads)
    options = f"-DTILE_WIDTH={tile}", f"-DCHANNEL_THREADS={threads}"
    title = f"{case.title}, CHANNEL_THREADS = {threads}"
    return dataclasses.replace(case, title=title, options=options)


def layer(
    rng: np.random.Generator,
    shape: ConvShape = layers.LARGE,
    tile: int = TILE,
    threads: int = THREADS,
) -> kit.Case:
    """Return a layer, by default a large one; an output has four threads."""
    grid, block = (layers.tiles(shape, tile), shape.M, shape.B), (tile, tile, threads)
    return layers.layer_case(rng, shape, grid, block, facts={"tile": tile, "threads": threads})


def steps(case: kit.Case) -> int:
    """Return the steps of the tree."""
    return case["threads"].bit_length() - 1


EXERCISE = kit.Exercise(
    name="conv2d_channels_tree",
    lab=LAB,
    title="Split the channels over threads, and join their sums by a tree",
    points=5,
    cases=cases,
    small=small,
    reference=layers.convolved,
    timed=layer,
    counts=layers.COUNTS,
    budgets=(
        layers.loads_per_product(
            2,
            "The threads share the channels: each tap is loaded by one of them.",
            what="loads per output and tap",
        ),
        kit.Budget(
            "waits at barriers per warp",
            lambda case, one: one.barriers / kit.warps(case),
            lambda case: 1 + steps(case),
            "One barrier before the tree, and one after each of its steps.",
        ),
        kit.loads_of_a_warp(
            lambda case: 2 * case["shape"].K ** 2 * kit.ceil_div(case["shape"].C, case["threads"]),
            "A warp loads for more than its own channels: each thread adds up every "
            "CHANNEL_THREADS-th channel, beginning at channel z.",
        ),
        kit.Budget(
            "shared loads per block",
            lambda case, one: one.total("lanes", "shared", "load") / one.blocks,
            lambda case: (2 * case["threads"] - 1) * case["tile"] ** 2,
            "A step adds two numbers, and half as many in the next step; the store reads one.",
            quiet=True,
        ),
        kit.numbers_of_a_thread(
            lambda case: 2 * steps(case) + 3,
            "The thread with z = 0 adds the sums of all the others, one after another. In a tree "
            "many threads add at the same time, and half as many in the next step: 16 sums take "
            "four steps, not 15.",
        ),
        kit.ONE_STORE,
        kit.none_of(
            "shared",
            "atomic",
            what="atomics in shared memory",
            hint="Atomics on one number take turns. In a tree many threads add at the same time, "
            "each to a number of its own.",
        ),
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: (
        case["threads"] * case["tile"] ** 2
    ),  # the threads with z = 0 write them
    mistakes=indices.WRONG_INDICES,
    hints=(
        "Gap 1 is conv2d_basic's three loops. Only the one over c changes: it begins at z, and "
        "goes on in steps of CHANNEL_THREADS, as long as `inside && c < C`.",
        "Gap 2: the first lines are partial[z][mine] = sum; and a barrier, outside of any branch.",
        "for (int half = CHANNEL_THREADS / 2; half > 0; half /= 2): in it an if for z < half, and "
        "a barrier after the if, so that all threads come to it.",
    ),
)
