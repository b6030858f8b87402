"""A loop unrolled by two, for any width of the filter."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from helpers.exercises import indices, kit, layers
from helpers.exercises.unrolling import LAB, TILE
from helpers.limits import ConvShape


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield even and odd widths, of one tap too; sizes drawn.

    A warp has two rows of a tile. Each tile has a row for every warp, also where its last row is
    missing: a warp without an output may turn no loop, and the budget of turns counts all warps.
    """
    rows, columns = int(rng.choice((14, 15, 30))), int(rng.integers(5, 20))  # outputs less one
    for K in (6, 1, 2, 3, 5, int(rng.choice((4, 7)))):
        yield layer(rng, ConvShape(2, 2, 2, K + rows, K + columns, K))
    yield layer(rng, ConvShape(1, 1, 1, 20, 35, 4))  # whole tiles side by side
    yield kit.without_budgets(layer(rng, ConvShape(1, 1, 1, *kit.MANY_ROWS, 1)))


def layer(rng: np.random.Generator, shape: ConvShape = layers.LARGE) -> kit.Case:
    """Return a layer; a block has a tile of outputs."""
    grid = layers.tiles(shape, TILE), shape.M, shape.B
    return layers.layer_case(rng, shape, grid, (TILE, TILE))


def last_column(times: Callable[[int], int]) -> Callable[[kit.Case], np.ndarray | None]:
    """Return a function of a case: what comes out if the last tap of each row counts so many times.
    times: of K.
    """
    return layers.weighted(
        lambda case, weight: np.where(weight.q < weight.q.size - 1, 1, times(weight.q.size))
    )


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
            "source as it stands, before the compiler "
            "unrolls anything; comments and #pragma make no difference.)",
            quiet=True,
        ),
        kit.ONE_STORE,
        kit.none_of("shared"),
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: TILE * TILE,
    mistakes=(
        kit.Mistake(
            "Where K is odd, the last tap of each row is left out.",
            gives=last_column(lambda K: 0 if K % 2 else 1),
        ),
        kit.Mistake(
            "Where K is even, the last tap of each row is left out: the loop goes on while two "
            "taps are left, q + 1 < K.",
            gives=last_column(lambda K: 1 if K % 2 else 0),
        ),
        kit.Mistake(
            "Where K is even, the last tap of each row is added twice: there it has a partner, and "
            "the pairs are all.",
            gives=last_column(lambda K: 1 if K % 2 else 2),
        ),
        kit.Mistake(
            "Odd and even are exchanged: the last tap of a row is alone where K is odd.",
            gives=last_column(lambda K: 0 if K % 2 else 2),
        ),
        kit.Mistake(
            "Tap 0 of each row is left out: q begins at 0.",
            gives=layers.weighted(lambda case, weight: weight.q > 0),
        ),
        kit.Mistake(
            "Even widths are right, odd ones are not: look at the last tap of a row, which has "
            "no partner.",
            when=lambda case, got, want: case["shape"].K % 2 == 1,
        ),
        *indices.WRONG_INDICES,
    ),
    findings=(
        kit.FindingHint(
            "out-of-bounds",
            "Where K is odd, tap q + 1 of the last pair lies behind the row: of the last row, "
            "behind the array. The last tap has no partner.",
        ),
    ),
    hints=(
        "For K = 5, which values does q take? Which taps does the last turn read?",
        "Stop the loop while two taps are left: q + 1 < K. What remains to be done behind it, "
        "and when?",
        "int q = 0; for (; q + 1 < K; q += 2) ...; if (q < K) takes the last tap alone.",
    ),
)
