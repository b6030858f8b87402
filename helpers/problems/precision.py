"""The tolerance of kernels that compute the layer in fewer digits than float32, and its derivation.

A sum of N = C K K products errs in two places, and each has a bound of its own:

* **Inputs.** x and the filter are rounded, each value once: relatively by at most u_in = 2^-11
  (half and TF32 both keep 11 significant bits), or by half a step of the subnormal numbers, 2^-25
  for half, where a value is that small.
* **Sums.** Every addition is rounded, relatively by at most u. Its error is at most u times the
  largest partial sum, and no partial sum exceeds X S, with X = max |x| and S = max over maps of
  sum |filter[m]|. In float32 u = 2^-24, and N + 1 of them give `conv2d.conv2d_atol`. In half
  u = 2^-11: n additions in a row err by n u / (1 - n u) of X S. Products of two halves, or of two
  TF32 numbers, have 22 significant bits, which float32 holds without rounding.

The source of both bounds is N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd
ed., sections 2.2 and 3.1. A tensor core cuts the terms of a step at one common exponent and does
not round: M. Fasi, N. J. Higham, M. Mikaitis, S. Pranesh, "Numerical behavior of NVIDIA tensor
cores", PeerJ Computer Science 7:e330 (2021). Each term then errs by less than one unit of the
largest, 2^-23 X S, not half of one; so does the running sum, once a step of at least four terms,
and the step's result.

The inputs' bound is so wide that a sum in half often stays within it. A check therefore has two
parts (`conv2d.check` makes both): the *sums* against a float64 reference of the rounded inputs,
within `sum_atol`, and the *whole* against the reference of the inputs as they are, within `atol`.
The first part rejects a kernel of the next lower precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

HALF_UNIT = 2.0**-11  # half and TF32 have 11 significant bits, and round to nearest
HALF_SUBNORMAL = 2.0**-25  # half a step of half's subnormal numbers
FLOAT_UNIT = 2.0**-24
TENSOR_UNIT = 2.0**-23  # a term of a tensor core's step is cut, not rounded
# The terms of a step of the first tensor cores. Later ones take more terms, and so cut less often.
TENSOR_TERMS = 4
LARGEST_HALF = 65504.0


class RangeError(ValueError):
    """A value is too large for half, where it would become infinity."""


@dataclass(frozen=True)
class Precision:
    """The rounding of a kernel.

    inputs: the type of the factors, "float32", "half" or "tf32". chain: the products that are
    summed in half before float32 takes over, "none", "row" (of the filter) or "all". tensor:
    whether tensor cores compute the float32 sums.
    """

    name: str
    inputs: str = "float32"
    chain: str = "none"
    tensor: bool = False

    def rounded(self, values: np.ndarray) -> np.ndarray:
        """Return the values rounded as by the kernel, float32, of the same shape.

        Raises RangeError for a value beyond the range of half.
        """
        values = np.asarray(values, np.float32)
        if self.inputs == "half":
            if (largest := np.abs(values).max(initial=0)) > LARGEST_HALF:
                raise RangeError(
                    f"the largest value is {largest:g}; half holds up to {LARGEST_HALF:,.0f}: "
                    "scale the values"
                )
            return values.astype(np.float16).astype(np.float32)
        return to_tf32(values) if self.inputs == "tf32" else values

    def input_atol(self, x: np.ndarray, filter: np.ndarray) -> float:
        """Return the largest error of an exact sum of rounded inputs.

        A product errs by at most |x| df + |f| dx + dx df, with the errors dx and df of its factors.
        """
        unit, least = {
            "float32": (0.0, 0.0),
            "half": (HALF_UNIT, HALF_SUBNORMAL),
            "tf32": (HALF_UNIT, 0.0),
        }[self.inputs]
        weights, largest = np.abs(filter, dtype=np.float64), float(np.abs(x).max())
        of_weights, of_x = np.maximum(unit * weights, least), max(unit * largest, least)
        errors = (largest * of_weights + weights * of_x + of_weights * of_x).sum(axis=(1, 2, 3))
        return float(errors.max())

    def sum_atol(self, x: np.ndarray, filter: np.ndarray) -> float:
        """Return the largest error of the kernel's sums against exact sums of the rounded inputs.

        x: shape (B, C, H, W); filter: shape (M, C, K, K); both not yet rounded. Raises ValueError
        for a chain of 2,048 or more products in half, for which there is no bound, and RangeError
        as `rounded` does.
        """
        x, filter = self.rounded(x), self.rounded(filter)
        terms, size = math.prod(filter.shape[1:]), float(np.abs(x).max()) * _largest_sum(filter)
        in_steps = terms + 2 * -(-terms // TENSOR_TERMS) + 1
        roundings = in_steps * TENSOR_UNIT if self.tensor else (terms + 1) * FLOAT_UNIT
        in_half = {"none": 0, "row": filter.shape[3], "all": terms}[self.chain]
        if in_half * HALF_UNIT >= 1:
            raise ValueError(
                f"{in_half:,} products are added up in half: from 2,048 on no digit is certain; "
                "add up in float32"
            )
        growth = in_half * HALF_UNIT / (1 - in_half * HALF_UNIT)
        subnormal = terms * HALF_SUBNORMAL if in_half else 0.0
        return roundings * size * (1 + growth) + growth * size + subnormal

    def atol(self, x: np.ndarray, filter: np.ndarray) -> float:
        """Return the largest error of the outputs against an exact layer of x and filter."""
        return self.input_atol(x, filter) + self.sum_atol(x, filter)


FLOAT = Precision("float32")
HALF = Precision("half inputs, float32 sums", "half")
HALF_ROWS = Precision("half inputs, rows of the filter summed in half", "half", "row")
HALF_SUMS = Precision("half inputs, half sums", "half", "all")
HALF_TENSOR = Precision("half inputs, float32 sums of tensor cores", "half", tensor=True)
TF32_TENSOR = Precision("TF32 inputs, float32 sums of tensor cores", "tf32", tensor=True)


def to_tf32(values: np.ndarray) -> np.ndarray:
    """Return finite float32 values rounded to TF32: 10 bits behind the point, ties away from zero.

    The result is float32. `wmma::__float_to_tf32` rounds in the same way.
    """
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


def _largest_sum(filter: np.ndarray) -> float:
    return float(np.abs(filter, dtype=np.float64).sum(axis=(1, 2, 3)).max())
