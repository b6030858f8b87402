"""Kernels as the machine runs them: this module encodes PTX once for each content, caches the
result on disk, and writes a module's addresses into it.

A file of the cache has three parts: the sha256 of the rest, a line of JSON with the types and
shapes of a kernel's arrays and with its other fields, and the bytes of the arrays. NumPy's .npz
takes ten times as long to read, and reading is most of the work where a kernel is known.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as numpy_format

from helpers.quantities import quantity

from ..compile import compiler_cache, toolchain, toolkit
from ..compile.compiler import Compiled, parsed
from ..compile.includes import without_comments
from ..compile.toolchain import CompileFailed
from ..machine import library
from ..machine.architecture import MAX_LOCAL
from ..ptx import parse
from ..ptx.apart import told_apart
from ..ptx.axes import Axis, Checked
from ..ptx.control import reached
from ..ptx.encode import (
    BUILTINS,
    FUNCTION_ADDRESS,
    Encoding,
    Parameter,
    Program,
    Relocation,
    Unsupported,
)
from ..ptx.inline import Inlined
from ..ptx.opcodes import RESULT_UNUSED, TYPES
from ..ptx.parse import Place
from ..ptx.updates import Dataflow
from . import assembly

_SHARED_SPACE = 2  # StateSpace in machine/program.h
_ASSERTFAIL = -1 - BUILTINS.index("__assertfail")  # target of a call of it
# Functions of the runtime, as a source calls them: by the targets of their calls.
_RUNTIME = {
    -1 - BUILTINS.index(name): words
    for name, words in (("vprintf", "printf"), ("malloc", "malloc or new"), ("free", "free"))
}
# Features of a source that the machine does not have: a part of their names in PTX, their names in
# the source, and what to do instead.
_MEANINGS = (
    ("%envreg", "a barrier of the whole grid, grid.sync()", "end the kernel there, launch another"),
    ("%reserved_smem_offset", "a group of several warps", "use a group of a warp or of the block"),
    ("alloca", "alloca()", "declare a local array of a fixed size"),
    (
        "__cudaCDP2",
        "a function of CUDA's runtime in a kernel, which belongs to dynamic parallelism",
        "call it on the host; for memory of a kernel's own, call malloc",
    ),
    *(
        (part, "clusters of blocks", "let the blocks exchange values in global memory")
        for part in ("barrier.cluster", "in clusters", "mapa", "getctarank")
    ),
    *(
        (f"instruction {part}", "a read of a texture", "read the array through a const pointer")
        for part in ("tex.", "tld4.", "txq.")
    ),
    *(
        (f"instruction {part}", "an access to a surface", "read and write through a pointer")
        for part in ("suld.", "sust.", "sured.", "suq.")
    ),
)
# Flags in machine/program.h.
_SCOPE_BEYOND_BLOCK = 1 << 16 | 1 << 17  # SCOPE_GPU, SCOPE_SYS
_ORDERING = 1 << 19 | 1 << 20  # ACQUIRE, RELEASE


def variables(compiled: Compiled) -> dict[str, parse.Variable]:
    """Return the variables in global and constant memory by symbol."""
    return {
        name: v
        for name, v in parsed(compiled.ptx).variables.items()
        if v.space in ("global", "const")
    }


def function_names(compiled: Compiled) -> set[str]:
    """Return the symbols of a compiled source's functions."""
    return set(parsed(compiled.ptx).functions)


def function_address(compiled: Compiled, symbol: str) -> int:
    """Return the value of a pointer to a function of the source."""
    return FUNCTION_ADDRESS | parsed(compiled.ptx).order[symbol]


def may_exceed_shared(compiled: Compiled, limit: int) -> bool:
    """Return whether the static shared variables of all kernels together have more than `limit`
    bytes, so that the caller must check each kernel.
    """
    sizes = re.findall(r"\.shared\s[^;\n]*?\.b8\s+[\w$]+\[(\d+)\]", compiled.ptx)
    return sum(map(int, sizes)) > limit


@lru_cache(maxsize=256)
def encoded(compiled: Compiled, mangled: str, counted: bool = False) -> Program:
    """Encode a kernel of a compiled source. counted: for a launch that counts its traffic, by the
    accesses of its machine code, if there is machine code. A careful translation has one form only,
    because nobody counts its traffic.

    Raises CompileFailed, with file and line, for an instruction that the machine cannot run, and
    for an array of a thread that is larger than local memory.
    """
    sizes = re.findall(r"\.local\s[^;\n]*?\.b8\s+[\w$]+\[(\d+)\]", compiled.ptx)
    if (local := max(map(int, sizes), default=0)) > MAX_LOCAL:
        raise CompileFailed(
            f"{compiled.file}: {quantity(local, 'byte')} of local memory for the arrays of each "
            f"thread, {MAX_LOCAL:,} at most"
        )
    counted = counted and not compiled.is_careful
    accesses = assembly.accesses(compiled, mangled) if counted else None
    parts = [compiled.ptx, mangled, _encoder(), str(compiled.contract), str(counted)]
    parts += [compiled.source, compiled.file, repr(compiled.debug)] if compiled.is_careful else []
    parts += [repr(toolkit.versions()), str(compiled.registers)] if accesses is not None else []
    path = toolchain.cache_directory() / f"encoded-{toolchain.content_key(*parts)}.program"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return _read(path)
    try:
        if compiled.is_careful:
            program = _of_careful(compiled, mangled)
        else:
            encoding = _encoding(compiled.ptx, mangled, compiled.contract)
            program = encoding.counted(accesses) if counted else encoding.program
    except Unsupported as error:
        raise refusal(compiled, mangled, error) from error
    except parse.ParseError as error:
        raise CompileFailed(
            f"{compiled.file}: the simulator cannot read the PTX of {mangled}: {error}"
        ) from error
    _write(path, program)
    return program


def refusal(compiled: Compiled, mangled: str, error: Unsupported) -> CompileFailed:
    """Return the error for an instruction that the machine does not run, with file and line."""
    name = next(
        (
            f"{meaning} ({error.name}): {instead}"
            for part, meaning, instead in _MEANINGS
            if part in error.name
        ),
        error.name,
    )
    where = _where(compiled, mangled, error.place)
    return CompileFailed(f"{where}: the simulator cannot run {name}")


@lru_cache(maxsize=8)
def _encoding(ptx: str, mangled: str, contract: bool) -> Encoding:
    """Return both forms of a kernel. A launch that counts needs both, one right after the other.
    Raises Unsupported and ParseError.
    """
    ids, operands = library.operation_ids(), library.operation_operands()
    return Encoding(parsed(ptx), mangled, ids, operands, contract)


def _checked(compiled: Compiled) -> Checked:
    """Return the careful translation with checks of indices."""
    parameters = {
        kernel.mangled: [one.name for one in kernel.parameters] for kernel in compiled.kernels
    }
    declared = [*compiled.debug.variables, *compiled.debug.members]
    source = without_comments(compiled.source)
    fields = compiled.debug.fields
    return Checked(parsed(compiled.ptx), declared, parameters, source, compiled.file, fields)


def _of_careful(compiled: Compiled, mangled: str) -> Program:
    """Encode a kernel of the careful translation, with checks of indices and without calls. Raises
    Unsupported and ParseError.
    """
    module = _checked(compiled)
    # This PTX keeps code that no thread reaches, such as a group's barrier for clusters and grids.
    contract = compiled.contract
    ids, operands = library.operation_ids(), library.operation_operands()
    encoding = Encoding(Inlined(module), mangled, ids, operands, contract, True)
    program = told_apart(encoding.program, ids)
    return dataclasses.replace(program, axes=module.axes)


@lru_cache(maxsize=8)
def dataflow(compiled: Compiled, mangled: str) -> Dataflow:
    """Return where the values of a function come from. In a careful translation it is the function
    after inlining, as the machine runs it.
    """
    module = Inlined(_checked(compiled)) if compiled.is_careful else parsed(compiled.ptx)
    return Dataflow(module.body(mangled))


def _where(compiled: Compiled, mangled: str, place: Place) -> str:
    """Return file:line of the source, or of the header that has the kernel; the kernel's own line
    if the place is unknown.
    """
    frames = [(file, line) for file, line in ((place.file, place.line), *place.inlined) if line]
    if not frames:
        line = next((kernel.line for kernel in compiled.kernels if kernel.mangled == mangled), 0)
        return f"{compiled.file}:{line}" if line else compiled.file
    name = Path(compiled.file).name
    # The outermost call of a kernel in a header is the kernel's own line. An inner call may be in
    # CUDA's headers.
    file, line = next((frame for frame in frames if Path(frame[0]).name == name), frames[-1])
    return f"{compiled.file if Path(file).name == name else Path(file).name}:{line}"


@cache
def _encoder() -> str:
    """Return everything that decides the encoding beside the PTX: the encoder's own text and the
    machine's operations.
    """
    folder = Path(parse.__file__).parent
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))]
    # The numbers count as well: after another library of operations is loaded, the names have other
    # numbers.
    operands = library.operation_operands()
    operations = (f"{name} {n} {operands[name]}" for name, n in library.operation_ids().items())
    return toolchain.content_key(*texts, "\n".join(operations))


def _write(path: Path, program: Program) -> None:
    values = {field.name: getattr(program, field.name) for field in dataclasses.fields(program)}
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    notes = {name: value for name, value in values.items() if name not in arrays}
    forms = {
        name: (numpy_format.dtype_to_descr(array.dtype), array.shape)
        for name, array in arrays.items()
    }
    head = json.dumps({"arrays": forms, "notes": notes}, default=dataclasses.astuple)
    parts = [head.encode(), b"\n", *(array.tobytes() for array in arrays.values())]
    compiler_cache.write(path, b"".join(parts))


def _read(path: Path) -> Program:
    """Read a program. Raises OSError, ValueError, KeyError or TypeError if the file is damaged, or
    not one of this version.
    """
    head, _, content = compiler_cache.read(path).partition(b"\n")
    known = json.loads(head)
    values: dict[str, Any] = {}
    start, notes = 0, known["notes"]
    for name, (form, shape) in known["arrays"].items():
        dtype, count = _dtype(form), math.prod(shape)
        # A copy, because the machine needs arrays that are aligned.
        values[name] = np.frombuffer(content, dtype, count, start).reshape(shape).copy()
        start += count * dtype.itemsize
    for name, record in (
        ("places", Place),
        ("relocations", Relocation),
        ("parameters", Parameter),
        ("axes", Axis),
    ):
        notes[name] = [record(*map(_tuples, one)) for one in notes[name]]
    notes["shared"] = [tuple(one) for one in notes["shared"]]
    for name in ("exact_block", "shared_names"):
        notes[name] = tuple(notes[name])
    return Program(**values, **notes)


def _dtype(form: Any) -> np.dtype[Any]:
    """Return the dtype of a form that went through JSON: a name, or a list of fields."""
    return np.dtype(form if isinstance(form, str) else [_tuples(field) for field in form])


def _tuples(value):
    """Turn the lists of JSON into tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def relocated(program: Program, addresses: Mapping[str, int]) -> Program:
    """Return a copy of the program with the variables' addresses in it."""
    instructions, statics = program.instructions.copy(), program.statics.copy()
    for one in program.relocations:
        address = (addresses[one.symbol] + one.addend) % 2**64
        if one.kind == "static":
            statics["value"][one.index] = address
        else:
            instructions["immediate"][one.index] = np.uint64(address).astype(np.int64)
    return dataclasses.replace(program, instructions=instructions, statics=statics)


# Operations by which a kernel sees the order of its blocks, beside atomics and calls of the system
# (printf, malloc).
_SHOWING_ORDER = ("mov.clock",)
_UPDATES = ("atom.add", "atom.min", "atom.max", "atom.and", "atom.or", "atom.xor")
_WHOLE_NUMBERS = [TYPES[name] for name in ("b32", "b64", "u32", "u64", "s32", "s64")]


def sees_the_order_of_blocks(program: Program) -> bool:
    """Return whether results may depend on the order of blocks: by fences, clocks, printf, and by
    atomics outside shared memory.

    Atomics that update whole numbers without reading them give the same result in any order. The
    machine looks for other accesses to the same numbers while several workers run the launch.
    """
    instructions, ids = program.instructions, library.operation_ids()
    operation, flags = instructions["operation"], instructions["flags"]
    names = library.operation_names()
    atomics = [k for k in np.unique(operation).tolist() if names[k].startswith("atom.")]
    updates = [ids[name] for name in _UPDATES]
    others = [ids[name] for name in _SHOWING_ORDER if name in ids]
    commutes = (
        np.isin(operation, updates)
        & np.isin(instructions["type"], _WHOLE_NUMBERS)
        & (flags & RESULT_UNUSED != 0)
        & (flags & _ORDERING == 0)
    )
    outside = np.isin(operation, atomics) & (instructions["space"] != _SHARED_SPACE)
    if np.isin(operation, others).any() or (outside & ~commutes).any():
        return True
    fences = (operation == ids.get("fence", -1)) & (flags & _SCOPE_BEYOND_BLOCK != 0)
    target = instructions["target"]
    system = (target < 0) & (target != np.iinfo(np.int32).min) & (target != _ASSERTFAIL)
    calls = (operation == ids.get("call", -1)) & system
    return bool(fences.any() or calls.any())


def calls_of_the_runtime(program: Program) -> dict[int, str]:
    """Return the calls of functions that move data of their own, such as printf: the index of the
    instruction, and the name of the function.
    """
    is_call = program.instructions["operation"] == library.operation_ids().get("call", -1)
    targets = program.instructions["target"].tolist()
    return {
        int(pc): _RUNTIME[targets[pc]] for pc in np.flatnonzero(is_call) if targets[pc] in _RUNTIME
    }


def recursive_functions(program: Program) -> list[range]:
    """Return the instructions of each function that calls itself, directly or through others."""
    if not program.recursive:
        return []
    bodies = [range(int(one["first"]), int(one["end"])) for one in program.functions]
    is_call = program.instructions["operation"] == library.operation_ids().get("call", -1)
    calls = [(int(pc), int(program.instructions["target"][pc])) for pc in np.flatnonzero(is_call)]
    callees = [{to for pc, to in calls if pc in body and to >= 0} for body in bodies]
    return [body for k, body in enumerate(bodies) if k in reached(k, callees)]
