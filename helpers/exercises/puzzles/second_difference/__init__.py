"""A stencil of three cells, from a tile with its halo."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from helpers.exercises.kit import (
    MANY,
    Case,
    FindingHint,
    Mistake,
    Step,
    ceil_div,
    cells,
    right,
    unwritten,
    without_budgets,
    wrong,
)
from helpers.exercises.puzzles import as_blocks, lanes_of, puzzle, sizes_of

BLOCK = 128


def case(N: np.ndarray, block: int = BLOCK) -> Case:
    """A thread for each output."""
    n = N.size
    step = Step((ceil_div(n, block),), (block,), ("P", "N", np.int32(n)))
    return Case(
        f"n = {n:,}",
        {"P": unwritten(n), "N": N},
        ("P",),
        (step,),
        {"size": n},
        {"block": block},
    )


def cases(rng: np.random.Generator) -> Iterator[Case]:
    """A ragged size, two cells, and sizes around a block."""
    for n in sizes_of(rng, BLOCK):
        yield case(cells(rng, n))
    yield without_budgets(case(cells(rng, MANY)))


def differences(case: Case, mode: Any = "constant") -> np.ndarray:
    """The second differences, N continued as NumPy's pad does by that mode."""
    wide = np.pad(case["N"], 1, mode=mode)
    return wide[:-2] - 2 * wide[1:-1] + wide[2:]


def halo_left_out(case: Case) -> np.ndarray:
    """What comes out if the neighbours' cells count as 0 in each block."""

    def change(rows: np.ndarray) -> np.ndarray:
        wide = np.pad(rows, ((0, 0), (1, 1)))
        return wide[:, :-2] - 2 * wide[:, 1:-1] + wide[:, 2:]

    return as_blocks(case["N"], case["block"], change)


EXERCISE = puzzle(
    "second_difference",
    6,
    "Stencil: a tile with its halo",
    Path(__file__).parent,
    task="P[i] must be N[i - 1] - 2 * N[i] + N[i + 1], with 0 outside N",
    cases=cases,
    reference=differences,
    example=case(np.array([1, 2, 4, 8, 5, 3, 2, 9], np.float32), 4),
    follow=(4,),
    comes_from={"N": ((3,), (4,), (5,))},
    watch=((1, 0, 0), 0),
    budgets=(
        lanes_of(
            "N",
            lambda case: case.count + 2 * case.steps[0].grid[0],
            "Each block needs its 128 cells and one more at each side. Load each of them "
            "once, into "
            "__shared__ memory, and compute from there.",
        ),
    ),
    most_of_a_block=lambda case: case["block"],
    timed=lambda rng: case(cells(rng, 10_000_000)),
    mistakes=(
        Mistake(
            "At the borders of the blocks the neighbour's cell counts as 0: the tile needs a halo, "
            "one cell of the block before it and one of the block behind it.",
            halo_left_out,
        ),
        Mistake(
            "The edge cell is repeated outside N. Here cells outside N count as 0.",
            lambda case: differences(case, "edge"),
        ),
        Mistake(
            "The sign is turned around: N[i - 1] - 2 N[i] + N[i + 1].",
            lambda case: -differences(case),
        ),
    ),
    findings=(
        FindingHint(
            "out-of-bounds",
            "Thread 0 of block 0 has no cell before it, and the last output none behind it: ask "
            "before you load, and put 0 there.",
            when=lambda found: found.array == "N",
        ),
        FindingHint(
            "out-of-bounds",
            "The tile has 128 cells and one more at each side: 130, with the numbers 0 to 129.",
            when=lambda found: found.array != "P",
        ),
        FindingHint("out-of-bounds", "The last block has more threads than outputs: if (i < n)."),
        FindingHint(
            "race",
            "A thread reads a neighbour's cell that may not be there yet: a "
            "__syncthreads() belongs "
            "between filling the tile and reading it.",
            when=lambda found: found.array != "P",
        ),
        FindingHint(
            "uninitialised",
            "A cell of the tile was never filled: is it the halo, tile[0] or tile[129], or a cell "
            "behind the end of N?",
        ),
    ),
    hints=(
        "Block 1 makes outputs 128 to 255. Which cells of N does it need? (130 of them.)",
        "Let tile[s] be cell 128 * blockIdx.x - 1 + s. Each thread fills tile[t + 1]; one fills "
        "tile[0], another one tile[129]. A cell outside N is 0.",
        "All threads come to __syncthreads(), those without an output, too. Then output i is "
        "tile[t] - 2 * tile[t + 1] + tile[t + 2].",
    ),
    right=(
        right("one thread fills each end"),
        right("filled in two steps", "right_steps.cu"),
    ),
    wrong=(
        wrong("no barrier", "between filling", ("    __syncthreads();\n", ""), status="finding"),
        wrong(
            "the left halo is not filled",
            "was never filled",
            ("    if (t == 0) tile[0] = first > 0 ? N[first - 1] : 0.0f;\n", ""),
            status="finding",
        ),
        wrong(
            "the halo is 0",
            "needs a halo",
            ("first > 0 ? N[first - 1]", "first < 0 ? N[0]"),
            ("i + 1 < n ? N[i + 1]", "n < 0 ? N[0]"),
        ),
        wrong(
            "N[-1] is read",
            "ask before you load",
            ("first > 0 ? N[first - 1] : 0.0f", "N[first - 1]"),
            status="finding",
        ),
        wrong("tile of 128", "130, with the numbers", ("tile[130]", "tile[128]"), status="finding"),
        wrong(
            "the edge is repeated",
            "outside n count as 0",
            ("N[first - 1] : 0.0f", "N[first - 1] : N[0]"),
            ("i < n ? N[i] : 0.0f", "N[min(i, n - 1)]"),
            ("i + 1 < n ? N[i + 1] : 0.0f", "N[min(i + 1, n - 1)]"),
        ),
        wrong(
            "signs",
            "sign is turned",
            ("tile[t] - 2 * tile[t + 1] + tile[t + 2]", "2 * tile[t + 1] - tile[t] - tile[t + 2]"),
        ),
        wrong("the middle once", "must be n[i - 1] - 2 * n[i]", ("- 2 * tile", "- tile")),
        wrong("no tile", "load each of them once", file="wrong_direct.cu", status="budget"),
        wrong("no guard at the store", "if (i < n)", ("if (i < n) P[i]", "P[i]"), status="finding"),
        wrong(
            "a thread without an output leaves before the barrier",
            "no thread may return before it",
            ("i = first + t;\n", "i = first + t;\n    if (i >= n) return;\n"),
            status="finding",
        ),
    ),
)
