"""Recorded benchmarks of the kernels on a GPU.

    python -m evidence.benchmarks conv1d | conv2d | tensor | known | products | lenet
        [--max-n N] [--budget-s S] [--limit-s S]

``conv1d`` times each 1D convolution kernel with cold and with hot caches, for filters of 3 to 31
and up to 10^9 cells, beside the driver's own device-to-device copy, which moves as many bytes and
computes nothing (the measure of "copy speed"). ``conv2d`` times every kernel of the convolution
layer, see `layer_benchmark`; ``tensor`` the layers on tensor cores beside cuDNN and copies, see
`tensor_benchmark`; ``known`` layers of well-known networks, see `known_layers`; ``products``
products of matrices beside cuBLAS, see `product_benchmark`; ``lenet`` the whole network beside
PyTorch, see `network_benchmark`.

All are checked before they are timed, write a record by ``helpers.bench.results`` and print a
table. ``tensor`` and ``known`` write each row as it comes, and a second call goes on where the
first one stopped, with the next layer. Without a GPU, they print the recorded run.
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
        prog="python -m evidence.benchmarks", description=__doc__.splitlines()[0]
    )
    parser.add_argument("what", choices=tuple(_BENCHMARKS), help="the benchmark to run")
    parser.add_argument(
        "--max-n", type=int, default=10**9,
        help="leave out larger arrays in conv1d (default 10^9 cells, which need 12 GB)",
    )
    parser.add_argument(
        "--budget-s",
        type=float,
        help="seconds for each timing (default: conv1d 0.3, conv2d 0.2, tensor and known 0.05, "
        "products 0.5, lenet 0.1)",
    )
    parser.add_argument(
        "--limit-s",
        type=float,
        default=120.0,
        help="seconds in which the measurements of a layer may begin in tensor and known (default "
        "120); each way and each mode of cuDNN gets a quarter of it",
    )
    options = parser.parse_args(argv)
    if options.budget_s is None:
        options.budget_s = _BENCHMARKS[options.what].budget_s
    return options


@dataclass(frozen=True)
class _Benchmark:
    """A benchmark. module: of this folder, imported when it runs, since only some need weights and
    images; its NAME is the record's. measure: returns the rows. budget_s: seconds for each timing,
    by default. report: returns the functions that make texts of the rows. Both take the module.
    in_parts: measure returns the parts of `results.continued` in place of rows.
    """

    module: str
    measure: Callable[[Any, argparse.Namespace], Iterable[Any]]
    budget_s: float
    report: Callable[[Any], Sequence[Callable[[Any], str]]] = lambda one: (one.table, one.summary)
    in_parts: bool = False


def main(argv: Sequence[str] | None = None) -> int:
    """Run a benchmark, or read the recorded run; print the texts; return the exit status."""
    options = _arguments(argv)
    benchmark = _BENCHMARKS[options.what]
    module = import_module(f"evidence.benchmarks.{benchmark.module}")
    where: dict[str, Any] = {"device": device.select(), "lab": "benchmarks"}
    if benchmark.in_parts:
        record = results.continued(module.NAME, benchmark.measure(module, options), **where)
    else:
        rows = partial(benchmark.measure, module, options)
        record = results.record(module.NAME, rows, **where)
    texts = [make(record.rows()) for make in benchmark.report(module)]
    print("\n\n".join([f"\n{record.caption()}\n{texts[0]}", *texts[1:]]))
    return 0


_BENCHMARKS = {
    "conv1d": _Benchmark(
        "conv1d_benchmark",
        lambda one, options: one.measure(
            [n for n in one.SIZES if n <= options.max_n], budget_s=options.budget_s
        ),
        0.3,
        lambda one: (one.table, partial(one.table, cache="hot"), one.summary),
    ),
    "conv2d": _Benchmark(
        "layer_benchmark", lambda one, options: one.measure(budget_s=options.budget_s), 0.2
    ),
    "tensor": _Benchmark(
        "tensor_benchmark",
        lambda one, options: one.TensorBenchmark(
            budget_s=options.budget_s, limit_s=options.limit_s
        ).parts(),
        0.05,
        in_parts=True,
    ),
    "known": _Benchmark(
        "known_layers",
        lambda one, options: one.KnownLayers(
            budget_s=options.budget_s, limit_s=options.limit_s
        ).parts(),
        0.05,
        lambda one: (one.tensor_benchmark.table, one.shares, one.tensor_benchmark.summary),
        in_parts=True,
    ),
    "products": _Benchmark(
        "product_benchmark", lambda one, options: one.measure(options.budget_s), 0.5
    ),
    "lenet": _Benchmark(
        "network_benchmark",
        lambda one, options: one.NetworkBenchmark(
            one.forms(), budget_s=options.budget_s
        ).measure(),
        0.1,
    ),
}


if __name__ == "__main__":
    sys.exit(main())
