"""One tile for several output maps: a thread has a sum for each of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from helpers.exercises import layers, tiles
from helpers.exercises.kit import Budget, Case, Exercise, FindingHint, Mistake
from helpers.limits import ConvShape

MAPS, FEWER = 4, 2  # of a thread; FEWER: in one case, because the lab tries several numbers


def cases(rng: np.random.Generator) -> Iterator[Case]:
    """Yield each of the lab's shapes, a block for a tile of four maps; some have five maps, or two.
    One has tiles for two maps.
    """
    for shape in tiles.shapes(rng):
        yield layer(rng, shape)
    # The weights fill the symbol, and the last thread has a map that does not exist.
    shape = ConvShape(1, 2, 5, 20, 23, 3)
    words = shape.M * shape.C * shape.K**2
    fewer = tiles.layer(rng, shape, FEWER, words)
    options = f"-DMAPS={FEWER}", f"-DFILTER_WORDS={words}"
    yield dataclasses.replace(
        fewer, title=f"{fewer.title}, MAPS = {FEWER}", options=options, budgeted=False
    )


def layer(rng: np.random.Generator, shape=tiles.LARGE) -> Case:
    """Return a layer, by default a large one; a block has a tile for four maps."""
    return tiles.layer(rng, shape, MAPS)


EXERCISE = Exercise(
    name="conv2d_tiled_maps",
    lab=tiles.LAB,
    place=2,
    title="Let a tile serve several output maps",
    points=4,
    timed=layer,
    cases=cases,
    reference=layers.convolved,
    counts=layers.COUNTS,
    budgets=(
        tiles.LOADS,
        Budget(
            "shared loads per product",
            lambda case, one: (
                one.total("lanes", "shared", "load") / (case.count * case["shape"].terms)
            ),
            1 / MAPS,
            "A cell of the tile serves all maps of the thread: read it before the loop over the "
            "maps, into a variable.",
            least=1 / MAPS,
        ),
        *tiles.USUAL,
    ),
    most_of_a_block=lambda case: MAPS * tiles.TILE**2,
    mistakes=(
        Mistake(
            "All maps of a thread have the weights of its first one: map m changes with o.",
            gives=layers.taken(maps=lambda case, m: m // case["maps"] * case["maps"]),
        ),
        Mistake(
            "Every block has the weights of the first maps: its maps begin at `first`.",
            gives=layers.taken(maps=lambda case, m: m % case["maps"]),
        ),
        Mistake(
            "The maps of a block begin at `first`, which is blockIdx.y * MAPS, and not at "
            "blockIdx.y.",
            gives=layers.taken(maps=lambda case, m: m // case["maps"] + m % case["maps"]),
        ),
        Mistake(
            "Map 3 is not the last one of every layer: there are M maps, so the last one is M - 1.",
            gives=layers.taken(maps=lambda case, m: np.minimum(m, 3)),
        ),
        *tiles.MISTAKES,
    ),
    findings=(
        FindingHint(
            "out-of-bounds",
            "A thread has MAPS sums, and MAPS is not always 4: let the loops over o end there.",
            when=lambda found: found.array == "sum",
        ),
        FindingHint(
            "out-of-bounds",
            "The last block may have fewer maps than MAPS: a weight of a map that does not exist "
            "lies behind the symbol. Take that of map min(first + o, M - 1).",
            when=lambda found: found.array == "filter",
        ),
        *tiles.FINDINGS,
        FindingHint(
            "out-of-bounds",
            "Only a thread with an output (h < out_h and w < out_w) stores, and the last block may "
            "have fewer maps than MAPS: store sum[o] only if first + o < M.",
            when=lambda found: found.array == "y",
        ),
        FindingHint(
            "race",
            "Two threads store the same output. sum[o] belongs to map first + o, and only a "
            "thread with an output (h < out_h and w < out_w) stores.",
            when=lambda found: found.array == "y",
        ),
    ),
    hints=(
        "`const float cell = ...` reads the cell of the tile into a register. How many products "
        "does a thread make of it?",
        "The weight of tap (p, q) for map m is filter[((m * C + c) * K + p) * K + q]. Only m "
        "changes in the loop.",
        "The store is that of conv2d_tiled, in a loop over o: map first + o in place of m, and "
        "only if first + o < M.",
    ),
)
