"""Whether a layer's outputs are right: error bound, usual mistakes, a problem on the device."""

from __future__ import annotations

import dataclasses

import numpy as np

from helpers import checking, device, reference
from helpers.checking import device_counter, diagnosis
from helpers.limits import ConvShape
from helpers.problems import precision
from helpers.problems.precision import Precision
from helpers.programs import DeviceOwner

from . import refusals
from .refusals import PLAINEST
from .shapes import SEED, LayerError, shape_for
from .table import conv2d_named


def conv2d_atol(x: np.ndarray, filter: np.ndarray) -> float:
    """Return the largest error that a float32 sum of C K K products may have.

    It holds for any order of the sum, with and without fused multiply-adds. As in
    `conv1d.conv1d_atol`, each of the C K K roundings errs by at most u = 2^-24 relative to a
    partial sum, and no partial sum exceeds max |x| * sum |filter[m]|. One more u covers the
    denominator of the bound (N. J. Higham, *Accuracy and Stability of Numerical Algorithms*,
    section 3.1).
    """
    return precision.FLOAT.atol(x, filter)


def suspects(x: np.ndarray, filter: np.ndarray, stride: int = 1) -> dict[str, np.ndarray]:
    """Return the outputs of the usual mistakes, by cause: for ``checking.check(...,
    suspects=...)``.
    """

    def conv(weights: np.ndarray, cells: np.ndarray = x) -> np.ndarray:
        return reference.conv2d(cells, weights, stride)

    channels, K = filter.shape[1], filter.shape[2]
    outputs = {
        "the filter is flipped": conv(filter[:, :, ::-1, ::-1]),
        "the rows and columns of the filter are exchanged": conv(filter.swapaxes(2, 3)),
    }
    if channels > 1:
        outputs["only the first channel is summed"] = conv(filter[:, :1], x[:, :1])
        outputs["only the last channel is summed"] = conv(filter[:, -1:], x[:, -1:])
        outputs["the channels of the filter are in reverse order"] = conv(filter[:, ::-1])
    if filter.shape[0] > 1:
        outputs["every output map gets the weights of the first"] = conv(
            np.repeat(filter[:1], filter.shape[0], axis=0)
        )
    if x.shape[0] > 1:
        outputs["every image is the first one"] = conv(filter, np.repeat(x[:1], x.shape[0], axis=0))
    if K > 1:
        shorter = filter.copy()
        shorter[:, :, -1, :] = 0
        outputs["the last row of the filter is left out"] = conv(shorter)
        shorter = filter.copy()
        shorter[:, :, :, -1] = 0
        outputs["the last column of the filter is left out"] = conv(shorter)
    return outputs


def check(
    y: np.ndarray,
    x: np.ndarray,
    filter: np.ndarray,
    name: str = "y",
    stride: int = 1,
    precision: Precision = precision.FLOAT,
) -> checking.Verdict:
    """Return a Verdict if y equals reference.conv2d(x, filter, stride) within conv2d_atol.

    precision: of the kernel. If it rounds its inputs, y is compared first with the reference of the
    rounded inputs, within `sum_atol`, and then with the reference of x and filter, within `atol`.
    Raises checking.CheckError, whose diagnosis also tries the `suspects`.
    """
    if precision.inputs != "float32":
        rounded = precision.rounded(x), precision.rounded(filter)
        _check(y, *rounded, name, stride, precision.sum_atol(x, filter))
    return _check(y, x, filter, name, stride, precision.atol(x, filter))


def _check(
    y: np.ndarray, x: np.ndarray, filter: np.ndarray, name: str, stride: int, atol: float
) -> checking.Verdict:
    want = reference.conv2d(x, filter, stride)
    try:
        return checking.check(y, want, rtol=0.0, atol=atol, name=name)
    except checking.CheckError:  # Only a failure is worth the convolutions of the suspects.
        return checking.check(
            y, want, rtol=0.0, atol=atol, name=name, suspects=suspects(x, filter, stride)
        )


# --------------------------------------------------------------------------------------------------
# A layer on the device, for timing


class Problem(DeviceOwner):
    """One layer on the device: x, filter, a poisoned y, and the right outputs `want`.

    x: float32, shape.x_shape; filter: float32, shape.filter_shape; host arrays. The attributes `x`,
    `filter`, `y` and `want` are device addresses. The plainest kernel computes `want`. A check
    compares the images of `oracle_images` with reference.conv2d, in float64 on the host, and every
    output with `want` on the device; `want` itself is checked against the oracle at the start.
    Raises as `shape_for` does, and LayerError where x, filter and two outputs do not fit the
    device's memory.
    """

    def __init__(self, shape: ConvShape, x: np.ndarray, filter: np.ndarray):
        if shape_for(x, filter, shape.stride) != shape:
            raise LayerError(f"x {x.shape} and filter {filter.shape} are not {shape}")
        self.device = device.select()
        import pycuda.driver as cuda

        self._cuda, self.shape, self.filter_on_host = cuda, shape, filter
        plainest = conv2d_named(PLAINEST)
        plainest.require(shape, self.device)
        refusals.require_memory(
            plainest, shape, cuda.mem_get_info()[0], more=lambda part: 4 * part.outputs
        )
        self.oracle_images = some_images(shape.B)
        self._cells = np.ascontiguousarray(x[list(self.oracle_images)])
        self._oracle = reference.conv2d(self._cells, filter, shape.stride)
        self.atol = conv2d_atol(x, filter)
        # A Precision needs only the largest cell of x.
        self._largest = np.full((1, 1, 1, 1), np.abs(x).max())
        self._counter = device_counter.DeviceCounter()
        self._arrays = [
            cuda.mem_alloc(n)
            for n in (x.nbytes, filter.nbytes, 4 * shape.outputs, 4 * shape.outputs)
        ]
        self.x, self.filter, self.y, self.want = map(int, self._arrays)
        cuda.memcpy_htod(self.x, x)
        cuda.memcpy_htod(self.filter, filter)
        self._counter.poison(self.want, shape.outputs)
        plainest.compile(shape).launch(self.want, self.x, self.filter)
        self._everywhere(self.want, PLAINEST)
        self.poison()

    def poison(self) -> None:
        """Fill y with NaN, so that a check sees the outputs that a kernel does not write."""
        self._counter.poison(self.y, self.shape.outputs)

    def check(self, name: str, precision: Precision = precision.FLOAT) -> checking.Verdict:
        """Return a Verdict on y: some images against the oracle, every output against `want`.

        precision: of the kernel that computed y. If it rounds its inputs, the sums of these images
        are checked first, against the oracle of the rounded inputs (as in `conv2d.check`). Raises
        checking.CheckError: with a diagnosis if one of these images is wrong, else with the number
        of wrong outputs.
        """
        if precision.inputs == "float32":
            return self._everywhere(self.y, name)
        self._cuda.Context.synchronize()
        rounded = precision.rounded(self._cells), precision.rounded(self.filter_on_host)
        atol = precision.sum_atol(self._largest, self.filter_on_host)
        _check(self._images(self.y), *rounded, name, self.shape.stride, atol)
        return self._everywhere(self.y, name, precision.atol(self._largest, self.filter_on_host))

    def relative_error(self, name: str, precision: Precision = precision.FLOAT) -> float:
        """Return max |y - oracle| / max |oracle| over `oracle_images`. Raises as `check` does."""
        self.check(name, precision)
        error = np.abs(self._images(self.y).astype(np.float64) - self._oracle).max()
        return float(error / np.abs(self._oracle).max())

    def free(self) -> None:
        """Free the device's arrays."""
        for array in self._arrays:
            array.free()
        self._arrays = []

    def _images(self, address: int) -> np.ndarray:
        """Return the outputs of `oracle_images` at a device address, on the host."""
        some = np.empty(self._oracle.shape, np.float32)
        for place, image in zip(some, self.oracle_images, strict=True):
            self._cuda.memcpy_dtoh(place, address + image * some[0].nbytes)
        return some

    def _everywhere(self, address: int, name: str, atol: float | None = None) -> checking.Verdict:
        atol = self.atol if atol is None else atol
        self._cuda.Context.synchronize()
        got = self._images(address)
        try:
            verdict = checking.check(got, self._oracle, rtol=0.0, atol=atol, name=name)
        except checking.CheckError:
            known = suspects(self._cells, self.filter_on_host, self.shape.stride)
            verdict = checking.check(
                got, self._oracle, rtol=0.0, atol=atol, name=name, suspects=known
            )
        # Either array may err by its bound, so they may differ by the sum of the two bounds. A NaN
        # in `want` differs even from itself, so it counts as wrong, too.
        wrong = self._counter.wrong(address, self.want, self.atol + atol, self.shape.outputs)
        if wrong:
            text = f"{wrong:,} of {self.shape.outputs:,} outputs differ from {PLAINEST} or are NaN"
            kind = diagnosis.Diagnosis(
                "other images",
                f"{text}, in images other than {', '.join(map(str, self.oracle_images))}",
            )
            raise checking.CheckError(
                f"FAIL {name}: {kind.text}", name=name, wrong=wrong, diagnosis=kind
            )
        return dataclasses.replace(verdict, count=self.shape.outputs)


def some_images(batch: int) -> tuple[int, ...]:
    """Return the first image, the last, and up to three random ones between them."""
    inner = np.random.default_rng(SEED).permutation(np.arange(1, batch - 1))[:3]
    return tuple(sorted({0, batch - 1, *inner.tolist()}))
