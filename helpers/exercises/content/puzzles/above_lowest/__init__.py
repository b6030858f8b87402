"""Shuffles: every lane of a warp learns the smallest of 32 numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.content.puzzles import FAR_OUT, as_blocks, far_out, puzzle

WARP = 32


def case(N: np.ndarray, block: int, warp: int = WARP) -> kit.Case:
    """Return a thread for each number."""
    n = N.size
    arrays, grid = {"P": kit.unwritten(n), "N": N}, (kit.ceil_div(n, block),)
    kinds, facts = {"size": n, "block size": block}, {"block": block, "warp": warp}
    title = f"n = {n:,}, blocks of {block}"
    return kit.one_launch(title, arrays, grid, (block,), n, kinds=kinds, facts=facts)


def numbers(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return different numbers from 100 on: one that is left out changes a minimum, and so does a
    0.
    """
    return (100 + rng.permutation(np.arange(n))).astype(np.float32)


def of_both_signs(rng: np.random.Generator, n: int) -> np.ndarray:
    """Different numbers on both sides of 0: their bits, taken as whole numbers, are not in order.
    """
    return (rng.permutation(np.arange(n)) - n // 2).astype(np.float32)


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield two widths of a block; sizes of less than a warp, around one, and ragged."""
    for n, block in ((int(rng.integers(300, 600)), 128), (2, 64), (31, 64), (33, 64), (128, 128)):
        yield case(numbers(rng, n), block)
    yield case(numbers(rng, kit.MANY), 128)
    for start in FAR_OUT:
        yield kit.without_budgets(case(far_out(numbers(rng, 100), start), 64))
    yield kit.without_budgets(case(of_both_signs(rng, 160), 32))


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield very large numbers, numbers of both signs, parts of a block, and blocks of one warp."""
    yield case(far_out(numbers(rng, 39), FAR_OUT[-1]), 64)
    yield case(of_both_signs(rng, 40), 32)
    for n, block in ((5, 64), (40, 64), (66, 64), (300, 32)):
        yield case(numbers(rng, n), block)


def above(case: kit.Case) -> np.ndarray:
    """Return each number minus the smallest one of its warp."""
    return as_blocks(
        case["N"], case["warp"], lambda rows: rows - rows.min(axis=1, keepdims=True), np.inf
    )


EXERCISE = puzzle(
    "above_lowest",
    9,
    "Shuffles: the smallest number of a warp, for all its lanes",
    cases=cases,
    small=small,
    reference=above,
    counts={"size": "sizes", "block size": "block sizes"},
    example=case(np.array([7, 3, 8, 5, 6, 9], np.float32), 8, 4),
    follow=(2,),
    comes_from={"N": ((0,), (1,), (2,), (3,))},
    budgets=(
        kit.NO_ACTIVEMASK,
        kit.Budget(
            "load requests for each warp",
            lambda case, one: one.total("requests", "global", "load") / kit.warps(case),
            1,
            "Each lane loads its own number once. The other lanes' numbers come by a shuffle.",
        ),
        kit.none_of(
            "shared",
            what="accesses to shared memory",
            hint="A warp needs no shared memory: __shfl_xor_sync hands a register to another lane.",
        ),
        kit.Budget(
            "shuffles for each warp",
            kit.executed("shfl", "redux", "match", per="warp"),
            6,
            "Five steps are enough: with lanes 16, 8, 4, 2 and 1 apart.",
        ),
    ),
    most_of_a_block=lambda case: case["block"],
    timed=lambda rng: case(numbers(rng, 10_000_000), 256),
    hints=(
        "__shfl_xor_sync(0xffffffff, x, 16) gives each lane the x of the lane whose number differs "
        "by 16: lane 0 gets that of lane 16, and lane 16 that of lane 0.",
        "After fminf with that one, each lane knows the smaller of two. Then 8, 4, 2, 1.",
        "The mask 0xffffffff names all 32 lanes, so all must take part: a lane with i >= n uses "
        "INFINITY, and the guard belongs at the store.",
    ),
)
