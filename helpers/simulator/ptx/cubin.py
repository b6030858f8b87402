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

import io
import struct
from collections.abc import Iterator, Mapping

from elftools.common.utils import struct_parse
from elftools.dwarf.lineprogram import LineProgram
from elftools.dwarf.structs import DWARFStructs

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
}
_SUMS_WITH_NUMBER = (0x810, 0x836)  # IADD3 and VIADD of a register and a number
_STACK = 1  # the register that points to a thread's stack
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
    table = sections.get(".nv_debug_line_sass", b"")
    relocations = sections.get(".rela.nv_debug_line_sass", b"")
    of_section: dict[str, dict[int, int]] = {}
    for name, address, line in _rows(table, relocations, symbols):
        of_section.setdefault(name, {})[address] = line
    found = {}
    for section in (one for one in sections if one.startswith(".text.")):
        name = section.removeprefix(".text.")
        lines = _of_code(sections[section], of_section.get(name, {}))
        if lines:
            found[name] = lines
    return found


def frame_bytes(code: bytes) -> int:
    """Return the bytes that a function takes from the stack: what it first subtracts from R1, 0 if
    it takes none.
    """
    for low, _ in struct.iter_unpack("<QQ", code):
        registers = low >> 16 & 0xFF, low >> 24 & 0xFF
        if low & 0xFFF in _SUMS_WITH_NUMBER and registers == (_STACK, _STACK):
            return max(-struct.unpack("<i", struct.pack("<I", low >> 32))[0], 0)
    return 0


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


# ---- the table of lines ----

_VERSION = 2  # of DWARF
_ADDRESS_BITS = 32  # of an address in the code of a section


def _rows(table: bytes, relocations: bytes, symbols: list[str]) -> Iterator[tuple[str, int, int]]:
    """Yield (section, address in it, line) of the rows of the table, in its order.

    relocations: the places of the table that hold the address of a symbol (a kernel, a function).
    """
    linked = bytearray(table)
    for place, info, _ in struct.iter_unpack("<QQq", relocations):
        struct.pack_into("<Q", linked, place, info >> 32 << _ADDRESS_BITS)  # the symbol's number
    stream = io.BytesIO(linked)
    structs = DWARFStructs(little_endian=True, dwarf_format=32, address_size=8)
    while (start := stream.tell()) < len(table):
        header = struct_parse(structs.Dwarf_lineprog_header, stream, start)
        if header["version"] != _VERSION:
            raise NotRead(f"a table of lines of version {header['version']}")
        end = start + 4 + header["unit_length"]
        for entry in LineProgram(header, stream, structs, stream.tell(), end).get_entries():
            row = entry.state
            if row is None or row.end_sequence:
                continue
            if row.file > 1:
                raise NotRead("a second file in the table of lines")
            number, address = divmod(row.address, 1 << _ADDRESS_BITS)
            if not number:
                raise NotRead("an address of no symbol in the table of lines")
            yield symbols[number], address, row.line
        stream.seek(end)
