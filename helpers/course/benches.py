"""The benches of one grader: what its answers run on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from helpers.course.box import Bench, Limits


class Benches:
    """The benches of one grader: one for kernels that stays, and a new one for each answer in
    Python.
    """

    def __init__(self, level: str, cache: Path, limits: Limits | None = None):
        self.level, self.limits = level, limits or Limits()
        self._cache = cache
        self._kernel: Bench | None = None

    def of(self, kind: str) -> Bench:
        """Return a bench for "kernel" or "python"."""
        if kind == "python":
            short = replace(
                self.limits, cpu_s=min(self.limits.cpu_s, 10), wall_s=min(self.limits.wall_s, 30.0)
            )
            return Bench("python", self.level, short)
        if self._kernel is None:
            self._kernel = Bench("kernel", self.level, self.limits, self._cache)
        return self._kernel

    def close(self) -> None:
        """End the bench for kernels."""
        if self._kernel is not None:
            self._kernel.close()
            self._kernel = None
