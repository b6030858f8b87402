"""Nsight Compute on the launches whose times the labs explain, one record for each of `RECORDS`.

    # On a GPU with ncu. It writes results/111_caches.json; copy that to data/measured/.
    python -m evidence.launch_counters 111_caches
    # Only launch the kernels, on one image, under an ncu of your own:
    ncu --metrics ... python -m evidence.launch_counters 111_caches --launch --size 1

One call of ``ncu`` runs each of a record's cases on random numbers (no counter here depends on the
values). It records no times: ncu replays launches, and does not fix the clock here. The exit status
is 0, or 2 if ``ncu`` cannot be used. `evidence.counters` compares the simulator's counters of
single launches with ncu's. `LAUNCHES` are only launched: labs count them by an ncu of the reader's.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evidence import ncu
from helpers import device, launch
from helpers.bench import convolutions, cudnn, hardware, layers, results, vectors
from helpers.experiments import (
    channel_sums,
    constant_memory,
    fastest_layer,
    first_launch,
    layer_constant,
    register_tiles,
    sizes,
)
from helpers.launch import Plan
from helpers.limits import ConvShape
from helpers.problems import conv2d, fft_conv2d
from helpers.programs import Program

LAYERS = conv2d.LENET
FILTER_WIDTHS = (1, 3, 5, 7, 9, 11, 13, 15)
FEW, MANY = 1_000, 10_000  # images; the fewer ones are enough blocks to fill the GPU many times


@dataclass(frozen=True)
class Case:
    """Launches that are counted, a row of the record for each.

    columns: what names them. warm: launched twice, and the second time counts, with the arrays in
    the caches. carveout: of the last kernel, the percentage of shared memory that is asked for.
    library: in place of a plan, a layer of halves with channels last, by one kernel of cuDNN's.
    """

    columns: Mapping[str, Any]
    plan: Plan = ()
    warm: bool = False
    carveout: int = 0
    library: ConvShape | None = None

    @property
    def names(self) -> list[str]:
        """The kernels that a launch of the case runs; `ncu.ANY` for cuDNN's choice."""
        return [ncu.ANY] if self.library else [one.name for one in self.plan]

    @property
    def times(self) -> int:
        """How often it is launched."""
        return 1 + self.warm


def _of_layer(layer: layers.Layer, kernel: Any, /, **columns: Any) -> Case:
    named = {"layer": layer.name, "batch": layer.shape.B, **columns}
    return Case(named, layer.plan(layer.kernel(kernel)))


def _caches(images: int) -> Iterator[Case]:
    """Yield the launches of lab 111: kernels without and with tiles, on both layers, and changes of
    these.
    """
    for layer in (layers.layer(name, images) for name in LAYERS):
        for name in ("conv2d_basic", "conv2d_uncoalesced", "conv2d_constant", "conv2d_tiled"):
            yield _of_layer(layer, name, maps=1, variant="")
        for maps in (2, 4, 8, 16):
            if maps <= layer.shape.M:
                mapped = layer.kernel("conv2d_tiled_maps", TILE_WIDTH=16, MAPS=maps)
                yield _of_layer(layer, mapped, maps=maps, variant="")
        uniform = layer.kernel("conv2d_tiled_maps", TILE_WIDTH=16, MAPS=4)
        uniform = uniform.changed(" + threadIdx.z", "")
        yield _of_layer(layer, uniform, maps=4, variant="uniform")
        unused = layer.kernel("conv2d_tiled").changed(
            "tile[(threadIdx.y + p) * span + threadIdx.x + q]", "channel[(h + p) * W + w + q]"
        )
        yield _of_layer(layer, unused, maps=1, variant="tile not used")


def _blocks(images: int) -> Iterator[Case]:
    """Yield the launches of lab 107, deeper: layer 2 in blocks of several shapes."""
    layer = layers.layer("layer 2", images)
    for block in ((16, 16), (8, 8), (8, 32), (32, 8), (64, 4)):
        kernel = layer.kernel("conv2d_basic", block=block)
        yield _of_layer(layer, kernel, block=f"{block[0]} x {block[1]}")


def _widths(images: int) -> Iterator[Case]:
    """Yield the launches of lab 110, deeper: filters of several widths, in kernels that know the
    width or do not.
    """
    for width in FILTER_WIDTHS:
        shape = ConvShape(images, C=1, M=4, H=86, W=86, K=width)
        layer = layers.layer(images=images, shape=shape)
        for name in ("conv2d_basic", "conv2d_unrolled"):
            plan = layer.plan(layer.kernel(name))
            yield Case({"case": f"K = {width}", "batch": images, "K": width}, plan)


def _constant(images: int) -> Iterator[Case]:
    """Yield the launches of lab 109: the filter in global and in constant memory, and with blocks
    that are held down.
    """
    kernels = layer_constant.BASIC, layer_constant.CONSTANT
    for name in layer_constant.LAYERS:
        for kernel in kernels:
            yield _of_layer(layers.layer(name, images), kernel, kernel=kernel, blocks=0)
    for blocks in layer_constant.HELD_BLOCKS:
        for kernel in kernels:
            case = _of_layer(
                layer_constant.held(blocks, images), kernel, kernel=kernel, blocks=blocks
            )
            yield dataclasses.replace(case, carveout=layer_constant.CARVEOUT)


def _registers(images: int) -> Iterator[Case]:
    """Yield the launches of lab 112: kernels whose threads compute one output, and patches of them.
    """
    kernels = "conv2d_basic", "conv2d_tiled_maps", "conv2d_register", "conv2d_register_tiled"
    for layer in (layers.layer(name, images) for name in LAYERS):
        yield from (_of_layer(layer, kernel) for kernel in kernels)


def _constant_filter(images: int) -> Iterator[Case]:
    """Yield the launches of lab 112, deeper: conv2d_register with its filter in either memory."""
    for layer in (layers.layer(name, images) for name in LAYERS):
        yield _of_layer(layer, register_tiles.PATCH, filter="global")
        yield _of_layer(layer, register_tiles.constant_filter(layer), filter="constant")


def _halves(images: int) -> Iterator[Case]:
    """Yield the launches of lab 300: a patch of outputs in floats, and in pairs of halves;
    `to_half` rounds x first.
    """
    for layer in (layers.layer(name, images) for name in LAYERS):
        yield from (_of_layer(layer, kernel) for kernel in ("conv2d_register", "conv2d_half2"))


def _fastest(images: int) -> Iterator[Case]:
    """Yield the launches of lab 305: the kernels of tensor cores, and one step of each taken back.
    """
    for what, one in fastest_layer.TAKEN_BACK.items():
        layer = layers.layer(one.layer, images)
        plan = layer.plan(layer.kernel(one.spec))
        yield Case({"case": what}, launch.replaced(plan, one.instead))
    layer = layers.layer("layer 2", images)
    plan = layer.plan(layer.kernel(fastest_layer.conv2d.mma_wgmma()))
    yield Case({"case": "layer 2, warpgroups"}, plan)


def _channels(images: int) -> Iterator[Case]:
    """Yield the launches of lab 401: channels in one thread and split over threads, for a small
    image and layer 1.
    """
    for name in (channel_sums.PLAIN, channel_sums.ATOMICS):
        for channels in (16, 64, 256):
            small = channel_sums.small(channels)
            plan = small.plan(channel_sums.fitted_to(small, name))
            yield Case({"case": f"{channels} channels"}, plan, warm=True)
    layer = layers.layer("layer 1", images)
    for name in channel_sums.KERNELS:
        yield Case({"case": "layer 1"}, layer.plan(layer.kernel(name)))


def _tiles(images: int) -> Iterator[Case]:
    """Yield the launches of lab 402, deeper: layer 2 by transforms of tiles, and by the direct
    kernel.
    """
    layer = layers.layer("layer 2", images)
    for kernel in (fft_conv2d.LAYER, "conv2d_register_tiled"):
        yield _of_layer(layer, kernel)


def _known(images: int) -> Iterator[Case]:
    """Yield the launches of lab 503, deeper: layers of ResNet-50 by our products of warpgroups, and
    by cuDNN's. images: of a layer at most.
    """
    for name in ("ResNet-50, 56 x 56", "ResNet-50, 56 to 28", "ResNet-50, 14 x 14"):
        known = conv2d.KNOWN_LAYERS[name]
        layer = layers.layer(shape=known, images=min(known.B, images))
        for spec in (conv2d.implicit_wgmma(), conv2d.channels_last(known)):
            yield Case({"layer": name}, layer.plan(layer.kernel(spec)))
        yield Case({"layer": name, "series": cudnn.NAMES["FP16"]}, library=layer.shape)


def _axpy(n: int) -> Iterator[Case]:
    """Yield the launches of lab 100: three ways to assign elements to threads."""
    problem = vectors.axpy(n)
    plain = problem.kernel(first_launch.KERNEL)
    for name, changes in first_launch.VARIANTS.items():
        kernel = plain.changed(*changes) if changes else plain
        named = {"series": f"lanes {name}", "kernel": first_launch.KERNEL}
        yield Case({**named, "n": n}, problem.plan(kernel))


def _cells(n: int) -> Iterator[Case]:
    """Yield the launch of lab 101, deeper: conv1d_basic with a filter of 3."""
    problem = convolutions.conv1d(n, sizes.FILTER_WIDTH)
    yield Case({}, problem.plan(problem.kernel(sizes.KERNEL)))


def _lookups(n: int) -> Iterator[Case]:
    """Yield the launches of lab 102, deeper: 31 weights in global and in constant memory."""
    problem = convolutions.conv1d(n, 31)
    for name in constant_memory.KERNELS:
        yield Case({}, problem.plan(problem.kernel(name)))


# By record: its cases by their size (images, or elements), the size, and the lab that shows it.
RECORDS: Mapping[str, tuple[Callable[[int], Iterator[Case]], int, str]] = {
    "100_caches": (_axpy, first_launch.TIMED, "100_start_here"),
    "107_counters": (_blocks, FEW, "107_conv2d_layer"),
    "109_counters": (_constant, FEW, "109_conv2d_constant_memory"),
    "110_counters": (_widths, FEW, "110_conv2d_restrict_and_unrolling"),
    "111_caches": (_caches, FEW, "111_conv2d_tiles"),
    "112_constant_filter": (_constant_filter, MANY, "112_conv2d_register_tiling"),
    "112_counters": (_registers, MANY, "112_conv2d_register_tiling"),
    "112_issued": (_registers, MANY, "112_conv2d_register_tiling"),
    "300_counters": (_halves, MANY, "300_half_precision"),
    "305_counters": (_fastest, MANY, "305_fastest_layer"),
    "503_counters": (_known, FEW, "503_deeper"),
    "401_counters": (_channels, MANY, "401_conv2d_channel_reduction"),
    "402_counters": (_tiles, MANY, "402_fft_overlap_add"),
}

# Cases by their size, and the size: without a record.
LAUNCHES: Mapping[str, tuple[Callable[[int], Iterator[Case]], int]] = {
    "101_cells": (_cells, 1_000),
    "102_lookups": (_lookups, constant_memory.COUNTED_CELLS),
}


@functools.cache
def cases(record: str, size: int = 0) -> tuple[Case, ...]:
    """Return the cases of one of RECORDS or LAUNCHES. size: images, or elements, in place of its
    own.
    """
    make, usual, *_ = RECORDS.get(record) or LAUNCHES[record]
    return tuple(make(size or usual))


def launch_all(record: str, size: int = 0) -> None:
    """Launch the cases of a record on the selected device, in ncu's process of its own."""
    device.select()
    import pycuda.driver as cuda

    rng, there = np.random.default_rng(13), {}

    def address(name: str, shape: Sequence[int], dtype: Any) -> Any:
        if (name, shape, dtype) not in there:
            values = rng.random(shape, dtype=np.float32).astype(dtype)
            there[name, shape, dtype] = cuda.to_device(values)
        return there[name, shape, dtype]

    def profiled(run: Callable[[], Any]) -> None:
        cuda.start_profiler()
        run()
        cuda.Context.synchronize()
        cuda.stop_profiler()

    for case in cases(record, size):
        if shape := case.library:
            library = cudnn.Convolution(
                shape,
                int(address("x", shape.x_shape, np.float32)),
                int(address("filter", shape.filter_shape, np.float32)),
                cudnn.Way("channels_last"),
                "FP16",
            )
            library.launch(None)  # The first one also chooses among cuDNN's kernels.
            profiled(functools.partial(library.launch, None))
            continue
        arrays = [array for one in case.plan for array in one.arrays]
        addresses = {one.name: address(one.name, one.shape, one.dtype) for one in arrays}
        with Program(case.plan) as program:
            if case.carveout:
                carveout = cuda.function_attribute.PREFERRED_SHARED_MEMORY_CARVEOUT
                program.kernel().function.set_attribute(carveout, case.carveout)
            for _ in range(case.times):
                profiled(functools.partial(program.launch, addresses))


def measure(record: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each launch of a record: `hardware.METRICS` by name.

    A metric that this chip or ncu does not know is None. Raises ncu.NcuError.
    """
    ncu.program()
    for case in cases(record):  # Compile first: ncu would also follow the compiler's processes.
        if case.plan:
            Program(case.plan).free()
    command = [sys.executable, "-m", "evidence.launch_counters", record, "--launch"]
    names = [name for case in cases(record) for _ in range(case.times) for name in case.names]
    # ncu empties the caches before each launch, if it is to: one for all launches of a call.
    cold = not any(case.warm for case in cases(record))
    readings = iter(
        ncu.read(command, tuple(hardware.METRICS.values()), names, cold=cold, marked=True)
    )
    for case in cases(record):
        *_, last = [[next(readings) for _ in case.names] for _ in range(case.times)]
        for name, read in zip(case.names, last, strict=True):
            values = {column: read.get(metric) for column, metric in hardware.METRICS.items()}
            if "kernel" in read:
                values["kernel"] = read["kernel"]
            yield {"series": name, **case.columns, **values}


def main(argv: Sequence[str] | None = None) -> int:
    """Run ncu and write a record; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m evidence.launch_counters")
    parser.add_argument("record", choices=(*RECORDS, *LAUNCHES))
    parser.add_argument("--launch", action="store_true", help="only launch the kernels")
    parser.add_argument("--size", type=int, default=0, help="with --launch: images, or elements")
    chosen = parser.parse_args(argv)
    if chosen.launch:
        launch_all(chosen.record, chosen.size)
        return 0
    if chosen.record in LAUNCHES:
        parser.error(f"{chosen.record} has no record, and is only launched: add --launch")
    gpu = device.select()
    if gpu.kind != "gpu":
        print(
            "Nsight Compute reads the counters of a GPU, and there is none here: "
            "run it on a machine with an NVIDIA GPU",
            file=sys.stderr,
        )
        return 2
    *_, lab = RECORDS[chosen.record]
    counted = functools.partial(measure, chosen.record)
    try:
        print(results.record(chosen.record, counted, device=gpu, lab=lab))
    except (ncu.NcuError, results.RecordError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
