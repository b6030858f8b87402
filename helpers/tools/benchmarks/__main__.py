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
from functools import partial
from importlib import import_module
from typing import Any

from helpers import device
from helpers.bench import results


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
        "--max-n", type=int, default=10**9, help="leave out larger arrays (default 10^9 cells)"
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
        options.budget_s = _BENCHMARKS[options.what or "conv1d"].budget_s
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmarks, write their records, print their tables; return the exit status."""
    options = _arguments(argv)
    gpu = device.select()
    for what in ("conv1d", "timing") if options.what is None else (options.what,):
        _report(_BENCHMARKS[what], options, gpu)
    return 0


@dataclass(frozen=True)
class _Benchmark:
    """A benchmark. module: of this folder, imported when it runs, since only some need weights and
    images; its NAME is the record's. measure: returns the rows. report: returns the functions that
    make texts of the rows. Both take the module. budget_s: seconds for each timing, by default.
    """

    module: str
    measure: Callable[[Any, argparse.Namespace], Iterable[dict[str, Any]]]
    report: Callable[[Any], Sequence[Callable[[Any], str]]] = lambda one: (one.table, one.summary)
    budget_s: float = 0.3
    needs_gpu: bool = True


def _report(benchmark: _Benchmark, options: argparse.Namespace, gpu: device.Device) -> None:
    """Measure, or read the recorded run; print the texts."""
    module = import_module(f"helpers.tools.benchmarks.{benchmark.module}")
    record = results.record(
        module.NAME,
        lambda: benchmark.measure(module, options),
        device=gpu,
        lab="benchmarks",
        needs_gpu=benchmark.needs_gpu,
    )
    texts = [make(record.rows()) for make in benchmark.report(module)]
    print("\n\n".join([f"\n{record.caption()}\n{texts[0]}", *texts[1:]]))


_BENCHMARKS = {
    "conv1d": _Benchmark(
        "conv1d_benchmark",
        lambda one, options: one.Conv1dBenchmark(
            one.SIZES, one.FILTER_WIDTHS, options.budget_s, options.max_n
        ).measure(),
        lambda one: (one.table, partial(one.table, cache="hot"), one.summary),
    ),
    "timing": _Benchmark(
        "timer_benchmark",
        lambda one, options: one.measure(
            options.tries, options.budget_s, min(10**8, options.max_n)
        ),
        lambda one: (one.table,),
    ),
    "conv2d": _Benchmark(
        "layer_benchmark",
        lambda one, options: one.LayerBenchmark(budget_s=options.budget_s).measure(),
        budget_s=0.2,
    ),
    "tensor": _Benchmark(
        "tensor_benchmark",
        lambda one, options: one.TensorBenchmark(budget_s=options.budget_s).measure(),
        budget_s=0.05,
    ),
    "gemm": _Benchmark(
        "gemm_benchmark", lambda one, options: one.measure(options.budget_s), budget_s=0.1
    ),
    "known": _Benchmark(
        "known_layers",
        lambda one, options: one.KnownLayers(budget_s=options.budget_s).measure(),
        lambda one: (
            one.tensor_benchmark.table, one.shares, one.tensor_benchmark.summary
        ),
        budget_s=0.05,
    ),
    "lenet": _Benchmark(
        "network_benchmark",
        lambda one, options: one.NetworkBenchmark(
            one.forms(), budget_s=options.budget_s
        ).measure(),
        budget_s=0.1,
    ),
    "simulator": _Benchmark(
        "simulator_benchmark",
        lambda one, options: one.measure(options.budget_s, options.numba),
        lambda one: (one.table,),
        needs_gpu=False,
    ),
}


if __name__ == "__main__":
    sys.exit(main())
