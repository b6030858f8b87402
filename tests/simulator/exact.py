"""Floating-point formats as exact fractions: what an operation's result must be, bit by bit."""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np

NEAREST, ZERO, DOWN, UP, AWAY = range(5)


@dataclass(frozen=True)
class Format:
    """digits: behind the point; nan: the bits of the NaN that operations make."""

    name: str
    bits: int
    digits: int
    nan: int
    infinite: bool = True

    @property
    def exponent_bits(self) -> int:
        return self.bits - 1 - self.digits

    @property
    def bias(self) -> int:
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def sign(self) -> int:
        return 1 << (self.bits - 1)

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent_bits) - 1) << self.digits if self.infinite else self.sign - 1

    @property
    def largest(self) -> int:
        return self.infinity - 1

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(f"uint{max(self.bits, 16)}")

    def is_nan(self, bits: int) -> bool:
        size = bits & (self.sign - 1)
        return size > self.infinity if self.infinite else size == self.infinity

    def is_infinite(self, bits: int) -> bool:
        return self.infinite and bits & (self.sign - 1) == self.infinity

    def value(self, bits: int) -> Fraction:
        """Of a finite number."""
        field, fraction = (
            bits >> self.digits & ((1 << self.exponent_bits) - 1),
            bits & ((1 << self.digits) - 1),
        )
        size = Fraction(fraction + ((1 << self.digits) if field else 0)) * Fraction(2) ** (
            max(field, 1) - self.bias - self.digits
        )
        return -size if bits & self.sign else size

    def rounded(
        self, value: Fraction, mode: int = NEAREST, zero_sign: bool = False, finite: bool = False
    ) -> int:
        """The bits of the number that `value` rounds to; `finite`: the largest number instead of
        infinity.
        """
        negative = value < 0 or (value == 0 and zero_sign)
        size, sign = abs(value), self.sign if negative else 0
        if size == 0:
            return sign
        exponent = size.numerator.bit_length() - size.denominator.bit_length()
        exponent -= size < Fraction(2) ** exponent
        exponent = max(exponent, 1 - self.bias)
        units = size / Fraction(2) ** (exponent - self.digits)
        whole, rest = divmod(units, 1)
        up = {NEAREST: rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole & 1), ZERO: False,
            DOWN: negative and rest > 0,
              UP: not negative and rest > 0, AWAY: rest >= Fraction(1, 2)}[mode]  # fmt: skip
        bits = ((exponent + self.bias - 1) << self.digits) + int(whole) + int(up)
        if bits > self.largest:
            towards_zero = mode == ZERO or mode == (UP if negative else DOWN)
            return sign | (self.largest if towards_zero or finite else self.infinity)
        return sign | bits

    def interesting(self, count: int, seed: int = 1, special: bool = True) -> np.ndarray:
        """Bits of extremes, subnormal, small whole and random numbers; zeros, infinities and NaNs
        where `special`.
        """
        chooser = random.Random(seed)
        one = self.bias << self.digits
        edges = [
            1,
            2,
            (1 << self.digits) - 1,
            1 << self.digits,
            (1 << self.digits) + 1,
            self.largest,
            one,
            one + 1,
            one - 1,
            one * 3 // 2,
        ]
        edges += [self.rounded(Fraction(k)) for k in (2, 3, 5, 10)] + [self.rounded(Fraction(1, 3))]
        edges += [0, self.infinity, self.infinity + 1, self.nan] if special else []
        values = [e | s for e in edges for s in (0, self.sign)]
        while len(values) < count:
            near = chooser.randrange(3) > 0
            field = (
                (self.bias + chooser.randint(-8, 8)) % (1 << self.exponent_bits)
                if near
                else chooser.randrange((1 << self.exponent_bits) - 1)
            )
            if not self.infinite:
                field = chooser.randrange((1 << self.exponent_bits) - 1)
            values.append(
                chooser.choice([0, self.sign])
                | field << self.digits
                | chooser.getrandbits(self.digits)
            )
        chooser.shuffle(values)
        return np.array(values[:count], self.dtype)


F64 = Format("f64", 64, 52, 0xFFF8000000000000)
F32 = Format("f32", 32, 23, 0x7FFFFFFF)
F16 = Format("f16", 16, 10, 0x7FFF)
BF16 = Format("bf16", 16, 7, 0x7FFF)
E4M3 = Format("e4m3", 8, 3, 0x7F, infinite=False)
E5M2 = Format("e5m2", 8, 2, 0x7F)
FORMATS = {f.name: f for f in (F64, F32, F16, BF16)}


def root(value: Fraction, extra: int = 140) -> Fraction:
    """The square root to more than `extra` binary digits, odd in its last one where it is not
    exact.
    """
    scale = 1 << 2 * (extra + value.denominator.bit_length() + 600)
    scaled = value * scale
    whole = isqrt(scaled.numerator // scaled.denominator)
    if Fraction(whole * whole) != scaled:
        whole |= 1
    return Fraction(whole, isqrt(scale))
