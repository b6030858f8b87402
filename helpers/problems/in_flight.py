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

    warps: on each multiprocessor, which walk over the array together; 0 for a block for each piece
    of the array, so that the hardware keeps as many warps on a multiprocessor as fit. shared_kb:
    KB of shared memory that a block takes and does not use, which leaves room for fewer blocks.
    """

    name: str = NAME
    threads: int = 64
    loads: int = 4
    warps: int = 64
    shared_kb: int = 0

    def plan(self, n: int, multiprocessors: int) -> Plan:
        """Return the launch on "out" and "in" of n cells."""
        piece = self.threads * self.loads
        blocks = self.warps * WARP // self.threads * multiprocessors or -(-n // piece)
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
