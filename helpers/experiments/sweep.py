"""The search for the fastest sizes of conv2d_register_tiled by Kernel Tuner.

    # On a GPU. It writes results/203_sweep_layer_1.json and so on; copy them to data/measured/.
    python -m helpers.experiments.sweep            # all layers
    python -m helpers.experiments.sweep "layer 2"  # one layer

`space` lists the configurations of a layer: a product of a few sizes, without those that
`conv2d.RegisterTiled.require` refuses. `tune` compiles them and checks every output of each against
conv2d_basic and the float64 reference. Kernel Tuner then runs and times the right ones through
PyCUDA; a wrong one is recorded as rejected and never timed. `sweep_replay` runs the search
strategies of Kernel Tuner on a record.

Kernel Tuner times with events of its own: the average of 7 launches in a row, with warm caches. The
order of nearly equal configurations means nothing before `timing.compare` compares them; lab 203
times the best ones again.

Functions import Kernel Tuner only when they run: it imports PyCUDA, and `device.select` decides
first which PyCUDA that is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import helpers.labs.jsonschema_import  # noqa: F401
from helpers import checking, device, kernels, programs
from helpers.bench import results
from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.problems.conv2d import Conv2d, RegisterTiled

KERNEL = "conv2d_register_tiled"
BATCH = 10_000
LAB = "203_conv2d_sweep"
# The parameters of a configuration: columns, rows and maps of a thread; columns, rows and images of
# a block; channels staged at a time; unrolled filter rows. The threads of a block follow from
# these, but Kernel Tuner needs them among the parameters.
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
# A tuple of values for each parameter, in the order of PARAMETERS without the threads.
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
THREADS = (64, 256)  # fewest and most threads of a block
SUMS = (16, 72)  # fewest and most sums of a thread
FITS = 0.8  # the smallest share of useful outputs among all that the tiles compute

Configuration = tuple[int, ...]  # values of PARAMETERS


class SweepError(RuntimeError):
    """A sweep that cannot be run, read or replayed; the message says which and why."""


# --------------------------------------------------------------------------------------------------
# The search space


def spec_of(configuration: Sequence[int]) -> RegisterTiled:
    """Return the kernel's record with the sizes of a configuration."""
    columns, rows, maps, tile_columns, tile_rows, images, staged, unroll, _ = configuration
    patches = (tile_columns // columns, tile_rows // rows, images)
    return dataclasses.replace(
        open_record(), patch=(columns, rows, maps), patches=patches, staged=staged, unroll=unroll
    )


def open_record() -> RegisterTiled:
    """Return the kernel's record with no size set."""
    record = conv2d.conv2d_named(KERNEL)
    assert isinstance(record, RegisterTiled)
    return record


def configuration_of(spec: RegisterTiled, shape: ConvShape) -> Configuration:
    """Return the configuration of a record, fitted to the shape: the inverse of `spec_of`."""
    fitted = spec.fitted(shape)
    patch, (_, _, images), staged, unroll = fitted.sizes
    columns, rows, _ = fitted.sizes.tile
    return (*patch, columns, rows, images, staged, unroll, fitted.threads(shape)[0])


def space(name: str) -> tuple[Configuration, ...]:
    """Return the configurations of a layer of conv2d.LAYERS; the last one is that of conv2d.FITTED.

    They are the product of the layer's SIZES, without the configurations whose patches do not
    divide the tile, that the kernel refuses, whose threads or sums lie outside of THREADS or SUMS,
    or with fewer than FITS of their outputs useful. Raises conv2d.LayerError for another layer and
    SweepError for a layer without SIZES.
    """
    shape = conv2d.shape_of(name, BATCH)
    if name not in SIZES:
        raise SweepError(f"no sizes to sweep for {name!r}; there are: {', '.join(SIZES)}")
    fitting = [one for sizes in itertools.product(*SIZES[name]) if (one := _fitting(sizes, shape))]
    best_known = configuration_of(open_record(), shape)
    return tuple(dict.fromkeys([*fitting, best_known]))


def _fitting(sizes: Sequence[int], shape: ConvShape) -> Configuration | None:
    """Return the configuration of these sizes, or None if it does not fit the layer."""
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


def tune_params(configurations: Iterable[Sequence[int]]) -> dict[str, list[int]]:
    """Return Kernel Tuner's tune_params: the values of each parameter."""
    return {
        name: sorted(set(values))
        for name, values in zip(PARAMETERS, zip(*configurations, strict=True), strict=True)
    }


# --------------------------------------------------------------------------------------------------
# Compiling and checking


def build(layers: Iterable[tuple[Conv2d, ConvShape]]) -> None:
    """Compile kernels for shapes into PyCUDA's cache, several at a time.

    It does nothing in the simulator. Raises pycuda.driver.CompileError if nvcc refuses a kernel.
    """
    programs.compile_ahead(spec.plan(shape) for spec, shape in layers)


def checked(
    problem: conv2d.Problem, spec: Conv2d, name: str
) -> tuple[conv2d.Compiled, checking.Verdict]:
    """Compile a kernel, launch it once over poisoned outputs, and return it with its Verdict.

    Raises checking.CheckError for a wrong result and conv2d.LayerError if the launch is refused.
    """
    compiled = conv2d.compile(spec, problem.shape)
    problem.poison()
    compiled.launch(problem.y, problem.x, problem.filter)
    return compiled, problem.check(name)


def _check_all(
    problem: conv2d.Problem, configurations: Sequence[Configuration]
) -> tuple[dict[Configuration, conv2d.Compiled], dict[Configuration, str]]:
    """Return the right kernels, compiled, and the reason of each rejected one."""
    build((spec_of(one), problem.shape) for one in configurations)
    right, rejected = {}, {}
    for one in configurations:
        try:
            right[one], _ = checked(problem, spec_of(one), label(one))
        except (checking.CheckError, conv2d.LayerError) as error:
            rejected[one] = str(error).splitlines()[0]
    return right, rejected


def label(configuration: Sequence[int]) -> str:
    """Return a configuration in short: "patch 4x2x4, tile 80x16, 160 threads, unroll 7".

    It names the images and the staged channels if they are not 1.
    """
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
    """Return a row for each configuration of a layer, for `results.record`.

    A row has the parameters, registers, tuner_ms and rejected. tuner_ms: Kernel Tuner's average of
    7 launches in ms; None for a rejected configuration, and in the simulator, which has no clock.
    rejected: None, or the first line of the reason. Raises SweepError if no configuration is right,
    and what conv2d.inputs raises.
    """
    shape, candidates = conv2d.shape_of(name, batch), tuple(configurations or space(name))
    x, filter = conv2d.inputs(name, batch)
    with conv2d.Problem(shape, x, filter) as problem:
        right, rejected = _check_all(problem, candidates)
    if not right:
        first = next(iter(rejected.values()))
        raise SweepError(
            f"{name}: all {len(candidates)} configurations were rejected, "
            f"the first one for: {first}"
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
        for one in candidates
    ]


def _tune_kernel(
    shape: ConvShape, x: np.ndarray, right: Mapping[Configuration, conv2d.Compiled]
) -> dict[Configuration, float | None]:
    """Return Kernel Tuner's time for each of the compiled kernels."""
    kernel_tuner = import_kernel_tuner()

    def spec(sizes: Mapping[str, int]) -> RegisterTiled:
        return spec_of([sizes[name] for name in PARAMETERS])

    def value(constant: str) -> Any:
        return lambda sizes: spec(sizes).constant_values(shape)[constant]

    arguments = [np.empty(shape.y_shape, np.float32), x, np.int32(shape.B)]
    with _already_compiled(shape, right):
        rows, _ = kernel_tuner.tune_kernel(
            KERNEL,
            kernels.source(KERNEL),
            lambda sizes: spec(sizes).grid(shape),
            arguments,
            tune_params(right),
            grid_div_x=[],
            grid_div_y=[],
            grid_div_z=[],
            block_size_names=["threads"],
            lang="PYCUDA",
            quiet=True,
            restrictions=restriction(right),
            defines={constant: value(constant) for constant in spec_constants(shape)},
        )
    return {key(row): row["time"] if math.isfinite(row["time"]) else None for row in rows}


def spec_constants(shape: ConvShape) -> tuple[str, ...]:
    """Return the names of the kernel's -D constants, in the order of its options."""
    return tuple(open_record().constant_values(shape))


def key(row: Mapping[str, Any]) -> Configuration:
    """Return the configuration of a row of a sweep's record."""
    return tuple(int(row[name]) for name in PARAMETERS)


def restriction(configurations: Iterable[Configuration]) -> Any:
    """Return a restriction for Kernel Tuner: the product of all values is larger than the space."""
    known = frozenset(configurations)

    # Kernel Tuner passes the parameters by these names.
    def is_one_of_them(
        columns, rows, maps, tile_columns, tile_rows, images, staged, unroll, threads
    ):
        thread, block = (columns, rows, maps), (tile_columns, tile_rows, images)
        return (*thread, *block, staged, unroll, threads) in known

    return is_one_of_them


@contextlib.contextmanager
def _already_compiled(
    shape: ConvShape, right: Mapping[Configuration, conv2d.Compiled]
) -> Iterator[None]:
    """Let Kernel Tuner use the checked modules, with the filter in their constant memory.

    Otherwise it would compile them one by one, as relocatable code, and upload the same weights to
    each, although their order depends on the patch. The constants that it writes above the source
    say which module it needs.
    """
    from kernel_tuner.backends import pycuda as backend

    stock = {
        frozenset(spec_of(one).constant_values(shape).items()): compiled.module
        for one, compiled in right.items()
    }

    def module(source: str, *_: Any, **__: Any) -> Any:
        # The kernel's own defaults stand below its first line.
        constants = source.partition(f"// {KERNEL}.cu")[0]
        pairs = re.findall(r"^#define (\w+) (\S+)$", constants, re.MULTILINE)
        return stock[frozenset((name, int(value)) for name, value in pairs)]

    kept = backend.DynamicSourceModule
    backend.DynamicSourceModule = module
    try:
        yield
    finally:
        backend.DynamicSourceModule = kept


def import_kernel_tuner() -> Any:
    """Select the device, then import Kernel Tuner. Raises SweepError without it."""
    device.select()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Its dependencies warn of missing optional parts.
            import kernel_tuner
    except ImportError as error:
        raise SweepError(
            f"Kernel Tuner cannot be imported ({error}): pip install kernel-tuner"
        ) from error
    return kernel_tuner


# --------------------------------------------------------------------------------------------------
# Records


def record_name(name: str) -> str:
    """Return the name of a layer's record: "203_sweep_layer_1" for "layer 1"."""
    return f"203_sweep_{name.replace(' ', '_')}"


def recorded(name: str) -> results.Record:
    """Return the repository's record of a layer's sweep. Raises results.RecordError."""
    return results.load(results.MEASURED / f"{record_name(name)}.json")


def ranking(record: results.Record) -> list[tuple[Configuration, float]]:
    """Return (configuration, Kernel Tuner's ms) of the timed ones, the fastest first.

    Raises SweepError for a record without times.
    """
    timed = [(key(row), row["tuner_ms"]) for row in record.rows() if row["tuner_ms"] is not None]
    if not timed:
        raise SweepError(
            f"the record {record.name} holds no time: make it on a GPU, by "
            "python -m helpers.experiments.sweep"
        )
    return sorted(timed, key=lambda pair: pair[1])


def main(argv: Sequence[str] | None = None) -> int:
    """Tune the named layers, by default all, and print the best; return the exit status."""
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
            "a sweep is timed, and the simulator has no clock: "
            "run it on a machine with an NVIDIA GPU",
            file=sys.stderr,
        )
        return 2
    for name in names:
        record = results.record(record_name(name), partial(tune, name), device=gpu, lab=LAB)
        rows = record.rows()
        rejected = sum(row["rejected"] is not None for row in rows)
        print(f"{name}: {len(rows)} configurations, {rejected} rejected; {record.caption()}")
        for one, ms in ranking(record)[:3]:
            print(f"  {ms:.4f} ms  {label(one)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
