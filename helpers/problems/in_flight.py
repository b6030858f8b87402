"""The launch of copy_in_flight: how many warps a multiprocessor has, and the loads of a thread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helpers import kernels
from helpers.launch import Array, Launch, Plan
from helpers.limits import WARP

NAME = "copy_in_flight"


@dataclass(frozen=True)
class InFlight:
    """A copy of an array. threads: of a block; loads: that a thread starts before it stores.

    warps: for each multiprocessor; their blocks walk over the array together. shared_kb: KB of
    shared memory that a block takes and does not use, so that fewer blocks run at a time.
    """

    name: str = NAME
    threads: int = 64
    loads: int = 4
    warps: int = 64
    shared_kb: int = 0

    def plan(self, n: int, multiprocessors: int) -> Plan:
        """Return the launch on "out" and "in" of n cells."""
        blocks = self.warps * WARP // self.threads * multiprocessors
        return (
            Launch(
                source=kernels.source(self.name),
                name=self.name,
                options=(f"-DTHREADS={self.threads}", f"-DLOADS={self.loads}"),
                grid=(blocks, 1, 1),
                block=(self.threads, 1, 1),
                shared=1024 * self.shared_kb,
                arguments=(Array("out", (n,)), Array("in", (n,)), np.int32(n)),
            ),
        )
