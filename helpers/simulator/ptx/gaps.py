"""Puts gaps between the local arrays of a function, so that an index past one of them meets a gap.

    float a[4], b[4];
    fill(a, 5);             // writes b[0], and nothing is wrong in the memory of the thread

A function has all its arrays in one block of local memory. `with_gaps` moves them apart in careful
PTX (careful.py), and lets the function tell the machine where the gaps are: an access there is a
finding. It does so only where the sizes of the arrays, in the source's order, give the very places
that the PTX uses. Its gaps end where the function ends: another function may have its memory then.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

from .declarations import Variable
from .functions import START, with_bodies
from .rows import END_OF_GAP, GAP, GAP_BYTES

_BLOCK = re.compile(r"(\.local \.align )(\d+)( \.b8[ \t]+__local_depot\d+\[)(\d+)(\];)")
_DIRECT = re.compile(r"(\[%SPL?)(?:\+(\d+))?(\])")
_ADDRESS = re.compile(r"(\badd\.u64[ \t]+%\w+, %SPL?, )(\d+)(;)")
_RETURN = re.compile(r"^([ \t]*)(@!?%\w+[ \t]+)?(ret(?:\.uni)?;)", re.MULTILINE)
_OTHER = re.compile(r"%SPL?\b")


def with_gaps(ptx: str, variables: Iterable[Variable]) -> str:
    """Return the PTX with gaps behind the local arrays of its functions; variables: those that the
    compiler describes, the arrays of a function in the source's order.
    """
    arrays: dict[str, list[Variable]] = {}
    for one in variables:
        if one.space == "local":
            arrays.setdefault(one.function, []).append(one)

    def changed(name: str, body: str) -> str:
        return _apart(body, arrays.get(name, []))

    return with_bodies(ptx, changed) if arrays else ptx


def _apart(body: str, arrays: list[Variable]) -> str:
    block = _BLOCK.search(body)
    starts, end = _places(arrays)
    if block is None or not starts or end != int(block[4]) or len(_BLOCK.findall(body)) > 1:
        return body
    addresses = {int(one[2]) for one in _ADDRESS.finditer(body)}
    known = len(_ADDRESS.findall(body)) + len(_DIRECT.findall(body))
    # Beside its uses %SP stands in its declaration and in the two instructions that set it.
    settings = len(re.findall(r"\.reg[^;]*%SPL?;|^[ \t]*(?:mov|cvta)[^;]*%SPL?[^;]*;", body, re.M))
    others = len(_OTHER.findall(body)) - known
    if any(one[2] for one in _RETURN.finditer(body)):
        return body
    if not addresses <= set(starts) or others > settings + 1:
        return body

    def moved(offset: int) -> int:
        return offset + GAP_BYTES * (bisect_right(starts, offset) - 1)

    body = _DIRECT.sub(lambda m: f"{m[1]}+{moved(int(m[2] or 0))}{m[3]}", body)
    body = _ADDRESS.sub(lambda m: f"{m[1]}{moved(int(m[2]))}{m[3]}", body)
    size = end + GAP_BYTES * len(starts)
    body = _BLOCK.sub(lambda m: f"{m[1]}{m[2]}{m[3]}{size}{m[5]}", body)
    ends = [moved(start) + one.nbytes for start, one in zip(starts, arrays, strict=True)]

    def told(function: str) -> list[str]:
        return [
            text
            for where in ends
            for text in (f"\tadd.u64 \t%gap, %SPL, {where};", f"\tcall.uni {function}, (%gap);")
        ]

    body = _RETURN.sub(lambda m: "\n".join([*told(END_OF_GAP), m[0]]), body)
    return START.sub(lambda m: "\n".join([m[0], "\t.reg .b64 \t%gap;", *told(GAP)]), body)


def _places(arrays: list[Variable]) -> tuple[list[int], int]:
    """Return where the arrays start, one after another, and where the last one ends."""
    starts, end = [], 0
    for one in arrays:
        width = one.element_bytes or 1
        align = min(width & -width, 16)
        starts.append(-(-end // align) * align)
        end = starts[-1] + one.nbytes
    return starts, end
