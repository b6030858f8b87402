"""How far a launch came that was stopped at its time limit, and whether its loop waits for another
thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from helpers.quantities import quantity

from . import library
from .module import Kernel
from .ptx.opcodes import ACQUIRE, RELAXED, RESULT_UNUSED, SHARED_SPACE, VOLATILE

_BLOCKS_LATE = 10  # a block that takes so many times as long as those before it does not go on
_SHARE_LATE = 0.1  # of the launch's time: a busy machine may keep a block from its core as long
_ROOM = 1.5  # by which a proposed time limit is larger than the estimate


@dataclass(frozen=True)
class Progress:
    """done: blocks that have run to their end, of the `blocks` that the launch runs; seconds: since
    its beginning; idle: seconds since a block ended; workers: cores that run blocks.
    """

    done: int
    blocks: int
    seconds: float
    idle: float
    workers: int = 1

    @property
    def each(self) -> float:
        """Seconds of a block, of those that are done; 0 without any."""
        return (self.seconds - self.idle) / self.done * self.workers if self.done else 0.0

    @property
    def is_slow(self) -> bool:
        """Whether blocks went on to end until the launch was stopped."""
        late = max(_BLOCKS_LATE * self.each, _SHARE_LATE * self.seconds)
        return self.idle < min(late, self.seconds / 2)

    @property
    def needed(self) -> int:
        """Seconds that are enough for all blocks, by those that are done, rounded up."""
        estimate = _ROOM * self.seconds * self.blocks / max(self.done, 1)
        digits = 10 ** max(len(str(int(estimate))) - 2, 0)
        return int(-(-estimate // digits) * digits)

    def words(self) -> str:
        """Return "after 120 s, with 3 of 64 blocks done"."""
        seconds = f"{self.seconds:.3g}" if self.seconds < 100 else f"{self.seconds:,.0f}"
        return f"after {seconds} s, with {self.done:,} of {quantity(self.blocks, 'block')} done"


def progress(blocks: int, seconds: float) -> Progress:
    """Return how far the running launch has come, of `blocks`, in the `seconds` since it began."""
    engine = library.machine()
    workers = max(engine.halo_workers_used(), 1)
    return Progress(engine.halo_blocks_done(), blocks, seconds, engine.halo_idle(), workers)


class Wait(Enum):
    """Whom a loop waits for: no other thread, one of its block, or one of any block."""

    NOBODY, BLOCK, GRID = range(3)


def wait_in_loop(kernel: Kernel, pc: int) -> Wait:
    """Return whom the innermost loop around an instruction waits for. It reads memory in the way in
    which a program waits for another thread: volatile, ordered, by an atomic whose result it uses,
    or plainly beside a fence, where the loop stores nothing. A loop that stores does not wait for a
    value of shared memory.
    """
    code, ids = kernel.program.instructions, library.operation_ids()
    numbers = np.arange(len(code))
    back = (code["operation"] == ids["bra"]) & (code["target"] <= numbers) & (code["target"] >= 0)
    around = [
        (int(end - code["target"][end]), int(code["target"][end]), int(end))
        for end in numbers[back]
        if code["target"][end] <= pc <= end
    ]
    if not around:
        return Wait.NOBODY
    _, first, last = min(around)
    loop = code[first : last + 1]
    names = library.operation_names()
    is_load = loop["operation"] == ids["ld"]
    is_atomic = np.array([names[one].startswith("atom.") for one in loop["operation"]], bool)
    watched = is_load & (loop["flags"] & (VOLATILE | RELAXED | ACQUIRE) != 0)
    taken = is_atomic & (loop["flags"] & RESULT_UNUSED == 0)
    stores = (loop["operation"] == ids["st"]).any()
    is_quiet = (loop["operation"] == ids["fence"]).any() & ~stores
    reads = watched | taken | (is_load & is_quiet)
    if (reads & (loop["space"] != SHARED_SPACE)).any():
        return Wait.GRID
    return Wait.BLOCK if reads.any() and not stores else Wait.NOBODY
