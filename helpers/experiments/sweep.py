"""The search for the fastest sizes of conv2d_register_tiled: its space, and Kernel Tuner's records.

`space` lists the configurations of a layer: a product of a few sizes, without those that
`conv2d.RegisterTiled.require` refuses. `python -m evidence.tune` lets Kernel Tuner time them,
and `sweep_replay` runs its search strategies on a record.

Functions import Kernel Tuner only when they run: it imports PyCUDA, and `device.select` decides
first which PyCUDA that is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import helpers.labs.jsonschema_import  # noqa: F401
from helpers import device
from helpers.bench import results
from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.problems.conv2d import RegisterTiled

KERNEL = "conv2d_register_tiled"
BATCH = 10_000
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
    return results.recorded(record_name(name))


def ranking(record: results.Record) -> list[tuple[Configuration, float]]:
    """Return (configuration, Kernel Tuner's ms) of the timed ones, the fastest first.

    Raises SweepError for a record without times.
    """
    timed = [(key(row), row["tuner_ms"]) for row in record.rows() if row["tuner_ms"] is not None]
    if not timed:
        raise SweepError(
            f"the record {record.name} holds no time: make it on a GPU, by "
            "python -m evidence.tune"
        )
    return sorted(timed, key=lambda pair: pair[1])
