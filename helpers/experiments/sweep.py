"""The search for the fastest shape of conv2d_register_tiled, layer by layer, by Kernel Tuner, and its replay without a GPU.

    # On a GPU. It writes results/14_sweep_layer_1.json and so on; copy them to data/measured/.
    python -m helpers.experiments.sweep            # all layers
    python -m helpers.experiments.sweep "layer 2"  # of one layer

`space` lists the configurations of a layer: all that a small product of sizes gives and
`conv2d.RegisterTiled.require` takes. `tune` compiles them, checks every output of each against
conv2d_basic and the float64 reference, and hands those that pass to Kernel Tuner, which runs and
times them through PyCUDA; a wrong one is recorded as rejected and never timed. `replay` lets any of
Kernel Tuner's search strategies loose on a record, in its simulation mode, to see how soon each
would have found the best.

Kernel Tuner times by events of its own: 7 launches in a row, no cache flushed, the average told.
The order of near-equal ones is no finding before `timing.compare` has seen them; lab 14 times the
best again.

Kernel Tuner is imported where it is used: it imports PyCUDA, which must be the one that
`device.select` chose.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import math
import random
import re
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from helpers import checking, device, kernels, launch, results
from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.problems.conv2d import Conv2d, RegisterTiled

KERNEL = "conv2d_register_tiled"
BATCH = 10_000
LAB = "14_conv2d_sweep"
# What a configuration fixes: of a thread its columns, rows and maps; of a block its columns, rows
# and images of outputs; channels staged at a time; filter rows unrolled. The threads follow from
# these; Kernel Tuner wants them among the parameters.
PARAMETERS = (
    "columns",
    "rows",
    "maps",
    "tile_columns",
    "tile_rows",
    "images",
    "staged",
    "unroll",
    "threads",
)
# One tuple of values each, in the order of PARAMETERS without the threads.
SIZES: dict[str, tuple[tuple[int, ...], ...]] = {
    "layer 1": ((2, 4, 8), (1, 2, 4), (2, 4), (40, 80), (8, 16), (1,), (1,), (1, 7)),
    "layer 2": ((2, 4, 5), (1, 2), (4, 8, 16), (20, 34, 35, 36), (17, 34), (1,), (1, 4), (1, 7)),
    "layer E1": ((2, 4), (1, 2), (4, 6, 12), (22, 24), (11, 22), (1, 2), (1,), (1, 7)),
    "layer E2": (
        (1, 2, 3, 5),
        (1, 5),
        (4, 8, 12, 24),
        (5, 6),
        (5,),
        (2, 4, 6, 8, 10, 12),
        (12,),
        (1, 7),
    ),
}
THREADS = (64, 256)  # of a block, fewest and most
SUMS = (16, 72)  # of a thread, likewise
FITS = 0.8  # useful outputs over outputs computed, idle threads left out, at least
# Kernel Tuner's strategies that come to an end on any space; others of its go on for ever where few
# configurations are neighbours.
STRATEGIES = ("brute_force", "random_sample", "greedy_mls", "genetic_algorithm")

Configuration = tuple[int, ...]  # values of PARAMETERS


class SweepError(RuntimeError):
    """A sweep that cannot be made, read or replayed; the message says which and why."""


# --------------------------------------------------------------------------------------------------
# The search space


def spec_of(configuration: Sequence[int]) -> RegisterTiled:
    """The kernel's record with the sizes of a configuration."""
    columns, rows, maps, tile_columns, tile_rows, images, staged, unroll, _ = configuration
    patches = (tile_columns // columns, tile_rows // rows, images)
    return dataclasses.replace(
        open_record(), patch=(columns, rows, maps), patches=patches, staged=staged, unroll=unroll
    )


def open_record() -> RegisterTiled:
    """The kernel's record with all sizes to be chosen."""
    record = conv2d.conv2d_named(KERNEL)
    assert isinstance(record, RegisterTiled)
    return record


def configuration_of(spec: RegisterTiled, shape: ConvShape) -> Configuration:
    """The configuration of a record (what it leaves open chosen for the shape): the inverse of `spec_of`."""
    fitted = spec.fitted(shape)
    patch, (_, _, images), staged, unroll = fitted.sizes
    columns, rows, _ = fitted.sizes.tile
    return (*patch, columns, rows, images, staged, unroll, fitted.threads(shape)[0])


def space(name: str) -> tuple[Configuration, ...]:
    """Return the configurations of a layer of conv2d.LAYERS, without and then with what conv2d.FITTED has for it.

    A product of `SIZES` of which those remain whose patches divide the tile, that the kernel takes,
    that have threads and sums within THREADS and SUMS, and at least FITS of whose outputs are
    wanted. Raises conv2d.LayerError for another layer.
    """
    shape = conv2d.shape_of(name, BATCH)
    if name not in SIZES:
        raise SweepError(f"no sizes to sweep for {name!r}; there are: {', '.join(SIZES)}")
    found = [one for sizes in itertools.product(*SIZES[name]) if (one := _fitting(sizes, shape))]
    best_known = configuration_of(open_record(), shape)
    return tuple(dict.fromkeys([*found, best_known]))


def _fitting(sizes: Sequence[int], shape: ConvShape) -> Configuration | None:
    """The configuration of these sizes, or None where it is left out."""
    columns, rows, maps, tile_columns, tile_rows, *_ = sizes
    if tile_columns % columns or tile_rows % rows or maps > shape.M or shape.M % maps:
        return None
    spec = spec_of((*sizes, 0))
    threads = spec.threads(shape)[0]
    tiles = conv2d.ceil_div(shape.out_w, tile_columns) * conv2d.ceil_div(shape.out_h, tile_rows)
    computed = tiles * tile_columns * tile_rows
    fits = shape.out_w * shape.out_h / computed >= FITS
    if not (
        THREADS[0] <= threads <= THREADS[1] and SUMS[0] <= columns * rows * maps <= SUMS[1] and fits
    ):
        return None
    with contextlib.suppress(conv2d.LayerError):
        spec.require(shape)
        return (*sizes, threads)
    return None


def _product(configurations: Iterable[Sequence[int]]) -> dict[str, list[int]]:
    """Kernel Tuner's tune_params: for each parameter the values that occur."""
    return {
        name: sorted(set(values))
        for name, values in zip(PARAMETERS, zip(*configurations, strict=True), strict=True)
    }


# --------------------------------------------------------------------------------------------------
# Compiling and checking


def build(wanted: Iterable[tuple[Conv2d, ConvShape]]) -> None:
    """Compile kernels for shapes, several at a time, into the cache in which PyCUDA then finds them. GPU only: else nothing.

    What nvcc refuses raises pycuda.driver.CompileError.
    """
    launch.compile_ahead(spec.plan(shape) for spec, shape in wanted)


def checked(
    problem: conv2d.Problem, spec: Conv2d, name: str
) -> tuple[conv2d.Compiled, checking.Verdict]:
    """Compile and launch once, over poisoned outputs; return the compiled kernel and its Verdict.

    Raises checking.CheckError for a wrong result, conv2d.LayerError for a kernel that cannot be
    launched.
    """
    compiled = conv2d.compile(spec, problem.shape)
    problem.poison()
    compiled.launch(problem.y, problem.x, problem.filter)
    return compiled, problem.check(name)


def _check_all(
    problem: conv2d.Problem, configurations: Sequence[Configuration]
) -> tuple[dict[Configuration, conv2d.Compiled], dict[Configuration, str]]:
    """The compiled kernels that are right, and why each of the others was rejected."""
    build((spec_of(one), problem.shape) for one in configurations)
    right, rejected = {}, {}
    for one in configurations:
        try:
            right[one], _ = checked(problem, spec_of(one), label(one))
        except (checking.CheckError, conv2d.LayerError) as error:
            rejected[one] = str(error).splitlines()[0]
    return right, rejected


def label(configuration: Sequence[int]) -> str:
    """A configuration in short: "patch 4x2x4, tile 80x16, 160 threads, unroll 7", with images and channels staged if not 1."""
    columns, rows, maps, across, down, images, staged, unroll, threads = configuration
    more = f"{f', {images} images' * (images > 1)}{f', {staged} channels' * (staged > 1)}"
    return (
        f"patch {columns}x{rows}x{maps}, tile {across}x{down}{more}, {threads} threads, "
        f"unroll {unroll}"
    )


# --------------------------------------------------------------------------------------------------
# Tuning


def tune(
    name: str, batch: int = BATCH, configurations: Sequence[Configuration] | None = None
) -> list[dict[str, Any]]:
    """Return one row for each configuration of a layer, for `results.record`: parameters, registers, tuner_ms, rejected.

    tuner_ms: Kernel Tuner's average of 7 launches, None for a rejected one and in the simulator,
    which has no clock. rejected: None, or the first line of why. Raises SweepError where no
    configuration is right, and what conv2d.inputs raises.
    """
    shape, wanted = conv2d.shape_of(name, batch), tuple(configurations or space(name))
    x, filter = conv2d.inputs(name, batch)
    with conv2d.Problem(shape, x, filter) as problem:
        right, rejected = _check_all(problem, wanted)
    if not right:
        first = next(iter(rejected.values()))
        raise SweepError(
            f"{name}: all {len(wanted)} configurations were rejected, the first one for: {first}"
        )
    times = _tune_kernel(shape, x, right)
    return [
        {
            "series": KERNEL,
            "layer": name,
            "batch": batch,
            **dict(zip(PARAMETERS, one, strict=True)),
            "registers": right[one].function.num_regs if one in right else None,
            "tuner_ms": times.get(one),
            "rejected": rejected.get(one),
        }
        for one in wanted
    ]


def _tune_kernel(
    shape: ConvShape, x: np.ndarray, right: Mapping[Configuration, conv2d.Compiled]
) -> dict[Configuration, float | None]:
    """Kernel Tuner's time for each of the compiled kernels."""
    kernel_tuner = _kernel_tuner()

    def spec(sizes: Mapping[str, int]) -> RegisterTiled:
        return spec_of([sizes[name] for name in PARAMETERS])

    def value(constant: str) -> Any:
        return lambda sizes: dict(option[2:].split("=") for option in spec(sizes).options(shape))[
            constant
        ]

    arguments = [np.empty(shape.y_shape, np.float32), x, np.int32(shape.B)]
    with _already_compiled(shape, right):
        found, _ = kernel_tuner.tune_kernel(
            KERNEL,
            kernels.source(KERNEL),
            lambda sizes: spec(sizes).grid(shape),
            arguments,
            _product(right),
            grid_div_x=[],
            grid_div_y=[],
            grid_div_z=[],
            block_size_names=["threads"],
            lang="PYCUDA",
            quiet=True,
            restrictions=_among(right),
            defines={constant: value(constant) for constant in spec_constants(shape)},
        )
    return {_key(row): row["time"] if math.isfinite(row["time"]) else None for row in found}


def spec_constants(shape: ConvShape) -> tuple[str, ...]:
    """The -D constants of the kernel, in the order of its options."""
    return tuple(
        option[2:].partition("=")[0] for option in conv2d.conv2d_named(KERNEL).options(shape)
    )


def _key(row: Mapping[str, Any]) -> Configuration:
    return tuple(int(row[name]) for name in PARAMETERS)


def _among(configurations: Iterable[Configuration]) -> Any:
    """A restriction of Kernel Tuner's: the product of all values is far larger than the space."""
    known = frozenset(configurations)

    def is_one_of_them(
        columns, rows, maps, tile_columns, tile_rows, images, staged, unroll, threads
    ):
        return (
            columns,
            rows,
            maps,
            tile_columns,
            tile_rows,
            images,
            staged,
            unroll,
            threads,
        ) in known

    return is_one_of_them


@contextlib.contextmanager
def _already_compiled(
    shape: ConvShape, right: Mapping[Configuration, conv2d.Compiled]
) -> Iterator[None]:
    """Kernel Tuner takes the modules that were checked, the filter in their constant memory, in place of compiling anew.

    It would compile one after the other, relocatable for launches from the device, and upload the
    same weights to each, although their order depends on the patch. What it asks for is known by
    the constants that it writes above the source.
    """
    from kernel_tuner.backends import pycuda as backend

    stock = {
        frozenset(option[2:] for option in spec_of(one).options(shape)): made.module
        for one, made in right.items()
    }

    def module(source: str, *_: Any, **__: Any) -> Any:
        written = source.partition(f"// {KERNEL}.cu")[0]  # below it stand the kernel's own defaults
        pairs = re.findall(r"^#define (\w+) (\S+)$", written, re.MULTILINE)
        return stock[frozenset(map("=".join, pairs))]

    kept = backend.DynamicSourceModule
    backend.DynamicSourceModule = module
    try:
        yield
    finally:
        backend.DynamicSourceModule = kept


def _kernel_tuner() -> Any:
    device.select()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of optional parts of its dependencies
            import kernel_tuner
    except ImportError as error:
        raise SweepError(
            f"Kernel Tuner cannot be imported ({error}): pip install kernel-tuner"
        ) from error
    return kernel_tuner


# --------------------------------------------------------------------------------------------------
# Records and their replay


def record_name(name: str) -> str:
    """The record of a layer's sweep: "14_sweep_layer_1" for "layer 1"."""
    return f"14_sweep_{name.replace(' ', '_')}"


def recorded(name: str) -> results.Record:
    """Return the repository's record of a layer's sweep. Raises results.RecordError where it is missing or damaged."""
    return results.load(results.MEASURED / f"{record_name(name)}.json")


def ranking(record: results.Record) -> list[tuple[Configuration, float]]:
    """Return (configuration, Kernel Tuner's ms) of those timed, the fastest first. Raises SweepError where there is none."""
    timed = [(_key(row), row["tuner_ms"]) for row in record.rows() if row["tuner_ms"] is not None]
    if not timed:
        raise SweepError(
            f"the record {record.name} holds no time: make it on a GPU, by python -m "
            "helpers.experiments.sweep"
        )
    return sorted(timed, key=lambda pair: pair[1])


def replay(
    record: results.Record,
    strategy: str = "brute_force",
    *,
    evaluations: int | None = None,
    seed: int = 0,
) -> list[tuple[Configuration, float | None]]:
    """Return what a strategy of Kernel Tuner's tries on a recorded space, in order: (configuration, ms or None if rejected).

    strategy: one of STRATEGIES. evaluations: how many different configurations it may try, at most,
    all of them where left out. The random generators that the strategies share with the rest of
    Python start from ``seed``, and are put back afterwards. No GPU is needed. Raises SweepError for
    a record without rows, or another strategy.
    """
    if strategy not in STRATEGIES:
        raise SweepError(
            f"{strategy!r} is none of the strategies to replay: {', '.join(STRATEGIES)}"
        )
    kernel_tuner, rows = _kernel_tuner(), [row for row in record.rows() if row["series"] == KERNEL]
    if not rows:
        raise SweepError(f"the record {record.name} has no configurations to replay")
    options = (
        {} if evaluations is None or strategy == "brute_force" else {"max_fevals": evaluations}
    )
    with tempfile.TemporaryDirectory() as folder, _seeded(seed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cache = Path(folder) / "cache.json"
        cache.write_text(json.dumps(_cache(record, rows)))
        try:
            found, _ = kernel_tuner.tune_kernel(
                KERNEL,
                kernels.source(KERNEL),
                len(rows),
                [],
                _product(map(_key, rows)),
                restrictions=_among(map(_key, rows)),
                strategy=strategy,
                strategy_options=options,
                cache=str(cache),
                simulation_mode=True,
                lang="PYCUDA",
                quiet=True,
                block_size_names=["threads"],
            )
        except ValueError as error:
            raise SweepError(
                f"Kernel Tuner cannot replay the record {record.name}: {error}"
            ) from error
    times = {_key(row): row["tuner_ms"] for row in rows}
    tried = dict.fromkeys(_key(row) for row in found if row is not None)
    return [(one, times[one]) for one in tried][:evaluations]


def _cache(record: results.Record, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The rows in the form of Kernel Tuner's cache file."""
    entries = {}
    for row in rows:
        sizes = dict(zip(PARAMETERS, _key(row), strict=True))
        failed = dict.fromkeys(("time", "__error__"), "RuntimeFailedConfig")
        outcome = failed if row["tuner_ms"] is None else {"time": row["tuner_ms"]}
        spent = {"compile_time": 0.0, "verification_time": 0.0, "benchmark_time": 0.0}
        entries[",".join(map(str, sizes.values()))] = sizes | outcome | spent
    return {
        "device_name": record.device.name,
        "kernel_name": KERNEL,
        "problem_size": len(rows),
        "objective": "time",
        "tune_params_keys": list(PARAMETERS),
        "tune_params": _product(map(_key, rows)),
        "cache": entries,
    }


@contextlib.contextmanager
def _seeded(seed: int) -> Iterator[None]:
    ours, numpys = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed)
    try:
        yield
    finally:
        random.setstate(ours)
        np.random.set_state(numpys)


def best_so_far(tried: Iterable[tuple[Configuration, float | None]]) -> list[float]:
    """Return the smallest time after each evaluation, in ms; infinite until one was not rejected."""
    return list(itertools.accumulate((math.inf if ms is None else ms for _, ms in tried), min))


def main(argv: Sequence[str] | None = None) -> int:
    """Tune the layers named, all of SIZES where none is, and print the best of each. Returns the exit status."""
    names = list(sys.argv[1:] if argv is None else argv) or list(SIZES)
    if unknown := [name for name in names if name not in SIZES]:
        print(
            f"no layer {unknown[0]!r} to sweep; there are: {', '.join(map(repr, SIZES))}",
            file=sys.stderr,
        )
        return 2
    gpu = device.select()
    if gpu.kind != "gpu":
        print(
            "a sweep is timed, and the simulator has no clock: run it on "
            "a machine with an NVIDIA GPU",
            file=sys.stderr,
        )
        return 2
    for name in names:
        made = results.record(record_name(name), partial(tune, name), device=gpu, lab=LAB)
        rejected = sum(row["rejected"] is not None for row in made.rows())
        print(f"{name}: {len(made.rows())} configurations, {rejected} rejected; {made.caption()}")
        for one, ms in ranking(made)[:3]:
            print(f"  {ms:.4f} ms  {label(one)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
