"""The description of the wrong cells of an array: exact, short, and none where nothing is exact."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from helpers.simulator.explain import patterns, words
from helpers.simulator.explain.patterns import Stored


def launch(shape: tuple[int, ...], block: tuple[int, ...], grid: tuple[int, ...]) -> Stored:
    """Return who stores each cell of an array if x counts columns and y counts rows."""
    index = np.indices(shape)
    thread, blocks = np.zeros((2, *shape, 3), np.int64)
    for k in range(min(2, len(shape))):
        thread[..., k], blocks[..., k] = index[-1 - k] % block[k], index[-1 - k] // block[k]
    return Stored(thread, blocks, block, grid)


LINE = (14,), launch((14,), (4, 1, 1), (4, 1, 1))
ONE_BLOCK = (6,), launch((6,), (8, 1, 1), (1, 1, 1))
PLANE = (9, 40), launch((9, 40), (32, 8, 1), (2, 2, 1))
ALONE = (9, 40), None
LAYER = (2, 3, 4, 5), None
LONG = (70_001,), launch((70_001,), (256, 1, 1), (274, 1, 1))

CASES: list[tuple[tuple, Callable[..., np.ndarray], str]] = [
    (LINE, lambda i: i >= 0, "all 14 cells of P"),
    (LINE, lambda i: i == 5, "P[5]"),
    (LINE, lambda i: i == 13, "P[13]"),
    (LINE, lambda i: (i == 0) | (i == 13), "the first and the last cell of P"),
    (LINE, lambda i: i > 0, "all cells of P but the first"),
    (LINE, lambda i: i < 13, "all cells of P but the last"),
    (LINE, lambda i: i >= 9, "the cells of P from cell 9 on"),
    (LINE, lambda i: (i >= 5) & (i < 10), "cells 5 to 9 of P"),
    (LINE, lambda i: i < 5, "the first 5 cells of P"),
    (LINE, lambda i: i % 2 == 1, "every second cell of P, from cell 1 on"),
    (LINE, lambda i: i % 4 == 0, "the cells of P of threads with threadIdx.x = 0"),
    (
        LINE,
        lambda i: (i % 4 == 0) & (i > 0),
        "the cells of P of threads with threadIdx.x = 0 in later blocks",
    ),
    (LINE, lambda i: i % 4 >= 2, "the cells of P of threads with threadIdx.x >= 2"),
    (LINE, lambda i: i >= 12, "the cells of P of the last block"),
    (LINE, lambda i: i >= 4, "the cells of P of later blocks"),
    (LINE, lambda i: i < 4, "the cells of P of block 0"),
    (LINE, lambda i: i // 4 % 2 == 1, "the cells of P of every second block, from block 1 on"),
    (LINE, lambda i: np.isin(i, (1, 7)), "P[1] and P[7]"),
    (LINE, lambda i: np.isin(i, (1, 7, 8, 10, 11)), "5 of the 14 cells of P"),
    # A thread's number in the only block is no more than a position.
    (ONE_BLOCK, lambda i: i == 2, "P[2]"),
    (ONE_BLOCK, lambda i: i >= 2, "the cells of P from cell 2 on"),
    (PLANE, lambda r, c: r == 3, "row 3 of P"),
    (PLANE, lambda r, c: r == 8, "the last row of P"),
    (PLANE, lambda r, c: r % 2 == 1, "every second row of P, from row 1 on"),
    (ALONE, lambda r, c: (r == 0) | (r == 8), "the first and the last row of P"),
    (PLANE, lambda r, c: c == 0, "column 0 of P"),
    (PLANE, lambda r, c: c >= 32, "the cells of P of blocks with blockIdx.x = 1"),
    (
        PLANE,
        lambda r, c: (r == 0) | (r == 8) | (c == 0) | (c == 39),
        "the cells of P at the border",
    ),
    (PLANE, lambda r, c: r != c, "the cells of P off the diagonal"),
    (PLANE, lambda r, c: (r == 2) & (c == 3), "P[2][3]"),
    (LAYER, lambda n, m, r, c: m == 1, "channel 1 of P"),
    (LAYER, lambda n, m, r, c: m > 0, "all channels of P but the first"),
    (LAYER, lambda n, m, r, c: (m == 1) & (r == 0), "row 0 of P in channel 1"),
    (LAYER, lambda n, m, r, c: n == 1, "image 1 of P"),
    (LONG, lambda i: i >= 768, "the cells of P from cell 768 on"),
    (LONG, lambda i: i >= 700, "the cells of P from cell 700 on"),
]


@pytest.mark.parametrize(("of", "wrong", "want"), CASES)
def test_description(of: tuple, wrong: Callable[..., np.ndarray], want: str) -> None:
    shape, stored = of
    assert words.which(patterns.pattern(wrong(*np.indices(shape)), stored), "P") == want


@pytest.mark.parametrize("seed", range(20))
def test_what_is_said_is_exact(seed: int) -> None:
    """Of random unions and intersections, each condition that is returned holds for the wrong cells
    alone, as recomputed here from the axes.
    """
    rng = np.random.default_rng(seed)
    shape, stored = PLANE
    row, column = np.indices(shape)
    axes = {"row": row, "column": column, "cell": row * shape[1] + column, "diagonal": column - row}
    axes["border"] = np.minimum.reduce((row, 8 - row, column, 39 - column))
    axes |= {f"threadIdx.{x}": stored.thread[..., k] for k, x in enumerate("xyz")}
    axes |= {f"blockIdx.{x}": stored.block[..., k] for k, x in enumerate("xyz")}
    parts = [
        values % int(rng.integers(1, 6)) <= int(rng.integers(0, 3)) for values in axes.values()
    ]
    one, other = rng.choice(len(parts), 2, replace=False)
    wrong = parts[one] & parts[other] if seed % 2 else parts[one] | parts[other]
    if not wrong.any():
        wrong[0, 0] = True
    found = patterns.pattern(wrong, stored)
    if not found.conditions:
        return
    said = []
    for each in found.conditions:
        values = axes[each.axis]
        said.append(
            {
                "is": values == each.value,
                "is not": values != each.value,
                "from": values >= each.value,
                "before": values < each.value,
                "modulo": values % max(each.modulus, 1) == each.value,
            }[each.relation]
        )
    of_all = np.logical_and if found.join == "and" else np.logical_or
    assert (of_all.reduce(said) == wrong).all()


def test_refusals() -> None:
    with pytest.raises(ValueError, match="no cell is wrong"):
        patterns.pattern(np.zeros(4, bool))
    with pytest.raises(ValueError, match=r"shape \(5,\), and its threads \(14,\)"):
        patterns.pattern(np.ones(5, bool), LINE[1])
