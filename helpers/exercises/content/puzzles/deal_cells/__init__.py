"""Shared memory and a barrier: each block deals its own cells anew."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.content.puzzles import puzzle
from helpers.quantities import quantity

BLOCK = 256


def case(N: np.ndarray, step: int, block: int = BLOCK) -> kit.Case:
    """Return whole blocks."""
    blocks = N.size // block
    arrays, facts = {"P": kit.unwritten(N.size), "N": N}, {"step": step, "block": block}
    kinds = {"size": N.size, "step": step}
    title = f"{quantity(blocks, 'block')}, step {step}"
    return kit.one_launch(title, arrays, (blocks,), (block,), step, kinds=kinds, facts=facts)


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield some blocks, and odd steps, with which every cell is dealt once."""
    for blocks, step in (
        (int(rng.integers(3, 7)), 2 * int(rng.integers(4, 60)) + 1),
        (1, 3),
        (2, 2 * int(rng.integers(4, 60)) + 1),
        (4, 33),
    ):
        yield case(kit.cells(rng, blocks * BLOCK), step)
    yield case(kit.cells(rng, 280 * BLOCK), 33)


def places(case: kit.Case) -> np.ndarray:
    """Return the number in its block of the cell of each thread."""
    return case["step"] * np.arange(case["block"]) % case["block"]


def dealt(case: kit.Case) -> np.ndarray:
    """Return the cells of each block, dealt."""
    return case["N"].reshape(-1, case["block"])[:, places(case)].ravel()


EXERCISE = puzzle(
    "deal_cells",
    5,
    "Shared memory: a block deals its cells anew",
    cases=cases,
    small=lambda rng: (
        case(kit.cells(rng, BLOCK * blocks), step) for blocks, step in ((1, 3), (2, 3), (1, 5))
    ),
    reference=dealt,
    counts={"size": "sizes", "step": "steps"},
    example=case(np.arange(16, dtype=np.float32), 3, 8),
    follow=(11,),
    comes_from={"N": ((9,),)},
    budgets=(
        kit.Budget(
            "sectors of N per output",
            kit.per_output("global", "load", "N", "sectors"),
            1 / 8,
            "Lane t should load cell t, so that 32 lanes share 4 sectors. Deal the cells in "
            "__shared__ memory, where any order is cheap.",
        ),
        kit.Budget(
            "sectors of P per output",
            kit.per_output("global", "store", "P", "sectors"),
            1 / 8,
            "Lane t should store output t, so that 32 lanes share 4 sectors.",
            quiet=True,
        ),
        kit.loads_of_a_warp(
            1,
            "The block's 256 threads load a cell each, so each warp makes one request. A warp that "
            "loads all cells has to wait for its loads while the others have nothing to do.",
        ),
        kit.Budget(
            "bank conflicts",
            lambda case, one: sum(one.total("conflicts", "shared", a) for a in ("load", "store")),
            0,
            quiet=True,
        ),
    ),
    most_of_a_block=lambda case: case["block"],
    timed=lambda rng: case(kit.cells(rng, 40_000 * BLOCK), 33),
    hints=(
        "An array `__shared__ float cells[256];` belongs to all threads of a block. Let thread t "
        "fill cells[t].",
        "Then thread t needs a cell that another thread has filled. When is it there?",
        "Put __syncthreads() between filling and reading. All 256 threads must reach it.",
    ),
)
