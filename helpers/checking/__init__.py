"""Checks of results, with a diagnosis of wrong ones, and of the arrays of a launch.

:func:`check` compares in float64, and a NaN never passes. `diagnosis` finds the pattern of the
wrong values and its usual cause.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers.checking import left_on_device
from helpers.checking.diagnosis import SHOWN, Diagnosis, absolute_error, diagnose, kind_of
from helpers.quantities import quantity
from helpers.tables import LINE


@dataclass(frozen=True)
class Verdict:
    """A passed check. max_error: the largest error over the largest value (see :func:`check`)."""

    name: str
    count: int
    max_error: float
    rtol: float
    atol: float

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> str:
        # The text has no measured number, because tests compare it between machines.
        atol = f" + atol={self.atol:g}" if self.atol else ""
        return f"PASS {self.name}: {quantity(self.count, 'value')} within rtol={self.rtol:g}{atol}"

    __repr__ = __str__


class CheckError(AssertionError):
    """A wrong result. ``diagnosis.kind`` names the pattern, ``wrong`` counts the wrong values."""

    def __init__(self, message: str, *, name: str, wrong: int, diagnosis: Diagnosis):
        super().__init__(message)
        self.name, self.wrong, self.diagnosis = name, wrong, diagnosis

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows in place of a traceback: only the diagnosis."""
        return [f"{type(self).__name__}: {self}"]


def check(
    got: Any,
    want: Any,
    *,
    rtol: float,
    atol: float = 0.0,
    name: str = "result",
    suspects: Mapping[str, Any] | None = None,
) -> Verdict:
    """Return a Verdict if |got - want| <= atol + rtol * |want| for each value, compared in float64.

    got, want: of the same shape and the same kind: both real floats (of any width), both integers,
    or both bool. NaN and infinity in ``got`` never pass. suspects: maps a cause to the array that
    it would produce, such as {"the filter is flipped": reference.conv1d(x, f[::-1])}; if ``got``
    equals that array, the message names the cause.

    ``max_error`` of the Verdict is the largest |got - want| over the largest |want|: a sum near 0,
    whose terms cancel, does not look far off. If all of ``want`` is 0, it is the largest error.

    Raises CheckError with a diagnosis for wrong values, shape or kind; ValueError for an empty
    array, a reference that holds NaN or infinity, and a tolerance that is not a number >= 0;
    TypeError for other dtypes.
    """
    _require_tolerance(rtol, "rtol")
    _require_tolerance(atol, "atol")
    got, want = np.asarray(got), np.asarray(want)
    _require_comparable(got, want, name)
    try:
        return _compared(got, want, rtol, atol, name, suspects or {})
    finally:
        left_on_device.forget()


def _compared(
    got: np.ndarray,
    want: np.ndarray,
    rtol: float,
    atol: float,
    name: str,
    suspects: Mapping[str, Any],
) -> Verdict:
    """Return the Verdict of `check`, or raise its CheckError with a diagnosis."""
    error, tolerance = absolute_error(got, want), atol + rtol * np.abs(want.astype(np.float64))
    wrong = ~(error <= tolerance)  # NaN is neither within nor beyond.
    if not wrong.any():
        return Verdict(name, want.size, _largest_relative(error, want), float(rtol), float(atol))
    diagnosis = diagnose(got, want, wrong, rtol, atol, suspects)
    atol_text = f", atol={atol:g}" if atol else ""
    message = "\n".join(
        [
            f"FAIL {name}: {_count(wrong.sum(), want.size)} wrong "
            f"(rtol={rtol:g}{atol_text}){_not_finite(got)}",
            textwrap.fill(diagnosis.text, LINE),
            *_first_wrong(got, want, wrong),
        ]
    )
    raise CheckError(message, name=name, wrong=int(wrong.sum()), diagnosis=diagnosis)


def require_array(
    a: Any,
    *,
    dtype: Any,
    shape: Sequence[int] | None = None,
    ndim: int | None = None,
    name: str = "array",
) -> Any:
    """Return ``a`` if a launch can use it: the dtype, C order, not empty, the shape or ndim.

    a: a NumPy or GPU array. A kernel gets only an address and would read other arrays as wrong
    numbers without an error. Raises TypeError for an object that is no array, and for another
    dtype; ValueError for another shape, rank or order.
    """
    if not (hasattr(a, "dtype") and hasattr(a, "shape") and hasattr(a, "flags")):
        raise TypeError(
            f"{name} is a {type(a).__name__}; a launch needs an array: np.asarray(..., dtype=...)"
        )
    own, expected = np.dtype(a.dtype), np.dtype(dtype)
    if own != expected:
        # Two types of one name differ in their byte order.
        raise TypeError(
            f"{name} is {own.str if own.name == expected.name else a.dtype}, but the kernel reads "
            f"{expected.name}: pass {name}.astype(np.{expected.name})"
        )
    size = math.prod(a.shape)
    if size == 0:
        raise ValueError(f"{name} is empty (shape {tuple(a.shape)}): there is nothing to launch on")
    if shape is not None and tuple(a.shape) != tuple(shape):
        raise ValueError(
            f"{name} has shape {tuple(a.shape)}, but the launch expects {tuple(shape)}"
        )
    if ndim is not None and len(a.shape) != ndim:
        raise ValueError(
            f"{name} has {len(a.shape)} axes (shape {tuple(a.shape)}), "
            f"but the launch expects {ndim}"
        )
    if not a.flags.c_contiguous:
        layout = (
            "in Fortran order" if a.flags.f_contiguous else "a view with gaps or reversed steps"
        )
        raise ValueError(
            f"{name} is {layout} (strides {tuple(a.strides)}), but the kernel "
            f"reads C order without gaps: pass np.ascontiguousarray({name})"
        )
    return a


def _require_tolerance(value: float, name: str) -> None:
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name} is {value}; give a number >= 0, such as 1e-6 for float32")


def _require_comparable(got: np.ndarray, want: np.ndarray, name: str) -> None:
    for array, role in ((got, "got"), (want, "want")):
        if not kind_of(array):
            raise TypeError(
                f"{name}: {role} has dtype {array.dtype}; check compares floats, integers and bools"
            )
        if array.size == 0:
            raise ValueError(
                f"{name}: {role} is empty (shape {array.shape}), and an empty check proves nothing"
            )
    if not np.isfinite(want).all():
        raise ValueError(
            f"{name}: the reference itself holds NaN or infinity, so it cannot judge: "
            "correct it first"
        )
    problem = None
    if got.shape != want.shape:
        hint = (
            " Rows and columns are exchanged."
            if got.ndim > 1 and got.shape == want.shape[::-1]
            else ""
        )
        problem = Diagnosis(
            "shape", f"the result has shape {got.shape}, wanted {want.shape}.{hint}"
        )
    elif kind_of(got) != kind_of(want):
        text = (
            f"the result is {got.dtype}, wanted {want.dtype}: convert on purpose, "
            "or correct the kernel's types."
        )
        problem = Diagnosis("dtype", text)
    if problem:
        raise CheckError(
            f"FAIL {name}: {problem.text}", name=name, wrong=got.size, diagnosis=problem
        )


def _largest_relative(error: np.ndarray, want: np.ndarray) -> float:
    largest = np.abs(want.astype(np.float64)).max() or 1.0
    with np.errstate(over="ignore"):
        return float(error.max() / largest)


def _count(wrong: int, total: int) -> str:
    if wrong == total > 1:
        return f"all {quantity(total, 'value')} are"
    return f"{wrong:,} of {quantity(total, 'value')} {'is' if wrong == 1 else 'are'}"


def _not_finite(got: np.ndarray) -> str:
    nan, inf = int(np.isnan(got).sum()), int(np.isinf(got).sum())
    parts = [f"{count:,} {what}" for count, what in ((nan, "NaN"), (inf, "infinite")) if count]
    return f", {' and '.join(parts)}" if parts else ""


def _first_wrong(got: np.ndarray, want: np.ndarray, wrong: np.ndarray) -> list[str]:
    flat = np.flatnonzero(wrong)
    lines = []
    for position in flat[:SHOWN]:
        index = np.unravel_index(position, got.shape)
        place = ", ".join(str(int(i)) for i in index)
        lines.append(f"  [{place}] got {_value(got[index])}, want {_value(want[index])}")
    if flat.size > SHOWN:
        lines.append(f"  ... and {flat.size - SHOWN:,} more")
    return lines


def _value(value: Any) -> str:
    return f"{value:.6g}" if value.dtype.kind == "f" else str(value)
