"""Reads the memory accesses of a cubin from its bytes.

nvdisasm takes 0.4 s to start, even for a small kernel, and a launch needs only the memory accesses
of the machine code and their lines. Most kernels have only instructions that this module knows. It
guesses nothing: nvdisasm reads a kernel with any other instruction. The codes are those of compute
capability 9.0, with nvdisasm's names.

An instruction has 16 bytes. The low 9 bits are the operation, the next 3 bits tell where its
operands are (registers, constants, the instruction itself), and bits 73 to 75 are the width of a
load or store.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from .sass import Access, Lines

_INSTRUCTION_BYTES = 16
_PLAIN = {0x180: "LD", 0x181: "LDG", 0x184: "LDS", 0x185: "ST", 0x186: "STG", 0x188: "STS"}
_LOCAL = {0x183: "LDL", 0x187: "STL"}
_WIDTHS = ((".U8", 1), (".S8", 1), (".U16", 2), (".S16", 2), ("", 4), (".64", 8), (".128", 16))
# Atomics, copies, and instructions that connect lanes, by the low 12 bits. Only their presence in a
# line counts, not their width.
_SPECIAL = {
    0x38B: "ATOM", 0x38C: "ATOMS", 0x98C: "ATOMS", 0xF8C: "ATOMS.POPC.INC", 0x38D: "ATOMS",
    0x3A9: "ATOMG", 0x9A8: "ATOMG", 0x98E: "REDG", 0x9A6: "REDG", 0xFAE: "LDGSTS", 0x83B: "LDSM",
    0x3BA: "UBLKCP", 0x806: "VOTE", 0x886: "VOTEU", 0x3C4: "REDUX", 0x309: "POPC", 0xD09: "POPC",
    0x2BF: "UPOPC", 0x389: "SHFL", 0x589: "SHFL", 0x989: "SHFL", 0xF89: "SHFL",
}  # fmt: skip
# Instructions that do none of this.
_OTHERS = frozenset(
    (
        *(0x002, 0x003, 0x005, 0x007, 0x016, 0x01C),  # MOV P2R CS2R SEL PRMT PLOP3
        *(0x008, 0x009, 0x00A, 0x00B, 0x020, 0x021, 0x023),  # FSEL FMNMX FSET FSETP FMUL FADD FFMA
        *(0x00C, 0x00F, 0x010, 0x011, 0x012, 0x013, 0x019),  # ISETP VIMNMX3 IADD3 LEA LOP3 IABS SHF
        *(0x024, 0x025, 0x026, 0x027, 0x036, 0x046, 0x048),  # IMAD IDP VIADD VIADDMNMX VIMNMX
        *(0x028, 0x029, 0x02A, 0x02B, 0x030, 0x031, 0x032, 0x035),  # DMUL DADD DSETP DFMA HADD2 ...
        *(0x037, 0x03C, 0x03F),  # IMMA HMMA DMMA: products of matrices
        *(0x03E, 0x045, 0x102, 0x105, 0x106, 0x108, 0x112),  # F2FP I2FP FCHK F2I I2F MUFU
        *(0x101, 0x107, 0x110, 0x113, 0x1A1),  # BREV FRND F2F FRND MATCH
        *(0x082, 0x087, 0x08C, 0x090, 0x091, 0x092, 0x096),  # UMOV USEL UISETP UIADD3 ULEA ...
        *(0x099, 0x09C, 0x0A4, 0x0A5, 0x0CA, 0x1C3),  # USHF UPLOP3 UIMAD R2UR S2UR
        *(0x0B9, 0x0BB, 0x119, 0x182),  # ULDC S2R LDC
        *(0x118, 0x11A, 0x11D, 0x141, 0x144, 0x145, 0x146),  # NOP DEPBAR BAR BSYNC CALL BSSY YIELD
        *(0x142, 0x155, 0x156, 0x18F, 0x1AB),  # BREAK BMOV CCTL ERRBAR
        *(0x147, 0x148, 0x14D, 0x150, 0x192, 0x1AF, 0x1C6),  # BRA WARPSYNC EXIT RET MEMBAR ...
        *(0x02F, 0x0BD, 0x100, 0x11B, 0x1A7, 0x1B2, 0x1B7),  # ELECT UFLO FLO ENDCOLLECTIVE ...
    )
)


class NotRead(Exception):
    """The cubin has an instruction or a table of lines that this module does not know."""


def accesses(sections: Mapping[str, bytes], symbols: list[str]) -> dict[str, Lines]:
    """Return the accesses by section (a kernel, or a function beside the kernels) and line of the
    PTX text, counted from 1. They are those that `sass.accesses` reads from a listing, but without
    hints for caches and without the widths of atomics and copies.

    sections: the cubin's sections by name; symbols: names of symbols by number. Raises NotRead.
    """
    places = _places(sections.get(".rela.nv_debug_line_sass", b""), symbols)
    of_section: dict[str, dict[int, int]] = {}
    for name, address, line in _rows(sections.get(".nv_debug_line_sass", b""), places):
        of_section.setdefault(name, {})[address] = line
    found = {}
    for section in (one for one in sections if one.startswith(".text.")):
        name = section.removeprefix(".text.")
        lines = _of_code(sections[section], of_section.get(name, {}))
        if lines:
            found[name] = lines
    return found


def _of_code(code: bytes, lines: Mapping[int, int]) -> Lines:
    """Return the accesses of a section; lines: the line that begins at each address."""
    found: dict[int, list[Access]] = {}
    line = 0
    for address in range(0, len(code), _INSTRUCTION_BYTES):
        low, high = struct.unpack_from("<QQ", code, address)
        line = lines.get(address, line)
        operation = low & 0x1FF
        name = _PLAIN.get(operation) or _LOCAL.get(operation)
        if name is not None:
            width = high >> 9 & 7
            if width >= len(_WIDTHS):
                raise NotRead(f"a load or store of width {width} at {address:#x}")
            if line:
                suffix, size = _WIDTHS[width]
                found.setdefault(line, []).append(Access(name + suffix, size))
        elif low & 0xFFF in _SPECIAL:
            if line:
                found.setdefault(line, []).append(Access(_SPECIAL[low & 0xFFF], 0))
        elif operation not in _OTHERS:
            raise NotRead(f"an instruction of code {low & 0xFFF:#x} at {address:#x}")
    return {line: tuple(several) for line, several in found.items()}


# ---- the table of lines: a program of DWARF 2, one sequence a section ----

_COPY, _ADVANCE, _ADVANCE_LINE, _SET_FILE, _ADD_CONSTANT, _FIXED_ADVANCE = 1, 2, 3, 4, 8, 9
_COLUMN, _NEGATE, _BASIC_BLOCK = 5, 6, 7  # these have no effect on addresses and lines
_END, _SET_ADDRESS = 1, 2  # extended operations, which come after a zero and a length


def _places(relocations: bytes, symbols: list[str]) -> dict[int, str]:
    """Return the symbols (kernels, functions) whose addresses are in the table, by their offset in
    the table.
    """
    return {
        offset: symbols[info >> 32] for offset, info, _ in struct.iter_unpack("<QQq", relocations)
    }


def _rows(table: bytes, places: Mapping[int, str]) -> Iterator[tuple[str, int, int]]:
    """Yield (section, address in it, line) of the rows, in the table's order."""
    at = 0
    while at < len(table):
        size, version, header = struct.unpack_from("<IHI", table, at)
        end = at + 4 + size
        if version != 2:
            raise NotRead(f"a table of lines of version {version}")
        yield from _Program(table, at + 10, at + 10 + header, end, places).rows()
        at = end


class _Program:
    """One program of the table: its header begins at `header`, its instructions at `start`."""

    def __init__(self, table: bytes, header: int, start: int, end: int, places: Mapping[int, str]):
        self.table, self.at, self.end, self.places = table, start, end, places
        step, _, self.line_base, self.line_range, self.opcode_base = struct.unpack_from(
            "<BBbBB", table, header
        )
        self.step = step
        self.lengths = table[header + 5 : header + 4 + self.opcode_base]

    def rows(self) -> Iterator[tuple[str, int, int]]:
        section, address, line = "", 0, 1
        while self.at < self.end:
            code = self._byte()
            if code >= self.opcode_base:
                advance, more = divmod(code - self.opcode_base, self.line_range)
                address += self.step * advance
                line += self.line_base + more
                yield section, address, line
            elif code == 0:
                length = self._unsigned()
                after, extended = self.at + length, self.table[self.at]
                if extended == _END:
                    section, address, line = "", 0, 1
                elif extended == _SET_ADDRESS:
                    if self.at + 1 not in self.places:
                        raise NotRead("an address of no symbol in the table of lines")
                    section = self.places[self.at + 1]
                    (address,) = struct.unpack_from("<Q", self.table, self.at + 1)
                self.at = after
            elif code == _COPY:
                yield section, address, line
            elif code == _ADVANCE:
                address += self.step * self._unsigned()
            elif code == _ADVANCE_LINE:
                line += self._signed()
            elif code == _ADD_CONSTANT:
                address += self.step * ((255 - self.opcode_base) // self.line_range)
            elif code == _FIXED_ADVANCE:
                address += int.from_bytes(self.table[self.at : self.at + 2], "little")
                self.at += 2
            elif code == _SET_FILE:
                if self._unsigned() != 0:
                    raise NotRead("a second file in the table of lines")
            elif code in (_COLUMN, _NEGATE, _BASIC_BLOCK) or code <= len(self.lengths):
                for _ in range(self.lengths[code - 1]):
                    self._unsigned()

    def _byte(self) -> int:
        self.at += 1
        return self.table[self.at - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    def _signed(self) -> int:
        start = self.at
        value, bits = self._unsigned(), 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) & 1 else value
