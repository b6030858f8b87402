"""Assembles a program's PTX with ptxas: registers, memory and machine code, as on a GPU of compute
capability 9.0.

Every program that is compiled is assembled, because ptxas refuses some that the compiler accepts. A
launch that counts needs the accesses of the machine code, too. Resources and listings are made when
somebody asks for them. The programs ptxas and nvdisasm come with two wheels.
"""

from __future__ import annotations

import base64
import contextlib
import math
import os.path
import re
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from ..compile import compiler_cache, named_later, servers, toolkit
from ..compile.compiler import Compiled, parsed
from ..compile.toolchain import CompileFailed
from ..ptx import cubin
from ..ptx import sass as machine_code

_KERNEL = re.compile(r"Function properties for (?P<name>\S+)\s+(?P<text>[^\n]*)")
_SPILLS = re.compile(r"(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads")
# The architecture reserves these bytes of each block, in the section of a kernel's arrays.
_RESERVED_SHARED = 1024

# "ptxas kernel.ptx, line 38; error   : Instruction 'vote' without '.sync' is not supported ..."
_REFUSAL = re.compile(r"ptxas (?:\S+, line (?P<line>\d+); )?\s*(?:error|fatal)\s*: (?P<words>.*)")

_BY_ASSEMBLER = (
    "The compiler accepts this and the assembler, ptxas, refuses it, so that it runs on no GPU of "
    "this architecture."
)

# The cubin is an ELF file of 64 bits. Of a section's head: name, kind, offset, size, link; of a
# symbol: name, kind, section, value; and their kinds.
_HEAD, _SYMBOL = struct.Struct("<II16xQQI20x"), struct.Struct("<IBxHQ8x")
_SYMBOLS, _NO_CONTENTS, _FUNCTION = 2, 8, 2
# Attributes in the .nv.info sections of a cubin; `cuobjdump -elf` shows them.
_REGISTERS, _FRAME, _STACK, _THREADS = 0x2F, 0x11, 0x12, 0x05
_LONG_VALUE = 0x04  # in this format the value's bytes follow; the other formats have two bytes


@dataclass(frozen=True)
class Resources:
    """The resources that a thread or block of one kernel uses.

    registers: 32-bit registers of a thread; local_bytes: local memory of a thread; shared_bytes:
    static shared memory of a block; constant_bytes: bytes of the program's `__constant__`
    variables; max_threads: the limit of threads in a block by `__launch_bounds__`, 0 without a
    limit; spill_store_bytes, spill_load_bytes: bytes that the code stores and loads because it
    lacks registers.
    """

    registers: int
    local_bytes: int
    shared_bytes: int
    constant_bytes: int
    max_threads: int
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0


def begin(compiled: Compiled) -> None:
    """Begin to assemble a program, while the caller goes on."""
    if toolkit.program("ptxas") is not None:
        _begin(*_input(compiled))


@lru_cache(maxsize=16)
def _begin(ptx: str, architecture: str, registers: int, contract: bool) -> None:
    """Begin once: each launch asks for it, and a second thread would find what the first has made.
    """
    _Assembling.of((ptx, architecture, registers, contract))


def require(compiled: Compiled) -> None:
    """Wait for what `begin` has begun. Raises CompileFailed for a program that the assembler
    refuses, with its words and the lines of the source. Without the assembler's wheel it does
    nothing.
    """
    if toolkit.program("ptxas") is None:
        return
    try:
        _assembled(*_input(compiled))
    except CompileFailed as refused:
        raise CompileFailed(_in_lines_of_source(refused.message, compiled)) from None


def _in_lines_of_source(message: str, compiled: Compiled) -> str:
    """Return what the assembler says, in the form of the compiler's messages."""
    source, rows = compiled.source.splitlines(), []
    for found in _REFUSAL.finditer(message):
        words = found["words"].strip()
        if words.startswith("Ptx assembly aborted"):
            continue
        file, line = _line_of_source(int(found["line"] or 0), compiled)
        where = f"{file}({line})" if line else file
        rows.append(f"{where}: error: {words}")
        if file == compiled.file and 0 < line <= len(source):
            rows.append(f"  {source[line - 1].strip()}")
    return "\n".join([*dict.fromkeys(rows), _BY_ASSEMBLER]) if rows else message


def _line_of_source(number: int, compiled: Compiled) -> tuple[str, int]:
    """Return the file and the line that a line of the PTX comes from: in the source, if it is there
    or called there. The line is 0 if nothing says it.
    """
    own = os.path.basename(compiled.file)
    module = parsed(compiled.ptx)
    for name in (one.name for one in module.functions.values() if one.text is not None):
        body = module.body(name)
        places = [
            body.places[statement.place]
            for statement, line in zip(body.statements, body.lines, strict=True)
            if line == number
        ]
        for place in places[:1]:
            frames = ((place.file, place.line), *place.inlined)
            for file, line in frames:
                if os.path.basename(file) == own:
                    return compiled.file, line
            return frames[0]
    return compiled.file, 0


def resources(compiled: Compiled) -> dict[str, Resources]:
    """Return the resources of each kernel by its mangled name.

    Raises CompileFailed with the assembler's words, and toolkit.ToolkitMissingError if its wheel is
    not installed.
    """
    cubin, log = _assembled(*_input(compiled))
    sections = _sections(cubin)
    names = _symbols(cubin)
    values = {
        (attribute, names[symbol]): value
        for attribute, data in _attributes(sections.get(".nv.info", b""))
        if len(data) == 8
        for symbol, value in [struct.unpack("<II", data)]
        if symbol < len(names)
    }
    spills = {found["name"]: _SPILLS.search(found["text"]) for found in _KERNEL.finditer(log)}
    found = {}
    for name in (kernel.mangled for kernel in compiled.kernels):
        shared = len(sections.get(f".nv.shared.{name}", b""))
        bounds = dict(_attributes(sections.get(f".nv.info.{name}", b""))).get(_THREADS, b"")
        spilled = spills.get(name)
        found[name] = Resources(
            registers=values.get((_REGISTERS, name), 0),
            local_bytes=max(values.get((_FRAME, name), 0), values.get((_STACK, name), 0)),
            shared_bytes=max(shared - _RESERVED_SHARED, 0),
            constant_bytes=len(sections.get(".nv.constant3", b"")),
            max_threads=math.prod(struct.unpack("<III", bounds)) if len(bounds) == 12 else 0,
            spill_store_bytes=int(spilled["stores"]) if spilled else 0,
            spill_load_bytes=int(spilled["loads"]) if spilled else 0,
        )
    return found


def stack_frames(compiled: Compiled) -> dict[str, int]:
    """Return the bytes that each function takes from a thread's stack, by its mangled name.

    The cubin has no such number for functions that call themselves: their code says it. Raises
    CompileFailed and toolkit.ToolkitMissingError as `resources`.
    """
    binary, _ = _assembled(*_input(compiled))
    sections, frames = _sections(binary), {}
    functions = sorted(_functions(binary))
    for (section, start, symbol), (next_section, end, _) in zip(
        functions, [*functions[1:], ("", 0, "")], strict=True
    ):
        code = sections[section][start : end if next_section == section else None]
        frames[symbol.rpartition("$")[2]] = cubin.frame_bytes(code)
    return frames


def sass(compiled: Compiled) -> str | None:
    """Return the machine code of all kernels with its source lines; None if nvdisasm or ptxas is
    not installed.

    Raises CompileFailed with the assembler's words.
    """
    return _listing(compiled, "--print-line-info")


def accesses(compiled: Compiled, kernel: str) -> machine_code.Lines | None:
    """Return the memory accesses in the machine code of a kernel (by its mangled name), by line of
    the PTX; None if nvdisasm or ptxas is not installed or refuses the program.
    """
    parts = map(str, _input(compiled))
    key = compiler_cache.key_of([*parts, repr(toolkit.versions()), machine_code.RULES])
    record = compiler_cache.load("accesses", key)
    if record is None:
        try:
            lines = _accesses(compiled)
        except CompileFailed:
            return None
        if lines is None:
            return None
        record = machine_code.to_record(lines)
        compiler_cache.store("accesses", key, record)
    sections = machine_code.from_record(record)
    return machine_code.of_kernel(sections, kernel, [one.mangled for one in compiled.kernels])


def _accesses(compiled: Compiled) -> dict[str, machine_code.Lines] | None:
    """Return the accesses by section and line: from the cubin's bytes if `ptx.cubin` knows all its
    instructions, else from a listing; None if a program is not installed.
    """
    if toolkit.program("nvdisasm") is None or toolkit.program("ptxas") is None:
        return None
    binary, _ = _assembled(*_input(compiled))
    sections = _sections(binary)
    try:
        return cubin.accesses(sections, _symbols(binary))
    except cubin.NotRead:
        listing = _listing(compiled, "--print-line-info-ptx")
    return machine_code.accesses(listing) if listing is not None else None


def with_lines_of_ptx(compiled: Compiled) -> str | None:
    """Return what `sass` does, with the lines of the PTX text."""
    return _listing(compiled, "--print-line-info-ptx")


def _listing(compiled: Compiled, lines: str) -> str | None:
    """Return the machine code as text; lines: nvdisasm's option for the lines of the source or of
    the PTX.

    The cache keeps it, because nvdisasm takes 0.4 s to start.
    """
    disassembler = toolkit.program("nvdisasm")
    if disassembler is None or toolkit.program("ptxas") is None:
        return None
    cubin, _ = _assembled(*_input(compiled))
    # The listing does not show the analysis of data flow, which takes a quarter of the time.
    options = ["--print-code", "--no-dataflow", lines]
    parts = [base64.b64encode(cubin).decode(), *options, repr(toolkit.versions())]
    key = compiler_cache.key_of(parts)
    record = compiler_cache.load("listing", key)
    if record is not None and isinstance(record.get("text"), str):
        return record["text"].replace(named_later.STAND_IN, compiled.file)
    with toolkit.scratch() as folder:
        (folder / "kernel.cubin").write_bytes(cubin)
        process = toolkit.run([str(disassembler), *options, "kernel.cubin"], folder)
    if process.returncode:
        raise CompileFailed(f"nvdisasm: {(process.stderr or process.stdout).strip()}")
    compiler_cache.store("listing", key, {"text": process.stdout})
    return process.stdout.replace(named_later.STAND_IN, compiled.file)


def _input(compiled: Compiled) -> tuple[str, str, int, bool]:
    """Return what decides the machine code, beside the version of ptxas: not the file's name."""
    ptx = named_later.unnamed(compiled.ptx, compiled.file)
    return ptx, compiled.architecture, compiled.registers, compiled.contract


class _Assembling:
    """A program that another thread assembles."""

    _running: ClassVar[dict[tuple, _Assembling]] = {}
    _door = threading.Lock()

    def __init__(self, parts: tuple[str, str, int, bool]):
        self._parts = parts
        self._thread = threading.Thread(target=self._assemble, daemon=True)

    @classmethod
    def of(cls, parts: tuple[str, str, int, bool]) -> None:
        with cls._door:
            if parts in cls._running:
                return
            one = cls(parts)
            one._thread.start()  # before anybody can find it, and wait for it
            cls._running[parts] = one

    @classmethod
    def finish(cls, parts: tuple[str, str, int, bool]) -> None:
        """Wait for a program's thread, if it has one."""
        one = cls._running.get(parts)
        if one is not None and one._thread is not threading.current_thread():
            one._thread.join()

    def _assemble(self) -> None:
        # Whoever needs the result asks again, and gets it, or the error, from the cache.
        with contextlib.suppress(CompileFailed, OSError):
            _assemble(*self._parts)
        with self._door:  # it is among them by now
            self._running.pop(self._parts, None)


@dataclass(frozen=True)
class _Call:
    """A call of ptxas. flags: its options."""

    source: ClassVar[str] = "kernel.ptx"
    gate: ClassVar[str] = "kernel.ptx"
    result: ClassVar[str] = "kernel.cubin"
    flags: tuple[str, ...]

    def command(self, folder: Path) -> list[str]:
        return [str(toolkit.program("ptxas")), *self.flags, self.source, "-o", self.result]


# A server has filled the tables of the language.
_servers = servers.Servers()


def _assembled(ptx: str, architecture: str, registers: int, contract: bool) -> tuple[bytes, str]:
    """Return the cubin and the messages of ptxas. Raises CompileFailed with ptxas's own words."""
    _Assembling.finish((ptx, architecture, registers, contract))
    return _assemble(ptx, architecture, registers, contract)


@lru_cache(maxsize=16)
def _assemble(ptx: str, architecture: str, registers: int, contract: bool) -> tuple[bytes, str]:
    parts = [ptx, architecture, str(registers), str(contract), repr(toolkit.versions())]
    key = compiler_cache.key_of(parts)
    record = compiler_cache.load("cubin", key)
    if record is not None and isinstance(record.get("refused"), str):
        raise CompileFailed(record["refused"])
    if (
        record is not None
        and isinstance(record.get("cubin"), str)
        and isinstance(record.get("log"), str)
    ):
        return base64.b64decode(record["cubin"]), record["log"]
    if toolkit.program("ptxas") is None:
        raise toolkit.ToolkitMissingError(
            "registers and machine code need NVIDIA's assembler: "
            + toolkit.install_command("nvidia-cuda-nvcc")
        )
    limit = [f"--maxrregcount={registers}"] if registers else []
    limit += [] if contract else ["--fmad=false"]
    done = _servers.run(_Call((f"-arch=sm_{architecture}", "-lineinfo", "-v", *limit)), ptx)
    if done.status:
        refused = done.said.strip()
        if done.status > 0:  # else the system has ended it
            compiler_cache.store("cubin", key, {"refused": refused})
        raise CompileFailed(refused)
    cubin, log = done.result, done.said
    compiler_cache.store("cubin", key, {"cubin": base64.b64encode(cubin).decode(), "log": log})
    return cubin, log


# ---- the cubin, an ELF file ----


def _table(elf: bytes) -> list[tuple[str, int, bytes, int]]:
    """Return the name, the kind, the contents and the number of the linked section of each section.
    Of one without contents they are zeros.
    """
    (start,) = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    heads = [_HEAD.unpack_from(elf, start + k * size) for k in range(count)]
    contents = [
        bytes(size) if kind == _NO_CONTENTS else elf[at : at + size]
        for _, kind, at, size, _ in heads
    ]
    return [
        (_text(contents[names], name), kind, content, link)
        for (name, kind, _, _, link), content in zip(heads, contents, strict=True)
    ]


def _text(names: bytes, start: int) -> str:
    return names[start : names.index(b"\0", start)].decode()


def _sections(elf: bytes) -> dict[str, bytes]:
    """Return the contents of each section by its name."""
    return {name: content for name, _, content, _ in _table(elf)}


def _symbols(elf: bytes) -> list[str]:
    """Return the names of the symbols by their numbers."""
    return [name for name, *_ in _symbol_table(elf)]


def _symbol_table(elf: bytes) -> Iterator[tuple[str, int, str, int]]:
    """Yield the name, the kind, the section and the value of each symbol; "" for no section."""
    sections = _table(elf)
    for _, _, content, link in (one for one in sections if one[1] == _SYMBOLS):
        for name, info, section, value in _SYMBOL.iter_unpack(content):
            where = sections[section][0] if section < len(sections) else ""
            yield _text(sections[link][2], name), info & 15, where, value


def _functions(elf: bytes) -> Iterator[tuple[str, int, str]]:
    """Yield the section of each function, its first byte there, and its symbol. Functions follow
    one another in a section, and the size of a kernel's symbol counts those behind it.
    """
    for name, kind, section, value in _symbol_table(elf):
        if kind == _FUNCTION and section:
            yield section, value, name


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (attribute, value) of a .nv.info section."""
    at = 0
    while at + 4 <= len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, at)
        length = size if form == _LONG_VALUE else 0
        yield attribute, data[at + 4 : at + 4 + length]
        at += 4 + length
