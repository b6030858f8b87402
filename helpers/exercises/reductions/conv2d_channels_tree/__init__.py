"""The channels of an output split over four threads, and their sums joined by a tree."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from helpers.exercises import indices, kit, layers
from helpers.exercises.reductions import LAB
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
        ConvShape(1, 9, 2, 9, 8, 2),
    ):
        yield layer(rng, shape)
    more = layer(rng, ConvShape(1, 19, 1, 18, 13, 3), SMALL_TILE, MORE_THREADS)
    options = f"-DTILE_WIDTH={SMALL_TILE}", f"-DCHANNEL_THREADS={MORE_THREADS}"
    title = f"{more.title}, CHANNEL_THREADS = {MORE_THREADS}"
    yield dataclasses.replace(more, title=title, options=options)
    yield kit.without_budgets(layer(rng, ConvShape(1, 1, 1, *kit.MANY_ROWS, 1)))


def layer(
    rng: np.random.Generator,
    shape: ConvShape = layers.LARGE,
    tile: int = TILE,
    threads: int = THREADS,
) -> kit.Case:
    """Return a layer, by default a large one; an output has four threads."""
    grid, block = (layers.tiles(shape, tile), shape.M, shape.B), (tile, tile, threads)
    return layers.layer_case(rng, shape, grid, block, facts={"tile": tile, "threads": threads})


def sums_of(times: Callable[[np.ndarray, int], np.ndarray]) -> Callable[[kit.Case], Any]:
    """Return a function of a case: what comes out if the sums of threads count several times, or
    not at all. times: how often that of thread z does, of so many threads.
    """
    return layers.weighted(
        lambda case, weight: times(weight.c % case["threads"], case["threads"])
    )


def steps(case: kit.Case) -> int:
    """Return the steps of the tree."""
    return case["threads"].bit_length() - 1


def own_sums(z: np.ndarray, threads: int) -> np.ndarray:
    """Return how often the sums of threads z count if a step adds the own one once more: twice for
    each step in which a sum is one to add to.
    """
    times = np.ones(z.shape)
    half = threads // 2
    while half:
        times *= np.where(z % (2 * half) < half, 2, 1)
        half //= 2
    return times


EXERCISE = kit.Exercise(
    name="conv2d_channels_tree",
    lab=LAB,
    title="Split the channels over threads, and join their sums by a tree",
    points=5,
    cases=cases,
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
    mistakes=(
        kit.all_zero("Every sum is 0: add up the thread's channels. That is gap 1."),
        kit.Mistake(
            "Each output comes out as many times as it has threads: every thread adds all "
            "channels. Begin at c = z and go on in steps of CHANNEL_THREADS.",
            gives=lambda case: case["threads"] * layers.convolved(case),
        ),
        kit.Mistake(
            "Channels from CHANNEL_THREADS on are missing: a thread has several, in steps of "
            "CHANNEL_THREADS.",
            gives=layers.weighted(lambda case, weight: weight.c < case["threads"]),
        ),
        kit.Mistake(
            "Only the channels of the threads with z = 0 are there.",
            gives=sums_of(lambda z, threads: z == 0),
        ),
        kit.Mistake(
            "The last step of the tree, half = 1, is missing.",
            gives=sums_of(lambda z, threads: z % 2 == 0),
        ),
        kit.Mistake(
            "The first step of the tree, half = CHANNEL_THREADS / 2, is missing.",
            gives=sums_of(lambda z, threads: z < threads // 2),
        ),
        kit.Mistake(
            "Only the sums of the threads with z = 0 and z = 1 are joined: half begins at "
            "CHANNEL_THREADS / 2.",
            gives=sums_of(lambda z, threads: z < 2),
        ),
        kit.Mistake(
            "Only the sums of four threads are joined: an output has CHANNEL_THREADS threads, and "
            "that is not always 4.",
            gives=sums_of(lambda z, threads: z < 4),
        ),
        kit.Mistake(
            "Only the sum of the thread with the largest z is left: a step adds to "
            "partial[z][mine], and does not replace it.",
            gives=sums_of(lambda z, threads: z == threads - 1),
        ),
        kit.Mistake(
            "Sums count several times: a step adds partial[z + half][mine] to partial[z][mine], "
            "and nothing else.",
            gives=sums_of(own_sums),
        ),
        kit.Mistake(
            "All threads of an output add the same channels, those of z = 0: begin at c = z.",
            gives=sums_of(lambda z, threads: np.where(z, 0, threads)),
        ),
        kit.Mistake(
            "Channels count several times: a thread adds all from channel z on. Go on in steps of "
            "CHANNEL_THREADS.",
            gives=layers.weighted(
                lambda case, weight: np.minimum(weight.c + 1, case["threads"])
            ),
        ),
        kit.Mistake(
            "The last channels are missing: C / CHANNEL_THREADS is rounded down. Let a thread add "
            "channels z, z + CHANNEL_THREADS, ... below C.",
            gives=layers.weighted(
                lambda case, weight: weight.c < case["shape"].C // case["threads"] * case["threads"]
            ),
        ),
        *indices.WRONG_INDICES,
    ),
    findings=(
        kit.FindingHint(
            "uninitialised",
            "partial[z][mine] is read before its thread has stored a sum: all threads store, those "
            "without an output or a channel, too (their sum is 0).",
            when=lambda found: found.array == "partial",
        ),
        kit.FindingHint(
            "race",
            "Several threads store into one place: each has its own, partial[z][mine].",
            when=lambda found: found.array == "partial"
            and " writes " in found.message
            and " wrote at " in found.message,
        ),
        kit.FindingHint(
            "race",
            "A step reads what other warps have stored in the step before: a __syncthreads() must "
            "stand before the tree, and after each step.",
            when=lambda found: found.array == "partial",
        ),
        kit.FindingHint(
            "barrier",
            "A barrier is for all threads of the block: take it out of the branch.",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "A thread that is not `inside` has no output, and one whose z is not below C has no "
            "channel: they must not read cells. If yours do not, an index is wrong: the cell is "
            "(c * H + h + p) * W + w + q of its image.",
            when=lambda found: found.array == "x",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "A weight is ((m * C + c) * K + p) * K + q, with c below C, and p and q below K.",
            when=lambda found: found.array == "filter",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "z + half is the number of a thread in the first step already: only threads with "
            "z < half add. (partial is [z][output of the block].)",
            when=lambda found: found.array == "partial",
        ),
    ),
    hints=(
        "Gap 1 is conv2d_basic's three loops. Only the one over c changes: it begins at z, and "
        "goes on in steps of CHANNEL_THREADS, as long as `inside && c < C`.",
        "Gap 2: the first lines are partial[z][mine] = sum; and a barrier, outside of any branch.",
        "for (int half = CHANNEL_THREADS / 2; half > 0; half /= 2): in it an if for z < half, and "
        "a barrier after the if, so that all threads come to it.",
    ),
)
