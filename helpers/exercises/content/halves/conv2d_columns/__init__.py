"""Pairs of columns in half precision: one multiply-add for two outputs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit, layers
from helpers.exercises.content.halves import LAB
from helpers.exercises.judge import indices
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
    small=lambda rng: (image(rng, H, W) for H, W in ((7, 8), (8, 11), (9, 24))),
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
    mistakes=indices.WRONG_INDICES,
    hints=(
        "Outputs w and w + 1 read cells w to w + 6 and w + 1 to w + 7 of a row. How many cells "
        "are that together?",
        "Load the eight cells of a row into an array. For tap q, the pair is (cell[q], cell[q + "
        "1]), and both have the weight tap[q].",
        "part = __hfma2(__halves2half2(cell[q], cell[q + 1]), __half2half2(tap[q]), part), and "
        "after each row both halves of part are added to float sums.",
    ),
)
