"""One warp multiplies 16 x 32 by 32 x 8: two products on tensor cores, added up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from helpers.exercises.kit import (
    NO_DETOURS,
    Budget,
    Case,
    Exercise,
    FindingHint,
    Mistake,
    all_of,
    elsewhere,
    executed,
    warp_product,
)

ROWS, TERMS, COLUMNS = 16, 32, 8
STEP = 16  # terms of one instruction


def cases(rng: np.random.Generator) -> Iterator[Case]:
    """Three products of whole numbers without 0: exact in half, and their sums exact in float."""
    for k in range(3):
        a = _drawn(rng, (ROWS, TERMS))
        b = _drawn(rng, (TERMS, COLUMNS))
        yield warp_product(k + 1, "D", (ROWS, COLUMNS), A=a, B=b)


def _drawn(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return (rng.integers(1, 61, shape) * rng.choice((-1, 1), shape)).astype(np.float16)


def product(case: Case) -> np.ndarray:
    """A B, in float64."""
    return _of(case["A"], case["B"])


def _of(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(float) @ b.astype(float)


def _squares_exchanged(a: np.ndarray) -> np.ndarray:
    """A with the upper right and the lower left square of each 16 columns exchanged."""
    other = a.copy()
    for first in range(0, TERMS, STEP):
        other[:8, first + 8 : first + 16] = a[8:, first : first + 8]
        other[8:, first : first + 8] = a[:8, first + 8 : first + 16]
    return other


def _columns_from_8(case: Case) -> np.ndarray:
    a, b = case["A"], case["B"]
    return _of(a[:, :STEP], b[:STEP]) + _of(a[:, 8 : 8 + STEP], b[STEP:])


def _rows_of_16(case: Case) -> np.ndarray:
    """A read as if its rows had 16 halves."""
    flat = case["A"].ravel()
    places = 16 * np.arange(ROWS)[:, None] + np.arange(TERMS)
    return _of(flat[places], case["B"])


EXERCISE = Exercise(
    name="two_products",
    lab="301_one_mma",
    title="A product of 32 terms by two instructions of one warp",
    folder=Path(__file__).parent,
    cases=cases,
    reference=product,
    counts={"product": "products"},
    budgets=(
        Budget(
            "products by tensor cores (mma)",
            executed("mma.", "wmma.mma", per="launch"),
            2,
            "Two steps of 16 terms hold all 32: each is one mma of the whole warp.",
            least=2,
        ),
        Budget(
            "multiply-adds outside of the tensor cores, by warps",
            executed("fma", "mul.f32", "mul.f16", "mad.f32", per="launch"),
            8,
            "The tensor cores should make all products.",
        ),
        Budget(
            "global load requests",
            all_of("requests", "global", "load"),
            16,
            "Two columns of A are neighbours: one load of 4 bytes gives both.",
        ),
        Budget("stores of D", all_of("lanes", "global", "store"), ROWS * COLUMNS, quiet=True),
        *elsewhere(48),
        *NO_DETOURS,
    ),
    mistakes=(
        Mistake(
            "D holds the last 16 terms alone: the second mma must add to the sums of the first.",
            gives=lambda case: _of(case["A"][:, STEP:], case["B"][STEP:]),
        ),
        Mistake(
            "D holds the first 16 terms alone: where is the second mma?",
            gives=lambda case: _of(case["A"][:, :STEP], case["B"][:STEP]),
        ),
        Mistake(
            "The second step reads columns 8 to 23 of A: it begins at column 16.",
            gives=_columns_from_8,
        ),
        Mistake(
            "The second step multiplies by the first 16 rows of B again.",
            gives=lambda case: _of(
                case["A"][:, :STEP] + case["A"][:, STEP:].astype(float), case["B"][:STEP]
            ),
        ),
        Mistake("A row of A has 32 halves here, not 16.", gives=_rows_of_16),
        Mistake(
            "a[1] and a[2] are exchanged: a[1] is the square below a[0], a[2] the one beside it.",
            gives=lambda case: _of(_squares_exchanged(case["A"]), case["B"]),
        ),
        Mistake(
            "The two halves of each pair of B are exchanged: the upper row belongs in the lower "
            "16 bits.",
            gives=lambda case: _of(
                case["A"], case["B"].reshape(-1, 2, COLUMNS)[:, ::-1].reshape(TERMS, COLUMNS)
            ),
        ),
    ),
    findings=(
        FindingHint(
            "out-of-bounds",
            "A row of A begins every 32 halves, a row of B every 8. Which rows and columns does "
            "your lane read last?",
            when=lambda found: found.array in ("A", "B"),
        ),
        FindingHint(
            "out-of-bounds",
            "D has 16 rows of 8 floats: a lane's last sum is D[group + 8][two + 1].",
            when=lambda found: found.array == "D",
        ),
        FindingHint(
            "misaligned",
            "A pair is 4 bytes and begins at an even column: `two` is 0, 2, 4 or 6.",
        ),
    ),
    hints=(
        "Write mma_one_warp first, and count 16 of its columns and rows from 16 * step on. A "
        "row of A now has 32 halves.",
        "Set d[0] to d[3] to 0 once, before the loop over the two steps.",
        'In the asm line, "+f"(d[0]) is read and written: {%0, %1, %2, %3} stands first and last, '
        "as the result and as the sums to add to.",
    ),
)
