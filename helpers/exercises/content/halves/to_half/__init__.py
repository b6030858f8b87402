"""Floats rounded to halves, two by each thread."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.content.halves import LAB

THREADS = 256
BEFORE = -31_344  # what "to" holds before the launch: no number that is drawn


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield even lengths: fewer than a block makes, whole blocks, one more pair, and more pairs
    than 16 bits count.
    """
    drawn = 2 * int(rng.integers(600, 900))
    for n in (2, 64, 2 * THREADS, 2 * THREADS + 2, 8 * THREADS, drawn, 2 * kit.MANY):
        yield numbers(rng, n)


def numbers(rng: np.random.Generator, n: int = 1 << 24) -> kit.Case:
    """Return numbers of many sizes, half of them exactly between two halves."""
    drawn = rng.uniform(-8, 8, n) * 2.0 ** rng.integers(-8, 9, n)
    between = 2049.0 + 2 * rng.integers(0, 1000, n)
    start = np.where(rng.random(n) < 0.5, drawn, between * rng.choice((-1, 1), n))
    arrays: dict[str, np.ndarray] = {
        "to": np.full(n, BEFORE, np.float16),
        "from": start.astype(np.float32),
    }
    step = kit.Step((kit.ceil_div(n // 2, THREADS),), (THREADS,), ("to", "from", np.int64(n)))
    return kit.Case(f"n = {n:,}", arrays, ("to",), (step,), {"size": n}, budgeted=n % 64 == 0)


def rounded(case: kit.Case) -> np.ndarray:
    """Return the nearest halves; of two that are equally near, the one whose last bit is 0."""
    return case["from"].astype(np.float16)


EXERCISE = kit.Exercise(
    name="to_half",
    place=2,
    lab=LAB,
    title="Two numbers rounded by each thread",
    points=3,
    timed=numbers,
    cases=cases,
    small=lambda rng: (numbers(rng, n) for n in (2, 16, 2 * THREADS + 6)),
    reference=rounded,
    most_of_a_block=lambda case: 2 * THREADS,
    budgets=(
        kit.Budget(
            "loads per number",
            kit.per_output("global", "load"),
            0.5,
            "One load of 8 bytes, a float2, brings both numbers of a thread.",
            least=0.1,
        ),
        kit.Budget(
            "stores per number",
            kit.per_output("global", "store"),
            0.5,
            "One store of 4 bytes, a __half2, writes both halves of a thread.",
            least=0.1,
        ),
        kit.ONE_STORE_A_THREAD,
        kit.none_of("shared"),
        *kit.NO_DETOURS,
    ),
    hints=(
        "Seen as pairs, `from` is an array of n / 2 float2 and `to` one of n / 2 __half2: "
        "reinterpret_cast<const float2*>(from)[i] is the pair of thread i.",
        "__floats2half2_rn(a, b) rounds two floats to the nearest halves, a pair.",
        "If i < n / 2: load one float2, call it two; then "
        "reinterpret_cast<__half2*>(to)[i] = __floats2half2_rn(two.x, two.y);",
    ),
)
