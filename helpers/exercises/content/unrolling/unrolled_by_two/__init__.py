"""A loop unrolled by two, for any width of the filter."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit, layers
from helpers.exercises.content.unrolling import LAB, TILE
from helpers.exercises.judge import indices
from helpers.limits import ConvShape


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield even and odd widths, of one tap too; sizes drawn.

    A warp has two rows of a tile. Each tile has a row for every warp, also where its last row is
    missing: a warp without an output may turn no loop, and the budget of turns counts all warps.
    """
    rows, columns = int(rng.choice((14, 15, 30))), int(rng.integers(5, 20))  # outputs less one
    for K in (6, 1, 2, 3, 5, int(rng.choice((4, 7)))):
        yield layer(rng, ConvShape(2, 2, 2, K + rows, K + columns, K))
    yield layer(rng, ConvShape(4, 3, 2, 17, 12, 2))  # no two of them alike
    yield layer(rng, ConvShape(1, 1, 1, 20, 35, 4))  # whole tiles side by side
    yield kit.without_budgets(layer(rng, ConvShape(1, 1, 1, *kit.MANY_ROWS, 1)))


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield small layers of an even and an odd width, and one of two tiles."""
    yield layer(rng, ConvShape(1, 1, 2, 4, 5, 2))
    yield layer(rng, ConvShape(1, 2, 2, 5, 6, 3))
    yield layer(rng, ConvShape(2, 2, 1, 5, 20, 4))


def layer(rng: np.random.Generator, shape: ConvShape = layers.LARGE) -> kit.Case:
    """Return a layer; a block has a tile of outputs."""
    grid = layers.tiles(shape, TILE), shape.M, shape.B
    return layers.layer_case(rng, shape, grid, (TILE, TILE))


def most_turns(case: kit.Case) -> float:
    """Return the turns of all loops per warp: channels, rows, and half of the columns, the ends of
    the loops included.
    """
    shape = case["shape"]
    return (shape.C * (shape.K * (shape.K // 2 + 2) + 2) + 2) * kit.warps(case)


EXERCISE = kit.Exercise(
    name="unrolled_by_two",
    lab=LAB,
    place=3,
    title="Unroll by two, for odd widths too",
    timed=layer,
    cases=cases,
    small=small,
    reference=layers.convolved,
    counts=layers.COUNTS,
    turns=True,
    budgets=(
        layers.loads_per_product(
            2,
            "A cell and a weight for each tap, and none beside the filter.",
            what="loads per output and tap",
        ),
        kit.Budget(
            "turns of loops, before the compiler unrolls",
            lambda case, one: sum(n.turns for n in one.counts),
            most_turns,
            "A turn of the loop over q should take two taps. (The turns are counted in your "
            "source as it is, before the compiler "
            "unrolls anything; comments and #pragma make no difference.)",
            quiet=True,
        ),
        kit.ONE_STORE,
        kit.none_of("shared"),
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: TILE * TILE,
    mistakes=indices.WRONG_INDICES,
    hints=(
        "For K = 5, which values does q take? Which taps does the last turn read?",
        "Stop the loop while two taps are left: q + 1 < K. What remains to be done after it, "
        "and when?",
        "int q = 0; for (; q + 1 < K; q += 2) ...; if (q < K) takes the last tap alone.",
    ),
)
