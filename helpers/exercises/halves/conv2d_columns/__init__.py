"""Pairs of columns in half precision: one multiply-add for two outputs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers import reference
from helpers.exercises import indices, kit, layers
from helpers.exercises.halves import LAB
from helpers.limits import ConvShape

MAPS, WIDE = 4, 8


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield even and odd widths. Whole numbers: a row's sum stays below 2,048, which half holds
    exactly, and sums of two rows are often larger.
    """
    for H, W in (
        (22, 38),
        (20, int(2 * rng.integers(11, 17) + 1)),
        (7, 7),
        (int(rng.integers(8, 16)), 8),
    ):
        yield image(rng, H, W)
    yield image(rng, 140, 138)


def image(rng: np.random.Generator, H: int = 1_030, W: int = 1_030) -> kit.Case:
    """Return an image, by default a large one; a block has 16 rows of 16 pairs."""
    x = rng.integers(24, 42, (1, 1, H, W)).astype(np.float16)
    filter = rng.integers(1, 8, (MAPS, 1, 7, 7)).astype(np.float16)
    arrays = {"y": kit.unwritten((1, MAPS, H - 6, W - 6)), "x": x, "filter": filter}
    grid = (kit.ceil_div(W - 6, 2 * WIDE), kit.ceil_div(H - 6, WIDE), MAPS)
    step = kit.Step(grid, (WIDE, WIDE), ("y", "x", "filter", np.int32(H), np.int32(W)))
    budgeted = (H, W) == (22, 38)
    facts = {"shape": ConvShape(1, 1, MAPS, H, W, 7)}
    return kit.Case(
        f"{H} x {W}", arrays, ("y",), (step,), {"size": (H, W)}, facts, budgeted=budgeted
    )


def exchanged(case: kit.Case) -> np.ndarray | None:
    """Return what comes out if the two outputs of each pair stand in each other's place."""
    y = layers.convolved(case)
    if y.shape[3] % 2:
        return None
    return y.reshape(*y.shape[:3], -1, 2)[..., ::-1].reshape(y.shape)


def never_cleared(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether a result is near to what comes out if the rows before are added again each
    time.
    """
    times = np.arange(7, 0, -1, dtype=np.float32)[:, None]
    sums = layers.convolved(case, case["filter"] * times)
    return bool(np.abs(got / sums - 1).max() < 2e-2)


def rounded(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether a result is near, and has the last bits of half precision only."""
    return bool(np.isfinite(got).all() and np.abs(got / want - 1).max() < 5e-3)


def multiplications(*types: str):
    """Return a function of a case and its outcome: multiplications and multiply-adds of these
    types, of all warps, per warp and tap.
    """
    names = [f"{what}.{one}" for what in ("fma", "mul", "mad") for one in types]

    def amount(case: kit.Case, one: kit.Outcome) -> float:
        done = sum(
            n for launch in one.counts for name, n in launch.instructions.items() if name in names
        )
        return done / (kit.warps(case) * 49)

    return amount


EXERCISE = kit.Exercise(
    name="conv2d_columns",
    place=3,
    lab=LAB,
    title="Two columns in one instruction",
    timed=image,
    cases=cases,
    reference=layers.convolved,
    counts={"size": "sizes"},
    budgets=(
        kit.Budget(
            "global loads per output",
            kit.per_output("global", "load"),
            53,
            "The two outputs share six of the eight cells of a row, and all weights: load each "
            "once for both.",
        ),
        kit.Budget(
            "single multiplications per warp and tap",
            multiplications("f32", "f16", "f64"),
            0.2,
            "Each tap should be one __hfma2 for both columns. (Multiplications are counted as "
            "they are executed: a name in a comment, "
            "or one __hfma2 beside the sums, makes no difference.)",
        ),
        kit.Budget(
            "double multiplications per warp and tap", multiplications("f16x2"), 1.2, quiet=True
        ),
        kit.ONE_STORE,
        kit.none_of("shared"),
        kit.none_of(
            "local",
            what="accesses to local memory",
            hint="An array whose index the compiler does not know cannot live in registers.",
        ),
        kit.NO_ATOMICS,
        kit.shuffles(),
    ),
    most_of_a_block=lambda case: 2 * WIDE * WIDE,
    mistakes=(
        kit.all_zero("Both sums are 0: nothing was added to them."),
        kit.Mistake(
            "The two outputs of a pair are exchanged: the low half is column w, the high half "
            "column w + 1.",
            gives=exchanged,
        ),
        kit.Mistake(
            "Odd columns have the value of the even one before. Is the second cell of a pair the "
            "next one, w + q + 1, and does sum.y get the high half?",
            gives=layers.taken(columns=lambda case, w: w // 2 * 2),
        ),
        kit.Mistake(
            "Only the last row of the filter is left: add each row's pair to sum.x and sum.y.",
            gives=layers.weighted(lambda case, weight: weight.p == 6),
        ),
        kit.Mistake(
            "The weights of a row stand the wrong way round: tap q meets the cell in column w + q.",
            gives=indices.indexed(taps=lambda p, q: (p, 6 - q)),
        ),
        kit.Mistake(
            "A map has 49 weights: row p of map m begins at weight (m * 7 + p) * 7.",
            gives=indices.indexed(weight=lambda s, m, c, p, q: (m + p) * s.K + q),
        ),
        *indices.WRONG_INDICES,
        kit.Mistake(
            "The filter is turned by half a turn.",
            gives=lambda c: reference.conv2d(
                c["x"].astype(np.float32),
                np.ascontiguousarray(c["filter"][..., ::-1, ::-1], np.float32),
            ),
        ),
        kit.Mistake(
            "The sum in half goes on from row to row, and is added again behind each: begin each "
            "row with 0.",
            when=never_cleared,
        ),
        kit.Mistake(
            "Right to three digits: half adds up one row exactly, and not two or seven. Add the "
            "rows in float.",
            when=rounded,
        ),
        kit.Mistake(
            "Odd columns are wrong: the second cell of a pair is the next one, w + q + 1, and both "
            "halves get the same weight.",
            when=lambda case, got, want: bool(
                (got[..., 0::2] == want[..., 0::2]).all() and np.isfinite(got).all()
            ),
        ),
    ),
    findings=(
        kit.FindingHint(
            "race",
            "An odd width has a last column without a partner: what is "
            "stored behind it is the next row's first output.",
            when=lambda found: found.array == "y",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "An odd width has a last column without a partner: cells from W on count as 0, and "
            "nothing is stored there. If yours has a guard, an index is wrong: w is a column "
            "already, and the cells of row p begin at (h + p) * W + w.",
            when=lambda found: found.array in ("x", "y"),
        ),
        kit.FindingHint(
            "uninitialised",
            "Two outputs need eight cells of a row, those in the columns w to w + 7.",
        ),
    ),
    hints=(
        "Outputs w and w + 1 read cells w to w + 6 and w + 1 to w + 7 of a row. How many cells "
        "are that together?",
        "Load the eight cells of a row into an array. For tap q, the pair is (cell[q], cell[q + "
        "1]), and both have the weight tap[q].",
        "part = __hfma2(__halves2half2(cell[q], cell[q + 1]), __half2half2(tap[q]), part), and "
        "after each row both halves of part are added to float sums.",
    ),
)
