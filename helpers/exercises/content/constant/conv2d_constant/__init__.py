"""The layer of lab 107 with its filter in constant memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit, layers
from helpers.exercises.content.constant import LAB, TILE
from helpers.exercises.judge import indices
from helpers.limits import ConvShape

WORDS = 3_136  # of `filter`: layer 2 has 16 maps of 4 x 7 x 7 weights


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield ragged layers of several channels and maps, other filters, and many outputs."""
    height, width = map(int, rng.integers(20, 38, 2))
    yield layer(rng, ConvShape(2, 3, 4, height, width, 7))
    yield layer(rng, ConvShape(1, 2, 5, 9, 23, 3))
    yield layer(rng, ConvShape(1, 1, 2, 20, 34, 3))
    yield layer(rng, ConvShape(1, 4, 16, 7, 7, 7))
    yield layer(rng, ConvShape(1, 1, 1, *kit.MANY_ROWS, 1))


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a small layer, and one of two tiles, with several images, channels and maps."""
    yield layer(rng, ConvShape(1, 1, 2, 4, 5, 2))
    yield layer(rng, ConvShape(2, 2, 3, 5, 19, 3))


def layer(rng: np.random.Generator, shape: ConvShape = layers.LARGE) -> kit.Case:
    """Return a layer, by default a large one. The symbol is NaN behind the weights."""
    drawn = layers.draw(rng, shape)
    return layers.layer_case(
        rng,
        shape,
        (layers.tiles(shape, TILE), shape.M, shape.B),
        (TILE, TILE),
        drawn=drawn,
        constants=layers.symbol(drawn[1], WORDS),
    )


EXERCISE = kit.Exercise(
    name="conv2d_constant",
    lab=LAB,
    place=1,
    title="Move the filter into constant memory",
    points=3,
    timed=layer,
    cases=cases,
    small=small,
    reference=layers.convolved,
    counts=layers.COUNTS,
    budgets=(
        layers.loads_per_product(
            1,
            "Only the cells come from global memory: read each weight from the symbol in constant "
            "memory. (A __device__ variable lies in global memory.)",
            what="global loads per product",
        ),
        kit.Budget(
            "replays of constant loads",
            lambda case, one: one.total("replays", "constant", "load"),
            0,
            "All threads of a block need the same weight: leave threadIdx out of its index.",
        ),
        kit.ONE_STORE,
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: TILE**2,
    mistakes=indices.WRONG_INDICES,
    hints=(
        "Constant memory is declared as an array at the top of the file: __constant__, the type, "
        "the name, and the number of floats in brackets.",
        "In the kernel the symbol is used like any array: filter[...] in place of 0.0f. Which "
        "numbers does the weight depend on, and which not?",
        "A map has C * K * K weights, a channel K * K, and a row K. So the index is "
        "((m * C + c) * K + p) * K + q.",
    ),
)
