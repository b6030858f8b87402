"""The convolution layer on tensor cores: gather columns of the unrolled image, and multiply."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from helpers.exercises import indices, kit, layers
from helpers.limits import ConvShape

STEP = 16  # terms of one product


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a layer with both factors in one fragment, one with 8 rows, one with two blocks of
    maps.
    """
    yield layer(rng, ConvShape(1, 2, 16, 14, 19, 5))
    yield layer(rng, ConvShape(5, 1, 4, 16, int(rng.integers(17, 30)), 7), rows=8)
    yield layer(rng, ConvShape(9, 3, 19, 23, 25, 3), budgeted=False)


def layer(
    rng: np.random.Generator, shape: ConvShape, rows: int = 16, budgeted: bool = True
) -> kit.Case:
    """Return a layer of whole numbers, which are exact in half; a block has an image and `rows`
    maps.
    """
    sizes = {
        **shape.constants,
        "ROWS": rows,
    }
    return layers.layer_case(
        rng,
        shape,
        (1, kit.ceil_div(shape.M, rows), shape.B),
        (256,),
        drawn=(kit.whole_numbers(rng, shape.x_shape), kit.whole_numbers(rng, shape.filter_shape)),
        arguments=("y", "x", "filter"),
        facts={"rows": rows},
        options=tuple(f"-D{name}={value}" for name, value in sizes.items()),
        budgeted=budgeted,
    )


def large(rng: np.random.Generator) -> kit.Case:
    """Return what a GPU times."""
    return layer(rng, layers.LARGE)


def products(case: kit.Case) -> int:
    """Return how many products of fragments a launch cannot do without."""
    shape, columns = case["shape"], 256 // case["rows"]
    # A warp takes 32 outputs, in one fragment or in two.
    tiles = kit.ceil_div(shape.out_h * shape.out_w, 32) * 32 // columns
    return shape.B * kit.ceil_div(shape.M, case["rows"]) * tiles * kit.ceil_div(shape.terms, STEP)


def product(
    case: kit.Case,
    offset: Callable[..., Any] | None = None,
    first: int = 0,
    last: int | None = None,
) -> np.ndarray:
    """Return F X, of the terms `first` to `last` alone.

    offset: of a cell behind the corner, of c, p and q; by default the right one.
    """
    X = unrolled(case, offset)
    return _shaped(case, _weights(case)[:, first:last] @ X[:, first:last])


def unrolled(case: kit.Case, offset: Callable[..., Any] | None = None) -> np.ndarray:
    """Return X of each image, (B, terms, outputs)."""
    shape = case["shape"]
    place = offset or (lambda c, p, q: (c * shape.H + p) * shape.W + q)
    c, p, q = np.unravel_index(np.arange(shape.terms), (shape.C, shape.K, shape.K))
    h, w = np.unravel_index(np.arange(shape.out_h * shape.out_w), (shape.out_h, shape.out_w))
    places = place(c, p, q)[:, None] + h * shape.W + w
    return case["x"].reshape(shape.B, -1)[:, places].astype(float)


def _weights(case: kit.Case) -> np.ndarray:
    return case["filter"].reshape(case["shape"].M, -1).astype(float)


def _shaped(case: kit.Case, y: np.ndarray) -> np.ndarray:
    return y.reshape(case["shape"].y_shape)


def last_step(case: kit.Case) -> np.ndarray:
    """Return what comes out if the sums begin anew in each step."""
    return product(case, first=(case["shape"].terms - 1) // STEP * STEP)


def whole_steps(case: kit.Case) -> np.ndarray:
    """Return what comes out without the last step."""
    return product(case, last=(case["shape"].terms - 1) // STEP * STEP)


def first_weights(case: kit.Case) -> np.ndarray:
    """Return what comes out if each step takes the weights of the first one."""
    terms = np.arange(case["shape"].terms) % STEP
    return _shaped(case, _weights(case)[:, terms] @ unrolled(case))


def one_sum(case: kit.Case) -> np.ndarray | None:
    """Return what comes out if both parts of a warp's columns are added to sum[0]; None where there
    is one part.
    """
    if case["rows"] == 8:
        return None
    shape = case["shape"]
    y = layers.convolved(case).reshape(shape.B, shape.M, -1)
    outputs = y.shape[2]
    # The spare columns repeat the last output.
    padded = np.pad(y, ((0, 0), (0, 0), (0, -outputs % 32)), "edge")
    parts = padded.reshape(shape.B, shape.M, -1, 2, 16)
    made = np.stack([parts.sum(axis=3), np.zeros_like(parts[:, :, :, 0])], axis=3)
    return _shaped(case, made.reshape(shape.B, shape.M, -1)[:, :, :outputs])


def row_major(case: kit.Case) -> np.ndarray | None:
    """Return what comes out if b is taken by rows: each square of X with rows and columns
    exchanged.

    None where the fragment of b is no square.
    """
    if case["rows"] == 8:
        return None
    X = unrolled(case)
    terms, outputs = kit.ceil_div(X.shape[1], STEP) * STEP, kit.ceil_div(X.shape[2], 32) * 32
    F = np.zeros((case["shape"].M, terms))
    F[:, : X.shape[1]] = _weights(case)
    whole = np.zeros((X.shape[0], terms, outputs))
    whole[:, : X.shape[1]] = np.pad(X, ((0, 0), (0, 0), (0, outputs - X.shape[2])), "edge")
    squares = whole.reshape(-1, terms // STEP, STEP, outputs // STEP, STEP)
    turned = squares.transpose(0, 1, 4, 3, 2).reshape(whole.shape)
    return _shaped(case, (F @ turned)[:, :, : X.shape[2]])


def second_part(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether all is right but every other 16 outputs, the second part of a warp's 32."""
    if case["rows"] == 8:
        return False
    flat = (got == want).reshape(-1, want.shape[2] * want.shape[3])
    second = np.arange(flat.shape[1]) // 16 % 2 == 1
    return bool(flat[:, ~second].all() and not flat[:, second].all())


EXERCISE = kit.Exercise(
    name="conv2d_tensor",
    lab="303_tensor_cores",
    title="The layer as a product on tensor cores",
    points=5,
    cases=cases,
    reference=layers.convolved,
    counts=layers.COUNTS,
    timed=large,
    limit_s=20.0,
    budgets=(
        kit.Budget(
            "mma_sync for each one that is needed",
            kit.executed("wmma.mma", "mma.", per=products),
            1,
            "Each step of 16 terms is one mma_sync for each part of the 32 columns.",
            least=1,
        ),
        kit.single_products(
            0,
            "The tensor cores should make all products, by mma_sync, and the outputs are its sums.",
        ),
        *kit.elsewhere(2_000),
        kit.Budget(
            "loads of x per cell",
            lambda case, one: (
                one.total("lanes", "global", "load", "x")
                / (case.arrays["x"].size * kit.ceil_div(case["shape"].M, case["rows"]))
            ),
            1,
            "Gather from `image` in shared memory, not from x.",
        ),
        kit.ONE_STORE,
        *kit.NO_DETOURS,
    ),
    mistakes=(
        kit.all_zero("All outputs are 0: gap 2 adds nothing to `sum`."),
        kit.Mistake(
            "Only the last 16 terms count: mma_sync(sum, a, b, sum) adds to the sums that it gets, "
            "so give it sum[part] as the last argument, too.",
            gives=last_step,
        ),
        kit.Mistake(
            "The terms of the last, padded step are missing: are the cells of terms below TERMS "
            "gathered there?",
            gives=whole_steps,
        ),
        kit.Mistake(
            "Every step multiplies by the first 16 weights: in step `step`, a begins 16 * step "
            "halves further.",
            gives=first_weights,
        ),
        kit.Mistake(
            "A row of the image has WIDTH cells, and a row of outputs has OUT_W.",
            gives=lambda case: product(
                case, lambda c, p, q: (c * case["shape"].H + p) * case["shape"].out_w + q
            ),
        ),
        kit.Mistake(
            "Every output has the cells of output 0: the cell lies behind `corner`, and not behind "
            "`image`.",
            gives=layers.taken(rows=lambda case, h: 0 * h, columns=lambda case, w: 0 * w),
        ),
        kit.Mistake(
            "The last term is left out: cells are zeros from term TERMS on, and term TERMS - 1 is "
            "still one.",
            gives=lambda case: product(case, last=-1),
        ),
        kit.Mistake(
            "Both parts of the 32 columns are added to one sum: part `part` belongs to sum[part].",
            gives=one_sum,
        ),
        kit.Mistake(
            "b is taken by rows. Each lane stored a column side by side: `col_major`.",
            gives=row_major,
        ),
        kit.Mistake(
            "Of the 32 outputs of a warp the second 16 are wrong. Does your loop come to part 1? "
            "It begins COLUMNS columns further, at columns[warp] + COLUMNS * PITCH.",
            when=second_part,
        ),
        *indices.WRONG_INDICES,
    ),
    findings=(
        kit.FindingHint(
            "race",
            "Each lane gathers a column, and a fragment has those of other lanes. All must have "
            "stored before a fragment is loaded, and all must have loaded before the next step "
            "stores: __syncwarp() twice.",
            when=lambda found: found.array == "columns",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "The image ends before this cell: is p below K in every channel, and is nothing "
            "gathered from term TERMS on?",
            when=lambda found: found.array == "image",
        ),
        kit.FindingHint(
            "barrier",
            "The warps of a block take different numbers of turns, so not all come to a "
            "__syncthreads() here. Only the lanes of one warp wait: __syncwarp().",
        ),
        kit.FindingHint(
            "uninitialised",
            "Nothing has set these cells: gap 1 gathers them.",
            when=lambda found: "cells" in found.message,
        ),
        kit.FindingHint(
            "uninitialised",
            "The rows of F lie F_PITCH halves apart. With another distance a fragment reads what "
            "is behind a row.",
            when=lambda found: found.array == "weights",
        ),
        kit.FindingHint(
            "uninitialised",
            "A fragment reads all 16 terms of a column: from term TERMS on they must be 0.",
        ),
    ),
    hints=(
        "Gap 1 is lab 202: a channel has K * K terms, a row of the filter has K. So c = term / "
        "(K * K), and p and q are what is left. The cell is (c * HEIGHT + p) * WIDTH + q behind "
        "`corner`.",
        "Gap 2: a begins at weights + 16 * step, and its rows are F_PITCH apart. Part `part` of "
        "the columns begins at columns[warp] + part * COLUMNS * PITCH, and they are PITCH apart.",
        "Gap 2 is __syncwarp(); one load_matrix_sync of a; a loop over the parts with "
        "load_matrix_sync of b and mma_sync(sum[part], a, b, sum[part]); __syncwarp().",
    ),
)
