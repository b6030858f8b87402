"""The first kernel's problem on the bench, y = a * x + y: `bench.axpy(n=10**7)`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import checking, kernels, limits
from helpers.bench.problem import Problem
from helpers.bench.sources import Kernel, chosen, sized
from helpers.launch import Array, Launch, Plan

A = np.float32(2.5)
FEW = 1_000  # elements of a check: the last block is not full
ONE = 8_192  # elements of a count: whole blocks
SEED = 0
RTOL = 1e-6


def axpy(n: int = 10**7) -> Axpy:
    """Return y = a * x + y for n elements of float32. Raises ValueError for none."""
    limits.require_count(n, "n", "the number of elements")
    return Axpy(n)


@dataclass(frozen=True)
class OneLaunch:
    """A launch of blocks of `threads` threads, each of which computes `elements` elements."""

    name: str = "axpy_basic"
    threads: int = 256
    elements: int = 1


@dataclass(frozen=True)
class Axpy(Problem):
    """y = a * x + y. Its kernels take "y", "x", "n" and "a", and replace y."""

    n: int

    @property
    def title(self) -> str:
        return f"n = {self.n:,}"

    @property
    def where(self) -> Mapping[str, Any]:
        return {"n": self.n}

    @property
    def few(self) -> Axpy:
        return dataclasses.replace(self, n=min(FEW, self.n))

    @property
    def one(self) -> Axpy:
        return dataclasses.replace(self, n=min(ONE, self.n))

    @property
    def size(self) -> int:
        """Its elements."""
        return self.n

    def of_size(self, size: int) -> Axpy:
        return dataclasses.replace(self, n=size)

    def arrays(self) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(SEED)
        y, x = (rng.uniform(0.5, 1.5, self.n).astype(np.float32) for _ in range(2))
        return {"y": y, "x": x}

    def named(self, name: str) -> OneLaunch:
        return chosen({"axpy_basic": OneLaunch()}, name, "axpy")

    def sized(
        self, spec: OneLaunch, constants: Mapping[str, Any]
    ) -> tuple[OneLaunch, dict[str, Any]]:
        """Return the record with other sizes: elements of a thread, threads of a block."""
        return sized(spec, constants, {"elements": "elements", "threads": "threads"})

    def macros(self, spec: OneLaunch) -> frozenset[str]:
        return frozenset()

    def plan(self, kernel: Kernel) -> Plan:
        spec: OneLaunch = kernel.spec
        y, x = Array("y", (self.n,)), Array("x", (self.n,))
        arguments: tuple[Any, ...] = (y, x, np.int32(self.n), A)
        grid = kernels.grid_for(self.n, spec.threads, spec.threads * spec.elements)
        launch = Launch(
            kernels.source(spec.name),
            spec.name,
            (),
            grid,
            (spec.threads, 1, 1),
            arguments=arguments,
        )
        return kernel.rewritten((launch,), dict(zip("yxna", arguments, strict=True)))

    def verdict(
        self, arrays: Mapping[str, np.ndarray], kernel: Kernel, name: str
    ) -> checking.Verdict:
        before = self.arrays()
        product = A * before["x"].astype(np.float64)
        suspects = {"y as it was before": before["y"], "a * x alone, without y": product}
        want = product + before["y"]
        return checking.check(arrays["y"], want, rtol=RTOL, name=name, suspects=suspects)

    def passed(self, verdict: checking.Verdict) -> str:
        return str(verdict)

    @property
    def outputs(self) -> int:
        return self.n

    def covered(self, kernel: Kernel) -> int:
        (launch,) = self.plan(kernel)
        return launch.grid[0] * kernel.spec.threads * kernel.spec.elements

    @property
    def work(self) -> limits.Work:
        return limits.Work(bytes=12 * self.n, flops=2 * self.n)  # x is read, y read and written
