"""The unrolled matrix of a layer: each thread copies the cells of a channel under one output."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from helpers.exercises import kit, layers
from helpers.exercises.judge import indices
from helpers.limits import ConvShape

THREADS = 256
# In floats, 41 times 1.0f / 41 is less than 1.
SMALL = ConvShape(2, 2, 1, 4, 6, 2), ConvShape(1, 1, 1, 5, 7, 3), ConvShape(1, 1, 1, 3, 42, 2)


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield layers of several channels and images, and wide and high ones."""
    height, width = map(int, rng.integers(14, 24, 2))
    yield layer(rng, ConvShape(2, 3, 1, height, width + 24, 5))
    yield layer(rng, ConvShape(1, 1, 1, 7, 8, 7))
    yield layer(rng, ConvShape(1, 2, 1, 41, 9, 3))
    yield layer(rng, ConvShape(3, 2, 1, 6, 5, 2))
    yield layer(rng, ConvShape(2, 1, 1, 12, 13, 11))
    yield layer(rng, ConvShape(1, 1, 1, *kit.MANY_ROWS, 2), budgeted=False)


def layer(
    rng: np.random.Generator, shape: ConvShape = layers.LARGE, budgeted: bool = True
) -> kit.Case:
    """Return the images of a layer, by default a large one, and their unrolled matrices."""
    x, _ = layers.draw(rng, shape)
    columns = shape.out_h * shape.out_w
    grid = (kit.ceil_div(columns, THREADS), shape.C, shape.B)
    _, C, _, H, W, K = layers.sizes(shape)
    return kit.one_launch(
        layers.words(shape),
        {"unrolled": kit.unwritten((shape.B, shape.terms, columns)), "x": x},
        grid, (THREADS,), shape.B, C, H, W, K,
        kinds={"layer": shape, "filter width": shape.K}, facts={"shape": shape},
        budgeted=budgeted,
    )


def unrolled(case: kit.Case) -> np.ndarray:
    """Return the unrolled matrices, by NumPy's windows: no index is divided."""
    K = case["shape"].K
    windows = np.lib.stride_tricks.sliding_window_view(case["x"], (K, K), axis=(2, 3))
    return windows.transpose(0, 1, 4, 5, 2, 3).reshape(case["unrolled"].shape)


def gathered(
    cell: indices.Cell = indices.right_cell, taps: indices.Taps = lambda p, q: (p, q)
) -> Callable[[kit.Case], np.ndarray | None]:
    """Return a function of a case: what comes out with these indices, as in `indices.indexed`; None
    where one of them leaves x.
    """

    def made(case: kit.Case) -> np.ndarray | None:
        s = case["shape"]
        b, c, p, q, h, w = np.ogrid[: s.B, : s.C, : s.K, : s.K, : s.out_h, : s.out_w]
        at = cell(s, b, c, h, w, *taps(p, q)) + 0 * (b + c + p + q)
        if at.max() >= case["x"].size:
            return None
        return case["x"].ravel()[at].reshape(case["unrolled"].shape)

    return made


EXERCISE = kit.Exercise(
    name="im2col_basic",
    lab="200_conv2d_im2col_gemm",
    title="Unroll an image into a matrix",
    points=5,
    timed=layer,
    cases=cases,
    small=lambda rng: (layer(rng, shape) for shape in SMALL),
    reference=unrolled,
    counts={"layer": "layers", "filter width": "filter widths"},
    budgets=(
        kit.Budget(
            "loads of x per cell of the matrix",
            lambda case, one: one.total("lanes", "global", "load", "x") / case["unrolled"].size,
            1,
            "Each cell of the matrix is one cell of x: load it once.",
            least=0.9,
        ),
        kit.ONE_STORE,
        kit.stores_of_a_thread(lambda case: case["shape"].K ** 2),
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: THREADS * case["shape"].K ** 2,
    mistakes=(
        *(kit.Mistake(hint, gives=gathered(cell=cell)) for hint, cell in indices.CELLS),
        *(kit.Mistake(hint, gives=gathered(taps=taps)) for hint, taps in indices.TAPS),
    ),
    hints=(
        "In which row and column of the output map is output number pixel? A map is out_w wide.",
        "With h = pixel / out_w and w = pixel % out_w, the cell is in row h + p, column w + q of "
        "the channel.",
        "Two loops over p and q, with the line: rows[(p * K + q) * out_h * out_w + pixel] = "
        "channel[(h + p) * W + w + q];",
    ),
)
