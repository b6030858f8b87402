"""The memory accesses of machine code, by the line of the PTX text that each comes from.

nvdisasm writes before instructions the line of PTX that ptxas had in hand when it made them. Of one
line there may be several: copies (ptxas unrolls loops), parts of one access, the loop that an
atomic became. A line that has none was joined to another one or removed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .listing import sections as read

_LOADS, _STORES = ("LD", "LDG", "LDS"), ("ST", "STG", "STS")
# Of local memory. ptxas also makes them for values that do not fit into registers, at lines of
# other instructions.
LOCAL_LOAD, LOCAL_STORE = "LDL", "STL"
_OTHERS = ("ATOM", "ATOMG", "ATOMS", "RED", "REDG", "LDSM", "STSM", "LDGSTS", "UBLKCP", "UBLKRED")
# Before an atomic: one lane acts for others. Several atomics may share a vote.
_ACROSS_LANES = ("VOTE", "VOTEU", "SHFL", "REDUX", "POPC", "UPOPC")
_ACCESSES = frozenset((*_LOADS, *_STORES, LOCAL_LOAD, LOCAL_STORE, *_OTHERS, *_ACROSS_LANES))


class Access(NamedTuple):
    """An instruction that accesses memory or exchanges values between lanes: its opcode with all
    suffixes, and the bytes of a lane (of plain loads and stores).
    """

    opcode: str
    bytes: int

    @property
    def root(self) -> str:
        return self.opcode.partition(".")[0]

    @property
    def is_plain(self) -> bool:
        """Whether it is a load or a store for the thread itself."""
        return self.root in _LOADS or self.root in _STORES

    @property
    def stores(self) -> bool:
        return self.root in _STORES


Lines = dict[int, tuple[Access, ...]]
RULES = "5"  # raised when `accesses` reads more or otherwise


def to_record(sections: dict[str, Lines]) -> dict[str, Any]:
    """Return the result of `accesses` as values for JSON."""
    return {
        section: {str(line): [list(one) for one in found] for line, found in lines.items()}
        for section, lines in sections.items()
    }


def from_record(record: dict[str, Any]) -> dict[str, Lines]:
    """Return accesses from the values of `to_record`."""
    return {
        section: {int(line): tuple(Access(*one) for one in found) for line, found in lines.items()}
        for section, lines in record.items()
    }


def accesses(listing: str) -> dict[str, Lines]:
    """Return the accesses by section (a kernel, or a function beside the kernels) and line of the
    PTX text, counted from 1. listing: of nvdisasm, with lines of PTX.
    """
    found: dict[str, Lines] = {}
    for name, section in read(listing).items():
        lines: dict[int, list[Access]] = {}
        for one in section.instructions:
            if one.line and one.root in _ACCESSES:
                lines.setdefault(one.line, []).append(Access(one.opcode, one.bytes))
        if lines:
            found[name] = {line: tuple(several) for line, several in lines.items()}
    return found


def of_kernel(sections: dict[str, Lines], kernel: str, kernels: list[str]) -> Lines:
    """Return the accesses of a kernel and of the functions beside the kernels."""
    found: Lines = {}
    for section, lines in sections.items():
        if section not in kernels:
            found.update(lines)
    found.update(sections.get(kernel, {}))
    return found

