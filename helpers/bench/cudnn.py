"""cuDNN through PyTorch: the vendor's convolution, a yardstick for the kernels.

The labs do not need PyTorch; this module imports it only when the yardstick runs. PyTorch works
beside PyCUDA because `device.select()` retains the primary context, which PyTorch uses, too: both
read the same allocations.

The yardstick gets every advantage: cuDNN tries all of its algorithms (benchmark mode without a
limit), its input has either layout, and halves also get the multiple of 8 channels that its
tensor-core kernels want (`Way`). The recorded benchmark also compiles the fastest of these by
`torch.compile`, for one batch in FP16. The time does not include the conversion of the layout or
the padding, and the fastest way counts. There are three modes. "FP32" switches TF32 off, because
TF32 rounds the factors to 11 significant bits: inputs, arithmetic and outputs are FP32, as in the
kernels. "TF32" switches it on. "FP16" reads and writes halves; the time does not include their
conversion.
"""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from helpers import checking, device
from helpers.bench import timing
from helpers.limits import ConvShape

MODES = ("FP32", "TF32", "FP16")
NAMES = {mode: f"cuDNN (PyTorch, {mode})" for mode in MODES}
NAME = NAMES["FP32"]
LAYOUTS = ("NCHW", "channels_last")
CHANNELS = 8  # cuDNN's tensor-core kernels for halves take multiples of so many channels
# The tolerance, in error bounds of a direct sum: an FFT or Winograd's transform in cuDNN may err
# more.
SLACK = 100
# The rounding errors relative to max |x| sum |f|: of two factors, and in FP16 of the output, too.
ROUNDED = {"FP32": 0.0, "TF32": 2.0**-10, "FP16": 2.0**-9}
_IMAGES_AT_A_TIME = 1000  # the images of one comparison, which bounds its memory


@dataclasses.dataclass(frozen=True)
class Way:
    """One way to call PyTorch's convolution.

    layout: of LAYOUTS. padded: channels (and maps) are filled up to a multiple of CHANNELS with
    zeros: "", "channels" or "channels and maps"; the additional maps are cut off the outputs by a
    view. compiled: by `torch.compile`, which also tries convolutions of Triton's.
    """

    layout: str = "NCHW"
    padded: str = ""
    compiled: bool = False

    def __post_init__(self) -> None:
        if self.layout not in LAYOUTS:
            raise ValueError(f"layout is {self.layout!r}; expected {' or '.join(LAYOUTS)}")

    def __str__(self) -> str:
        padded = f"{self.padded} padded to a multiple of {CHANNELS}" if self.padded else ""
        parts = self.layout, padded, "torch.compile" if self.compiled else ""
        return ", ".join(part for part in parts if part)


def ways(mode: str, shape: ConvShape) -> tuple[Way, ...]:
    """Return the ways that are tried for a shape without `torch.compile`, in one mode."""
    found = [Way(layout) for layout in LAYOUTS]
    if mode == "FP16":
        if shape.C % CHANNELS:
            found.append(Way("channels_last", "channels"))
        if shape.M % CHANNELS:
            found.append(Way("channels_last", "channels and maps"))
    return tuple(found)


def strides(shape: Sequence[int], layout: str) -> tuple[int, int, int, int]:
    """Return the strides of an array of ``shape`` (N, C, H, W) in a layout, in elements.

    They differ for one channel, too, although the cells then lie in the same order: cuDNN's
    kernels are chosen by the strides.
    """
    _, channels, height, width = shape
    plane = height * width
    if layout == "channels_last":
        return channels * plane, 1, width * channels, channels
    return channels * plane, plane, width, 1


def laid_out(tensor: Any, layout: str) -> Any:
    """Return a copy of a tensor (N, C, H, W) in a layout.

    `contiguous(memory_format=...)` would leave a tensor of one channel as it is.
    """
    import torch

    order = strides(tensor.shape, layout)
    copy = torch.empty_strided(tensor.shape, order, dtype=tensor.dtype, device=tensor.device)
    return copy.copy_(tensor)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that `torch.compile` optimizes as far as it can, for one shape and mode.

    It compiles at the first call. Raises an error of PyTorch's, and never falls back to the plain
    function.
    """
    import torch
    import torch._inductor.config

    def call(*arguments: Any) -> Any:
        return function(*arguments)

    # PyTorch keeps what it compiled by code object, and on the disk by the operations: neither
    # knows whether TF32 was on.
    call.__code__ = call.__code__.replace()
    torch._inductor.config.force_disable_caches = True
    mode = "max-autotune-no-cudagraphs"
    return torch.compile(call, fullgraph=True, dynamic=False, mode=mode)


class TorchMissing(RuntimeError):
    """The yardstick is not available here; the message says why."""


def why_not() -> str:
    """Return why the yardstick is not available; "" if it is.

    It imports PyTorch only on a GPU.
    """
    if device.select().kind != "gpu":
        return "the simulator has no cuDNN"
    if importlib.util.find_spec("torch") is None:
        return "PyTorch is not installed (it is optional: pip install torch)"
    try:
        import torch

        usable = torch.cuda.is_available() and torch.backends.cudnn.is_available()
    except Exception as error:
        # A broken installation may raise anything, and the labs do not need PyTorch.
        return f"PyTorch is installed and does not start: {type(error).__name__}: {error}"
    return "" if usable else "PyTorch is installed without CUDA and cuDNN"


def require(mode: str = "FP32") -> Any:
    """Return PyTorch, set up for a mode.

    It switches cuDNN's search on in this process, and TF32 (of convolutions and matrix products) on
    for the mode "TF32" and off for the others. Raises TorchMissing without the yardstick, and
    ValueError for an unknown mode.
    """
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}; expected {', '.join(MODES)}")
    if reason := why_not():
        raise TorchMissing(f"{NAMES[mode]} is left out: {reason}")
    import torch

    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.benchmark_limit = 0  # all plans; the default stops after ten
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = mode == "TF32"
    return torch


class _Borrowed:
    """An array in memory of another owner on the device, by the CUDA array interface."""

    def __init__(self, address: int, shape: Sequence[int], dtype: Any):
        self.__cuda_array_interface__ = {
            "data": (int(address), False),
            "shape": tuple(shape),
            "typestr": np.dtype(dtype).str,
            "strides": None,
            "version": 3,
        }


def first_line(error: Exception) -> str:
    """Return the first line of an error's text, of those that a library writes over many lines."""
    return str(error).partition("\n")[0]


def borrowed(address: int, shape: Sequence[int], dtype: Any = np.float32) -> Any:
    """Return PyTorch's view of an array on the device that somebody else owns."""
    import torch

    return torch.as_tensor(_Borrowed(address, shape, dtype), device="cuda")


def on_stream(torch: Any, stream: Any) -> Any:
    """Return PyTorch's name of a PyCUDA stream; None is the default stream."""
    return torch.cuda.ExternalStream(stream.handle) if stream else torch.cuda.default_stream()


class Convolution:
    """One layer by cuDNN, called in one way and mode.

    x, filter: device addresses of float32 NCHW (B, C, H, W) and (M, C, K, K), which must stay
    allocated as long as this object lives. Raises TorchMissing, and ValueError for an unknown mode.
    """

    def __init__(self, shape: ConvShape, x: int, filter: int, way: Way = Way(), mode: str = "FP32"):
        self._torch, self.shape, self.way, self.mode = require(mode), shape, way, mode
        cells, weights = borrowed(x, shape.x_shape), borrowed(filter, shape.filter_shape)
        self._size = 0.0
        if mode != "FP32":
            # Errors of the rounded products are relative to max |x| sum |f|.
            self._size = float(cells.abs().max()) * float(weights.abs().sum((1, 2, 3)).max())
        if mode == "FP16":
            cells, weights = cells.half(), weights.half()
        if way.padded:
            channels, maps = -shape.C % CHANNELS, -shape.M % CHANNELS
            pad = self._torch.nn.functional.pad
            cells = pad(cells, (0, 0, 0, 0, 0, channels))
            more = maps if way.padded == "channels and maps" else 0
            weights = pad(weights, (0, 0, 0, 0, 0, channels, 0, more))
        self._x, self._filter = (laid_out(tensor, way.layout) for tensor in (cells, weights))
        self._call = compiled(self._convolve) if way.compiled else self._convolve
        self._torch.cuda.synchronize()
        self._y: Any = None

    def _convolve(self, x: Any, filter: Any) -> Any:
        y = self._torch.nn.functional.conv2d(x, filter, stride=self.shape.stride)
        return y[:, : self.shape.M] if self.way.padded == "channels and maps" else y

    @property
    def name(self) -> str:
        """The mode and the way, for a message."""
        return f"{NAMES[self.mode]}, {self.way}"

    @property
    def row(self) -> dict[str, Any]:
        """The row of a record that says what this is: series, layout (the way), cuDNN's version."""
        return {"series": NAMES[self.mode], "layout": str(self.way), "cudnn": self.version}

    @property
    def version(self) -> int:
        """cuDNN's version as a number, such as 91002 for 9.10.2."""
        return self._torch.backends.cudnn.version()

    def launch(self, stream: Any) -> None:
        """Enqueue the convolution on a PyCUDA stream; None is the default stream."""
        # TF32 is a setting of the process, which another mode may have changed since.
        torch = require(self.mode)
        self._y = None  # So PyTorch reuses its memory; otherwise it would hold two outputs.
        with torch.no_grad(), torch.cuda.stream(on_stream(torch, stream)):
            self._y = self._call(self._x, self._filter)

    def kernels(self) -> list[str]:
        """Return the names of the GPU kernels of one launch, the longest run first."""
        torch = require(self.mode)
        activities = [torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities, acc_events=True) as trace:
            self.launch(None)
            torch.cuda.synchronize()
        events = sorted(trace.key_averages(), key=lambda one: -one.self_device_time_total)
        return [one.key for one in events if one.self_device_time_total > 0]

    def check(self, want: int, atol: float) -> checking.Verdict:
        """Launch, and compare every output with the right ones at the device address `want`.

        The tolerance is SLACK times `atol`, plus the rounding errors of the mode. Raises
        checking.CheckError for wrong outputs and ValueError for outputs of another shape.
        """
        torch, name = self._torch, self.name
        atol = SLACK * atol + ROUNDED[self.mode] * self._size
        self.launch(None)
        torch.cuda.synchronize()
        right = borrowed(want, self.shape.y_shape)
        if tuple(self._y.shape) != self.shape.y_shape:
            raise ValueError(
                f"{name} returned shape {tuple(self._y.shape)}; expected {self.shape.y_shape}"
            )
        for begin in range(0, self.shape.B, _IMAGES_AT_A_TIME):
            part = slice(begin, begin + _IMAGES_AT_A_TIME)
            near = (self._y[part].float() - right[part]).abs() <= atol  # False for NaN.
            last = begin + _IMAGES_AT_A_TIME >= self.shape.B
            if last or not bool(near.all()):
                got, expected = (
                    t[part].float().contiguous().cpu().numpy() for t in (self._y, right)
                )
                verdict = checking.check(got, expected, rtol=0.0, atol=atol, name=name)
        return verdict


def contenders(
    shape: ConvShape,
    x: int,
    filter: int,
    want: int,
    atol: float,
    *,
    mode: str = "FP32",
    budget_s: float = 0.3,
    compile_fastest: bool = False,
    limit: timing.TimeLimit | None = None,
) -> Iterator[tuple[Convolution, checking.Verdict, timing.Timing]]:
    """Check and time every way of a mode (`ways`), and yield each one as it comes.

    x, filter, want: device addresses; the outputs at `want` are right within `atol`.
    compile_fastest: also compile the fastest of these by `torch.compile`, whose search takes 3 to
    15 s. limit: of the time in which ways may begin. A printed line replaces a way whose outputs
    are wrong or that PyTorch refuses. Raises TorchMissing, and OutOfTimeError at the limit.
    """

    def timed(way: Way) -> tuple[Convolution, checking.Verdict, timing.Timing] | None:
        if limit is not None:
            limit.require(f"{NAMES[mode]}, {way}")
        try:
            convolution = Convolution(shape, x, filter, way, mode)
            verdict = convolution.check(want, atol)
        except TorchMissing:
            raise
        except (checking.CheckError, RuntimeError) as error:
            print(f"{NAMES[mode]}, {way} is left out: {first_line(error)}")
            return None
        name = convolution.name
        time = timing.time_gpu(convolution.launch, verdict=verdict, name=name, budget_s=budget_s)
        return convolution, verdict, time

    plain = []
    for way in ways(mode, shape):
        if found := timed(way):
            plain.append(found)
            yield found
    if plain and compile_fastest:
        fastest = min(plain, key=lambda found: found[2].median)[0].way
        if found := timed(dataclasses.replace(fastest, compiled=True)):
            yield found
