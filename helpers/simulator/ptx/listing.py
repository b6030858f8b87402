"""Machine code as nvdisasm and cuobjdump list it: the instructions of each kernel and function.

Of the two, nvdisasm writes labels and, before instructions, the line of PTX that ptxas had in hand
when it made them; cuobjdump writes addresses in place of labels. `sections` reads both. What the
code means is for others to say: `ptx.sass` which accesses come from which line, `bounds` which
ways lead through it, `bench.sass` how many instructions there are of each kind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

# A kernel begins so in a listing of nvdisasm, and in one of cuobjdump.
_SECTION = re.compile(r"^\s*(?:\.section\s+\.text\.|Function : )([^,\s]+)")
_OTHER_SECTION = re.compile(r"^\s*\.section\s")
_PTX_LINE = re.compile(r'^\s*//## File "\.nv_debug_ptx_txt", line (\d+)')
_LABEL = re.compile(r"^(\.?[\w$.]+):\s*$")
_INSTRUCTION = re.compile(
    r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:@(!?U?P\w+)\s+)?([A-Z][A-Z0-9_.]*)\s*([^;]*?)\s*;"
)
_TARGET = re.compile(r"`\((?P<label>[^)]+)\)")
_BYTES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}


class Instruction(NamedTuple):
    """One machine instruction.

    offset: bytes from the start of the kernel. predicate: "P0", "!P0" or "". opcode: with all
    suffixes, such as "LDG.E.CONSTANT". line: of the PTX text, from 1; 0 where it is not known.
    """

    offset: int
    predicate: str
    opcode: str
    operands: str
    line: int = 0

    @property
    def root(self) -> str:
        """The opcode's first word."""
        return self.opcode.partition(".")[0]

    @property
    def guarded(self) -> bool:
        """Whether it may be issued for no lane."""
        return self.predicate != ""

    @property
    def bytes(self) -> int:
        """Bytes that a lane moves with it, if it accesses memory."""
        return next((_BYTES[one] for one in self.opcode.split(".") if one in _BYTES), 4)

    @property
    def target(self) -> str:
        """The label among the operands, "" if there is none."""
        match = _TARGET.search(self.operands)
        return match["label"] if match else ""

    def __str__(self) -> str:
        guard = f"@{self.predicate}" if self.predicate else ""
        return f"/*{self.offset:04x}*/ {guard:>5} {self.opcode} {self.operands}".rstrip()


@dataclass
class Section:
    """The code of a kernel, or of a function beside the kernels.

    labels: by name, the number of the instruction that follows it.
    """

    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)

    def with_offsets(self) -> list[Instruction]:
        """Return the instructions with offsets in place of labels, as cuobjdump writes them."""
        offsets = {
            label: hex(self.instructions[place].offset)
            for label, place in self.labels.items()
            if place < len(self.instructions)
        }
        return [
            one._replace(
                operands=_TARGET.sub(lambda m: offsets.get(m["label"], m["label"]), one.operands)
            )
            for one in self.instructions
        ]


def sections(listing: str) -> Mapping[str, Section]:
    """Return the sections of a listing by the mangled names of their functions, in its order."""
    found: dict[str, Section] = {}
    section: Section | None = None
    line = 0
    for text in listing.splitlines():
        if match := _INSTRUCTION.match(text):
            if section is not None:
                offset, predicate, opcode, operands = match.groups()
                one = Instruction(int(offset, 16), predicate or "", opcode, operands, line)
                section.instructions.append(one)
        elif match := _PTX_LINE.match(text):
            line = int(match[1])
        elif match := _SECTION.match(text):
            section, line = found.setdefault(match[1], Section()), 0
        elif _OTHER_SECTION.match(text):
            section = None
        elif section is not None and (match := _LABEL.match(text)):
            section.labels[match[1]] = len(section.instructions)
    return found
