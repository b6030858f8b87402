"""Waits that a source does not have, put before its lines in the PTX: to try what they change."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .functions import with_bodies

_STORE = re.compile(r"\s*(?:@!?%p\d+\s+)?st\.(?!local|param)")


@dataclass(frozen=True)
class Barrier:
    """A wait before a line of the source: of all threads of the block, or with is_of_warp of those
    of a warp.

    is_at_start: only where the line's code begins, so that a loop's line has none at its turns;
    is_at_store: between what the line loads and what it stores.
    """

    line: int
    is_of_warp: bool = False
    is_at_start: bool = False
    is_at_store: bool = False


def with_barriers(code: str, file: str, barriers: tuple[Barrier, ...]) -> str:
    """Return PTX with a wait wherever control comes to the code of a line, or as Barrier says."""
    numbers = {
        line.split()[1] for line in code.splitlines() if line.lstrip().startswith(".file")
        and f'"{file}"' in line
    }  # fmt: skip

    def changed(name: str, body: str) -> str:
        lines, last = [], 0
        before = {one.line: one for one in barriers if not one.is_at_store}
        at_store = {one.line: one for one in barriers if one.is_at_store}
        for text in body.split("\n"):
            if last in at_store and _STORE.match(text):
                lines.append(_wait(at_store[last]))
            lines.append(text)
            words = text.split()
            if words[:1] != [".loc"] or len(words) < 3 or words[1] not in numbers:
                continue
            line = int(words[2].rstrip(","))
            if line != last and line in before:
                lines.append(_wait(before[line]))
                if before[line].is_at_start:
                    del before[line]
            last = line or last
        return "\n".join(lines)

    return with_bodies(code, changed)


def _wait(barrier: Barrier) -> str:
    return "bar.warp.sync -1;" if barrier.is_of_warp else "bar.sync 0;"
