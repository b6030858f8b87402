"""One tile for several output maps: a thread has a sum for each of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from helpers.exercises import layers
from helpers.exercises.content import tiles
from helpers.exercises.judge import indices
from helpers.exercises.kit import Budget, Case, Exercise
from helpers.limits import ConvShape

MAPS, FEWER = 4, 2  # of a thread; FEWER: in one case, because the lab tries several numbers


def cases(rng: np.random.Generator) -> Iterator[Case]:
    """Yield each of the lab's shapes, a block for a tile of four maps; some have five maps, or two.
    One has tiles for two maps.
    """
    for shape in tiles.shapes(rng):
        yield layer(rng, shape)
    yield of_fewer(rng, ConvShape(1, 2, 5, 20, 23, 3))


def small(rng: np.random.Generator) -> Iterator[Case]:
    """Yield a part of a tile for six maps, four ragged tiles for five, and tiles for two maps."""
    yield layer(rng, ConvShape(1, 1, 6, 4, 5, 2))
    yield layer(rng, ConvShape(1, 2, 5, 18, 19, 2))
    yield of_fewer(rng, ConvShape(1, 1, 3, 4, 5, 2))


def of_fewer(rng: np.random.Generator, shape: ConvShape) -> Case:
    """Return a layer in tiles for two maps, whose weights fill the symbol."""
    words = shape.M * shape.C * shape.K**2
    fewer = tiles.layer(rng, shape, FEWER, words)
    options = f"-DMAPS={FEWER}", f"-DFILTER_WORDS={words}"
    title = f"{fewer.title}, MAPS = {FEWER}"
    return dataclasses.replace(fewer, title=title, options=options, budgeted=False)


def layer(rng: np.random.Generator, shape: ConvShape = layers.LARGE) -> Case:
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
    small=small,
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
    mistakes=indices.WRONG_INDICES,
    hints=(
        "`const float cell = ...` reads the cell of the tile into a register. How many products "
        "does a thread make of it?",
        "The weight of tap (p, q) for map m is filter[((m * C + c) * K + p) * K + q]. Only m "
        "changes in the loop.",
        "The store is that of conv2d_tiled, in a loop over o: map first + o in place of m, and "
        "only if first + o < M.",
    ),
)
