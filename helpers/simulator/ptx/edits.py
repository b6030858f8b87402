"""Edits of PTX that try a cure: waits and fences before lines of the source, accesses made atomic,
and another order of the threads.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from .functions import with_bodies
from .syntax import TYPE_BYTES

BARRIER, WARP_BARRIER, FENCE = "bar.sync 0;", "bar.warp.sync -1;", "membar.gl;"
_FENCE_OF_BLOCK = re.compile(r"\b(membar\.cta;|fence\.\w+\.cta;|__threadfence_block\b)")
_STORE = re.compile(r"\s*(?:@!?%p\d+\s+)?st\.(?!local|param)")
_ACCESS = re.compile(
    r"\s*(ld|st)(?:\.volatile|\.relaxed|\.gpu|\.sys|\.cta|\.weak)*((?:\.global|\.shared)?)"
    r"\.([busf](?:32|64))\s+([^;{]*);\s*"
)
_PLACE = re.compile(r"\[[^]]*\]")
_THREAD = re.compile(r"mov\.u32\s+(%\w+), %tid\.([xyz]);")
# Instructions that tell the lanes of a warp apart.
_BY_LANE = re.compile(
    r"\b(shfl|vote|match|redux|activemask|ldmatrix|stmatrix|mma|wmma|wgmma|elect)\b|%laneid"
)


@dataclass(frozen=True)
class Wait:
    """An instruction before a line of the source.

    is_at_start: only where the line's code begins, so that a loop's line has none at its turns;
    is_at_store: between what the line loads and what it stores; is_behind_store: after each store.
    """

    line: int
    instruction: str = BARRIER
    is_at_start: bool = False
    is_at_store: bool = False
    is_behind_store: bool = False


def with_waits(code: str, file: str, waits: Collection[Wait]) -> str:
    """Return PTX with an instruction wherever control comes to the code of a line, or as Wait
    says.
    """
    numbers = _numbers_of(code, file)

    def changed(name: str, body: str) -> str:
        lines, last = [], 0
        at_store = {one.line: one for one in waits if one.is_at_store}
        behind = {one.line: one for one in waits if one.is_behind_store}
        others = (one for one in waits if not one.is_at_store and not one.is_behind_store)
        before = {one.line: one for one in others}
        for text in body.split("\n"):
            is_store = _STORE.match(text)
            if last in at_store and is_store:
                lines.append(at_store[last].instruction)
            lines.append(text)
            if last in behind and is_store:
                lines.append(behind[last].instruction)
            line = _line_of(text, numbers)
            if line is None:
                continue
            if line != last and line in before:
                lines.append(before[line].instruction)
                if before[line].is_at_start:
                    del before[line]
            last = line or last
        return "\n".join(lines)

    return with_bodies(code, changed)


def lines_of_block_fences(code: str, file: str) -> set[int]:
    """Return the lines of the source that have a __threadfence_block()."""
    numbers, last = _numbers_of(code, file), 0
    found: set[int] = set()
    for text in code.split("\n"):
        line = _line_of(text, numbers)
        last = last if line is None else line
        if _FENCE_OF_BLOCK.search(text):
            found.add(last)
    return found


def with_wide_atomics(code: str, lines: Iterable[int]) -> str:
    """Return PTX in which the atomics in these lines of it hold for all blocks."""
    texts = code.split("\n")
    for line in lines:
        texts[line - 1] = texts[line - 1].replace(".cta.", ".gpu.")
    return "\n".join(texts)


def with_atomics(code: str, lines: Iterable[int], updates: Mapping[int, int]) -> str:
    """Return PTX whose accesses in these lines of it are atomic; "" where one has no atomic form.

    updates: the lines of stores that change what a line loads, with those of the loads. The thread
    comes back to the load until nobody has stored between the two.
    """
    texts = code.split("\n")
    found = {
        line: _ACCESS.fullmatch(texts[line - 1]) for line in {*lines, *updates, *updates.values()}
    }
    for line, access in found.items():
        if access is None or (place := _PLACE.search(access[4])) is None:
            return ""
        root, space, kind, operands = access.groups()
        bits, value = 8 * TYPE_BYTES[kind], operands.replace(place[0], "").strip(" ,")
        load = found.get(updates.get(line, 0))
        if root == "ld":
            label = f"$cure_{line}:\n" if line in updates.values() else ""
            text = f"{label}atom{space}.or.b{bits} {value}, {place[0]}, 0;"
        elif load is not None:
            old = load[4].partition(",")[0]
            text = (
                f"{{ .reg .b{bits} %cure; .reg .pred %again;\n"
                f"atom{space}.cas.b{bits} %cure, {place[0]}, {old}, {value};\n"
                f"setp.ne.b{bits} %again, %cure, {old};\n@%again bra $cure_{updates[line]};\n}}"
            )
        else:
            text = (
                f"{{ .reg .b{bits} %cure;\natom{space}.exch.b{bits} %cure, {place[0]}, {value};\n}}"
            )
        texts[line - 1] = text
    return "\n".join(texts)


def with_threads_reversed(code: str) -> str:
    """Return PTX in which the last thread of a block does what the first one does, and so on: the
    threads run in the opposite order. Where lanes are told apart, the PTX is as it was.
    """
    if _BY_LANE.search(code):
        return code
    return _THREAD.sub(
        r"{ .reg .b32 %own; mov.u32 %own, %tid.\2; mov.u32 \1, %ntid.\2; "
        r"sub.u32 \1, \1, %own; sub.u32 \1, \1, 1; }",
        code,
    )


def _numbers_of(code: str, file: str) -> set[str]:
    """Return the numbers by which `.loc` means a file."""
    return {
        line.split()[1] for line in code.splitlines() if line.lstrip().startswith(".file")
        and f'"{file}"' in line
    }  # fmt: skip


def _line_of(text: str, numbers: Collection[str]) -> int | None:
    """Return the line of a source that a `.loc` begins, None for any other text."""
    words = text.split()
    if words[:1] != [".loc"] or len(words) < 3 or words[1] not in numbers:
        return None
    return int(words[2].rstrip(","))
