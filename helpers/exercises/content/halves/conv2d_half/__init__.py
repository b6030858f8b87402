"""The convolution layer on halves, its sums in float."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit, layers
from helpers.exercises.content.halves import LAB
from helpers.exercises.judge import indices
from helpers.limits import ConvShape

TILE = 16


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield layers of several channels, maps and filters; one of more outputs than 16 bits count.
    """
    yield layer(rng, ConvShape(2, 2, 3, 17, int(rng.integers(18, 30)), 5))
    yield layer(rng, ConvShape(1, 3, 2, 19, 34, 3), scale=2.0**-16)
    yield layer(rng, ConvShape(3, 1, 4, 12, 21, 7))
    yield layer(rng, ConvShape(1, 1, 1, 2, 2, 2))
    yield layer(rng, ConvShape(1, 1, 1, *kit.MANY_ROWS, 1), budgeted=False)


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a few outputs of several channels and maps, of two tiles, and of small weights."""
    yield layer(rng, ConvShape(1, 2, 2, 5, 7, 3))
    yield layer(rng, ConvShape(2, 1, 1, 4, TILE + 2, 2))
    yield layer(rng, ConvShape(1, 2, 1, 5, 4, 3), scale=2.0**-5)


def layer(
    rng: np.random.Generator,
    shape: ConvShape = layers.LARGE,
    budgeted: bool = True,
    scale: float = 1.0,
) -> kit.Case:
    """Return a layer of numbers of six bits: their products have up to twelve, one more than a
    half, and their sums are exact in float. The cells are eighths, so that none is a whole number.
    scale: of the weights, a power of two.
    """
    drawn = (
        _six_bits(rng, shape.x_shape) / np.float16(8),
        _six_bits(rng, shape.filter_shape) * np.float16(scale),
    )
    grid = layers.tiles(shape, TILE), shape.M, shape.B
    return layers.layer_case(rng, shape, grid, (TILE, TILE), drawn=drawn, budgeted=budgeted)


def _six_bits(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return odd numbers from 33 to 63, two of three above zero, so that sums become large."""
    return (rng.choice((-1, 1, 1), shape) * (2 * rng.integers(16, 32, shape) + 1)).astype(
        np.float16
    )


EXERCISE = kit.Exercise(
    name="conv2d_half",
    place=1,
    lab=LAB,
    title="Products of halves, sums in float",
    points=3,
    timed=layer,
    cases=cases,
    small=small,
    reference=layers.convolved,
    most_of_a_block=lambda case: TILE * TILE,
    counts=layers.COUNTS,
    budgets=(
        layers.loads_per_product(
            2,
            "Each product needs one cell and one weight.",
            least=0.1,
        ),
        kit.none_of("shared"),
        kit.no_doubles(
            "Sum in float: it holds each product exactly. Many GPUs have far fewer units for "
            "doubles."
        ),
        kit.ONE_STORE,
        *kit.NO_DETOURS,
    ),
    mistakes=indices.WRONG_INDICES,
    hints=(
        "It is the line of lab 107, sum += image[...] * weights[...], but both factors are halves "
        "now. __half2float(h) gives the float of the same value.",
        "The cell is image[(c * H + h + p) * W + w + q], the weight weights[(c * K + p) * K + q].",
        "sum += __half2float(cell) * __half2float(tap); a product of halves without __half2float "
        "is rounded to half.",
    ),
)
