"""The unrolled matrix of a layer: each thread copies the cells of a channel under one output."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from helpers.exercises import indices, kit, layers
from helpers.exercises.cases import is_unwritten
from helpers.limits import ConvShape

THREADS = 256


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


def by_taps(case: kit.Case, matrices: np.ndarray) -> np.ndarray:
    """Return the rows of matrices by image, channel, row and column of the filter."""
    shape = case["shape"]
    return matrices.reshape(shape.B, shape.C, shape.K, shape.K, -1)


def rows_of_outputs(case: kit.Case) -> np.ndarray:
    """Return what comes out if the matrix of a channel is stored output by output."""
    shape = case["shape"]
    parts = unrolled(case).reshape(shape.B, shape.C, shape.K**2, -1)
    return parts.swapaxes(2, 3).reshape(case["unrolled"].shape)


def by_width_of_image(case: kit.Case) -> np.ndarray:
    """Return what comes out if the output's row and column are found by the width of the image, W.
    """
    shape = case["shape"]
    p, q, pixel = np.ix_(*map(np.arange, (shape.K, shape.K, shape.out_h * shape.out_w)))
    cells = case["x"].reshape(shape.B, shape.C, -1)[:, :, p * shape.W + q + pixel]
    return cells.reshape(case["unrolled"].shape)


def is_last_unwritten(axis: int) -> Callable[[kit.Case, np.ndarray, np.ndarray], bool]:
    """Return a function of a result: whether what is missing are the cells of the filter's last row
    (axis 2) or column (axis 3), all of them.
    """

    def applies(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
        *others, last = np.moveaxis(by_taps(case, is_unwritten(got)), axis, 0)
        return bool(last.all() and not np.any(others))

    return applies


def only_first_of_rows(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether all wrong columns are first outputs of rows, but not that of the first row."""
    columns = np.flatnonzero((got != want).any(axis=(0, 1)))
    return bool(columns.size) and columns[0] > 0 and not (columns % case["shape"].out_w).any()


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
        kit.Mistake(
            "The numbers are right, and stand in other places: an output is a column of the "
            "matrix, and a row has out_h * out_w numbers.",
            gives=rows_of_outputs,
        ),
        kit.Mistake(
            "The outputs of a map are numbered as if a row of it had W of them: it has out_w, so "
            "output number pixel is in row pixel / out_w, column pixel % out_w.",
            gives=by_width_of_image,
        ),
        kit.Mistake(
            "The last row of the filter is left out: p goes from 0 to K - 1.",
            when=is_last_unwritten(2),
        ),
        kit.Mistake(
            "The last column of the filter is left out: q goes from 0 to K - 1.",
            when=is_last_unwritten(3),
        ),
        *(kit.Mistake(hint, gives=gathered(cell=cell)) for hint, cell in indices.CELLS),
        *(kit.Mistake(hint, gives=gathered(taps=taps)) for hint, taps in indices.TAPS),
        kit.Mistake(
            "All K * K rows of a channel are the same: the cell depends on p and q, too.",
            when=lambda case, got, want: bool(np.ptp(by_taps(case, got), axis=(2, 3)).max() == 0),
        ),
        kit.Mistake(
            "Only first outputs of rows are wrong. A product with 1.0f / out_w is rounded, and may "
            "lie below the whole number that it should be: divide whole numbers, pixel / out_w.",
            when=only_first_of_rows,
        ),
    ),
    findings=(
        kit.FindingHint(
            "out-of-bounds",
            "The output number pixel is in row pixel / out_w, column pixel % out_w of the output "
            "map, which is narrower than the image.",
            when=lambda found: found.array == "x",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "A row of the matrix has out_h * out_w numbers: so far lies row p * K + q + 1 behind "
            "row p * K + q.",
            when=lambda found: found.array == "unrolled",
        ),
        kit.FindingHint(
            "race",
            "Two threads write one cell of the matrix: column pixel belongs to this thread alone, "
            "and a row has out_h * out_w numbers.",
            when=lambda found: found.array == "unrolled",
        ),
    ),
    hints=(
        "In which row and column of the output map is output number pixel? A map is out_w wide.",
        "With h = pixel / out_w and w = pixel % out_w, the cell is in row h + p, column w + q of "
        "the channel.",
        "Two loops over p and q, with the line: rows[(p * K + q) * out_h * out_w + pixel] = "
        "channel[(h + p) * W + w + q];",
    ),
)
