"""Recorded benchmarks of the kernels and the timer on a GPU, and of the simulator on a CPU.

    python -m helpers.tools.benchmarks [conv1d | timing | conv2d | tensor | lenet | simulator]
                                       [--max-n N] [--budget-s S] [--tries T] [--numba PYTHON]

``conv1d`` times each 1D convolution kernel with cold and with hot caches, for filters of 3 to 31
and up to 10^9 cells. The same run times the driver's own device-to-device copy, which moves as many
bytes and computes nothing (the measure of "copy speed"), and CuPy's ``convolve`` if CuPy is
installed. A kernel must pass its check at each size before it is timed: every output is compared
with the plainest kernel, and that kernel with the oracle.

``timing`` tests the timer: a comparison of a launch with itself must find no difference, and a
comparison with 5 % more work must find one.

``conv2d`` times every kernel of the convolution layer, see ``helpers.experiments.layer_benchmark``;
``tensor`` the layers on tensor cores beside cuDNN and copies, see
``helpers.experiments.tensor_benchmark``; ``lenet`` the whole network beside PyTorch, see
``helpers.experiments.network_benchmark``.

``simulator`` needs no GPU. It measures how many threads and memory accesses a second our simulator
checks and profiles, and how many numba-cuda's simulator does with the same three kernels in the
same run. ``--numba`` names a Python with numba-cuda, by default this one; without numba-cuda, only
ours is measured.

Without an argument, ``conv1d`` and ``timing`` run. All write a record by ``helpers.results`` and
print a table. Without a GPU, they print the recorded run.
"""

from __future__ import annotations

import argparse
import functools
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from helpers import (
    checking,
    device,
    kernels,
    launch,
    limits,
    reference,
    results,
    simulator,
    tables,
    timing,
)
from helpers.launch import Array, Launch, Plan
from helpers.problems.conv1d import (
    BEST,
    CONV1D,
    COPY,
    PLAINEST,
    SEED,
    Checker,
    PeriodicData,
    conv1d_atol,
    conv1d_launch,
    conv1d_named,
)

FILTER_WIDTHS = (3, 5, 7, 15, 31)
SIZES = (10**7, 10**8, 10**9)
CUPY = "CuPy convolve"
CUPY_LARGEST = 10**8  # above it, CuPy's temporaries need several times the arrays' memory
# The tolerance of CuPy, in error bounds of a direct sum: its FFT may err more.
CUPY_SLACK = 100


def sizes_that_fit(sizes: Sequence[int], free_bytes: int, max_n: int) -> tuple[int, ...]:
    """Return the sizes up to ``max_n`` whose three float32 arrays fit 90 % of the free memory.

    It prints a line for each size that does not fit. Raises ValueError if no size is left.
    """
    allowed = [n for n in sizes if n <= max_n]
    kept = tuple(n for n in allowed if 12 * n <= 0.9 * free_bytes)
    for n in allowed[len(kept) :]:
        print(
            f"n = {n:,} is left out: it needs three arrays of {4 * n:,} bytes, "
            f"and {free_bytes:,} bytes are free"
        )
    if not kept:
        raise ValueError(
            f"no size of {', '.join(f'{n:,}' for n in sizes)} is left: --max-n is {max_n:,}"
        )
    return kept


# --------------------------------------------------------------------------------------------------
# conv1d


class Conv1dBenchmark:
    """The measurements of ``conv1d``: ``results.record`` takes `measure`."""

    def __init__(
        self, sizes: Sequence[int], widths: Sequence[int], budget_s: float, max_n: int | None = None
    ):
        import pycuda.driver as cuda

        self._cuda, self._widths, self._budget_s = cuda, tuple(widths), budget_s
        self._sizes = sizes_that_fit(sizes, cuda.mem_get_info()[0], max_n or max(sizes))
        rng = np.random.default_rng(SEED)
        self._filters = {w: rng.uniform(-1, 1, w).astype(np.float32) for w in self._widths}
        self._copy_ms: dict[tuple[int, str], float] = {}

    def measure(self) -> list[dict[str, Any]]:
        """Check and time everything. Raises checking.CheckError for a wrong kernel."""
        arrays = [self._cuda.mem_alloc(4 * max(self._sizes)) for _ in range(3)]
        try:
            return [row for n in self._sizes for row in self._size(n, *(int(a) for a in arrays))]
        finally:
            for array in arrays:
                array.free()

    def _size(self, n: int, source: int, output: int, want: int) -> Iterator[dict[str, Any]]:
        data = PeriodicData(n)
        data.upload(self._cuda, source)
        checker = Checker(self._cuda, data, want)
        yield from self._copy(n, source, output, checker)
        for width in self._widths:
            print(f"n = {n:,}, filter of {width}", flush=True)
            filter = self._filters[width]
            self._prepare(n, source, want, filter, checker)
            for spec in CONV1D:
                if n <= spec.largest and spec.fits(width):
                    launch = conv1d_launch(spec, n, source, output, filter)
                    yield from self._one(spec.name, n, width, launch, lambda: output, checker)
            if n <= CUPY_LARGEST and (cupy := _cupy()):
                launch, result = _cupy_launch(cupy, n, source, filter)
                try:
                    yield from self._one(CUPY, n, width, launch, result, checker, CUPY_SLACK)
                except checking.CheckError as error:
                    # A wrong yardstick must not stop the measurement of the kernels.
                    print(f"{CUPY} is left out: {error}")

    def _prepare(
        self, n: int, source: int, want: int, filter: np.ndarray, checker: Checker
    ) -> None:
        """Fill `want` with the plainest kernel's outputs, and check it.

        Windows are compared with the oracle; `everywhere` also sees outputs that are NaN.
        """
        checker.poison(want)
        conv1d_launch(conv1d_named(PLAINEST), n, source, want, filter)(None)
        self._cuda.Context.synchronize()
        checker.everywhere(want, filter, PLAINEST)

    def _one(
        self,
        name: str,
        n: int,
        width: int,
        launch: Callable[[Any], None],
        result: Callable[[], int],
        checker: Checker,
        slack: float = 1.0,
    ) -> Iterator[dict[str, Any]]:
        """Check a launch, then time it with cold and hot caches.

        result: a function that returns the address of the outputs.
        """
        if name != CUPY:
            checker.poison(result())
        launch(None)
        self._cuda.Context.synchronize()
        verdict = checker.everywhere(
            result(), self._filters[width], f"{name}, n = {n}, filter of {width}", slack
        )
        moved = limits.conv1d(n, width).bytes
        for cache in ("cold", "hot"):
            measured = timing.time_gpu(
                launch, verdict=verdict, name=name, cache=cache, budget_s=self._budget_s
            )
            yield {
                "series": name,
                "n": n,
                "filter_width": width,
                "bytes": moved,
                "percent_of_copy": 100 * self._copy_ms[n, cache] / measured.median,
                "timing": measured,
            }

    def _copy(self, n: int, source: int, output: int, checker: Checker) -> Iterator[dict[str, Any]]:
        def launch(stream: Any) -> None:
            self._cuda.memcpy_dtod_async(output, source, 4 * n, stream)

        checker.poison(output)
        launch(None)
        self._cuda.Context.synchronize()
        if checker.wrong(output, source, 0.0):
            raise RuntimeError(
                "the device-to-device copy is wrong: the GPU or its driver is at fault; "
                "run nvidia-smi, and restart the machine"
            )
        verdict = checker.windows(output, np.ones(1, np.float32), COPY)
        for cache in ("cold", "hot"):
            measured = timing.time_gpu(
                launch, verdict=verdict, name=COPY, cache=cache, budget_s=self._budget_s
            )
            self._copy_ms[n, cache] = measured.median
            yield {"series": COPY, "n": n, "bytes": 8 * n, "timing": measured}


@functools.lru_cache(maxsize=1)
def _cupy() -> Any:
    """Return CuPy; if it is not installed or does not start, say so once and return None."""
    try:
        import cupy

        cupy.zeros(1)
    except Exception as error:  # A broken installation may raise anything, and CuPy is optional.
        print(f"CuPy is left out: {type(error).__name__}: {error}")
        return None
    return cupy


def _cupy_launch(
    cupy: Any, n: int, source: int, filter: np.ndarray
) -> tuple[Callable[[Any], None], Callable[[], int]]:
    """Return (launch, a function that returns the address of its result).

    CuPy computes a convolution, so that it gets the flipped filter. It allocates its own output.
    """
    memory = cupy.cuda.UnownedMemory(source, 4 * n, owner=None)
    cells = cupy.ndarray((n,), cupy.float32, cupy.cuda.MemoryPointer(memory, 0))
    flipped = cupy.asarray(np.ascontiguousarray(filter[::-1]))
    kept: list[Any] = []

    def launch(stream: Any) -> None:
        kept.clear()
        with cupy.cuda.ExternalStream(stream.handle if stream else 0):
            kept.append(cupy.convolve(cells, flipped, "same"))

    return launch, lambda: kept[0].data.ptr


# --------------------------------------------------------------------------------------------------
# timing


def timing_measure(tries: int, budget_s: float, n: int = 10**8) -> list[dict[str, Any]]:
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
        row = {
            "cells_ratio": true_ratio,
            "ratio": comparison.ratio,
            "low": comparison.low,
            "high": comparison.high,
        }
        rows.append(
            {
                "series": series,
                "try": number,
                **row,
                "different": comparison.different,
                "timing": None,
            }
        )
    share = sum(not row["different"] for row in rows)
    print(f"{series}: the interval contains 1 in {share} of {tries} tries", flush=True)
    return rows


# --------------------------------------------------------------------------------------------------
# simulator

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


def simulator_measure(budget_s: float, numba_python: str) -> list[dict[str, Any]]:
    """Time both simulators; return the rows. A launch must be right before it is timed.

    Raises RuntimeError for a finding, and checking.CheckError for wrong outputs.
    """
    rows = [
        row
        for name, n in SIMULATED.items()
        for size in (SAME_N, n)
        for row in _simulated_rows(name, size, budget_s)
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
        rows.append(_simulated_row(NUMBA, name, SAME_N, accesses[name, SAME_N], timed))
    return rows


def _simulated_rows(name: str, n: int, budget_s: float) -> Iterator[dict[str, Any]]:
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
        yield _simulated_row(entry.__name__, name, n, accesses, timed)


def _simulated_row(
    series: str, name: str, n: int, accesses: int, timed: timing.Timing
) -> dict[str, Any]:
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


# --------------------------------------------------------------------------------------------------
# Tables


def conv1d_table(rows: Sequence[dict[str, Any]], cache: str = "cold") -> str:
    """Return, for each n, a table of series against filter widths.

    A cell has the median in ms and the percent of the copy's speed. rows: ``record.rows()`` of a
    record of `Conv1dBenchmark.measure`.
    """
    rows = [row for row in rows if row["cache"] == cache]
    lines = []
    for n in sorted({row["n"] for row in rows}):
        here = [row for row in rows if row["n"] == n]
        copy = next(row for row in here if row["series"] == COPY)
        speed = copy["bytes"] / copy["median_ms"] / 1e9
        widths = sorted({row["filter_width"] for row in here if "filter_width" in row})
        lines += ["", f"n = {n:,}, {cache} caches: ms (percent of the copy's {speed:.2f} TB/s)"]
        cells = []
        for series in dict.fromkeys(row["series"] for row in here if row["series"] != COPY):
            by_width = {row["filter_width"]: row for row in here if row["series"] == series}
            cells.append([series, *(_cell(by_width.get(width)) for width in widths)])
        lines.append(tables.text(["filter of", *map(str, widths)], cells))
        lines.append(f"{COPY}: {copy['median_ms']:.4g} ms")
    return "\n".join(lines[1:])


def _cell(row: dict[str, Any] | None) -> str:
    return "-" if row is None else f"{row['median_ms']:.4g} ({row['percent_of_copy']:3.0f}%)"


def conv1d_summary(rows: Sequence[dict[str, Any]]) -> str:
    """Return the best kernel's least percentage of copy speed, and its least speedup over CuPy."""
    best = [row for row in rows if row["series"] == BEST and row["cache"] == "cold"]
    large = [row["percent_of_copy"] for row in best if row["n"] >= 10**8]
    cupy = {
        (r["n"], r["filter_width"]): r["median_ms"]
        for r in rows
        if r["series"] == CUPY and r["cache"] == "cold"
    }
    ratios: dict[int, list[float]] = {n: [] for n, _ in cupy}
    for row in best:
        if (row["n"], row["filter_width"]) in cupy:
            ratios[row["n"]].append(cupy[row["n"], row["filter_width"]] / row["median_ms"])
    lines = [f"{BEST}: at least {min(large):.1f} % of copy speed for n >= 10^8"] if large else []
    lines += [
        f"{BEST}: at least {min(r):.1f} times as fast as {CUPY} at n = {n:,}"
        for n, r in ratios.items()
        if r
    ]
    return "\n".join(lines)


def timing_table(rows: Sequence[dict[str, Any]]) -> str:
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


def simulator_table(rows: Sequence[dict[str, Any]]) -> str:
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


# --------------------------------------------------------------------------------------------------
# Command line


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m helpers.tools.benchmarks", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "what",
        nargs="?",
        choices=("conv1d", "timing", "conv2d", "tensor", "lenet", "simulator"),
        help="the benchmark to run (default: conv1d and timing)",
    )
    parser.add_argument(
        "--max-n", type=int, default=max(SIZES), help="leave out larger arrays (default 10^9 cells)"
    )
    parser.add_argument(
        "--budget-s",
        type=float,
        help="seconds for each timing (default 0.3; conv2d 0.2, tensor 0.05, lenet 0.1)",
    )
    parser.add_argument(
        "--tries", type=int, default=100, help="comparisons of each kind in `timing` (default 100)"
    )
    parser.add_argument(
        "--numba",
        default=sys.executable,
        metavar="PYTHON",
        help="a Python with numba-cuda, for `simulator`",
    )
    options = parser.parse_args(argv)
    if options.budget_s is None:
        options.budget_s = {"conv2d": 0.2, "tensor": 0.05, "lenet": 0.1}.get(options.what, 0.3)
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmarks, write their records, print their tables; return the exit status."""
    options = _arguments(argv)
    gpu = device.select()
    if options.what in (None, "conv1d"):

        def measure() -> list[dict[str, Any]]:
            return Conv1dBenchmark(SIZES, FILTER_WIDTHS, options.budget_s, options.max_n).measure()

        record = results.record("benchmark_conv1d", measure, device=gpu, lab="benchmarks")
        rows = record.rows()
        print(
            f"\n{record.caption()}\n{conv1d_table(rows)}\n\n{conv1d_table(rows, 'hot')}"
            f"\n\n{conv1d_summary(rows)}"
        )
    if options.what in (None, "timing"):
        record = results.record(
            "benchmark_timing",
            lambda: timing_measure(options.tries, options.budget_s, min(10**8, options.max_n)),
            device=gpu,
            lab="benchmarks",
        )
        print(f"\n{record.caption()}\n{timing_table(record.rows())}")
    if options.what == "conv2d":
        # The other benchmarks need no weights and images.
        from helpers.experiments import layer_benchmark

        def measure_layers() -> Iterator[dict[str, Any]]:
            return layer_benchmark.LayerBenchmark(budget_s=options.budget_s).measure()

        record = results.record(layer_benchmark.NAME, measure_layers, device=gpu, lab="benchmarks")
        rows = record.rows()
        print(
            f"\n{record.caption()}\n{layer_benchmark.table(rows)}"
            f"\n\n{layer_benchmark.summary(rows)}"
        )
    if options.what == "tensor":
        from helpers.experiments import tensor_benchmark

        def measure_tensor() -> Iterator[dict[str, Any]]:
            return tensor_benchmark.TensorBenchmark(budget_s=options.budget_s).measure()

        record = results.record(tensor_benchmark.NAME, measure_tensor, device=gpu, lab="benchmarks")
        rows = record.rows()
        print(
            f"\n{record.caption()}\n{tensor_benchmark.table(rows)}"
            f"\n\n{tensor_benchmark.summary(rows)}"
        )
    if options.what == "lenet":
        from helpers.experiments import network_benchmark

        def measure_network() -> Iterator[dict[str, Any]]:
            forms = network_benchmark.forms()
            benchmark = network_benchmark.NetworkBenchmark(forms, budget_s=options.budget_s)
            return benchmark.measure()

        record = results.record(
            network_benchmark.NAME, measure_network, device=gpu, lab="benchmarks"
        )
        rows = record.rows()
        print(
            f"\n{record.caption()}\n{network_benchmark.table(rows)}"
            f"\n\n{network_benchmark.summary(rows)}"
        )
    if options.what == "simulator":
        record = results.record(
            "benchmark_simulator",
            lambda: simulator_measure(options.budget_s, options.numba),
            device=gpu,
            lab="benchmarks",
            needs_gpu=False,
        )
        print(f"\n{record.caption()}\n{simulator_table(record.rows())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
