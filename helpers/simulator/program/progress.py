"""How far a launch came that was stopped at its time limit, and whether its loop waits for another
thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from helpers.quantities import quantity

from ..machine import library
from ..ptx.opcodes import (
    ACQUIRE,
    CONST_SPACE,
    LOCAL_SPACE,
    PARAM_SPACE,
    RELAXED,
    RESULT_UNUSED,
    SHARED_SPACE,
    VOLATILE,
)
from .module import Kernel

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
    ids, names = library.operation_ids(), library.operation_names()
    loop = kernel.program.instructions[_loop_around(kernel, pc)]
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


def first_wait(kernel: Kernel) -> int | None:
    """Return the beginning of the first loop of a kernel that does nothing but wait for another
    thread, None if there is none.
    """
    code, names = kernel.program.instructions, library.operation_names()

    def only_waits(end: int) -> bool:
        loop = code["operation"][int(code["target"][end]) : end]
        does_more = any(names[one].startswith(("st", "bar", "call")) for one in loop)
        return not does_more and wait_in_loop(kernel, end) != Wait.NOBODY

    waits = (end for end in map(int, _ends_of_loops(kernel)) if only_waits(end))
    return min((int(code["target"][end]) for end in waits), default=None)


def loads_left_out(kernel: Kernel, pc: int) -> tuple[int, ...]:
    """Return the loads in the lines of the innermost loop around an instruction, by the careful
    form of the kernel; () if the loop itself loads or updates memory.

    The compiler has then loaded once, before the loop, what the source asks for at each turn.
    """
    loop = _loop_around(kernel, pc)
    if len(loop) == 0 or _asks_memory(kernel, loop).any() or (careful := kernel.rehearsal) is None:
        return ()
    lines = {kernel.places.line_of(int(one)) for one in loop}
    loads = np.flatnonzero(_asks_memory(careful, np.arange(len(careful.program.instructions))))
    return tuple(one for one in map(int, loads) if careful.places.line_of(one) in lines)


def _loop_around(kernel: Kernel, pc: int) -> np.ndarray:
    """Return the instructions of the innermost loop around an instruction, none without a loop."""
    target = kernel.program.instructions["target"]
    around = [
        (int(end - target[end]), int(target[end]), int(end))
        for end in _ends_of_loops(kernel)
        if target[end] <= pc <= end
    ]
    if not around:
        return np.arange(0)
    _, first, last = min(around)
    return np.arange(first, last + 1)


def _ends_of_loops(kernel: Kernel) -> np.ndarray:
    """Return the branches that lead back."""
    code, ids = kernel.program.instructions, library.operation_ids()
    numbers = np.arange(len(code))
    back = (code["operation"] == ids["bra"]) & (code["target"] <= numbers) & (code["target"] >= 0)
    return numbers[back]


def _asks_memory(kernel: Kernel, pcs: np.ndarray) -> np.ndarray:
    """Return whether each of these instructions asks for a value that other threads may change."""
    code, names = kernel.program.instructions[pcs], library.operation_names()
    is_load = code["operation"] == library.operation_ids()["ld"]
    is_private = np.isin(code["space"], (LOCAL_SPACE, CONST_SPACE, PARAM_SPACE))
    is_atomic = np.array([names[one].startswith("atom.") for one in code["operation"]], bool)
    return (is_load & ~is_private) | is_atomic
