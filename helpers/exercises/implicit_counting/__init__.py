"""Divisions counted up: a fused product that finds channel, row and column by carrying."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from helpers.exercises import indices, kit, layers
from helpers.limits import ConvShape

TILE = 16
INEXACT = 11  # width of a filter: in floats, 121 times 1.0f / 121 is less than 1
DIVISIONS = 20  # per warp: before the loop anyone may divide as often as the sizes ask for


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield narrow and wide filters, ragged layers; the budgets hold for many steps."""
    rows, columns = (int(n) for n in rng.integers(9, 14, 2))
    drawn = ConvShape(1, 4, 17, rows, columns, 7)
    for shape in (
        ConvShape(1, 40, 3, 9, 8, 5),
        drawn,
        ConvShape(2, 3, 5, 9, 13, 3),
        ConvShape(1, 20, 2, 6, 5, 1),
        ConvShape(1, 2, 3, 5, 6, 2),
    ):
        yield layer(rng, shape, budgeted=shape.C == 40)
    yield layer(rng, ConvShape(1, 2, 1, 12, 13, INEXACT), budgeted=False)
    yield layer(rng, ConvShape(1, 1, 1, *kit.MANY_ROWS, 1), budgeted=False)


def layer(
    rng: np.random.Generator, shape: ConvShape = layers.LARGE, budgeted: bool = True
) -> kit.Case:
    """Return a layer as a product of matrices; a block has a tile of it."""
    grid = (kit.ceil_div(shape.out_h * shape.out_w, TILE), kit.ceil_div(shape.M, TILE), shape.B)
    return layers.layer_case(rng, shape, grid, (TILE, TILE), budgeted=budgeted)


def counted(
    start: Callable[[int, int], tuple[int, int, int]] = lambda ty, K: (
        ty // (K * K),
        ty // K % K,
        ty % K,
    ),
    late: str = "",
) -> Callable[[kit.Case], np.ndarray | None]:
    """Return a function of a case: what comes out of counting up, None where a cell leaves the
    image.

    start: c, p and q of row ty; late: which of p and q carry only beyond K.
    """

    def made(case: kit.Case) -> np.ndarray | None:
        s = case["shape"]
        h, w = (one.ravel() for one in np.mgrid[: s.out_h, : s.out_w])
        cells, places = case["x"].reshape(s.B, -1), np.empty((s.terms, h.size), int)
        for ty in range(min(TILE, s.terms)):
            c, p, q = start(ty, s.K)
            for i in range(ty, s.terms, TILE):
                places[i] = (c * s.H + p + h) * s.W + q + w
                q += TILE
                while q >= s.K + ("q" in late):
                    q, p = q - s.K, p + 1
                while p >= s.K + ("p" in late):
                    p, c = p - s.K, c + 1
        if places.max() >= cells.shape[1]:
            return None
        weights = case["filter"].reshape(s.M, -1).astype(float)
        return (weights @ cells[:, places]).reshape(case["y"].shape)

    return made


# What the exercises of lab 202 share.
LOADS = kit.Budget(
    "loads per tile and step",
    lambda case, one: (
        one.total("lanes", "global", "load")
        / (one.blocks * kit.ceil_div(case["shape"].terms, TILE))
    ),
    2 * TILE * TILE,
    "Load each cell of the two tiles once in a step.",
)
MISTAKES = (
    kit.all_zero("All sums are 0: load the cell of the image."),
    *indices.WRONG_INDICES,
    kit.Mistake(
        "The cell is in channel c, row h + p, column w + q. Rows of the image lie W apart, and "
        "rows of outputs out_w.",
        when=lambda case, got, want: True,
    ),
)
FINDINGS = (
    kit.FindingHint(
        "out-of-bounds",
        "An index left x. The cell is in row c * H + h + p of the image, of W cells each. p is "
        "i_x % (K * K) / K: without the % it goes on in the next channel. (i_x / (K * K) needs its "
        "brackets.)",
        when=lambda found: found.array == "x",
    ),
)


EXERCISE = kit.Exercise(
    name="implicit_counting",
    lab="202_conv2d_fusion",
    title="Count channel, row and column up, without divisions",
    place=3,
    timed=layer,
    cases=cases,
    reference=layers.convolved,
    counts=layers.COUNTS,
    budgets=(
        kit.Budget(
            "divisions per warp",
            kit.executed("div.", "rem.", "rcp.", per="warp"),
            DIVISIONS,
            "There are 63 steps: a division in the loop runs in each of them. (Divisions are "
            "counted as they are executed, whatever they are called in the source.)",
        ),
        kit.Budget(
            "load sectors per tile and step",
            lambda case, one: (
                one.total("sectors", "global", "load")
                / (one.blocks * kit.ceil_div(case["shape"].terms, TILE))
            ),
            lambda case: 130,
            "Load each cell of the two tiles once in a step.",
            quiet=True,
        ),
        LOADS,
        kit.Budget(
            "words from shared memory per block, thread and term",
            lambda case, one: (
                one.total("lanes", "shared", "load")
                / (one.blocks * TILE**2 * kit.ceil_div(case["shape"].terms, TILE) * TILE)
            ),
            2,
            quiet=True,
        ),
        kit.Budget(
            "barriers per warp",
            lambda case, one: one.barriers / kit.warps(case),
            lambda case: 2 * kit.ceil_div(case["shape"].terms, TILE),
            quiet=True,
        ),
        kit.none_of(
            "constant",
            hint="A table of indices costs a request each time it is read: count up instead.",
        ),
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: TILE * TILE,
    mistakes=(
        kit.all_zero("All sums are 0: load the tiles, wait at a barrier, and add up the products."),
        *indices.WRONG_INDICES,
        *(
            kit.Mistake(
                "c and p begin at 0 for every row: row ty of the matrix is channel ty / (K * K), "
                "row ty / K % K and column ty % K of the filter, before the loop.",
                gives=counted(start=start),
            )
            for start in (lambda ty, K: (0, 0, ty), lambda ty, K: (0, 0, 0))
        ),
        *(
            kit.Mistake(
                "A carry comes one too late: q and p go from 0 to K - 1, so they carry when they "
                "reach K.",
                gives=counted(late=late),
            )
            for late in ("q", "p", "pq")
        ),
        kit.Mistake(
            "Only a filter of 11 x 11 is wrong: a product with 1.0f / (K * K) is rounded, and 121 "
            "times 1.0f / 121 is less than 1. Count in whole numbers.",
            when=lambda case, got, want: case["shape"].K == INEXACT,
        ),
        kit.Mistake(
            "Filters of one tap are right, wider ones are not: a carry from columns to rows, or "
            "from rows to channels, is missing or comes too late.",
            when=lambda case, got, want: case["shape"].K > 1,
        ),
        kit.Mistake(
            "A layer of one step (at most 16 filter cells) is right, longer ones are not: 16 cells "
            "can be several rows of the filter, and several channels, so that one carry is not "
            "enough. Work out before the loop how many channels, rows and cells they are.",
            when=lambda case, got, want: case["shape"].terms > TILE,
        ),
    ),
    findings=(
        kit.FindingHint(
            "race",
            "All warps of the block read the tiles: wait at __syncthreads() between the loads and "
            "the sum, and again before the next loads.",
            when=lambda found: str(found.array).startswith("tile"),
        ),
        kit.FindingHint(
            "out-of-bounds",
            "An index left x. Load only below `inner` and `cols`, and 0 elsewhere. When q reaches "
            "K, it must fall by K and p must rise; when p reaches K, it must fall by K and c must "
            "rise. (c, p, q) begin as row ty of the matrix.",
            when=lambda found: found.array == "x",
        ),
    ),
    hints=(
        "i grows by 16 in each step. For K = 5, by how much do c, p and q grow, before any carry?",
        "16 = dc * K * K + dp * K + dq. Work dc, dp and dq out before the loop.",
        "After adding: if q >= K, subtract K and add 1 to p; then if p >= K, subtract K and add "
        "1 to c.",
    ),
)
