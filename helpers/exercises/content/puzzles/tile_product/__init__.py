"""A product of two small matrices, from tiles."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.content.puzzles import puzzle

TILE = 16


def case(A: np.ndarray, B: np.ndarray, tile: int = TILE) -> kit.Case:
    """Return a thread for each cell of C."""
    (rows, inner), cols = A.shape, B.shape[1]
    grid = (kit.ceil_div(cols, tile), kit.ceil_div(rows, tile))
    return kit.one_launch(
        f"{rows} x {inner} times {inner} x {cols}",
        {"C": kit.unwritten((rows, cols)), "A": A, "B": B},
        grid, (tile, tile), rows, cols, inner,
        kinds={"size": (rows, cols, inner)}, facts={"tile": tile},
    )


def drawn(rng: np.random.Generator, rows: int, cols: int, inner: int) -> kit.Case:
    """Return a product whose sums float32 holds exactly, and tiles of halves or ints do not."""
    return case(kit.cells(rng, (rows, inner)), kit.whole_numbers(rng, (inner, cols)))


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a ragged product, a small one, one of whole tiles, one that is a tile and one more, and
    one of many terms.
    """
    rows, cols, inner = (int(n) for n in rng.integers(33, 48, 3))
    for sizes in ((rows, cols, inner), (2, 3, 5), (32, 48, 32), (17, 16, 17), (5, 3, 150)):
        yield drawn(rng, *sizes)
    # More cells of C than 16 bits can count, and then of A.
    yield drawn(rng, *kit.MANY_ROWS, 2 * TILE + 3)
    yield kit.without_budgets(drawn(rng, 1_200, 3, 60))


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield one tile, two along each axis, and many terms."""
    for sizes in ((2, 3, 2), (2, 3, 18), (17, 3, 2), (3, 18, 2), (2, 3, 70)):
        yield drawn(rng, *sizes)


def product(case: kit.Case) -> np.ndarray:
    """Return A B."""
    A, B = (case[name].astype(np.float64) for name in ("A", "B"))
    return A @ B


EXERCISE = puzzle(
    "tile_product",
    12,
    "Tiles of two matrices: a small product",
    cases=cases,
    small=small,
    reference=product,
    example=case(
        np.array([[1, 2, 3], [4, 5, 6]], np.float32),
        np.array([[1, 0], [2, 1], [5, 3]], np.float32),
        2,
    ),
    follow=(1, 0),
    comes_from={"A": ((1, 0), (1, 1), (1, 2)), "B": ((0, 0), (1, 0), (2, 0))},
    pictured=2,
    budgets=(
        kit.Budget(
            "loads of A and B",
            lambda case, one: one.total("lanes", "global", "load"),
            lambda case: (
                2
                * int(np.prod(case.steps[0].grid))
                * case["tile"] ** 2
                * kit.ceil_div(case["A"].shape[1], case["tile"])
            ),
            "In each turn a thread loads one cell of A and one of B into __shared__ tiles, and the "
            "16 threads of a row, or of a column, use each of them.",
        ),
        kit.loads_of_a_warp(
            lambda case: 2 * kit.ceil_div(case["A"].shape[1], case["tile"]),
            "In each turn every thread loads one cell of A and one of B, so a warp makes two "
            "requests. A warp that fills the tiles alone has to wait for its loads while the "
            "others have nothing to do.",
        ),
        kit.Budget(
            "sectors for each load request",
            lambda case, one: (
                one.total("sectors", "global", "load")
                / max(one.total("requests", "global", "load"), 1)
            ),
            6,
            "The 16 lanes with neighbouring threadIdx.x should load neighbouring cells of a row.",
        ),
        kit.Budget(
            "bank conflicts of shared loads",
            kit.all_of("conflicts", "shared", "load"),
            0,
            "Lanes with neighbouring threadIdx.x should read neighbouring cells of a tile, or all "
            "the same one.",
            quiet=True,
        ),
        kit.Budget(
            "bank conflicts",
            lambda case, one: sum(one.total("conflicts", "shared", a) for a in ("load", "store")),
            0,
            "The tiles are read without conflicts, and filled with some. A warp fills two rows of "
            "a tile. With 16 floats in a row these are 32 neighbouring words, one in each bank: "
            "a row that is padded moves some of them to banks that are taken, and so does a tile "
            "that is filled down its columns.",
        ),
    ),
    most_of_a_block=lambda case: case["tile"] ** 2,
    timed=lambda rng: drawn(rng, 1_024, 1_024, 1_024),
    hints=(
        "Thread (x, y) of the block computes C[r][c]. It needs row r of A and column c of B: take "
        "16 values of k at a time.",
        "Fill a[y][x] with A[r][first + x] and b[y][x] with B[first + y][c], 0 where there is no "
        "such cell. What must happen before a thread reads them, and before the next 16 values of "
        "k overwrite them?",
        "Wait after the filling, and after the sum of a[y][k] * b[k][x]. All threads run all "
        "turns, even those without a cell of C. The guard belongs at the store.",
    ),
)
