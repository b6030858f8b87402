"""The whole network on the device: images in, classes out.

    with pipeline.Network(trained_weights.lenet_weights(), batch=1000) as net:
        classes = net.classify(images.pixels[:1000])

You choose the kernels of the two convolutions. `layers=("conv2d_tiled", "lenet_conv_pool")` takes
one of `conv2d.CONV2D`, followed by a kernel for ReLU and pooling, and one of `POOLED`, which does
all of that in one launch. `Network.stages` are the single launches, for timing. `Pipeline` cuts a
batch into chunks and sends them through several streams, so that copies and kernels overlap.
`checks.Checker` says whether a network is right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import checking, device, programs
from helpers.checking import device_counter
from helpers.launch import LaunchError
from helpers.limits import USABLE
from helpers.problems import conv2d, resizing
from helpers.problems.conv2d import Conv2d, LayerError
from helpers.problems.lenet.network_plan import CLASSES, FUSED, SIDE, Stage, constants, stages
from helpers.problems.lenet.pooled import LAYERS, POOLS, chosen, is_pooled, pooled_shape
from helpers.problems.lenet.trained_weights import Weights
from helpers.programs import DeviceOwner, Program

# --------------------------------------------------------------------------------------------------
# The network


class Network(DeviceOwner):
    """The network for ``batch`` images on the selected device.

    layers: a kernel of `conv2d.CONV2D` or `POOLED` for each convolution, by name or by its record.
    pixels: the input is uint8, (batch, 28, 28), and the device resizes it; otherwise it is float32,
    (batch, 1, 86, 86), as resizing.network_input returns it.

    `input` and `answer` are device addresses; `sizes` has the bytes of every array on the device,
    by name; `stages` are the steps that `launch` enqueues, in order. Raises LayerError for a batch
    that does not fit the device's memory (the message proposes one), and what `conv2d.compile`
    raises.
    """

    def __init__(
        self,
        weights: Weights,
        batch: int,
        layers: Sequence[str | Conv2d] = FUSED,
        *,
        pixels: bool = False,
    ):
        device.select()
        import pycuda.driver as cuda

        if isinstance(layers, str) or len(layers) != 2:
            raise LayerError(f"layers is {layers!r}; give two kernels, one for each convolution")
        self._cuda, self.weights, self.batch, self.pixels = cuda, weights, batch, pixels
        self.shapes = tuple(conv2d.shape_of(name, batch) for name in LAYERS)
        self.layers = tuple(map(chosen, layers, POOLS))
        self.sizes = self._sizes()
        _require_memory(self, cuda.mem_get_info()[0])
        self._buffers: dict[str, Any] = {
            name: cuda.mem_alloc(size) for name, size in self.sizes.items()
        }
        for name, array in constants(weights).items():
            cuda.memcpy_htod(self._buffers[name], array)
        for spec, shape in zip(self.layers, self.shapes, strict=True):
            spec.require(shape, device.selected())
        self._programs: list[Program] = []
        self.stages = tuple(map(self._ready, stages(self.layers, batch, pixels=pixels)))

    @property
    def input(self) -> int:
        """Device address of the images: bytes if `pixels`, else floats."""
        return int(self._buffers["pixels" if self.pixels else "x"])

    @property
    def answer(self) -> int:
        """Device address of the classes, uint8, (batch,)."""
        return int(self._buffers["classes"])

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of the images."""
        return (self.batch, SIDE, SIDE) if self.pixels else self.shapes[0].x_shape

    @property
    def input_dtype(self) -> type:
        """Type of the images."""
        return np.uint8 if self.pixels else np.float32

    def prepared(self, images: np.ndarray) -> np.ndarray:
        """Return the input for images, uint8, (n, 28, 28). Without `pixels`, it resizes them."""
        checking.require_array(images, dtype=np.uint8, ndim=3, name="images")
        return images if self.pixels else resizing.network_input(images)

    def load(self, cells: np.ndarray) -> None:
        """Copy the input to the device: `input_dtype`, at most `batch` images.

        Fewer images do not change the last places.
        """
        checking.require_array(
            cells, dtype=self.input_dtype, ndim=len(self.input_shape), name="cells"
        )
        if len(cells) > self.batch or cells.shape[1:] != self.input_shape[1:]:
            raise LayerError(
                f"cells have shape {cells.shape}; this network takes up to {self.input_shape}"
            )
        self._cuda.memcpy_htod(self.input, cells)

    def launch(self, stream: Any = None) -> None:
        """Enqueue all stages. They write the input's classes to `answer`."""
        for stage in self.stages:
            stage.launch(stream)

    def classify(self, images: np.ndarray) -> np.ndarray:
        """Return the classes of any number of images, uint8, (n, 28, 28), `batch` at a time.

        The class 255 marks an image with NaN among its logits.
        """
        classes = np.empty(len(images), np.uint8)
        for first in range(0, len(images), self.batch):
            part = images[first : first + self.batch]
            self.load(self.prepared(part))
            self.launch()
            classes[first : first + len(part)] = self.read("classes")[: len(part)]
        return classes

    def read(self, name: str, images: Sequence[int] | None = None) -> np.ndarray:
        """Return "pool 1", "pool 2", "logits" or "classes" from the device.

        images: their numbers; by default all.
        """
        shape, dtype = self.outputs()[name]
        images = range(self.batch) if images is None else images
        whole: np.ndarray = np.empty((len(images), *shape[1:]), dtype)
        each = math.prod(shape[1:]) * np.dtype(dtype).itemsize
        self._cuda.Context.synchronize()
        if len(images) == self.batch:
            self._cuda.memcpy_dtoh(whole, self._buffers[name])
            return whole
        for place, image in enumerate(images):
            self._cuda.memcpy_dtoh(
                whole[place : place + 1], int(self._buffers[name]) + image * each
            )
        return whole

    def classes_on_host(self) -> np.ndarray:
        """Return the classes, after all that was enqueued before."""
        return self.read("classes")

    def address(self, name: str) -> int:
        """Return the device address of an array that `read` reads."""
        return int(self._buffers[name])

    def outputs(self) -> dict[str, tuple[tuple[int, ...], type]]:
        """Return shape and type of the arrays that every network computes, by name."""
        one, two = (
            pooled_shape(shape, pool) for shape, pool in zip(self.shapes, POOLS, strict=True)
        )
        logits = (self.batch, CLASSES)
        return {
            "pool 1": (one, np.float32),
            "pool 2": (two, np.float32),
            "logits": (logits, np.float32),
            "classes": ((self.batch,), np.uint8),
        }

    def poison(self) -> None:
        """Fill the arrays that the stages write with NaN, and the classes with 255.

        So a check sees the cells that a kernel does not write.
        """
        for name, array in self._buffers.items():
            if name == "classes":
                self._cuda.memset_d8(array, 255, self.batch)
            elif name not in constants(self.weights) and name != ("pixels" if self.pixels else "x"):
                self._cuda.memset_d32(array, device_counter.POISON, self.sizes[name] // 4)

    def free(self) -> None:
        """Free the device's arrays."""
        for program in self._programs:
            program.free()
        for array in self._buffers.values():
            array.free()
        self._programs, self._buffers = [], {}

    def _sizes(self) -> dict[str, int]:
        sizes = {name: array.nbytes for name, array in constants(self.weights).items()}
        sizes |= {"pixels": self.batch * SIDE * SIDE} if self.pixels else {}
        sizes["x"] = 4 * math.prod(self.shapes[0].x_shape)
        for number, (spec, shape) in enumerate(zip(self.layers, self.shapes, strict=True), 1):
            if not is_pooled(spec):
                sizes[f"conv {number}"] = 4 * shape.outputs
        return sizes | {
            name: math.prod(shape) * np.dtype(dtype).itemsize
            for name, (shape, dtype) in self.outputs().items()
        }

    def _ready(self, stage: Stage) -> ReadyStage:
        try:
            program = Program(stage.plan)
        except LaunchError as error:
            raise LayerError(str(error)) from None
        self._programs.append(program)
        return ReadyStage(stage.name, stage.kernel, programs.launcher(program, self._buffers))


@dataclass(frozen=True)
class ReadyStage:
    """One step of a network on the device. launch: the function that enqueues it on a stream."""

    name: str
    kernel: str
    launch: Callable[..., None]


def _require_memory(net: Network, free: int) -> None:
    needed = sum(net.sizes.values()) + sum(
        spec.scratch(shape) for spec, shape in zip(net.layers, net.shapes, strict=True)
    )
    if needed > USABLE * free:
        images = max(1, int(net.batch * USABLE * free / needed))
        raise LayerError(
            f"{net.batch:,} images need {needed:,} bytes of device memory, and {free:,} are free: "
            f"take a batch of {images:,}, and give classify() all of the images"
        )


# --------------------------------------------------------------------------------------------------
# From host memory


class Pipeline(DeviceOwner):
    """A batch from pinned memory to classes in pinned memory, in chunks on several streams.

    weights, layers, pixels: as for `Network`. images: their number. chunk: images of a launch, a
    divisor of their number. streams: the chunks take turns on them; each has a network of its own.
    `cells` (the input) and `classes` are the pinned arrays. Raises as `Network`, and LayerError for
    a chunk that is no divisor.
    """

    def __init__(self, weights: Weights, images: int, chunk: int, streams: int = 2, **options: Any):
        if chunk < 1 or images % chunk:
            raise LayerError(
                f"chunk is {chunk!r}; give a number that divides the {images:,} images"
            )
        device.select()
        import pycuda.driver as cuda

        self._cuda, self.images, self.chunk = cuda, images, chunk
        self._networks = [
            Network(weights, chunk, **options) for _ in range(min(streams, images // chunk))
        ]
        self._streams = [cuda.Stream() for _ in self._networks]
        first = self._networks[0]
        self.cells = cuda.pagelocked_empty((images, *first.input_shape[1:]), first.input_dtype)
        self.classes = cuda.pagelocked_empty((images,), np.uint8)

    @property
    def pixels(self) -> bool:
        """Whether the input is bytes."""
        return self._networks[0].pixels

    def load(self, cells: np.ndarray) -> None:
        """Put all images into pinned memory.

        cells: uint8, (images, 28, 28), if `pixels`, else float32, (images, 1, 86, 86).
        """
        checking.require_array(cells, dtype=self.cells.dtype, shape=self.cells.shape, name="cells")
        self.cells[:] = cells

    def run(self) -> np.ndarray:
        """Copy all chunks in, compute, copy the classes out; return `classes` at the end."""
        for turn, first in enumerate(range(0, self.images, self.chunk)):
            net, stream = (
                each[turn % len(self._streams)] for each in (self._networks, self._streams)
            )
            self._cuda.memcpy_htod_async(net.input, self.cells[first : first + self.chunk], stream)
            net.launch(stream)
            self._cuda.memcpy_dtoh_async(
                self.classes[first : first + self.chunk], net.answer, stream
            )
        for stream in self._streams:
            stream.synchronize()
        return self.classes

    def copy_in(self) -> None:
        """Copy only the input: `run` cannot be faster than this."""
        for first in range(0, self.images, self.chunk):
            self._cuda.memcpy_htod_async(
                self._networks[0].input, self.cells[first : first + self.chunk], self._streams[0]
            )
        self._streams[0].synchronize()

    def free(self) -> None:
        """Free the device's arrays. The pinned arrays live as long as the object."""
        for net in self._networks:
            net.free()
        self._networks = []
