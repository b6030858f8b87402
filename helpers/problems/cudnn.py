"""cuDNN through PyTorch: the vendor's convolution, as a yardstick beside the kernels, where PyTorch is installed.

PyTorch is not needed by these labs, and is imported only when it is asked for. It works beside
PyCUDA because `device.select()` retains the primary context, which is the one that PyTorch uses: it
then reads the same allocations.

The yardstick gets what favours it: cuDNN's own search for the fastest algorithm (benchmark mode),
its input in either layout, whatever conversion that takes left out of the time, and the better of
the two counts. Three modes: "FP32", with TF32 off, because it rounds the factors to 10 bits: FP32
in, FP32 arithmetic, FP32 out, as in the kernels; "TF32", with it on; and "FP16", halves in and out,
their conversion left out of the time.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from helpers import checking, device, timing
from helpers.limits import ConvShape

MODES = ("FP32", "TF32", "FP16")
NAMES = {mode: f"cuDNN (PyTorch, {mode})" for mode in MODES}
NAME = NAMES["FP32"]
LAYOUTS = ("NCHW", "channels_last")
# CuDNN may go through an FFT or Winograd's transform, whose errors are not bound by those of the
# sum.
SLACK = 100
# Of max |x| sum |f|: two rounded factors; FP16 rounds the output, too.
ROUNDED = {"FP32": 0.0, "TF32": 2.0**-10, "FP16": 2.0**-9}
_IMAGES_AT_A_TIME = 1000  # that are compared at once: bounds the memory of the comparison


class TorchMissing(RuntimeError):
    """The yardstick cannot be had here; the message says why."""


def why_not() -> str:
    """Why there is no yardstick here; "" where there is one. Imports PyTorch only where it is installed and there is a GPU."""
    if device.select().kind != "gpu":
        return "the simulator has no cuDNN"
    if importlib.util.find_spec("torch") is None:
        return "PyTorch is not installed (it is optional: pip install torch)"
    try:
        import torch

        usable = torch.cuda.is_available() and torch.backends.cudnn.is_available()
    except Exception as error:
        # A broken PyTorch fails in its own ways, and is only a yardstick here.
        return f"PyTorch is installed and does not start: {type(error).__name__}: {error}"
    return "" if usable else "PyTorch is installed without CUDA and cuDNN"


def require(mode: str = "FP32") -> Any:
    """PyTorch, with cuDNN's search on in this process, and TF32 on in that mode only. Raises TorchMissing, which says why there
    is none, and ValueError for an unknown mode.
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
    """float32 on the device that somebody else owns, told to PyTorch by the CUDA array interface."""

    def __init__(self, address: int, shape: Sequence[int]):
        self.__cuda_array_interface__ = {
            "data": (int(address), False),
            "shape": tuple(shape),
            "typestr": "<f4",
            "strides": None,
            "version": 3,
        }


class Convolution:
    """One layer by cuDNN in one layout and mode. x, filter: device addresses of float32 NCHW (B, C, H, W) and (M, C, K, K).

    The addresses must stay allocated as long as this object. Raises TorchMissing, and ValueError
    for an unknown layout or mode.
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
        if mode != "FP32":  # the largest sum that a product's rounding is relative to
            self._size = float(self._x.abs().max()) * float(self._filter.abs().sum((1, 2, 3)).max())
        if mode == "FP16":
            self._x, self._filter = self._x.half(), self._filter.half()
        self._torch.cuda.synchronize()
        self._y: Any = None

    def _tensor(self, address: int, shape: Sequence[int]) -> Any:
        return self._torch.as_tensor(_Borrowed(address, shape), device="cuda")

    @property
    def version(self) -> int:
        """cuDNN's version as it gives it, such as 91002 for 9.10.2."""
        return self._torch.backends.cudnn.version()

    def launch(self, stream: Any) -> None:
        """Enqueue the convolution on a PyCUDA stream; None is the default stream."""
        # TF32 is a setting of the process: another mode may have been asked for since.
        torch = require(self.mode)
        self._y = None  # its memory serves again: PyTorch would else hold two outputs
        on = torch.cuda.ExternalStream(stream.handle) if stream else torch.cuda.default_stream()
        with torch.no_grad(), torch.cuda.stream(on):
            self._y = torch.nn.functional.conv2d(self._x, self._filter, stride=self.shape.stride)

    def check(self, want: int, atol: float) -> checking.Verdict:
        """Launch, and compare every output with those at the device address `want`, within SLACK times `atol`, and what the
        mode's rounding of the factors may do.

        Raises checking.CheckError.
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
            near = (self._y[part].float() - right[part]).abs() <= atol  # NaN is not near
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
    """Check and time the layer in both layouts: rows for a record, {"series": NAMES[mode], "layout": ..., "timing": ...}.

    x, filter, want: device addresses, `want` of outputs that are known to be right within `atol`. A
    layout that is wrong or that cuDNN refuses is left out with a printed line. Raises TorchMissing.
    """
    for layout in LAYOUTS:
        name = f"{NAMES[mode]}, {layout}"
        try:
            made = Convolution(shape, x, filter, layout, mode)
            verdict = made.check(want, atol)
        except TorchMissing:
            raise
        except (checking.CheckError, RuntimeError) as error:
            print(f"{name} is left out: {str(error).splitlines()[0]}")
            continue
        timed = timing.time_gpu(made.launch, verdict=verdict, name=name, budget_s=budget_s)
        yield {"series": NAMES[mode], "layout": layout, "cudnn": made.version, "timing": timed}


def best(rows: Sequence[Mapping[str, Any]], mode: str = "FP32") -> Mapping[str, Any] | None:
    """Of a record's rows the yardstick's fastest in a mode, in either layout; None where it was not measured."""
    found = [row for row in rows if row["series"] == NAMES[mode]]
    return min(found, key=lambda row: row["median_ms"], default=None)
