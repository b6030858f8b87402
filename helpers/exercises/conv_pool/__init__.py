"""Convolution, ReLU and max-pool in one kernel: a thread computes a window."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import indices, kit, layers
from helpers.exercises.cases import is_unwritten
from helpers.limits import ConvShape
from helpers.problems.lenet import network

TILE = 16


def layer(
    rng: np.random.Generator, shape: ConvShape = layers.LARGE, pool: int = 4, scale: int = 1
) -> kit.Case:
    """Return a layer and its pool, by default as large as LeNet's second; 16 x 16 windows a block.
    scale: of the cells, a power of two, by which sums stay exact.
    """
    x, filter = layers.draw(rng, shape)
    x *= np.float32(scale)
    rows, columns = kit.ceil_div(shape.out_h, pool), kit.ceil_div(shape.out_w, pool)
    grid = (kit.ceil_div(rows, TILE) * kit.ceil_div(columns, TILE), shape.M, shape.B)
    y = kit.unwritten((shape.B, shape.M, rows, columns))
    return kit.one_launch(
        f"{layers.words(shape)}, windows of {pool} x {pool}",
        {"y": y, "x": x, "filter": filter},
        grid, (TILE, TILE), *layers.sizes(shape), pool,
        kinds={"layer": shape, "window": pool}, facts={"shape": shape, "pool": pool},
    )


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield windows that are whole and cut, of 1 to 6 cells a side; whole tiles of them; channels,
    maps, images; large values; many windows.
    """
    rows, columns = (int(n) for n in rng.integers(30, 50, 2))
    for shape, pool in (
        (ConvShape(2, 1, 2, rows, columns, 4), 2),
        (ConvShape(2, 2, 3, 19, 40, 3), 3),
        (ConvShape(1, 4, 2, 24, 23, 7), 4),
        (ConvShape(1, 1, 1, 9, 8, 5), 1),
        (ConvShape(1, 1, 1, 35, 65, 2), 2),
        (ConvShape(1, 2, 1, 3, 3, 3), 2),
    ):
        yield layer(rng, shape, pool)
    yield layer(rng, ConvShape(1, 1, 4, 25, 30, 3), 6, scale=2**12)
    yield kit.without_budgets(layer(rng, ConvShape(1, 1, 1, *kit.MANY_ROWS, 1), 1))


def of_sums(case: kit.Case, sums: np.ndarray) -> np.ndarray:
    """Return the pooled layer, made of the sums."""
    return network.max_pool(network.relu(sums), case["pool"])


def pooled(case: kit.Case, filter: np.ndarray | None = None) -> np.ndarray:
    """Return the pooled layer. filter: in place of the case's."""
    return of_sums(case, layers.convolved(case, filter))


def first_of_each(case: kit.Case) -> np.ndarray:
    """Return what comes out if a thread takes the first output of its window alone."""
    sums = network.relu(layers.convolved(case))
    return sums[..., :: case["pool"], :: case["pool"]]


def last_of_each(case: kit.Case, relu: bool = True) -> np.ndarray:
    """Return what comes out if each output of a window replaces the one before."""
    sums, (rows, columns) = layers.convolved(case), case["y"].shape[2:]
    sums = network.relu(sums) if relu else sums
    last = (
        np.minimum(case["pool"] * np.arange(1, windows + 1), size) - 1
        for windows, size in ((rows, sums.shape[2]), (columns, sums.shape[3]))
    )
    return sums[..., *np.ix_(*last)]


def summed_on(case: kit.Case, outputs: int = 0) -> np.ndarray:
    """Return what comes out if the sum of an output begins with that of the output before. outputs:
    after so many it begins with 0 again; 0 for all of a window.
    """
    pool, (rows, columns) = case["pool"], case["y"].shape[2:]
    sums = layers.convolved(case)
    cut = rows * pool - sums.shape[2], columns * pool - sums.shape[3]
    padded = np.pad(sums, ((0, 0), (0, 0), (0, cut[0]), (0, cut[1])))  # zeros do not change a sum
    windows = padded.reshape(*sums.shape[:2], rows, pool, columns, pool).swapaxes(3, 4)
    running = windows.reshape(*sums.shape[:2], rows, columns, -1, outputs or pool * pool).cumsum(-1)
    return network.relu(running.max((-1, -2)))


def added(case: kit.Case) -> np.ndarray:
    """Return what comes out if the outputs of a window are added, in place of the largest."""
    pool, (rows, columns) = case["pool"], case["y"].shape[2:]
    sums = network.relu(layers.convolved(case))
    cut = rows * pool - sums.shape[2], columns * pool - sums.shape[3]
    padded = np.pad(sums, ((0, 0), (0, 0), (0, cut[0]), (0, cut[1])))
    return padded.reshape(*sums.shape[:2], rows, pool, columns, pool).sum((3, 5))


def is_average(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether the outputs of each window are averaged, but for rounding; those that are left
    out count as zeros.
    """
    return np.allclose(got, added(case) / case["pool"] ** 2, rtol=1e-5)


def smallest(case: kit.Case) -> np.ndarray:
    """Return what comes out if the smaller one of two outputs is kept, and of 0."""
    return -pooled(case, -case["filter"])


def of_channels(case: kit.Case) -> np.ndarray:
    """Return what comes out if each channel is an output of its own, and the largest is kept."""
    shape, made = case["shape"], []
    for channel in range(shape.C):
        filter = np.zeros_like(case["filter"])
        filter[:, channel] = case["filter"][:, channel]
        made.append(pooled(case, filter))
    return np.max(made, axis=0)


def is_cut_unwritten(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether the wrong windows are cut ones, and nobody stores them."""
    return is_cut_alone(case, got, want) and bool(is_unwritten(got[got != want]).all())


def is_cut_alone(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether all whole windows are right, and there are cut ones."""
    shape, pool = case["shape"], case["pool"]
    rows, columns = shape.out_h // pool, shape.out_w // pool
    is_cut = bool(shape.out_h % pool or shape.out_w % pool)
    return is_cut and np.array_equal(got[..., :rows, :columns], want[..., :rows, :columns])


def windows_apart(case: kit.Case, apart: int) -> np.ndarray | None:
    """Return what comes out if windows begin so many outputs apart: h = row * apart + r."""
    sums, pool = network.relu(layers.convolved(case)), case["pool"]
    if pool == apart:
        return None
    rows, columns = case["y"].shape[2:]
    down, across = apart * rows, apart * columns
    padded = np.pad(sums, ((0, 0), (0, 0), (0, down + pool), (0, across + pool)))
    parts = [
        padded[..., r : r + down : apart, s : s + across : apart]
        for r in range(pool)
        for s in range(pool)
    ]
    return np.max(parts, axis=0)


EXERCISE = kit.Exercise(
    name="conv_pool",
    lab="501_lenet_end_to_end",
    title="Convolution, ReLU and pool in one kernel",
    place=1,
    points=5,
    timed=layer,
    cases=cases,
    reference=pooled,
    counts={"layer": "layers", "window": "windows"},
    budgets=(
        kit.Budget(
            "loads per product",
            lambda case, one: (
                one.total("lanes", "global", "load") / (case["shape"].outputs * case["shape"].terms)
            ),
            2,
            "Compute each output of the convolution once, with two loads for a product, and leave "
            "out what lies in row out_h or column out_w or beyond.",
        ),
        kit.ONE_STORE,
        kit.ONE_STORE_A_THREAD,
        kit.NO_ATOMICS,
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: TILE * TILE,
    mistakes=(
        kit.Mistake(
            "All outputs are 0: compute the sum of each output, and keep the larger.",
            gives=lambda case: 0 * pooled(case),
        ),
        kit.Mistake(
            "Only the first output of each window counts: the loops over r and s must change h "
            "and w.",
            gives=first_of_each,
        ),
        kit.Mistake(
            "Windows do not overlap: the first output of a window is in row row * pool, column "
            "column * pool.",
            gives=lambda case: windows_apart(case, 1),
        ),
        kit.Mistake(
            "Windows of 4 x 4 are right, others are not: `pool` is an argument, and the first "
            "output of a window is in row row * pool, column column * pool.",
            gives=lambda case: windows_apart(case, 4),
        ),
        kit.Mistake(
            "Negative outputs are there: the largest begins with 0, and only grows.",
            gives=lambda case: network.max_pool(layers.convolved(case), case["pool"]),
        ),
        kit.Mistake(
            "The last output of each window replaces the others: keep the larger of both.",
            gives=last_of_each,
        ),
        kit.Mistake(
            "The last output of each window replaces the others: keep the larger of it and "
            "`largest`.",
            gives=lambda case: last_of_each(case, relu=False),
        ),
        kit.Mistake(
            "A sum goes on with that of the output before: each output begins with sum = 0.",
            gives=summed_on,
        ),
        kit.Mistake(
            "A sum goes on with that of the output before, in each row of a window: each output "
            "begins with sum = 0, within the loop over s.",
            gives=lambda case: summed_on(case, case["pool"]),
        ),
        kit.Mistake(
            "The outputs of a window are added: keep the larger of two, max(largest, sum).",
            gives=added,
        ),
        kit.Mistake(
            "The outputs of a window are averaged: keep the larger of two, max(largest, sum).",
            when=is_average,
        ),
        kit.Mistake(
            "The smallest output of each window is kept: the larger one of `largest` and the sum "
            "goes on.",
            gives=smallest,
        ),
        kit.Mistake(
            "The sign of the outputs is dropped: a ReLU makes 0 of what is below 0.",
            gives=lambda case: network.max_pool(np.abs(layers.convolved(case)), case["pool"]),
        ),
        kit.Mistake(
            "Each channel counts as an output of its own: an output is the sum over all channels. "
            "Set sum to 0 before the loop over c, and compare behind it.",
            gives=of_channels,
        ),
        *indices.wrong_indices(then=of_sums),
        kit.Mistake(
            "Cut windows are never stored: leave out the output that is not there, by an `if` or "
            "by `continue`. A `return` ends the thread before its store.",
            when=is_cut_unwritten,
        ),
        kit.Mistake(
            "Whole windows are right, cut ones are not: leave out an output in row out_h or more, "
            "or column out_w or more.",
            when=is_cut_alone,
        ),
    ),
    findings=(
        kit.FindingHint(
            "out-of-bounds",
            "An output beyond the last row or column has no cells: the last windows are cut, so "
            "leave out what is not below out_h and out_w. (Cell (row, column) of channel c of "
            "image b is x[((b * C + c) * H + row) * W + column].)",
            when=lambda found: found.array == "x",
        ),
    ),
    hints=(
        "Thread (0, 1) has the window that begins in row 1 * pool. Which outputs does it have for "
        "r = 0, 1, ...?",
        "h = row * pool + r and w = column * pool + s. If h or w is outside of the convolution's "
        "outputs, go on with the next one.",
        "The three loops over c, p and q are those of lab 107; behind them, largest = "
        "max(largest, sum).",
    ),
)
