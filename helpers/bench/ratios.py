"""The time of a kernel over that of another one, with its interval: one direction everywhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from helpers.bench.timing import Comparison

NO_DIFFERENCE = "no measurable difference"


@dataclass(frozen=True)
class Ratio:
    """The time of `kernel` over the time of `over`: below 1, `kernel` is faster.

    low, high: the 95 % interval. where: what else names the comparison, such as
    {"layer": "layer 1", "batch": 10000}. Raises ValueError unless 0 < low <= value <= high.
    """

    kernel: str
    over: str
    value: float
    low: float
    high: float
    where: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.value <= self.high:
            raise ValueError(
                f"a ratio needs 0 < low <= value <= high, got {self.low}, {self.value} and "
                f"{self.high} for {self.kernel} over {self.over}"
            )

    @classmethod
    def of(cls, pair: Comparison, where: Mapping[str, Any] | None = None) -> Ratio:
        """Return the ratio of a comparison whose second timing is that of the baseline."""
        return cls(pair.a.name, pair.b.name, pair.ratio, pair.low, pair.high, where or {})

    def to_row(self) -> dict[str, float]:
        """Return the entries of a record's row: "ratio", "low", "high"."""
        return {"ratio": self.value, "low": self.low, "high": self.high}

    @classmethod
    def of_row(cls, row: Mapping[str, Any], over: str) -> Ratio:
        """Return the ratio over a kernel in a record's row, whose interval is "low" and "high".

        Raises KeyError for a row without a ratio.
        """
        kernel = str(row.get("kernel") or row.get("series", ""))
        return cls(kernel, over, row["ratio"], row["low"], row["high"])

    @property
    def different(self) -> bool:
        """Whether the interval leaves 1 out."""
        return not self.low <= 1 <= self.high

    @property
    def verdict(self) -> str:
        """"faster", "slower", or "no measurable difference" where the interval contains 1."""
        if not self.different:
            return NO_DIFFERENCE
        return "slower" if self.value > 1 else "faster"

    @property
    def speedup(self) -> float:
        """How many times as fast as the baseline the kernel is."""
        return 1 / self.value

    @property
    def swapped(self) -> Ratio:
        """The baseline's time over the kernel's, for a text that counts how many times as fast."""
        return Ratio(self.over, self.kernel, 1 / self.value, 1 / self.high, 1 / self.low)

    def words(self) -> str:
        """Return "1.27 x as fast", "12.7 x the time", or "no measurable difference"."""
        if not self.different:
            return NO_DIFFERENCE
        times, what = (self.value, "the time") if self.value > 1 else (self.speedup, "as fast")
        digits = max(2 - int(math.log10(times)), 0)  # behind the point: three digits in all
        shown = f"{times:.{digits}f}"
        if float(shown) == 1:  # a small difference, and yet one
            shown = f"{times:.{digits + 1}f}"
        return f"{shown} x {what}"

    def row(self, digits: int = 3) -> tuple[str, str, str]:
        """Return the cells of a table: the kernel, the ratio with its interval, and the words."""
        interval = f"{self.value:.{digits}f} ({self.low:.{digits}f} to {self.high:.{digits}f})"
        return self.kernel, interval, self.words()

    def __str__(self) -> str:
        kernel, interval, words = self.row()
        return f"{kernel} over {self.over}: {interval}, {words}"
