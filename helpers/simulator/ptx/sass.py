"""The memory accesses of machine code, by the line of the PTX text that each comes from.

nvdisasm writes, before an instruction, the line of the PTX text that ptxas had in hand when it made it. Several instructions of one
line are copies that ptxas made (of a loop's body), parts of one access, or the loop that an atomic became; a line that has none
was joined to another or removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_SECTION = re.compile(r"^\s*\.section\s+\.text\.([^,\s]+)")
_LINE = re.compile(r'^\s*//## File "\.nv_debug_ptx_txt", line (\d+)')
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)")
_BYTES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
_ACCESSES = frozenset(
    "LD LDG LDS ST STG STS ATOM ATOMG ATOMS RED REDG LDSM STSM LDGSTS UBLKCP UBLKRED".split()
)  # fmt: skip


class Access(NamedTuple):
    """One instruction that accesses memory: its opcode with all suffixes, and bytes of a lane (of LD..., ST... and atomics)."""

    opcode: str
    bytes: int

    @property
    def root(self) -> str:
        return self.opcode.partition(".")[0]


Lines = dict[int, tuple[Access, ...]]


def accesses(listing: str) -> dict[str, Lines]:
    """By section (a kernel, or a function that is not part of one) and line of the PTX text, counted from 1, its accesses."""
    sections: dict[str, dict[int, list[Access]]] = {}
    for section, line, opcode in _instructions(listing):
        root, *suffixes = opcode.split(".")
        if root in _ACCESSES:
            width = next((_BYTES[one] for one in suffixes if one in _BYTES), 4)
            sections.setdefault(section, {}).setdefault(line, []).append(Access(opcode, width))
    return {section: {line: tuple(found) for line, found in lines.items()} for section, lines in sections.items()}


def _instructions(listing: str) -> Iterator[tuple[str, int, str]]:
    """(section, line of the PTX text, opcode) of each instruction whose line is known."""
    section, line = "", 0
    for text in listing.splitlines():
        if match := _INSTRUCTION.match(text):
            if line:
                yield section, line, match[1]
        elif match := _LINE.match(text):
            line = int(match[1])
        elif match := _SECTION.match(text):
            section, line = match[1], 0
