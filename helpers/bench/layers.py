"""The convolution layer on the bench: `bench.layer("layer 2", images=10_000)`."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import checking, device, limits, reference
from helpers.bench import cudnn, plan_bounds
from helpers.bench.on_device import NoLibraryError, OnDevice, Ready
from helpers.bench.problem import Problem
from helpers.bench.sources import Kernel, KernelError, require_alike
from helpers.bench.task import Library, require_source
from helpers.launch import Plan
from helpers.limits import ConvShape
from helpers.problems import baselines, conv2d, fft_conv2d
from helpers.problems.precision import HALF_UNIT

FEW = 2  # images of a check
LIBRARY = "cuDNN"
TRIAL_S = 0.1  # for the choice of the faster order of the arrays


def layer(
    name: str = "layer 1", images: int = 10_000, *, shape: ConvShape | None = None
) -> Layer:
    """Return a convolution layer with real images and trained weights.

    name: of conv2d.LAYERS. shape: a layer of another size in its place, with random images and
    weights; `images` then replaces its batch. Raises LayerError for another name.
    Its kernels are those of `problems.conv2d`, and "cuDNN", NVIDIA's library as PyTorch calls it
    in float32, in the faster order of the arrays: it is compared, and cannot be counted.
    """
    if shape is None:
        return Layer(name, conv2d.shape_of(name, images), trained=True)
    return Layer(str(shape), dataclasses.replace(shape, B=images), trained=False)


@dataclass(frozen=True)
class Layer(Problem):
    """A layer of one shape. Its kernels compute "y" of "x" and "filter"."""

    name: str
    shape: ConvShape
    trained: bool = True

    @property
    def title(self) -> str:
        return self.name

    @property
    def where(self) -> Mapping[str, Any]:
        if self.trained:
            return {"layer": self.name, "batch": self.shape.B}
        one = self.shape
        sizes = {"channels": one.C, "output_maps": one.M, "height": one.H, "width": one.W}
        return {**sizes, "K": one.K, "stride": one.stride, "batch": one.B}

    @property
    def few(self) -> Layer:
        return self._with(min(FEW, self.shape.B))

    @property
    def one(self) -> Layer:
        return self._with(1)

    @property
    def size(self) -> int:
        """Its images."""
        return self.shape.B

    def of_size(self, size: int) -> Layer:
        return self._with(size)

    def counted_sizes(self, kernel: Kernel) -> tuple[int, int]:
        return plan_bounds.whole_blocks(lambda images: self._with(images).plan(kernel))

    def _with(self, images: int) -> Layer:
        return dataclasses.replace(self, shape=dataclasses.replace(self.shape, B=images))

    def inputs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return x and filter, float32; other callers get the same arrays, so leave them."""
        return _inputs(self)

    def arrays(self) -> dict[str, np.ndarray]:
        x, filter = self.inputs()
        y = np.full(self.shape.y_shape, np.nan, np.float32)
        return {"y": y, "x": x.copy(), "filter": filter.copy()}

    def named(self, name: str) -> Any:
        if name == LIBRARY:
            return Library(LIBRARY)
        if name == fft_conv2d.TILES:
            return fft_conv2d.LAYER
        try:
            return conv2d.conv2d_named(name)
        except conv2d.LayerError as error:
            raise KernelError(str(error)) from None

    def sized(
        self, spec: conv2d.Conv2d, constants: Mapping[str, Any]
    ) -> tuple[conv2d.Conv2d, dict[str, Any]]:
        """Return the record with other sizes.

        TILE_WIDTH: of square tiles and blocks. MAPS: output maps of a block. Other names in
        capitals: -D constants of the source. block, tile, ...: fields of the record; `block` alone
        gives tiles of the block's size.
        """
        left = dict(constants)
        settings = {key.lower(): _scalar(value) for key, value in constants.items()}
        if "TILE_WIDTH" in left or "MAPS" in left:
            width, maps = left.pop("TILE_WIDTH", spec.tile[0]), left.pop("MAPS", None)
            require_alike(spec.name, "TILE_WIDTH", width, spec.tile[0])
            if maps is not None:
                require_alike(spec.name, "MAPS", maps, spec.tile[2])
            spec = spec.with_tile(width, maps)
        if "block" in left and "tile" not in left:
            left["tile"] = (*left["block"][:2], spec.tile[2])
        fields = {field.name for field in dataclasses.fields(spec)}
        declared = spec.constant_names()
        for key in left:
            if key not in fields and key not in declared:
                names = ", ".join((*declared, *_sizes(spec)))
                raise KernelError(f"{spec.name} has no size {key!r}; it has {names}")
        macros = {key: value for key, value in left.items() if key not in fields}
        changes = {key: value for key, value in left.items() if key in fields}
        if macros:
            changes["constants"] = tuple({**dict(spec.constants), **macros}.items())
        return dataclasses.replace(spec, **changes), settings

    def facts(self, spec: Any) -> Mapping[str, Any]:
        if isinstance(spec, Library):
            return {}
        block = f"{spec.block[0]} x {spec.block[1]}"
        sizes = {key.lower(): value for key, value in spec.constants}
        return {"tile_width": spec.tile[0], "maps": spec.tile[2], "block": block, **sizes}

    def macros(self, spec: conv2d.Conv2d) -> frozenset[str]:
        own = (one[2:].partition("=")[0] for one in spec.fitted(self.shape).options(self.shape))
        return frozenset((*spec.known_constants(self.shape, spec.block[0]), *own))

    def plan(self, kernel: Kernel) -> Plan:
        spec, shape = kernel.spec.fitted(self.shape), self.shape
        plan = spec.plan(shape)
        if kernel.text:
            options = (*plan[-1].options, *self._options(kernel, spec))
            plan = (*plan[:-1], dataclasses.replace(plan[-1], options=_one_each(options)))
        y, x, filter = spec.names(shape)
        sizes = {**dataclasses.asdict(shape), "out_h": shape.out_h, "out_w": shape.out_w}
        values = {"y": y, "x": x, "filter": filter}
        return kernel.rewritten(
            plan, {**values, **{key: np.int32(value) for key, value in sizes.items()}}
        )

    def _options(self, kernel: Kernel, spec: conv2d.Conv2d) -> tuple[str, ...]:
        """Return -D of all that the record knows; `rewritten` drops what the text does not use."""
        known = spec.known_constants(self.shape, spec.block[0])
        return tuple(f"-D{name}={value}" for name, value in known.items())

    def require(self, kernel: Kernel) -> None:
        require_source(kernel)
        selected = device.selected()
        on_gpu = selected is not None and selected.kind == "gpu"
        kernel.spec.require(self.shape, selected if on_gpu else None)

    def verdict(
        self, arrays: Mapping[str, np.ndarray], kernel: Kernel, name: str
    ) -> checking.Verdict:
        x, filter = self.inputs()
        return conv2d.check(
            arrays["y"], x, filter, name, self.shape.stride, kernel.spec.precision
        )

    @property
    def outputs(self) -> int:
        return self.shape.outputs

    def covered(self, kernel: Kernel) -> int:
        blocks = math.prod(kernel.spec.fitted(self.shape).grid(self.shape))
        return blocks * math.prod(kernel.spec.tile)

    @property
    def work(self) -> limits.Work:
        return limits.conv2d(self.shape)

    def cpu(self) -> dict[str, baselines.LayerBaseline]:
        """Return the CPU programs by short key: numpy, one_core, swapped, all_cores."""
        return baselines.conv2d()

    def on_device(self) -> LayerOnDevice:
        return LayerOnDevice(self)


@functools.lru_cache(maxsize=4)
def _inputs(problem: Layer) -> tuple[np.ndarray, np.ndarray]:
    if problem.trained:
        return conv2d.inputs(problem.name, problem.shape.B)
    rng = np.random.default_rng(conv2d.SEED)
    shapes = problem.shape.x_shape, problem.shape.filter_shape
    x, filter = (rng.uniform(-1, 1, size).astype(np.float32) for size in shapes)
    return x, filter


def _one_each(options: Sequence[str]) -> tuple[str, ...]:
    """Return the options, each macro once: the record's own come first, and hold."""
    return tuple({one.partition("=")[0]: one for one in reversed(options)}.values())


def _scalar(value: Any) -> Any:
    return " x ".join(map(str, value)) if isinstance(value, tuple) else value


class HalvesOnDevice(OnDevice):
    """A layer on the GPU whose x and y are halves; the oracle checks some images.

    filter: the address of the weights, in float32. axes: the order of the axes of x and y in
    memory (`conv2d.Conv2d.axes`).
    """

    problem: Layer

    def __init__(self, problem: Layer, filter: int, axes: tuple[int, int, int, int]):
        super().__init__(problem)
        import pycuda.driver as cuda

        self._cuda = cuda
        self._axes = axes
        x = problem.inputs()[0].astype(np.float16)
        self._x = cuda.to_device(np.ascontiguousarray(x.transpose(axes)))
        self._y = cuda.mem_alloc(2 * problem.outputs)
        self._arrays = {"y": int(self._y), "x": int(self._x), "filter": filter}

    @property
    def arrays(self) -> Mapping[str, Any]:
        return self._arrays

    def poison(self) -> None:
        self._cuda.memset_d16(self._y, 0x7E00, self.problem.outputs)  # NaN

    def verdict(self, kernel: Kernel) -> checking.Verdict:
        (x, filter), shape = self.problem.inputs(), self.problem.shape
        images, precision = conv2d.some_images(shape.B), kernel.spec.precision
        sizes = (shape.y_shape[axis] for axis in self._axes[1:])
        got = np.empty((len(images), *sizes), np.float16)
        for place, image in zip(got, images, strict=True):
            self._cuda.memcpy_dtoh(place, int(self._y) + image * place.nbytes)
        some = np.ascontiguousarray(x[list(images)])
        want = reference.conv2d(some, filter, shape.stride)
        largest = np.full((1, 1, 1, 1), np.abs(x).max())
        rounded = HALF_UNIT * float(np.abs(want).max())  # y is rounded, too
        atol = precision.atol(largest, filter) + rounded
        got = got.transpose(np.argsort(self._axes)).astype(np.float32)
        return checking.check(got, want, rtol=0.0, atol=atol, name=kernel.title)

    def free(self) -> None:
        super().free()
        for array in (self._x, self._y):
            array.free()


class LayerOnDevice(OnDevice):
    """A layer on the GPU; `layer` has its addresses, and checks every output.

    A kernel with halves in and out runs on arrays of its own.
    """

    problem: Layer

    def __init__(self, problem: Layer):
        super().__init__(problem)
        x, filter = problem.inputs()
        self.layer = conv2d.Problem(problem.shape, x, filter)
        self._halves: dict[tuple[int, ...], HalvesOnDevice] = {}  # by the order of axes

    @property
    def arrays(self) -> Mapping[str, Any]:
        return {"y": self.layer.y, "x": self.layer.x, "filter": self.layer.filter}

    def poison(self) -> None:
        self.layer.poison()

    def ready(self, kernel: Any) -> Ready:
        one = self.problem.kernel(kernel)
        if getattr(one.spec, "half_io", False):
            axes = one.spec.axes
            if axes not in self._halves:
                self._halves[axes] = HalvesOnDevice(self.problem, self.layer.filter, axes)
            return self._halves[axes].ready(one)
        if not isinstance(one.spec, Library):
            return super().ready(one)
        arrays = self.layer.x, self.layer.filter, self.layer.want
        try:
            ways = list(
                cudnn.contenders(self.layer.shape, *arrays, self.layer.atol, budget_s=TRIAL_S)
            )
        except cudnn.TorchMissing as missing:
            raise NoLibraryError(f"{LIBRARY} is left out: {missing}") from None
        if not ways:
            raise NoLibraryError(f"{LIBRARY} is left out: no way to call it passed its check")
        fastest, verdict, _ = min(ways, key=lambda way: way[2].median)
        return Ready(one, fastest.launch, verdict, 0, verdict.max_error)

    def verdict(self, kernel: Kernel) -> checking.Verdict:
        return self.layer.check(kernel.title, kernel.spec.precision)

    def error(self, kernel: Kernel) -> float:
        return self.layer.relative_error(kernel.title, kernel.spec.precision)

    def free(self) -> None:
        super().free()
        for halves in self._halves.values():
            halves.free()
        self.layer.free()


def _sizes(spec: conv2d.Conv2d) -> list[str]:
    """Return the fields of a record that are numbers of something."""

    def is_size(value: Any) -> bool:
        numbers = value if isinstance(value, tuple) and value else (value,)
        return all(isinstance(one, int) and not isinstance(one, bool) for one in numbers)

    fields = (field.name for field in dataclasses.fields(spec))
    return sorted(name for name in fields if is_size(getattr(spec, name)))
