"""A small launch that is run again, each time with one thing done otherwise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..launch.launch_limits import Extents
from .changes import Change
from .tape import Tape
from .translation import Wait
from .work import Work

# Of 65,536 backward branches: so many take more words than a record holds, so that a launch that
# takes them has no story but that of a loop without an end.
MOST_TURNS = 2
MOST_SECONDS = 60.0  # a safeguard: turns and words end a record long before
# What runs cost, in the units of Work.
_RUN = 800
_WORDS_RUN, _WORDS_RECORDED = 120, 60  # of a record, for one unit
_ENDLESS = 30_000
Thread = tuple[tuple[int, int, int], tuple[int, int, int]]  # block, thread


@dataclass
class Experiment:
    """One launch of a kernel. arguments: by parameter, in order; runs: how often it was run; work:
    what its runs may cost.
    """

    source: str
    name: str
    arguments: tuple[Any, ...]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    options: tuple[str, ...] = ()
    constants: Mapping[str, Any] = field(default_factory=dict)
    runs: int = 0
    work: Work = field(default_factory=Work)
    _words: int = 0  # of its longest record

    def record(
        self,
        changes: Sequence[Change] = (),
        barriers: Sequence[Wait] = (),
        blocks: Sequence[Extents] | None = None,
        is_checked: bool = True,
    ) -> Tape:
        """Run the launch, with changes and with waits that the source does not have. blocks:
        those of which the tape has what the threads do, by default all; is_checked: whether for all
        faults, or for those that end a launch. Raises NotRecorded, Spent, and ValueError for
        a change that cannot be made.
        """
        from .. import record

        self.work.spend(_RUN)
        self.runs += 1
        more: dict[str, Any] = {} if is_checked else {"observe": ("bounds",)}
        tape = record(
            self.source, self.name, *self.arguments, grid=self.grid, block=self.block,
            options=self.options, constants=self.constants, time_limit=MOST_SECONDS,
            changes=tuple(changes), barriers=tuple(barriers), most_turns=MOST_TURNS,
            blocks=blocks, **more,
        )  # fmt: skip
        tape.work = self.work
        self._words = max(self._words, len(tape.recording.words))
        units = self._words / (_WORDS_RUN if blocks == () else _WORDS_RECORDED)
        if any(one.kind == "runaway" for one in tape.recording.report.findings):
            units += _ENDLESS
        self.work.spend(units, reserve=math.inf)  # it has been done
        if not is_checked:
            tape.check = partial(self.record, changes, barriers, blocks)
        return tape
