"""How many threads and accesses a second our simulator runs, and numba-cuda's."""

from __future__ import annotations

import functools
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from helpers import checking, kernels, launch, reference, simulator, tables
from helpers.bench import timing
from helpers.launch import Array, Launch, Plan
from helpers.problems.conv1d import SEED, conv1d_atol, conv1d_named

NAME = "benchmark_simulator"
NUMBA = "numba-cuda's simulator"
# The threads of the launch for both simulators; numba-cuda's runs some thousands a second.
SAME_N = 2048
# The threads of a launch that is long enough for our simulator, by kernel.
SIMULATED = {"axpy_basic": 2**20, "conv1d_basic": 2**16, "conv1d_tiled_steps": 2**16}
SIMULATED_WIDTH = 31
NUMBA_SAMPLES = 6  # the fewest samples with an interval of the median


@dataclass(frozen=True)
class Simulated:
    """One launch for a simulator: kernel ``name`` over n cells, in blocks of 256.

    x, y: float32, shape (n,).
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, name: str, n: int) -> Simulated:
        """Return a launch on random cells in [-1, 1), with a filter of SIMULATED_WIDTH."""
        rng = np.random.default_rng(SEED)
        return cls(
            name, *(rng.uniform(-1, 1, size).astype(np.float32) for size in (n, n, SIMULATED_WIDTH))
        )

    @property
    def plan(self) -> Plan:
        """The plan of the launch."""
        n = self.x.size
        if self.name != "axpy_basic":
            return conv1d_named(self.name).plan(n, self.weights.size)
        arguments = Array("P", (n,)), Array("N", (n,)), np.int32(n), np.float32(2)
        grid, block = kernels.grid_for(n, (256, 1, 1)), (256, 1, 1)
        return (Launch(kernels.source(self.name), self.name, (), grid, block, arguments=arguments),)

    def call(self, entry: Callable[..., Any], output: np.ndarray) -> Any:
        """Run simulator.check or simulator.profile. output: float32, shape (n,), y on entry."""
        arrays = {"P": output, "N": self.x, "filter": self.weights}
        return launch.simulate(self.plan, arrays, entry)[0]

    def check(self, output: np.ndarray, who: str) -> checking.Verdict:
        """Compare an output with the oracle. Raises checking.CheckError."""
        if self.name == "axpy_basic":
            want, atol = 2 * self.x.astype(np.float64) + self.y, 4 * 2.0**-24
        else:
            want, atol = reference.conv1d(self.x, self.weights), conv1d_atol(self.x, self.weights)
        return checking.check(output, want, rtol=0.0, atol=atol, name=f"{self.name} in {who}")


def measure(budget_s: float, numba_python: str) -> list[dict[str, Any]]:
    """Time both simulators; return the rows. A launch must be right before it is timed.

    Raises RuntimeError for a finding, and checking.CheckError for wrong outputs.
    """
    rows = [
        row
        for name, n in SIMULATED.items()
        for size in (SAME_N, n)
        for row in _rows(name, size, budget_s)
    ]
    accesses = {(row["kernel"], row["n"]): row["accesses"] for row in rows}
    try:
        seconds = numba_seconds(numba_python, NUMBA_SAMPLES)
    except NumbaMissing as error:
        print(f"{NUMBA} is left out: {error}")
        return rows
    for name, samples in seconds.items():
        timed = timing.Timing.of(
            name, [1e3 * s for s in samples], what="cpu", device=timing.cpu_name()
        )
        rows.append(_row(NUMBA, name, SAME_N, accesses[name, SAME_N], timed))
    return rows


def _rows(name: str, n: int, budget_s: float) -> Iterator[dict[str, Any]]:
    launch = Simulated.of(name, n)
    output = launch.y.copy()
    profile = launch.call(simulator.profile, output)
    if profile.findings:
        raise RuntimeError(f"the simulator finds fault with a right kernel: {profile.findings[0]}")
    verdict = launch.check(output, "the simulator")
    accesses = sum(row.lanes for row in profile.lines)
    for entry in (simulator.check, simulator.profile):
        again = launch.y.copy()
        timed = timing.time_cpu(
            functools.partial(launch.call, entry, again),
            name=name,
            verdict=verdict,
            budget_s=budget_s,
        )
        yield _row(entry.__name__, name, n, accesses, timed)


def _row(series: str, name: str, n: int, accesses: int, timed: timing.Timing) -> dict[str, Any]:
    rate = 1e3 / timed.median
    return {
        "series": series,
        "kernel": name,
        "n": n,
        "accesses": accesses,
        "threads_per_s": n * rate,
        "accesses_per_s": accesses * rate,
        "timing": timed,
    }


class NumbaMissing(RuntimeError):
    """The Python of --numba has no numba-cuda, or its simulator failed; the message says which."""


def numba_seconds(python: str, samples: int, n: int = SAME_N) -> dict[str, list[float]]:
    """Run the kernels in numba-cuda's simulator, check them, return the seconds of each sample."""
    launches = {name: Simulated.of(name, n) for name in SIMULATED}
    with tempfile.TemporaryDirectory() as folder:
        one = next(iter(launches.values()))
        np.savez(Path(folder) / "inputs.npz", x=one.x, y=one.y, weights=one.weights)
        script = Path(__file__).with_name("numba_yardstick.py")
        try:
            done = subprocess.run(
                [python, script, folder, str(samples)], capture_output=True, text=True, check=False
            )
        except OSError as error:
            raise NumbaMissing(f"{python} does not start: {error.strerror}") from None
        if done.returncode:
            raise NumbaMissing((done.stderr.strip().splitlines() or ["it printed nothing"])[-1])
        with np.load(Path(folder) / "outputs.npz") as outputs:
            for name, launch in launches.items():
                launch.check(outputs[name], f"{NUMBA} ({outputs['version']})")
            return {name: outputs[f"{name} seconds"].tolist() for name in launches}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return a line for each launch: threads and accesses a second, and times numba-cuda's rate."""
    yardstick = {row["kernel"]: row["threads_per_s"] for row in rows if row["series"] == NUMBA}
    head = ["simulator", "kernel", "threads", "threads/s", "accesses/s", "of numba-cuda"]
    lines = []
    for row in sorted(rows, key=lambda row: (row["kernel"], row["n"], row["threads_per_s"])):
        base = yardstick.get(row["kernel"])
        ratio = f"{row['threads_per_s'] / base:,.0f}x" if base and row["series"] != NUMBA else "-"
        rates = [f"{row['threads_per_s']:,.0f}", f"{row['accesses_per_s']:,.0f}", ratio]
        lines.append([row["series"], row["kernel"], f"{row['n']:,}", *rates])
    return tables.text(head, lines, left=(0, 1))
