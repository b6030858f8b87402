"""Check or profile one launch of a CUDA kernel from a shell, without a GPU.

    python -m helpers.simulator check FILE.cu --grid 4 --block 256 \\
        --arg out:float:1000 --arg in:float:1000 --arg int:1000
    python -m helpers.simulator profile FILE.cu --kernel NAME --grid 32x32 --block 16x16 \\
        -DTILE=16 --arg image.npy ... --json
    python -m helpers.simulator replay FILE.cu --grid 1 --block 8 \\
        --arg out:float:8 --arg in:float:8:arange --output replay.html

`replay` writes a page that shows what the threads of one block do, step by step. Launch few threads
with small arrays: 64 threads, and 64 cells of an array, are its most.

Give each argument of the kernel by an --arg, in the order of the parameters:

    int:1000          a scalar: TYPE:VALUE
    out:float:1000    an array that the kernel writes: out:TYPE:SHAPE (fresh, unwritten memory);
                      what it leaves unwritten is a finding
    in:float:1000     an array with values: in:TYPE:SHAPE[:FILL]; FILL is uniform (the default),
                      zeros, ones, arange or a number
    image.npy         the array in a file that numpy.save wrote
    null              a null pointer

TYPE is char, uchar, short, ushort, int, uint, long, ulong, half, float, double or bool; the TYPE of
an array may also be a vector such as float4. SHAPE is 1000 or 480x640; a grid or block is 4, 32x32
or 2x2x2. "uniform" draws numbers from 0 to 1, and integers from 0 to 99; --seed chooses which, and
the same seed draws the same numbers in every run. An array has the type of its parameter: for a
float*, another TYPE than float is a mistake. --constant NAME=SPEC sets a __constant__ symbol
to an array or a scalar.

Exit status: 0 without findings, 1 with findings, 2 for a mistake in the command, the file or the
arguments.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from helpers.quantities import quantity

from . import Finding, Profile, check, profile
from .compile import compiler_options
from .compile.toolchain import CacheError, CompileFailed, CompilerMissingError
from .compile.toolkit import ToolkitMissingError
from .explain import NotRecorded
from .launch.launch import TIME_LIMIT_S
from .machine import memory
from .machine.faults import Fault
from .program.module import load

CLEAN, HAS_FINDINGS, MISTAKE = 0, 1, 2
TYPES = {
    "char": np.int8, "uchar": np.uint8, "short": np.int16, "ushort": np.uint16, "int": np.int32,
    "uint": np.uint32,
    "unsigned": np.uint32, "long": np.int64, "ulong": np.uint64, "half": np.float16,
    "float": np.float32, "double": np.float64,
    "bool": np.bool_,
}
_QUOTED_INCLUDE = re.compile(r'^\s*#\s*include\s*"', re.MULTILINE)
FORMS = "TYPE:VALUE, out:TYPE:SHAPE, in:TYPE:SHAPE[:FILL], FILE.npy or null"


class Mistake(Exception):
    """A mistake in the command line; `main` prints the message without a traceback."""


class Fresh:
    """Device memory that nothing has written, and that the launch must write; freed by `close`.
    dtype and shape: of its values.
    """

    is_output = True

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype):
        self.shape, self.dtype = shape, dtype
        self.nbytes = math.prod(shape) * dtype.itemsize
        self.address = memory.allocate(self.nbytes)

    def __int__(self) -> int:
        return self.address

    def copy(self) -> Fresh:
        """Return memory of the same size that nothing has written either."""
        return Fresh(self.shape, self.dtype)

    def close(self) -> None:
        memory.free(self.address)


def parse_argument(spec: str, rng: np.random.Generator) -> Any:
    """Return the argument that a SPEC describes: a NumPy scalar, an array, Fresh memory, or 0 for
    a null pointer. Raises Mistake.
    """
    if spec == "null":
        return 0
    if spec.endswith(".npy"):
        return _array_of_file(spec)
    head, *rest = spec.split(":")
    if head in ("in", "out"):
        return _array(spec, head, rest, rng)
    if head in TYPES and len(rest) == 1:
        return _number(spec, head, rest[0])
    raise Mistake(f"argument {spec!r}: give {FORMS}{_nearest_type(head)}")


def _nearest_type(head: str) -> str:
    return (
        ""
        if head in TYPES or not re.fullmatch(r"[a-z_0-9]+", head)
        else f"; {head!r} is no type, give one of {', '.join(TYPES)}"
    )


def _array_of_file(spec: str) -> np.ndarray:
    try:
        values = np.load(spec, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise Mistake(f"argument {spec!r}: cannot read it as a .npy file: {error}") from None
    return np.array(values, order="C", ndmin=1)


def _array(spec: str, head: str, rest: Sequence[str], rng: np.random.Generator) -> Any:
    if not 2 <= len(rest) <= (3 if head == "in" else 2):
        raise Mistake(
            f"argument {spec!r}: give "
            f"{'in:TYPE:SHAPE[:FILL]' if head == 'in' else 'out:TYPE:SHAPE'}"
        )
    dtype, shape = _dtype(spec, rest[0]), _shape(spec, rest[1])
    shape = (*shape, *dtype[1])
    if head == "out":
        return Fresh(shape, np.dtype(dtype[0]))
    return _filled(spec, rest[2] if len(rest) > 2 else "uniform", np.dtype(dtype[0]), shape, rng)


def _dtype(spec: str, name: str) -> tuple[type, tuple[int, ...]]:
    """Return a scalar type and the lanes of a vector: float4 is (float32, (4,))."""
    match = re.fullmatch(r"([a-z]+)([234]?)", name)
    if not match or match[1] not in TYPES:
        raise Mistake(
            f"argument {spec!r}: {name!r} is no type; give {', '.join(TYPES)}, or a vector such "
            "as float4"
        )
    return TYPES[match[1]], (int(match[2]),) if match[2] else ()


def _shape(spec: str, text: str) -> tuple[int, ...]:
    parts = text.split("x")
    if not all(re.fullmatch(r"[1-9]\d*", part) for part in parts):
        raise Mistake(
            f"argument {spec!r}: {text!r} is no shape; give a count such as 1000, or 480x640"
        )
    return tuple(map(int, parts))


def _filled(
    spec: str, fill: str, dtype: np.dtype, shape: tuple[int, ...], rng: np.random.Generator
) -> np.ndarray:
    if fill == "uniform":
        return (
            rng.random(shape).astype(dtype)
            if dtype.kind == "f"
            else rng.integers(0, 100, shape).astype(dtype)
        )
    if fill == "arange":
        return np.arange(math.prod(shape)).reshape(shape).astype(dtype)
    named = {"zeros": "0", "ones": "1"}
    return np.full(
        shape,
        _number(spec, dtype, named.get(fill, fill), "uniform, zeros, ones, arange or a number"),
        dtype,
    )


def _number(spec: str, dtype: Any, text: str, expected: str = "a number") -> np.generic:
    kind = np.dtype(TYPES.get(dtype, dtype) if isinstance(dtype, str) else dtype)
    try:
        value = float(text) if kind.kind == "f" else int(text, 0)
        if kind.kind in "iu":
            limits = np.iinfo(kind)
            if not limits.min <= value <= limits.max:
                raise Mistake(
                    f"argument {spec!r}: {value:,} does not fit a {kind} ({limits.min:,} to "
                    f"{limits.max:,})"
                )
        return kind.type(value)
    except ValueError:
        raise Mistake(f"argument {spec!r}: {text!r} is not {expected} of type {kind}") from None


def parse_constant(text: str, rng: np.random.Generator) -> tuple[str, np.ndarray]:
    """Return NAME=SPEC as (name, values). Raises Mistake."""
    name, equals, spec = text.partition("=")
    if not equals or not name.isidentifier():
        raise Mistake(
            f"--constant {text!r}: give NAME=SPEC, such as filter=in:float:31 or scale=float:2"
        )
    value = parse_argument(spec, rng)
    if isinstance(value, Fresh) or (isinstance(value, int) and value == 0):
        if isinstance(value, Fresh):
            value.close()
        raise Mistake(f"--constant {text!r}: a constant needs values: in:..., a file or a scalar")
    return name, np.atleast_1d(value)


def parse_place(text: str) -> tuple[int, ...]:
    """Return "1x0" or "1,0" as (1, 0, 0); argparse reports the ValueError."""
    parts = re.split(r"[x,]", text)
    if len(parts) > 3 or not all(part.isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is no block: give its place, such as 1 or 1x0")
    return (*map(int, parts), 0, 0)[:3]


def parse_extent(text: str) -> tuple[int, ...]:
    """Return "16x16" or "16,16" as (16, 16); argparse reports the ValueError."""
    parts = re.split(r"[x,]", text)
    if len(parts) > 3 or not all(re.fullmatch(r"[1-9]\d*", part) for part in parts):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no extent; give 4, 32x32 or 2x2x2, each at least 1"
        )
    return tuple(map(int, parts))


# ---- running ----


def main(argv: Sequence[str] | None = None, prog: str = "python -m helpers.simulator") -> int:
    """Run the command line and return the exit status. argparse itself exits with 2 for options
    that it does not know.
    """
    options = _parser(prog).parse_args(argv)
    try:
        return _run(options)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except (
        Mistake,
        TypeError,
        ValueError,
        CompileFailed,
        Fault,
        CacheError,
        CompilerMissingError,
        ToolkitMissingError,
        NotRecorded,
    ) as error:
        print(f"{prog}: {_with_file(str(error), options)}", file=sys.stderr)
        return MISTAKE


def _parser(prog: str) -> argparse.ArgumentParser:
    about: dict[str, Any] = {
        "description": __doc__, "formatter_class": argparse.RawDescriptionHelpFormatter
    }
    parser = argparse.ArgumentParser(prog=prog, **about)
    names = "check | profile | replay"
    commands = parser.add_subparsers(dest="command", required=True, metavar=names)
    several: dict[str, Any] = {"action": "append", "default": []}
    for name, words in (
        ("check", "find the faults of one launch"),
        ("profile", "find the faults and count the memory traffic"),
        ("replay", "show what the threads of one block do, step by step"),
    ):
        own = f"{prog.removesuffix(f' {name}')} {name}"  # `halo` has the command in its name
        command = commands.add_parser(name, prog=own, help=words, allow_abbrev=False, **about)
        add = command.add_argument
        add("file", metavar="FILE.cu", help="the CUDA source")
        add("--kernel", metavar="NAME", help="the kernel; needed if the file has several")
        add("--grid", type=parse_extent, required=True, help="blocks: 4, 32x32")
        add("--block", type=parse_extent, required=True, help="threads of a block: 256, 16x16")
        add("--shared", type=int, default=0, metavar="BYTES", help="dynamic shared memory")
        macro = "define a macro, as for nvcc"
        add("-D", dest="macros", metavar="NAME[=VALUE]", help=macro, **several)
        folder = "a folder of headers, beside the source's own"
        add("-I", dest="folders", metavar="FOLDER", help=folder, **several)
        add("--arg", dest="args", metavar="SPEC", help="the kernel's next argument", **several)
        add("--constant", dest="constants", metavar="NAME=SPEC", **several)
        limit = "stop the launch after S seconds (%(default)g unless given)"
        add("--time-limit", type=float, default=TIME_LIMIT_S, metavar="S", help=limit)
        add("--seed", type=int, default=0, help="seed of the uniform values")
        if name == "replay":
            shown = "the block to show, by its place in the grid (0 unless given)"
            add("--show", type=parse_place, default=(0, 0, 0), metavar="PLACE", help=shown)
            page = "the page to write (FILE_replay.html unless given)"
            add("--output", metavar="PAGE.html", help=page)
            continue
        add("--json", action="store_true", help="print one JSON object in place of text")
        if name == "profile":
            add("--sample", type=int, default=1, metavar="N", help="run every N-th block only")
    return parser


def _run(options: argparse.Namespace) -> int:
    source = _source(options.file)
    if getattr(options, "sample", 1) < 1 or options.shared < 0:
        raise Mistake("--sample must be at least 1, --shared at least 0")
    compiler = tuple(f"-D{macro}" for macro in options.macros)
    compiler += tuple(f"-I{folder}" for folder in options.folders)
    if _QUOTED_INCLUDE.search(source):  # nvcc looks for it in the source's folder first
        compiler += (f"-I{Path(options.file).resolve().parent}",)
    compiler_options.require_sound(compiler)
    rng = np.random.default_rng(options.seed)
    name = options.kernel or _only_kernel(source, compiler, options.file)
    values: list[Any] = []
    try:
        values.extend(parse_argument(spec, rng) for spec in options.args)
        more: dict[str, Any] = {
            "constants": dict(parse_constant(text, rng) for text in options.constants)
        }
        more |= {
            "grid": options.grid,
            "block": options.block,
            "shared": options.shared,
            "options": compiler,
            "time_limit": options.time_limit,
        }
        if options.command == "profile":
            result = profile(source, name, *values, sample_every=options.sample, **more)
            return _show_profile(result, options)
        if options.command == "replay":
            return _write_replay(source, name, values, options, more)
        return _show_findings(check(source, name, *values, **more), name, options)
    finally:
        for value in values:
            if isinstance(value, Fresh):
                value.close()


def _source(file: str) -> str:
    try:
        return Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Mistake(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from None


def _only_kernel(source: str, compiler: tuple[str, ...], file: str) -> str:
    module = load(source, compiler, file=Path(file).name)
    try:
        names = list(module.kernels)
    finally:
        module.close()
    if len(names) != 1:
        there = (
            f"{quantity(len(names), 'kernel')} ({', '.join(names)}): choose one by --kernel"
            if names
            else "no kernel"
        )
        raise Mistake(f"{file} has {there}")
    return names[0]


def _with_file(message: str, options: argparse.Namespace) -> str:
    """Put the file's name into a message of the compiler, which calls the source KERNEL.cu."""
    return (
        re.sub(rf"\b{re.escape(options.kernel)}\.cu\b", Path(options.file).name, message)
        if options.kernel
        else message
    )


def _named(findings: Sequence[Finding], options: argparse.Namespace) -> tuple[Finding, ...]:
    return tuple(dataclasses.replace(finding, file=Path(options.file).name) for finding in findings)


def _show_findings(findings: Sequence[Finding], name: str, options: argparse.Namespace) -> int:
    findings = _named(findings, options)
    if options.json:
        _print_json(
            {
                "kernel": name,
                "file": options.file,
                "findings": [finding.to_dict() for finding in findings],
            }
        )
    else:
        threads, blocks = math.prod(options.block), math.prod(options.grid)
        launch = f"{name}: {quantity(blocks, 'block')} of {quantity(threads, 'thread')}"
        print(f"{launch}, {len(findings) or 'no'} finding{'s' * (len(findings) != 1)}")
        print(*(f"\n{finding}" for finding in findings), sep="\n", end="\n" if findings else "")
    return HAS_FINDINGS if findings else CLEAN


def _show_profile(result: Profile, options: argparse.Namespace) -> int:
    result = dataclasses.replace(result, findings=_named(result.findings, options))
    if options.json:
        _print_json({"file": options.file, **result.to_dict()})
    else:
        print(result)
    return HAS_FINDINGS if result.findings else CLEAN


def _write_replay(
    source: str, name: str, values: Sequence[Any], options: argparse.Namespace, more: dict[str, Any]
) -> int:
    from .explain.pictures import document
    from .explain.replays import replay_of

    given = [
        np.full(v.shape, np.nan, v.dtype) if isinstance(v, Fresh) and v.dtype.kind == "f" else v
        for v in values
    ]  # a shape, for the picture
    made = replay_of(source, name, *given, shown=options.show, **more)
    page = Path(options.output or f"{Path(options.file).stem}_replay.html")
    try:
        page.write_text(document(made.title, made.html()), encoding="utf-8")
    except OSError as error:
        raise Mistake(f"cannot write {page}: {error.strerror}") from None
    print(f"{made.title}\n{made.about}: see {page}")
    return HAS_FINDINGS if any(one.races for o in made.orders for one in o.frames) else CLEAN


def _print_json(data: dict[str, Any]) -> None:
    print(json.dumps(data, indent=1, default=_json_value))


def _json_value(value: Any) -> Any:
    convert: Callable[[], Any] = getattr(value, "item", None) or (lambda: str(value))
    return convert()


if __name__ == "__main__":
    sys.exit(main())
