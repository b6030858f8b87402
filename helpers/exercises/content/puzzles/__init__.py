"""The twelve puzzles: kernels of a few lines, written from a blank cell.

A puzzle is an exercise with a small example to draw: the value to follow, and the inputs that it is
made of. What all puzzles forbid, and what several of them are made of, stands here once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from helpers.exercises import kit
from helpers.quantities import quantity

LAB = "103_puzzles"
POINTS = 2
# Inner indices of an array: (3,) of one axis, (2, 3) of two.
Places = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Puzzle(kit.Exercise):
    """example: a case of a few values, with few threads in a block, which `reference` solves;
    follow: the value of the output to follow in its drawing; comes_from: the places of the inputs
    that it is made of, by array; upright: arrays of one axis that the drawing shows as a column;
    pictured: the place of the case that the picture of accesses launches; watch: (block, warp) that
    it shows.
    """

    example: kit.Case | None = None
    follow: tuple[int, ...] = (0,)
    comes_from: Mapping[str, Places] = field(default_factory=dict)
    upright: tuple[str, ...] = ()
    pictured: int = 0
    watch: tuple[tuple[int, int, int], int] = ((0, 0, 0), 0)


def puzzle(name: str, place: int, title: str, **more: Any) -> Puzzle:
    """Return a puzzle, with the budgets that all of them have."""
    more["budgets"] = (*more.get("budgets", ()), *_COMMON)
    return Puzzle(name=name, place=place, title=title, lab=LAB, points=POINTS, **more)


_COMMON = (
    kit.none_of(
        "local",
        what="accesses to local memory",
        hint="An array in a thread, with an index that the compiler does not know, lies in slow "
        "memory. Keep single variables.",
    ),
    kit.none_of(
        "global",
        "atomic",
        what="atomics in global memory",
        hint= (
            "One thread stores each output, once. Combine the values of a block's threads in "
            "shared memory."
        ),
    ),
    # A second store to one's own output would look like the work of another thread.
    kit.ONE_STORE,
)

def over_line(N: np.ndarray, P: np.ndarray, block: int) -> kit.Case:
    """Return a case with a thread for each number of N; P: the output before the launch."""
    kinds, facts = {"size": N.size}, {"block": block}
    grid = (kit.ceil_div(N.size, block),)
    return kit.one_launch(
        f"n = {N.size:,}", {"P": P, "N": N}, grid, (block,), N.size, kinds=kinds, facts=facts
    )


def over_image(N: np.ndarray, P: np.ndarray, threads: tuple[int, int], **facts: Any) -> kit.Case:
    """Return a case with a thread for each cell of an image; P: the output before the launch."""
    height, width = N.shape
    grid = (kit.ceil_div(width, threads[0]), kit.ceil_div(height, threads[1]))
    title, kinds = f"{quantity(height, 'row')} of {width}", {"size": (height, width)}
    return kit.one_launch(
        title, {"P": P, "N": N}, grid, threads, width, height, kinds=kinds, facts=facts
    )


# ---- what several puzzles count ----


def sectors_per_request(array: str, access: str, most: float, hint: str) -> kit.Budget:
    """Return the sectors of a request, on average."""
    words = {"load": "loads", "store": "stores"}[access]

    def amount(case: kit.Case, one: Any) -> float:
        requests = one.total("requests", "global", access, array)
        return one.total("sectors", "global", access, array) / max(requests, 1)

    return kit.Budget(f"sectors for each request that {words} {array}", amount, most, hint)


def lanes_of(array: str, most: Any, hint: str) -> kit.Budget:
    """Return how often threads load a value of an array."""
    return kit.Budget(
        f"loads of {array}",
        lambda case, one: one.total("lanes", "global", "load", array),
        most,
        hint,
    )


def shared_out(most: int, cells: str) -> kit.Budget:
    """Return the budget of so many load requests of one warp. cells: what the block loads."""
    return kit.loads_of_a_warp(
        most,
        f"The block's threads share its {cells}. A warp that loads for the others has to wait for "
        "its loads while they have nothing to do.",
    )


def barriers(most: float, hint: str) -> kit.Budget:
    """Return how often a warp comes to a barrier."""

    def amount(case: kit.Case, one: Any) -> float:
        return one.barriers / (one.blocks * _warps_of_a_block(case))

    return kit.Budget("barriers for each warp", amount, most, hint)


def shared_loads(most: float, hint: str) -> kit.Budget:
    """Return load requests of shared memory, for each block."""
    return kit.Budget(
        "shared load requests for each block",
        lambda case, one: one.total("requests", "shared", "load") / one.blocks,
        most,
        hint,
    )


def _warps_of_a_block(case: kit.Case) -> int:
    return -(-int(np.prod(case.steps[0].block)) // 32)


# Where numbers begin, and how far apart they are, that are greater than what a student may take for
# the greatest of all. (The greatest of all itself is right.)
FAR_OUT = ((3e6, 16.0), (2.0**127, 2.0**104))


def far_out(numbers: np.ndarray, start: tuple[float, float]) -> np.ndarray:
    """Return positive numbers moved to one of FAR_OUT, as float32."""
    first, step = start
    return (numbers.astype(np.float64) * step + first).astype(np.float32)


def padded(values: np.ndarray, to: int, fill: float) -> np.ndarray:
    """Return the values as rows of `to`, the last row filled up."""
    rows = -(-values.size // to)
    wide = np.full(rows * to, fill, np.float64)
    wide[: values.size] = values
    return wide.reshape(rows, to)


def as_blocks(values: np.ndarray, to: int, change: Any, fill: float = 0.0) -> np.ndarray:
    """Return what `change` makes of the rows of `to` values, cut to as many values as there are."""
    return np.asarray(change(padded(values, to, fill))).reshape(-1)[: values.size]


def sizes_of(rng: np.random.Generator, block: int, most: int = 900) -> Sequence[int]:
    """Return a ragged size first, which has a pattern to show; then few values, and those around a
    block.
    """
    return int(rng.integers(3 * block + 1, most)), 2, block - 1, block, block + 1
