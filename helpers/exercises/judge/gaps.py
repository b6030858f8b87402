"""A stub is the solution without its gaps, so that both have one text.

In a solution, a gap begins with lines `//> what to write` and ends with `//<`. The stub has what
to write as a comment, and none of the code between. A line `//= code` in a gap is code of the stub
alone. A gap without words leaves no comment. In Python, `#` stands for `//`:

        //> Load the tile: each thread up to four cells.      (stub: the comment)
        for (int r = threadIdx.y; r < SPAN; r += TILE)         (solution)
            ...
        //<
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_MARK = re.compile(r"(?P<indent>[ \t]*)(?P<comment>//|#)(?P<kind>[>=<])(?: (?P<text>.*))?")


class GapError(ValueError):
    """A gap that does not end, ends twice, or is empty; the message names its line."""


def stub(text: str) -> str:
    """Return the stub that a solution's text makes. Raises GapError where it has no gap."""
    lines = [line for is_stub, line in _lines(text) if is_stub is not False]
    if len(lines) == len(text.splitlines()):
        raise GapError(
            "the solution has no gap: begin one with `//> what to write`, and end it with `//<`"
        )
    return "".join(f"{line}\n" for line in lines)


def solution(text: str) -> str:
    """Return the solution without the marks of its gaps. Raises GapError."""
    return "".join(f"{line}\n" for is_stub, line in _lines(text) if is_stub is not True)


def _lines(text: str) -> Iterator[tuple[bool | None, str]]:
    """Yield lines, and whose they are: True of the stub, False of the solution, None of both."""
    begun, code = 0, 0  # the line of the open gap, and its lines of code
    for number, line in enumerate(text.splitlines(), 1):
        mark = _MARK.fullmatch(line)
        if mark is None:
            code += 1
            yield (False if begun else None), line
        elif mark["kind"] == ">":
            if begun and code:
                raise GapError(f"line {number}: the gap of line {begun} has no end yet")
            if not begun:
                begun, code = number, 0
            if mark["text"]:
                yield None, f"{mark['indent']}{mark['comment']} {mark['text']}"
        elif not begun:
            raise GapError(f"line {number}: no gap has begun")
        elif mark["kind"] == "=":
            yield True, f"{mark['indent']}{mark['text'] or ''}"
        else:
            if not code:
                raise GapError(f"line {number}: the gap of line {begun} holds no code")
            begun = 0
    if begun:
        raise GapError(f"the gap of line {begun} has no end: write `//<` below it")
