"""What CUDA's operations give, in whole numbers of Python and real ones of NumPy.

The Python text of a random program (random_programs.py) calls these.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np


def i32(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def u32(value: int) -> int:
    return value % 2**32


def i64(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def i16(value: int) -> int:
    return (value + 2**15) % 2**16 - 2**15


def quotient(one: int, other: int) -> int:
    return abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)


def remainder(one: int, other: int) -> int:
    return one - quotient(one, other) * other


def permuted(one: int, other: int, selector: int) -> int:
    """__byte_perm, for selectors without the bit that repeats a sign."""
    both = u32(one) | u32(other) << 32
    taken = [both >> 8 * (selector >> 4 * k & 7) & 255 for k in range(4)]
    return sum(byte << 8 * k for k, byte in enumerate(taken))


def products_of_bytes(one: int, other: int, more: int) -> int:
    """__dp4a of two ints."""
    def byte(value: int, k: int) -> int:
        return ((u32(value) >> 8 * k & 255) + 128) % 256 - 128

    return i32(more + sum(byte(one, k) * byte(other, k) for k in range(4)))


def leading_zeros(value: int) -> int:
    return 32 - u32(value).bit_length()


def first_set(value: int) -> int:
    return (value & -value).bit_length() if value else 0


def reversed_bits(value: int) -> int:
    return int(f"{u32(value):032b}"[::-1], 2)


def funnel(low: int, high: int, by: int) -> int:
    """__funnelshift_l"""
    return u32((u32(high) << 32 | u32(low)) << (by & 31) >> 32)


def smaller(one: Any, other: Any) -> Any:
    """The smaller of two floats: -0 is smaller than 0, and NaN is passed over."""
    if np.isnan(one) or np.isnan(other):
        return other if np.isnan(one) else one
    return min((one, other), key=lambda v: (v, not np.signbit(v)))


def larger(one: Any, other: Any) -> Any:
    return -smaller(-one, -other)


def whole(value: np.floating) -> int:
    """A finite float as an int, cut."""
    return i32(int(value))


def fused(one: Any, other: Any, more: Any) -> Any:
    """one * other + more, rounded once."""
    kind = type(one)
    if not all(np.isfinite(v) for v in (one, other, more)):
        return kind(np.float64(one) * np.float64(other) + np.float64(more))
    exact = Fraction(float(one)) * Fraction(float(other)) + Fraction(float(more))
    return rounded(exact, kind) if exact else one * other + more


def rounded(exact: Fraction, kind: type) -> Any:
    """The nearest number of a NumPy type, the even one of two."""
    near = kind(float(exact))  # rounded twice, so that it may be the neighbour
    if not np.isfinite(near):
        return near
    options = [near, np.nextafter(near, kind(-np.inf)), np.nextafter(near, kind(np.inf))]
    options = [one for one in options if np.isfinite(one)]
    bits = {2: np.uint16, 4: np.uint32}[near.nbytes]
    return min(
        options, key=lambda v: (abs(Fraction(float(v)) - exact), int(v.view(bits)) & 1)
    )


def pair(low: Any, high: Any) -> tuple[np.float16, np.float16]:
    return np.float16(low), np.float16(high)


def each(operation: Callable[..., Any], *pairs: tuple) -> tuple[np.float16, np.float16]:
    """A half2 by an operation on its halves."""
    return pair(*(operation(*halves) for halves in zip(*pairs, strict=True)))


def saturated(value: Any) -> Any:
    """A half between 0 and 1; NaN becomes 0."""
    zero, one = np.float16(0), np.float16(1)
    return zero if np.isnan(value) else larger(zero, smaller(one, value))


def bits_of(value: np.float32) -> int:
    return i32(int(np.float32(value).view(np.uint32)))


ROUND = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint}
