"""A copy from global memory to global memory on the bench: `bench.memcpy(2**25)`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import checking, device, limits
from helpers.bench.on_device import OnDevice, Ready
from helpers.bench.problem import Problem
from helpers.bench.sources import Kernel, KernelError, sized
from helpers.bench.task import Library, require_source
from helpers.launch import Array, Plan
from helpers.problems import in_flight
from helpers.quantities import quantity

DRIVER = "device-to-device copy"
FEW, ONE = 4_099, 98_304  # cells of a check, a prime; of a count: whole rounds
SEED = 25


def memcpy(n: int = 2**25) -> Memcpy:
    """Return a copy of n floats from one array to another one.

    Its kernels are copy_in_flight and "device-to-device copy", CUDA's own, which is timed and
    cannot be counted. Raises ValueError for no float.
    """
    limits.require_count(n, "n", "the number of floats")
    return Memcpy(n, device.select().multiprocessors)


@dataclass(frozen=True)
class Memcpy(Problem):
    """A copy: "out" of "in". multiprocessors: how many the GPU has; some kernels are launched with
    a number of warps on each.
    """

    n: int
    multiprocessors: int

    @property
    def title(self) -> str:
        return f"a copy of {quantity(self.n, 'float')}"

    @property
    def where(self) -> Mapping[str, Any]:
        return {"cells": self.n}

    @property
    def few(self) -> Memcpy:
        return Memcpy(min(FEW, self.n), 2)

    @property
    def one(self) -> Memcpy:
        return Memcpy(min(ONE, self.n), 8)

    @property
    def size(self) -> int:
        """Its floats."""
        return self.n

    def of_size(self, size: int) -> Memcpy:
        return dataclasses.replace(self, n=size)

    def counted_sizes(self, kernel: Kernel) -> tuple[int, int]:
        """Return one and two walks of all blocks together over the array."""
        walk = self.of_size(1).covered(kernel)
        return walk, 2 * walk

    def arrays(self) -> dict[str, np.ndarray]:
        values = np.random.default_rng(SEED).random(self.n, dtype=np.float32)
        return {"out": np.full_like(values, np.nan), "in": values}

    def named(self, name: str) -> Any:
        if name == DRIVER:
            return Library(DRIVER)
        if name != in_flight.NAME:
            raise KernelError(
                f"there is no kernel {name!r} that copies; choose from {in_flight.NAME}, {DRIVER}"
            )
        return in_flight.InFlight()

    def sized(self, spec: Any, constants: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Return the record with other sizes: LOADS, THREADS, WARPS and SHARED_KB."""
        names = ("LOADS", "THREADS", "WARPS", "SHARED_KB")
        return sized(spec, constants, {name: name.lower() for name in names})

    def facts(self, spec: Any) -> Mapping[str, Any]:
        return {} if isinstance(spec, Library) else {"loads": spec.loads, "warps": spec.warps}

    def macros(self, spec: Any) -> frozenset[str]:
        return frozenset(("LOADS", "THREADS"))

    def plan(self, kernel: Kernel) -> Plan:
        require_source(kernel)
        plan = kernel.spec.plan(self.n, self.multiprocessors)
        values = {"out": Array("out", (self.n,)), "in": Array("in", (self.n,))}
        new = kernel.rewritten(plan, values | {"n": np.int32(self.n)})
        # Shared memory only limits how many blocks run at a time, of a changed text as well.
        shared = plan[0].shared
        return tuple(dataclasses.replace(one, shared=shared) for one in new)

    def verdict(
        self, arrays: Mapping[str, np.ndarray], kernel: Kernel, name: str
    ) -> checking.Verdict:
        return checking.check(arrays["out"], arrays["in"], rtol=0.0, name=name)

    def passed(self, verdict: checking.Verdict) -> str:
        return f"PASS {verdict.name}: all {quantity(verdict.count, 'value')} are copied"

    @property
    def outputs(self) -> int:
        return self.n

    def covered(self, kernel: Kernel) -> int:
        (one,) = self.plan(kernel)
        walk = math.prod(one.grid) * kernel.spec.threads * kernel.spec.loads
        return -(-self.n // walk) * walk

    @property
    def work(self) -> limits.Work:
        return limits.Work(bytes=8 * self.n, flops=0)

    def on_device(self) -> MemcpyOnDevice:
        return MemcpyOnDevice(self)


class MemcpyOnDevice(OnDevice):
    """Both arrays on the GPU."""

    problem: Memcpy

    def error(self, kernel: Kernel) -> float:
        """Return 0: a copy that has passed is exact."""
        return 0.0

    def ready(self, kernel: Any) -> Ready:
        one = self.problem.kernel(kernel)
        if not isinstance(one.spec, Library):
            return super().ready(one)
        import pycuda.driver as cuda

        target, source = self.arrays["out"], self.arrays["in"]

        def run(stream: Any = None) -> None:
            cuda.memcpy_dtod_async(target, source, 4 * self.problem.n, stream)

        self.poison()
        run()
        return Ready(one, run, self.verdict(one), 0, 0.0)
