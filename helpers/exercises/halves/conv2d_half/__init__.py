"""The convolution layer on halves, its sums in float."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from helpers import reference
from helpers.exercises import indices, kit, layers
from helpers.exercises.halves import LAB
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


def terms(case: kit.Case) -> tuple[np.ndarray, np.ndarray]:
    """Return cells and weights of each output, in the order of the sum: (terms, B, M, out_h,
    out_w).
    """
    shape = case["shape"]
    cells, weights = [], []
    for c in range(shape.C):
        for p in range(shape.K):
            for q in range(shape.K):
                part = case["x"][:, c, p : p + shape.out_h, q : q + shape.out_w]
                cells.append(np.broadcast_to(part[:, None], shape.y_shape))
                taps = case["filter"][:, c, p, q][None, :, None, None]
                weights.append(np.broadcast_to(taps, shape.y_shape))
    return np.array(cells), np.array(weights)


def rounded_products(case: kit.Case) -> np.ndarray | None:
    """Return what comes out if each product is rounded to half; None for a large layer."""
    if case["shape"].outputs > 20_000:
        return None
    cells, weights = terms(case)
    return (cells * weights).astype(np.float64).sum(axis=0)


def whole(
    *names: str, by: Callable[[np.ndarray], np.ndarray] = np.trunc
) -> Callable[[kit.Case], np.ndarray]:
    """Return a function of a case: what comes out if the cells ("x") or weights ("filter") are made
    whole numbers.
    """

    def made(case: kit.Case) -> np.ndarray:
        cells, weights = (
            by(array) if name in names else array
            for name in ("x", "filter")
            for array in [case[name].astype(np.float32)]
        )
        return reference.conv2d(cells, weights)

    return made


def half_rows(case: kit.Case) -> np.ndarray | None:
    """Return what comes out if each row of the filter is summed in half; None for a large layer."""
    shape = case["shape"]
    if shape.outputs > 20_000:
        return None
    cells, weights = (part.astype(np.float64) for part in terms(case))
    rows = (cells * weights).reshape(-1, shape.K, *shape.y_shape)
    sums = np.zeros(rows[:, 0].shape, np.float16)
    with np.errstate(over="ignore"):
        for q in range(shape.K):
            sums = (sums.astype(np.float64) + rows[:, q]).astype(np.float16)
    return sums.astype(np.float64).sum(axis=0)


def half_sums(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether all outputs are halves near the right sums."""
    with np.errstate(over="ignore"):
        if not np.array_equal(got.astype(np.float16), got):
            return False
    # A sum loses at most half a step, 2^-11 of it, with each of its terms; a large one is infinite.
    finite = np.isfinite(got)
    most = np.abs(want).max() * case["shape"].terms * 2.0**-10 + 8
    return bool(
        (np.abs(got - want)[finite] <= most).all() and np.abs(want[~finite]).min(initial=1e9) > 4e4
    )


EXERCISE = kit.Exercise(
    name="conv2d_half",
    place=1,
    lab=LAB,
    title="Products of halves, sums in float",
    points=3,
    timed=layer,
    cases=cases,
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
    mistakes=(
        kit.all_zero("All outputs are 0: nothing is added to sum."),
        *(
            kit.Mistake(
                "Cells or weights are cut to whole numbers: __half2float(h) gives the float of the "
                "same value.",
                gives=whole(*names),
            )
            for names in (("x",), ("filter",), ("x", "filter"))
        ),
        kit.Mistake(
            "Cells are rounded to whole numbers: __half2float(h) gives the float of the same "
            "value.",
            gives=whole("x", by=np.rint),
        ),
        kit.Mistake(
            "The sum of a row is a half, and loses digits before it is added. Sum in float: one "
            "float for all products of an output.",
            gives=half_rows,
        ),
        kit.Mistake(
            "Each product is rounded to half before it is added. Widen both factors first: the "
            "product of two halves fits into a float.",
            gives=rounded_products,
        ),
        kit.Mistake(
            "Every output is a half, so the sum was one. Sum in float: above 2,048 halves are two "
            "apart, and more.",
            when=half_sums,
        ),
        *indices.WRONG_INDICES,
    ),
    findings=(
        kit.FindingHint(
            "out-of-bounds",
            "Row h + p, column w + q of channel c is cell (c * H + h + p) * W + w + q of the "
            "image, and a weight is (c * K + p) * K + q of the map's.",
        ),
    ),
    hints=(
        "It is the line of lab 107, sum += image[...] * weights[...], but both factors are halves "
        "now. __half2float(h) gives the float of the same value.",
        "The cell is image[(c * H + h + p) * W + w + q], the weight weights[(c * K + p) * K + q].",
        "sum += __half2float(cell) * __half2float(tap); a product of halves without __half2float "
        "is rounded to half.",
    ),
)
