"""The exercises on products by one warp: cases, budgets and mistakes that they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from helpers.exercises import kit

LAB = "301_one_mma"
ROWS, COLUMNS, STEP = 16, 8, 16  # of D, and terms that one instruction adds up
LANES = np.arange(32)


def exercise(
    name: str, place: int, title: str, terms: int, loads: float, load_hint: str, **more: Any
) -> kit.Exercise:
    """Return an exercise on the product of 16 x `terms` and `terms` x 8 halves by one warp.

    loads: requests of global memory that an answer may make.
    """
    return kit.Exercise(
        name=name,
        place=place,
        lab=LAB,
        title=title,
        cases=cases(terms),
        reference=product,
        counts={"product": "products"},
        budgets=(
            kit.Budget(
                "products by tensor cores (mma)",
                kit.executed("mma.", "wmma.mma", per="launch"),
                terms / STEP,
                "Each mma of the whole warp adds up 16 terms of every sum.",
                least=terms / STEP,
            ),
            kit.single_products(8, "The tensor cores should make all products."),
            kit.Budget(
                "global load requests", kit.all_of("requests", "global", "load"), loads, load_hint
            ),
            *more.pop("budgets", ()),
            kit.Budget(
                "stores of D", kit.all_of("lanes", "global", "store"), ROWS * COLUMNS, quiet=True
            ),
            *kit.elsewhere(48),
            *kit.NO_DETOURS,
        ),
        mistakes=(*more.pop("mistakes", ()), *MISTAKES),
        findings=(*more.pop("findings", ()), *FINDINGS),
        **more,
    )


def cases(terms: int) -> Callable[[np.random.Generator], Iterator[kit.Case]]:
    """Yield three products of whole numbers without 0: exact in half, and their sums exact in
    float.
    """

    def drawn(rng: np.random.Generator) -> Iterator[kit.Case]:
        for k in range(3):
            a = _numbers(rng, (ROWS, terms))
            b = _numbers(rng, (terms, COLUMNS))
            yield kit.warp_product(k + 1, "D", (ROWS, COLUMNS), A=a, B=b)

    return drawn


def _numbers(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return (rng.integers(1, 61, shape) * rng.choice((-1, 1), shape)).astype(np.float16)


def product(case: kit.Case) -> np.ndarray:
    """Return a B, in float64."""
    return of(case["A"], case["B"])


def of(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the product of two matrices, in float64."""
    return a.astype(float) @ b.astype(float)


def squares_exchanged(a: np.ndarray) -> np.ndarray:
    """Return a with the upper right and the lower left square of each 16 columns exchanged."""
    other = a.copy()
    for first in range(0, a.shape[1], STEP):
        other[:8, first + 8 : first + STEP] = a[8:, first : first + 8]
        other[8:, first : first + 8] = a[:8, first + 8 : first + STEP]
    return other


def pairs_exchanged(b: np.ndarray, *registers: int) -> np.ndarray:
    """Return B with the two rows of each pair exchanged that belongs to one of the registers."""
    pairs = b.reshape(-1, 2, 4, 2, COLUMNS).copy()  # [step, register, place, row of the pair]
    for register in registers:
        pairs[:, register] = pairs[:, register, :, ::-1]
    return pairs.reshape(b.shape)


def halves_exchanged(b: np.ndarray) -> np.ndarray:
    """Return B with rows 0 to 7 and 8 to 15 of each step exchanged."""
    return b.reshape(-1, 2, 8, COLUMNS)[:, ::-1].reshape(b.shape)


def squares_transposed(b: np.ndarray) -> np.ndarray:
    """Return B, or D, with rows and columns of each square of 8 x 8 exchanged."""
    return b.reshape(-1, 8, COLUMNS).swapaxes(1, 2).reshape(b.shape)


def sums_exchanged(d: np.ndarray) -> np.ndarray:
    """Return D with d[1] and d[2] of every lane exchanged."""
    pairs = d.reshape(2, 8, COLUMNS // 2, 2)  # [half, group, place, column of the pair]
    return pairs.swapaxes(0, 3).reshape(d.shape)


def by_lanes(
    case: kit.Case,
    group: Callable[[np.ndarray], np.ndarray],
    two: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return what comes out if all lanes load and store as lanes of other groups and places.

    group, two: functions of the numbers of the lanes.
    """
    rows, columns = group(LANES), two(LANES)
    right_rows, right_columns = LANES // 4, LANES % 4 * 2
    made, stored = np.zeros((ROWS, COLUMNS)), np.zeros((ROWS, COLUMNS))
    for first in range(0, case["A"].shape[1], STEP):
        a, b = np.zeros((ROWS, STEP)), np.zeros((STEP, COLUMNS))
        for below in (0, 8):
            for beside in (0, 1, 8, 9):
                cells = case["A"][rows + below, first + columns + beside]
                a[right_rows + below, right_columns + beside] = cells
        for below in (0, 1, 8, 9):
            b[right_columns + below, right_rows] = case["B"][first + columns + below, rows]
        made += a @ b
    for below in (0, 8):
        for beside in (0, 1):
            sums = made[right_rows + below, right_columns + beside]
            stored[rows + below, columns + beside] = sums
    return stored


def only_half(half: int) -> Callable[[kit.Case, np.ndarray, np.ndarray], bool]:
    """Return a function of a wrong result: whether only rows 0 to 7 of D are right (0), or only
    rows 8 to 15 (1).
    """

    def seen(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
        return np.array_equal(got[8 * half :][:8], want[8 * half :][:8])

    return seen


MISTAKES = (
    kit.Mistake(
        "a[1] and a[2] are exchanged: a[1] is the square below a[0], a[2] the one beside it.",
        gives=lambda case: of(squares_exchanged(case["A"]), case["B"]),
    ),
    kit.Mistake(
        "The two halves of each pair of B are exchanged: the upper row belongs in the lower "
        "16 bits.",
        gives=lambda case: of(case["A"], pairs_exchanged(case["B"], 0, 1)),
    ),
    kit.Mistake(
        "The two halves of b[0] are exchanged: the upper row belongs in the lower 16 bits. b[1] is "
        "right.",
        gives=lambda case: of(case["A"], pairs_exchanged(case["B"], 0)),
    ),
    kit.Mistake(
        "The two halves of b[1] are exchanged: the upper row belongs in the lower 16 bits. b[0] is "
        "right.",
        gives=lambda case: of(case["A"], pairs_exchanged(case["B"], 1)),
    ),
    kit.Mistake(
        "A group is four lanes side by side: lanes 0 to 3, 4 to 7 and so on. Yours are every "
        "eighth lane.",
        gives=lambda case: by_lanes(case, lambda lane: lane % 8, lambda lane: lane // 8 * 2),
    ),
    kit.Mistake(
        "b[0] and b[1] are exchanged: b[0] has rows 0 to 7 of B, b[1] rows 8 to 15.",
        gives=lambda case: of(case["A"], halves_exchanged(case["B"])),
    ),
    kit.Mistake(
        "The upper and the lower half of D are exchanged: d[0] and d[1] belong to row `group`, "
        "d[2] and d[3] to row group + 8.",
        gives=lambda case: np.roll(product(case), 8, axis=0),
    ),
    kit.Mistake(
        "Neighbouring columns of D are exchanged: d[0] and d[2] belong to column `two`.",
        gives=lambda case: product(case).reshape(ROWS, -1, 2)[:, :, ::-1].reshape(ROWS, -1),
    ),
    kit.Mistake(
        "d[1] and d[2] are exchanged: d[1] is beside d[0], d[2] is 8 rows below it.",
        gives=lambda case: sums_exchanged(product(case)),
    ),
    kit.Mistake(
        "D comes with rows and columns of each square exchanged: the lane's sums are in row "
        "`group`, side by side in columns `two` and two + 1.",
        gives=lambda case: squares_transposed(product(case)),
    ),
    kit.Mistake(
        "Rows 0 to 7 of D are right, rows 8 to 15 are not. Their cells of A come in a[1] and a[3], "
        "8 rows below those of a[0] and a[2], and their sums are d[2] and d[3].",
        when=only_half(0),
    ),
    kit.Mistake(
        "Rows 8 to 15 of D are right, rows 0 to 7 are not. Their cells of A come in a[0] and a[2], "
        "and a[2] begins 8 columns beside a[0]. Their sums are d[0] and d[1].",
        when=only_half(1),
    ),
    kit.Mistake(
        "B comes with rows and columns of each square exchanged: a register of B has two "
        "neighbours of one column, and memory has those of one row side by side.",
        gives=lambda case: of(case["A"], squares_transposed(case["B"])),
    ),
    kit.Mistake(
        "A sum must add column k of A times row k of B, and yours add other pairs. Lane 5 has "
        "group 1 and `two` = 2, so its registers begin with these cells: a[0] with A[1][2], a[1] "
        "with A[9][2], a[2] with A[1][10], a[3] with A[9][10], b[0] with B[2][1], b[1] with "
        "B[10][1]. d[0] belongs to D[1][2]. Which of yours are others?",
        when=lambda case, got, want: bool(got.any()) and not np.isnan(got).any(),
    ),
)

FINDINGS = (
    kit.FindingHint(
        "race",
        "Two lanes store one number of D: each of the 128 belongs to one lane, d[0] and d[1] in "
        "row `group`, d[2] and d[3] eight rows below.",
        when=lambda found: found.array == "D",
    ),
    kit.FindingHint(
        "out-of-bounds",
        "A row of B has 8 halves, and one of A has 16 or more. Which rows and columns does your "
        "lane read last?",
        when=lambda found: found.array in ("A", "B"),
    ),
    kit.FindingHint(
        "out-of-bounds",
        "D has 16 rows of 8 floats: a lane's last sum is D[group + 8][two + 1].",
        when=lambda found: found.array == "D",
    ),
    kit.FindingHint(
        "misaligned",
        "A pair is 4 bytes and begins at an even column: `two` is 0, 2, 4 or 6.",
    ),
)
