"""The exercises of the ladder of products: cases and budgets that they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from helpers.exercises import kit

LAB = "201_gemm_ladder"
DEPTH = 8  # of a step along `inner`


def product(case: kit.Case) -> np.ndarray:
    """Return a X."""
    return case["A"].astype(float) @ case["X"].astype(float)


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


def exercise(
    name: str,
    place: int,
    title: str,
    tile: int,
    threads: int,
    words: float,
    small: tuple[tuple[int, int, int], ...],
    **more: Any,
) -> kit.Exercise:
    """Return an exercise of the ladder. words: of shared memory, for a multiply-add of a right
    answer; small: rows, columns and terms of the small cases.
    """
    return kit.Exercise(
        name=name,
        place=place,
        lab=LAB,
        title=title,
        timed=matrices(tile, threads),
        cases=cases(tile, threads),
        small=lambda rng: (matrices(tile, threads)(rng, *size) for size in small),
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
                "The tiles load each cell once for a block: multiply what is staged.",
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
        **more,
    )
