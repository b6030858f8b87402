"""Recorded benchmarks of the kernels and the timer on a GPU, and of the simulator on a CPU.

    python -m helpers.tools.benchmarks
        [conv1d | timing | conv2d | tensor | known | gemm | lenet | simulator]
        [--max-n N] [--budget-s S] [--tries T] [--numba PYTHON]

``conv1d`` times each 1D convolution kernel with cold and with hot caches, for filters of 3 to 31
and up to 10^9 cells. The same run times the driver's own device-to-device copy, which moves as many
bytes and computes nothing (the measure of "copy speed"), and CuPy's ``convolve`` if CuPy is
installed. A kernel must pass its check at each size before it is timed: every output is compared
with the plainest kernel, and that kernel with the oracle.

``timing`` tests the timer: a comparison of a launch with itself must find no difference, and a
comparison with 5 % more work must find one.

``conv2d`` times every kernel of the convolution layer, see `layer_benchmark`; ``tensor`` the layers
on tensor cores beside cuDNN and copies, see `tensor_benchmark`; ``known`` layers of well-known
networks, see `known_layers`; ``gemm`` products of matrices beside cuBLAS, see `gemm_benchmark`;
``lenet`` the whole network beside PyTorch, see `network_benchmark`.

``simulator`` needs no GPU. It measures how many threads and memory accesses a second our simulator
checks and profiles, and how many numba-cuda's simulator does with the same three kernels in the
same run. ``--numba`` names a Python with numba-cuda, by default this one; without numba-cuda, only
ours is measured.

Without an argument, ``conv1d`` and ``timing`` run. All write a record by
``helpers.bench.results`` and print a table. Without a GPU, they print the recorded run; ``known``
has none and needs a GPU.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from helpers import device
from helpers.bench import results
from helpers.tools.benchmarks import (
    conv1d_benchmark,
    gemm_benchmark,
    simulator_benchmark,
    timer_benchmark,
)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m helpers.tools.benchmarks", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "what",
        nargs="?",
        choices=tuple(_BENCHMARKS),
        help="the benchmark to run (default: conv1d and timing)",
    )
    parser.add_argument(
        "--max-n",
        type=int,
        default=max(conv1d_benchmark.SIZES),
        help="leave out larger arrays (default 10^9 cells)",
    )
    parser.add_argument(
        "--budget-s",
        type=float,
        help="seconds for each timing (default 0.3; conv2d 0.2, tensor and known 0.05, "
        "gemm and lenet 0.1)",
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
        budgets = {"conv2d": 0.2, "tensor": 0.05, "known": 0.05, "gemm": 0.1, "lenet": 0.1}
        options.budget_s = budgets.get(options.what, 0.3)
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmarks, write their records, print their tables; return the exit status."""
    options = _arguments(argv)
    gpu = device.select()
    for what in ("conv1d", "timing") if options.what is None else (options.what,):
        _report(_BENCHMARKS[what](options), gpu)
    return 0


@dataclass(frozen=True)
class _Benchmark:
    """A benchmark: the name of its record, how it is measured, and the text of its rows."""

    name: str
    measure: Callable[[], Iterable[dict[str, Any]]]
    text: Callable[[Sequence[dict[str, Any]]], str]
    needs_gpu: bool = True


def _report(benchmark: _Benchmark, gpu: device.Device) -> None:
    """Measure, or read the recorded run; print the text."""
    record = results.record(
        benchmark.name,
        benchmark.measure,
        device=gpu,
        lab="benchmarks",
        needs_gpu=benchmark.needs_gpu,
    )
    print(f"\n{record.caption()}\n{benchmark.text(record.rows())}")


def _conv1d(options: argparse.Namespace) -> _Benchmark:
    def measure() -> list[dict[str, Any]]:
        sizes, widths = conv1d_benchmark.SIZES, conv1d_benchmark.FILTER_WIDTHS
        return conv1d_benchmark.Conv1dBenchmark(
            sizes, widths, options.budget_s, options.max_n
        ).measure()

    def text(rows: Sequence[dict[str, Any]]) -> str:
        cold, hot = conv1d_benchmark.table(rows), conv1d_benchmark.table(rows, "hot")
        return f"{cold}\n\n{hot}\n\n{conv1d_benchmark.summary(rows)}"

    return _Benchmark("benchmark_conv1d", measure, text)


def _timing(options: argparse.Namespace) -> _Benchmark:
    n = min(10**8, options.max_n)
    return _Benchmark(
        "benchmark_timing",
        lambda: timer_benchmark.measure(options.tries, options.budget_s, n),
        timer_benchmark.table,
    )


def _gemm(options: argparse.Namespace) -> _Benchmark:
    return _Benchmark(
        gemm_benchmark.NAME,
        lambda: gemm_benchmark.measure(options.budget_s),
        lambda rows: f"{gemm_benchmark.table(rows)}\n\n{gemm_benchmark.summary(rows)}",
    )


def _simulator(options: argparse.Namespace) -> _Benchmark:
    return _Benchmark(
        "benchmark_simulator",
        lambda: simulator_benchmark.measure(options.budget_s, options.numba),
        simulator_benchmark.table,
        needs_gpu=False,
    )


# The benchmarks below are imported when they run: the others need no weights and images.


def _conv2d(options: argparse.Namespace) -> _Benchmark:
    from helpers.tools.benchmarks import layer_benchmark as layers

    return _Benchmark(
        layers.NAME,
        lambda: layers.LayerBenchmark(budget_s=options.budget_s).measure(),
        lambda rows: f"{layers.table(rows)}\n\n{layers.summary(rows)}",
    )


def _tensor(options: argparse.Namespace) -> _Benchmark:
    from helpers.tools.benchmarks import tensor_benchmark as tensor

    return _Benchmark(
        tensor.NAME,
        lambda: tensor.TensorBenchmark(budget_s=options.budget_s).measure(),
        lambda rows: f"{tensor.table(rows)}\n\n{tensor.summary(rows)}",
    )


def _known(options: argparse.Namespace) -> _Benchmark:
    from helpers.tools.benchmarks import known_layers as known
    from helpers.tools.benchmarks import tensor_benchmark as tensor

    return _Benchmark(
        known.NAME,
        lambda: known.KnownLayers(budget_s=options.budget_s).measure(),
        lambda rows: f"{tensor.table(rows)}\n\n{known.shares(rows)}\n\n{tensor.summary(rows)}",
    )


def _lenet(options: argparse.Namespace) -> _Benchmark:
    from helpers.tools.benchmarks import network_benchmark as network

    return _Benchmark(
        network.NAME,
        lambda: network.NetworkBenchmark(network.forms(), budget_s=options.budget_s).measure(),
        lambda rows: f"{network.table(rows)}\n\n{network.summary(rows)}",
    )


_BENCHMARKS = {
    "conv1d": _conv1d,
    "timing": _timing,
    "conv2d": _conv2d,
    "tensor": _tensor,
    "gemm": _gemm,
    "known": _known,
    "lenet": _lenet,
    "simulator": _simulator,
}


if __name__ == "__main__":
    sys.exit(main())
