"""The exercises of the ladder of products: cases, budgets and mistakes that they share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from helpers.exercises import kit
from helpers.simulator import Finding

LAB = "201_gemm_ladder"
DEPTH = 8  # of a step along `inner`


def product(case: kit.Case, terms: int | None = None) -> np.ndarray:
    """Return a X, of the first so many terms."""
    return case["A"][:, :terms].astype(float) @ case["X"][:terms].astype(float)


def last_term(case: kit.Case) -> np.ndarray:
    """Return what comes out if a sum begins again with each term: the cells beyond the last one are
    0.
    """
    if case["terms"] % DEPTH:
        return np.zeros_like(product(case))
    return case["A"][:, -1:].astype(float) @ case["X"][-1:].astype(float)


# Where a thread takes its factors: the place in the tile, by row and column of an output there.
Place = Callable[[np.ndarray, np.ndarray], np.ndarray]


def padded_product(case: kit.Case, tile: int) -> np.ndarray:
    """Return the product, with zeros up to whole tiles."""
    want = product(case)
    padded = np.zeros([-(-size // tile) * tile for size in want.shape])
    padded[: want.shape[0], : want.shape[1]] = want
    return padded


def from_places(case: kit.Case, tile: int, rows: Place, columns: Place) -> np.ndarray:
    """Return what comes out if outputs are made of these rows of A and columns of X."""
    row, column = np.ogrid[: len(case["A"]), : case["X"].shape[1]]
    at = row % tile, column % tile
    of_a = row // tile * tile + rows(*at)
    of_x = column // tile * tile + columns(*at)
    return padded_product(case, tile)[of_a, of_x]


def with_step_0(case: kit.Case, a: bool = False, x: bool = False) -> np.ndarray | None:
    """Return what comes out if all DEPTH steps take the cell of step 0, of A or of X."""
    steps = np.arange(case["terms"])
    first = steps // DEPTH * DEPTH
    of_a, of_x = case["A"][:, first if a else steps], case["X"][first if x else steps]
    return of_a.astype(float) @ of_x.astype(float) if case["terms"] > 1 else None


def without_last_step(case: kit.Case) -> np.ndarray | None:
    """Return what comes out if the last of each DEPTH steps is left out."""
    kept = np.arange(case["terms"]) % DEPTH != DEPTH - 1
    if kept.all():
        return None
    return case["A"][:, kept].astype(float) @ case["X"][kept].astype(float)


def matrices(tile: int, threads: int) -> Callable[..., kit.Case]:
    """Return a function of (rng, rows, cols, inner): a product for blocks that make square tiles.
    """

    def case(
        rng: np.random.Generator, rows: int = 1_024, cols: int = 1_024, inner: int = 1_024
    ) -> kit.Case:
        arrays = {
            "Y": kit.unwritten((rows, cols)),
            "A": kit.whole_numbers(rng, (rows, inner)),
            "X": kit.whole_numbers(rng, (inner, cols)),
        }
        grid = kit.ceil_div(cols, tile), kit.ceil_div(rows, tile)
        given = ("Y", "A", "X", *map(np.int32, (rows, cols, inner)))
        title = f"{rows} x {inner} times {inner} x {cols}"
        kinds: Mapping[str, Any] = {"size": (rows, cols, inner)}
        whole = not (rows % tile or cols % tile or inner % DEPTH)
        step = kit.Step(grid, (threads,), given)
        return kit.Case(title, arrays, ("Y",), (step,), kinds, {"terms": inner}, budgeted=whole)

    return case


def has_fixed_terms(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether each sum ends after so many steps, and the last terms are left out."""
    ends = range(DEPTH, case["terms"], DEPTH)
    return any(np.array_equal(got, product(case, end)) for end in ends)


def cases(tile: int, threads: int) -> Callable[[np.random.Generator], Iterator[kit.Case]]:
    """Yield products of whole tiles and ragged ones, of 1 to 206 terms, and with more columns than
    16 bits can count.
    """
    made = matrices(tile, threads)

    def drawn(rng: np.random.Generator) -> Iterator[kit.Case]:
        yield made(rng, tile, 2 * tile, 4 * DEPTH)
        yield made(rng, *(int(one) for one in rng.integers(1, tile, 2)), int(rng.integers(9, 30)))
        yield made(rng, tile + 1, tile - 1, DEPTH + 1)
        yield made(rng, 1, 1, 1)
        yield made(rng, 2, 70_001, 3)
        yield made(rng, 50, 60, 206)

    return drawn


def two_blocks(found: Finding) -> bool:
    """Return whether the two threads of a race are the same one of two blocks: they forgot their
    block.
    """
    places = re.search(r"thread \((.*?)\) of block .* thread \((.*?)\) of block", found.message)
    return places is not None and places[1] == places[2]


def one_column(tile: int) -> Callable[[Finding], bool]:
    """Return a function of a race: whether its threads are of one block, and of one column of its
    tile.
    """

    def are(found: Finding) -> bool:
        other = re.search(r"which thread \((\d+), 0, 0\) wrote", found.message)
        return other is not None and (found.thread[0] - int(other[1])) % tile == 0

    return are


def exercise(
    name: str, place: int, title: str, tile: int, threads: int, words: float, **more: Any
) -> kit.Exercise:
    """Return an exercise of the ladder. words: of shared memory, for a multiply-add of a right
    answer.
    """
    return kit.Exercise(
        name=name,
        place=place,
        lab=LAB,
        title=title,
        timed=matrices(tile, threads),
        cases=cases(tile, threads),
        reference=product,
        counts={"size": "sizes"},
        budgets=(
            kit.Budget(
                "words from shared memory per multiply-add",
                lambda case, one: (
                    one.total("bytes_used", "shared", "load") / 4 / (case.count * case["terms"])
                ),
                words,
                "What a thread has read once, it keeps in a variable for all its products.",
                least=words / 5,
                if_less="Multiply the cells of the tiles, tile_a and tile_x: global memory is read "
                "to fill them, and for nothing else.",
            ),
            kit.Budget(
                "loads per cell of A and X that a block needs",
                lambda case, one: (
                    one.total("lanes", "global", "load") / (2 * one.blocks * tile * case["terms"])
                ),
                1,
                "The tiles bring each cell once for a block: multiply what is staged.",
                quiet=True,
            ),
            kit.no_doubles(
                "The sums are floats: a double takes two registers, and many GPUs have far fewer "
                "units for doubles."
            ),
            kit.ONE_STORE,
            *kit.NO_DETOURS,
        ),
        most_of_a_block=lambda case: tile * tile,
        mistakes=(
            kit.all_zero("All sums are 0: add up the products of the staged cells."),
            kit.Mistake(
                "Only the first step along inner is multiplied: the sums go on from step to step.",
                gives=lambda case: product(case, DEPTH) if case["terms"] > DEPTH else None,
            ),
            kit.Mistake(
                "Only the last term of each sum is there: add to the sum, do not replace it.",
                gives=last_term,
            ),
            kit.Mistake(
                "Every step takes the cell of X of step 0: step i needs tile_x[i].",
                gives=lambda case: with_step_0(case, x=True),
            ),
            kit.Mistake(
                "Every step takes the cell of A of step 0: step i needs column i of tile_a.",
                gives=lambda case: with_step_0(case, a=True),
            ),
            kit.Mistake(
                "The last of the DEPTH steps is missing: i goes from 0 to DEPTH - 1.",
                gives=without_last_step,
            ),
            *more.pop("mistakes", ()),
            kit.Mistake(
                "A sum has only its first terms: the loop over the steps goes on to `inner`.",
                when=has_fixed_terms,
            ),
        ),
        findings=(
            kit.FindingHint(
                "race",
                "Two blocks write one cell of Y: a block's rows begin at top, its columns at left, "
                "and a row of Y has cols cells.",
                when=lambda found: found.array == "Y" and two_blocks(found),
            ),
            kit.FindingHint(
                "race",
                "Two threads of a block write one cell of Y: each thread has rows of its own in "
                "the tile.",
                when=lambda found: found.array == "Y" and one_column(tile)(found),
            ),
            kit.FindingHint(
                "race",
                "A column beyond the last one is a cell of the next row, which has a thread of its "
                "own: store where row < rows and col < cols.",
                when=lambda found: found.array == "Y",
            ),
            kit.FindingHint(
                "out-of-bounds",
                "A tile may be larger than what is left of Y: store where row < rows and "
                "col < cols.",
                when=lambda found: found.array == "Y",
            ),
            kit.FindingHint(
                "out-of-bounds",
                "tile_a is [row of the tile][step along inner], tile_x is [step][column].",
                when=lambda found: found.array in ("tile_a", "tile_x"),
            ),
        ),
        **more,
    )
