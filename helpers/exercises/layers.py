"""Convolution layers as cases: drawn arrays of small whole numbers, whose sums are exact in
float32, in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from helpers.exercises import kit
from helpers.limits import ConvShape
from helpers.quantities import quantity
from helpers.reference import conv2d

LARGE = ConvShape(64, 4, 16, 40, 40, 7)  # what a GPU times: 64 images of LeNet's second layer
MOST = 3  # of the weights and most cells: sums of 1,000 products stay below 2^22 quarters


def draw(rng: np.random.Generator, shape: ConvShape) -> tuple[np.ndarray, np.ndarray]:
    """Return cells and weights of a layer."""
    return kit.cells(rng, shape.x_shape, MOST), kit.whole_numbers(rng, shape.filter_shape, MOST)


def sizes(shape: ConvShape) -> tuple[np.int32, ...]:
    """Return B, C, M, H, W, K as a kernel takes them."""
    return tuple(np.int32(n) for n in (shape.B, shape.C, shape.M, shape.H, shape.W, shape.K))


def words(shape: ConvShape) -> str:
    """Return a layer in a few words."""
    channels, maps = quantity(shape.C, "channel"), quantity(shape.M, "map")
    return f"{shape.B} x {channels} of {shape.H} x {shape.W}, {maps}, K = {shape.K}"


def tiles(shape: ConvShape, tile: int) -> int:
    """Return how many tiles of tile x tile outputs a map has."""
    return kit.ceil_div(shape.out_w, tile) * kit.ceil_div(shape.out_h, tile)


def symbol(filter: np.ndarray, words: int, beyond: float = np.nan) -> dict[str, np.ndarray]:
    """Return the constants of a launch: the filter in a symbol of so many words, and behind it
    `beyond`.
    """
    values = np.full(words, beyond, np.float32)
    values[: filter.size] = filter.ravel()
    return {"filter": values}


def layer_case(
    rng: np.random.Generator,
    shape: ConvShape,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    *,
    drawn: tuple[np.ndarray, np.ndarray] | None = None,
    arguments: tuple[Any, ...] | None = None,
    constants: Mapping[str, np.ndarray] | None = None,
    options: tuple[str, ...] = (),
    budgeted: bool = True,
    y_shape: tuple[int, ...] | None = None,
    facts: Mapping[str, Any] | None = None,
) -> kit.Case:
    """Return a case of one launch.

    drawn: cells and weights, in place of `draw`. arguments: by default y, x, the filter unless it
    is among the constants, and all sizes. y_shape: of the output, where it is not that of a valid
    convolution. The filter is among the facts.
    """
    x, filter = drawn or draw(rng, shape)
    held = constants or {}
    pointers = ("y", "x") if held else ("y", "x", "filter")
    arrays = {"y": kit.unwritten(y_shape or shape.y_shape), "x": x}
    if not held:
        arrays["filter"] = filter
    return kit.Case(
        words(shape),
        arrays,
        ("y",),
        (kit.Step(grid, block, arguments or (*pointers, *sizes(shape)), held),),
        {"layer": shape, "filter width": shape.K},
        {"shape": shape, "filter": filter, **(facts or {})},
        budgeted,
        options=options,
    )


def loads_per_product(
    most: float, hint: str, *, what: str = "loads per product", **more: Any
) -> kit.Budget:
    """Return the budget on global loads of threads, for each product of a cell and a weight."""

    def amount(case: kit.Case, one: kit.Outcome) -> float:
        return one.total("lanes", "global", "load") / (case.count * case["shape"].terms)

    return kit.Budget(what, amount, most, hint, **more)


def convolved(
    case: kit.Case, filter: np.ndarray | None = None, x: np.ndarray | None = None
) -> np.ndarray:
    """Return the layer's outputs. filter, x: in place of the case's."""
    x, filter = case["x"] if x is None else x, case["filter"] if filter is None else filter
    return conv2d(np.ascontiguousarray(x, np.float32), np.ascontiguousarray(filter, np.float32))


COUNTS = {"layer": "layers", "filter width": "filter widths"}
