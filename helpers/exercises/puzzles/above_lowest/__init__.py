"""Shuffles: every lane of a warp learns the smallest of 32 numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.puzzles import as_blocks, puzzle

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
    # Above whatever a student may take for the greatest of all numbers, other than that one itself.
    for most, step in ((3e6, 16), (np.ldexp(1.0, 127), np.ldexp(1.0, 104))):
        far = numbers(rng, 100).astype(np.float64) * step + most
        yield kit.without_budgets(case(far.astype(np.float32), 64))
    yield kit.without_budgets(case(of_both_signs(rng, 160), 32))


def above(case: kit.Case, keep: slice = slice(None), fill: float = np.inf) -> np.ndarray:
    """Return each number minus the smallest one of its warp, of the lanes that `keep` selects."""
    return as_blocks(
        case["N"], case["warp"], lambda rows: rows - rows[:, keep].min(axis=1, keepdims=True), fill
    )


def lane_0_only(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether each warp's first output is right, and all are numbers."""
    return bool(np.isfinite(got).all() and (got == want)[:: case["warp"]].all())


def last_warp_only(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether all wrong outputs belong to a last warp that has lanes without a number."""
    whole = got.size // case["warp"] * case["warp"]
    return bool(np.isfinite(got).all() and (got == want)[:whole].all())


EXERCISE = puzzle(
    "above_lowest",
    9,
    "Shuffles: the smallest number of a warp, for all its lanes",
    task="P[i] must be N[i] minus the smallest number of its warp",
    cases=cases,
    small=lambda rng: (case(numbers(rng, n), 64) for n in (5, 40, 66)),
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
    mistakes=(
        kit.Mistake(
            "In the last warp lanes without a number count as 0, which is the smallest. They must "
            "bring INFINITY.",
            lambda case: above(case, fill=0.0),
        ),
        kit.Mistake(
            "Only the last warp is wrong, and some of its lanes have no number: what they bring "
            "must never be the smallest. That is INFINITY.",
            when=last_warp_only,
        ),
        kit.Mistake(
            "The sign is turned around: N[i] minus the smallest, not the smallest minus N[i].",
            lambda case: -above(case),
        ),
        kit.Mistake(
            "N itself comes out: the smallest number of the warp is not subtracted.",
            lambda case: case["N"],
        ),
        kit.Mistake(
            "The largest number of the warp is subtracted: fminf keeps the smaller of two.",
            lambda case: as_blocks(
                case["N"],
                case["warp"],
                lambda rows: rows - rows.max(axis=1, keepdims=True),
                -np.inf,
            ),
        ),
        kit.Mistake(
            "Only numbers below 0 come out wrong. Compare floats by fminf: an absolute value, or "
            "the bits of a float as an unsigned number, have another order there.",
            when=lambda case, got, want: case["N"].min() < 0 and np.isfinite(got).all(),
        ),
        kit.Mistake(
            "It is right with blocks of one size only: a block's width is blockDim.x, not a "
            "number.",
            when=lambda case, got, want: case.kinds["block size"] != 128,
        ),
        kit.Mistake(
            "Of each warp only lane 0 has the smallest number. With __shfl_down_sync the others "
            "see a part of the warp: __shfl_xor_sync gives the result to all of them.",
            when=lane_0_only,
        ),
        kit.Mistake(
            "A lane knows only a part of its warp. Five steps are needed, 16, 8, 4, 2 and 1, and "
            "in each of them a lane hands on the smallest number that it has seen so far.",
            when=lambda case, got, want: np.isfinite(got).all() and (got <= want).all(),
        ),
    ),
    findings=(
        kit.FindingHint(
            "out-of-bounds",
            "Lanes without a number bring INFINITY in place of N[i], and do not store.",
        ),
        kit.FindingHint(
            "mask",
            "The mask must name every lane that makes the call, its own too: 0xffffffff names all "
            "32 lanes of a warp.",
            when=lambda found: "does not name it" in found.message,
        ),
        kit.FindingHint(
            "mask",
            "A lane has left the kernel, and the mask 0xffffffff still names it: no lane may "
            "return before the shuffles. Let it bring INFINITY.",
        ),
    ),
    hints=(
        "__shfl_xor_sync(0xffffffff, x, 16) gives each lane the x of the lane whose number differs "
        "by 16: lane 0 gets that of lane 16, and lane 16 that of lane 0.",
        "After fminf with that one, each lane knows the smaller of two. Then 8, 4, 2, 1.",
        "The mask 0xffffffff names all 32 lanes, so all must take part: a lane with i >= n brings "
        "INFINITY, and the guard stands at the store.",
    ),
)
