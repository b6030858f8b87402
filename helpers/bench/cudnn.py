"""cuDNN through PyTorch: the vendor's convolution, a yardstick for the kernels.

The labs do not need PyTorch; this module imports it only when the yardstick runs. PyTorch works
beside PyCUDA because `device.select()` retains the primary context, which PyTorch uses, too: both
read the same allocations.

The yardstick gets every advantage: cuDNN searches for its fastest algorithm (benchmark mode), its
input has either layout, the time does not include the conversion of the layout, and the faster
layout counts. There are three modes. "FP32" switches TF32 off, because TF32 rounds the factors to
10 bits: inputs, arithmetic and outputs are FP32, as in the kernels. "TF32" switches it on. "FP16"
reads and writes halves; the time does not include their conversion.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from helpers import checking, device
from helpers.bench import timing
from helpers.limits import ConvShape

MODES = ("FP32", "TF32", "FP16")
NAMES = {mode: f"cuDNN (PyTorch, {mode})" for mode in MODES}
NAME = NAMES["FP32"]
LAYOUTS = ("NCHW", "channels_last")
# The tolerance, in error bounds of a direct sum: an FFT or Winograd's transform in cuDNN may err
# more.
SLACK = 100
# The rounding errors relative to max |x| sum |f|: of two factors, and in FP16 of the output, too.
ROUNDED = {"FP32": 0.0, "TF32": 2.0**-10, "FP16": 2.0**-9}
_IMAGES_AT_A_TIME = 1000  # the images of one comparison, which bounds its memory


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

    It switches cuDNN's search on in this process, and TF32 on for the mode "TF32" and off for the
    others. Raises TorchMissing without the yardstick, and ValueError for an unknown mode.
    """
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}; expected {', '.join(MODES)}")
    if reason := why_not():
        raise TorchMissing(f"{NAMES[mode]} is left out: {reason}")
    import torch

    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = mode == "TF32"
    return torch


class _Borrowed:
    """float32 in memory of another owner on the device, by the CUDA array interface."""

    def __init__(self, address: int, shape: Sequence[int]):
        self.__cuda_array_interface__ = {
            "data": (int(address), False),
            "shape": tuple(shape),
            "typestr": "<f4",
            "strides": None,
            "version": 3,
        }


def borrowed(address: int, shape: Sequence[int]) -> Any:
    """PyTorch's view of float32 on the device that somebody else owns."""
    import torch

    return torch.as_tensor(_Borrowed(address, shape), device="cuda")


class Convolution:
    """One layer by cuDNN in one layout and mode.

    x, filter: device addresses of float32 NCHW (B, C, H, W) and (M, C, K, K), which must stay
    allocated as long as this object lives. Raises TorchMissing, and ValueError for an unknown
    layout or mode.
    """

    def __init__(
        self, shape: ConvShape, x: int, filter: int, layout: str = "NCHW", mode: str = "FP32"
    ):
        if layout not in LAYOUTS:
            raise ValueError(f"layout is {layout!r}; expected {' or '.join(LAYOUTS)}")
        self._torch, self.shape, self.layout, self.mode = require(mode), shape, layout, mode
        self._x, self._filter = (
            self._tensor(x, shape.x_shape),
            self._tensor(filter, shape.filter_shape),
        )
        if layout == "channels_last":
            order = self._torch.channels_last
            self._x, self._filter = (
                t.contiguous(memory_format=order) for t in (self._x, self._filter)
            )
        self._size = 0.0
        if mode != "FP32":
            # Errors of the rounded products are relative to max |x| sum |f|.
            self._size = float(self._x.abs().max()) * float(self._filter.abs().sum((1, 2, 3)).max())
        if mode == "FP16":
            self._x, self._filter = self._x.half(), self._filter.half()
        self._torch.cuda.synchronize()
        self._y: Any = None

    def _tensor(self, address: int, shape: Sequence[int]) -> Any:
        return borrowed(address, shape)

    @property
    def version(self) -> int:
        """cuDNN's version as a number, such as 91002 for 9.10.2."""
        return self._torch.backends.cudnn.version()

    def launch(self, stream: Any) -> None:
        """Enqueue the convolution on a PyCUDA stream; None is the default stream."""
        # TF32 is a setting of the process, which another mode may have changed since.
        torch = require(self.mode)
        self._y = None  # So PyTorch reuses its memory; otherwise it would hold two outputs.
        on = torch.cuda.ExternalStream(stream.handle) if stream else torch.cuda.default_stream()
        with torch.no_grad(), torch.cuda.stream(on):
            self._y = torch.nn.functional.conv2d(self._x, self._filter, stride=self.shape.stride)

    def check(self, want: int, atol: float) -> checking.Verdict:
        """Launch, and compare every output with the right ones at the device address `want`.

        The tolerance is SLACK times `atol`, plus the rounding errors of the mode. Raises
        checking.CheckError for wrong outputs and ValueError for outputs of another shape.
        """
        torch, name = self._torch, f"{NAMES[self.mode]}, {self.layout}"
        atol = SLACK * atol + ROUNDED[self.mode] * self._size
        self.launch(None)
        torch.cuda.synchronize()
        right = self._tensor(want, self.shape.y_shape)
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


def measure(
    shape: ConvShape,
    x: int,
    filter: int,
    want: int,
    atol: float,
    *,
    budget_s: float = 0.3,
    mode: str = "FP32",
) -> Iterator[dict[str, Any]]:
    """Check and time the layer in both layouts, and yield a row of a record for each.

    A row: {"series": NAMES[mode], "layout": ..., "cudnn": version, "timing": ...}. x, filter, want:
    device addresses; the outputs at `want` are right within `atol`. A printed line replaces the row
    of a layout whose outputs are wrong or that cuDNN refuses. Raises TorchMissing.
    """
    for layout in LAYOUTS:
        name = f"{NAMES[mode]}, {layout}"
        try:
            convolution = Convolution(shape, x, filter, layout, mode)
            verdict = convolution.check(want, atol)
        except TorchMissing:
            raise
        except (checking.CheckError, RuntimeError) as error:
            print(f"{name} is left out: {str(error).splitlines()[0]}")
            continue
        timed = timing.time_gpu(convolution.launch, verdict=verdict, name=name, budget_s=budget_s)
        row = {"series": NAMES[mode], "layout": layout, "cudnn": convolution.version}
        yield row | {"timing": timed}


def best(rows: Sequence[Mapping[str, Any]], mode: str = "FP32") -> Mapping[str, Any] | None:
    """Return the yardstick's fastest row of a mode, in either layout; None without such a row."""
    of_mode = [row for row in rows if row["series"] == NAMES[mode]]
    return min(of_mode, key=lambda row: row["median_ms"], default=None)
