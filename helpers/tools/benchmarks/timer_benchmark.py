"""The timer on a GPU: what it says of a launch and itself, and of one with 5 % more work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from helpers import checking, tables
from helpers.bench import timing
from helpers.problems.conv1d import (
    BEST,
    PLAINEST,
    SEED,
    Checker,
    PeriodicData,
    conv1d_launch,
    conv1d_named,
)

NAME = "benchmark_timing"


def measure(tries: int, budget_s: float, n: int = 10**8) -> list[dict[str, Any]]:
    """Compare a launch with itself and with 5 % more work, ``tries`` times; return the rows."""
    import pycuda.driver as cuda

    larger = n + n // 20
    data = PeriodicData(larger)
    filter = np.random.default_rng(SEED).uniform(-1, 1, 3).astype(np.float32)
    N, P, want = (cuda.mem_alloc(4 * larger) for _ in range(3))
    try:
        data.upload(cuda, int(N))
        checker, spec = Checker(cuda, data, int(want)), conv1d_named(BEST)
        conv1d_launch(conv1d_named(PLAINEST), larger, int(N), int(want), filter)(None)
        checker.poison(int(P))
        same, more = (conv1d_launch(spec, size, int(N), int(P), filter) for size in (n, larger))
        more(None)
        cuda.Context.synchronize()
        verdict = checker.everywhere(int(P), filter, BEST)
        rows = _tries("the same launch twice", 1.0, same, same, verdict, tries, budget_s)
        return rows + _tries("5 % more cells", larger / n, more, same, verdict, tries, budget_s)
    finally:
        for array in (N, P, want):
            array.free()


def _tries(
    series: str,
    true_ratio: float,
    a: Callable,
    b: Callable,
    verdict: checking.Verdict,
    tries: int,
    budget_s: float,
) -> list[dict[str, Any]]:
    rows = []
    for number in range(tries):
        comparison = timing.compare(
            a,
            b,
            verdicts=(verdict, verdict),
            names=("a", "b"),
            budget_s=budget_s,
            seed=SEED + number,
        )
        rows.append(
            {
                "series": series,
                "try": number,
                "cells_ratio": true_ratio,
                **comparison.to_row(),
                "different": comparison.different,
                "timing": None,
            }
        )
    share = sum(not row["different"] for row in rows)
    print(f"{series}: the interval contains 1 in {share} of {tries} tries", flush=True)
    return rows


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return a line for each comparison: how many intervals contain 1, and the median ratio."""
    lines = []
    for series in dict.fromkeys(row["series"] for row in rows):
        here = [row for row in rows if row["series"] == series]
        contain = sum(not row["different"] for row in here)
        ratio = float(np.median([row["ratio"] for row in here]))
        lines.append(
            [series, f"{here[0]['cells_ratio']:.2f}", str(len(here)), str(contain), f"{ratio:.4f}"]
        )
    return tables.text(["compared", "cells", "tries", "contain 1", "median ratio"], lines)
