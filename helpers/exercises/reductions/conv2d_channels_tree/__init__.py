"""The channels of an output split over four threads, and their sums joined by a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from helpers import reference
from helpers.exercises import kit, layers, outcome
from helpers.exercises.reductions import LAB
from helpers.limits import ConvShape

TILE, THREADS = 16, 4  # outputs along a side of a block, and threads of an output


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield one channel, fewer and more than there are threads, ragged maps, and many outputs."""
    drawn = ConvShape(2, 6, 2, 20 + int(rng.integers(0, 9)), 19 + int(rng.integers(0, 9)), 3)
    for shape in (
        drawn,
        ConvShape(1, 4, 2, 18, 34, 3),
        ConvShape(1, 1, 2, 12, 12, 7),
        ConvShape(1, 3, 1, 5, 5, 5),
        ConvShape(1, 9, 2, 9, 8, 2),
    ):
        yield layer(rng, shape)
    yield kit.without_budgets(layer(rng, ConvShape(1, 1, 1, *kit.MANY_ROWS, 1)))


def layer(rng: np.random.Generator, shape: ConvShape = layers.LARGE) -> kit.Case:
    """Return a layer, by default a large one; an output has four threads."""
    grid = layers.tiles(shape, TILE), shape.M, shape.B
    return layers.layer_case(rng, shape, grid, (TILE, TILE, THREADS))


def of_threads(*threads: int) -> Callable[[kit.Case], np.ndarray | None]:
    """Return a function of a case: what comes out of the sums of some of the threads."""

    def made(case: kit.Case) -> np.ndarray | None:
        filter = case["filter"].copy()
        left_out = ~np.isin(np.arange(filter.shape[1]) % THREADS, threads)
        filter[:, left_out] = 0
        return reference.conv2d(case["x"], filter) if left_out.any() else None

    return made


def first_channels(case: kit.Case) -> np.ndarray | None:
    """Return what comes out if a thread adds one channel, even if there are more."""
    filter = case["filter"].copy()
    filter[:, THREADS:] = 0
    return reference.conv2d(case["x"], filter) if filter.shape[1] > THREADS else None


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
            lambda case, one: one.barriers / one.blocks / (TILE * TILE * THREADS // 32),
            3,
            "One barrier before the tree, and one after each of its two steps.",
        ),
        kit.Budget(
            "load requests of warp 0",
            kit.executed(outcome.GLOBAL_LOADS, per="launch"),
            lambda case: 2 * case["shape"].K ** 2 * kit.ceil_div(case["shape"].C, THREADS),
            "Warp 0 has the threads with z = 0, and loads for more than its own channels: each "
            "thread adds up every CHANNEL_THREADS-th channel, beginning at channel z.",
            quiet=True,
        ),
        kit.Budget(
            "shared loads per block",
            lambda case, one: one.total("lanes", "shared", "load") / one.blocks,
            7 * TILE * TILE,
            "A step adds two numbers, and half as many in the next step; the store reads one.",
            quiet=True,
        ),
        kit.ONE_STORE,
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: THREADS * TILE * TILE,  # the threads with z = 0 write them
    mistakes=(
        kit.Mistake(
            "Every sum is 0: add up the thread's channels. That is gap 1.",
            gives=lambda case: np.zeros_like(layers.convolved(case)),
        ),
        kit.Mistake(
            "Each output comes out four times: every thread adds all channels. Begin at c = z and "
            "go on in steps of CHANNEL_THREADS.",
            gives=lambda case: THREADS * layers.convolved(case),
        ),
        kit.Mistake(
            "Channels from 4 on are missing: a thread has several, in steps of CHANNEL_THREADS.",
            gives=first_channels,
        ),
        kit.Mistake("Only the channels of the threads with z = 0 are there.", gives=of_threads(0)),
        kit.Mistake("The last step of the tree, half = 1, is missing.", gives=of_threads(0, 2)),
        kit.Mistake("The first step of the tree, half = 2, is missing.", gives=of_threads(0, 1)),
        layers.TURNED,
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
            "A thread that is not `inside` has no output: it must not read cells.",
            when=lambda found: found.array == "x",
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
