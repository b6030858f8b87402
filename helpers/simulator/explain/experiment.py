"""A small launch that is run again, each time with one thing done otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..launch.launch_limits import Extents
from .changes import Change
from .tape import Tape
from .translation import Wait

# Of 65,536 backward branches: so many take more words than a record holds, so that a launch that
# takes them has no story but that of a loop without an end.
MOST_TURNS = 2
Thread = tuple[tuple[int, int, int], tuple[int, int, int]]  # block, thread


@dataclass
class Experiment:
    """One launch of a kernel. arguments: by parameter, in order; runs: how often it was run."""

    source: str
    name: str
    arguments: tuple[Any, ...]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    options: tuple[str, ...] = ()
    constants: Mapping[str, Any] = field(default_factory=dict)
    time_limit: float = 1.0
    runs: int = 0

    def record(
        self,
        changes: Sequence[Change] = (),
        barriers: Sequence[Wait] = (),
        blocks: Sequence[Extents] | None = None,
        is_checked: bool = True,
    ) -> Tape:
        """Run the launch, with changes and with waits that the source does not have. blocks:
        those of which the tape has what the threads do, by default all; is_checked: whether for all
        faults, or for those that end a launch. Raises NotRecorded, and
        ValueError for a change that cannot be made.
        """
        from .. import record

        self.runs += 1
        more: dict[str, Any] = {} if is_checked else {"observe": ("bounds",)}
        tape = record(
            self.source, self.name, *self.arguments, grid=self.grid, block=self.block,
            options=self.options, constants=self.constants, time_limit=self.time_limit,
            changes=tuple(changes), barriers=tuple(barriers), most_turns=MOST_TURNS,
            blocks=blocks, **more,
        )  # fmt: skip
        if not is_checked:
            tape.check = partial(self.record, changes, barriers, blocks)
        return tape
