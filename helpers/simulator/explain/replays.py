"""A launch step by step: recorded, and once more in another order where it has a race.

    replay = replay_of(source, "reverse", d, s, grid=(1,), block=(8,))
    replay.html()      # the picture, which a notebook shows by itself
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import record
from ..findings.findings import Finding
from . import drawings, words
from .changes import Schedule
from .pictures import Replay
from .tape import Tape


def replay_of(
    source: str,
    name: str,
    *args: Any,
    grid: Sequence[int],
    block: Sequence[int],
    shown: Sequence[int] = (0, 0, 0),
    want: tuple[str, np.ndarray] | None = None,
    title: str = "",
    **launch: Any,
) -> Replay:
    """Run one small launch, and return one of its blocks step by step.

    shown: the block's place in the grid; want: the name of an array and its right values; title:
    above the picture, by default what was found; launch: the other arguments of simulator.record,
    which has the first ones as well.
    Raises ValueError for a block that the grid does not have and for a record that is cut,
    pictures.TooLarge for too many threads or cells, and the exceptions of simulator.record.
    """
    more: dict[str, Any] = {"grid": grid, "block": block, "blocks": [tuple(shown)], **launch}
    tape = record(source, name, *args, **more)
    race = next((one for one in tape.findings if one.kind == "race"), None)
    other = None
    if (order := _other_order(tape, race)) is not None:
        other = record(source, name, *args, schedule=order, **more)
    made = drawings.replay(tape, title or _title(tape, race), other, want)
    made.html()  # raises TooLarge
    return made


def _title(tape: Tape, race: Finding | None) -> str:
    """Return what was found, in one line."""
    if race is not None and race.other_line is not None:
        return words.of_lines_that_race(tape.name, race.line, race.other_line)
    found = next(iter(tape.findings), None)
    if found is None:
        return words.of_threads(tape.name)
    return found.message.partition(";")[0]  # what was found, without its consequences


def _other_order(tape: Tape, race: Finding | None) -> Schedule | None:
    """Return an order in which the later one of two accesses that race comes first; None without a
    race between two threads of the block.
    """
    if race is None or race.other_line is None:
        return None
    number = tape._number(race.thread, tape.block, "thread")
    found = drawings.partners(tape, race)
    if not found:
        return None
    other, warp = found[0], number // 32
    if other // 32 != warp:
        return Schedule(warp=warp)
    lanes = range(32 * warp, min(32 * warp + 32, len(tape.threads)))
    ahead = [k for k in lanes if (k >= number if number > other else k <= number)]
    return Schedule(warp=warp, threads=tuple(ahead))
