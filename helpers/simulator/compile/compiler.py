"""Translates CUDA source to PTX with NVIDIA's own compiler from PyPI. It needs no GPU, no driver,
and for most sources no host compiler.

The run-time compiler (NVRTC) tries a source first; it takes milliseconds. If it refuses the source,
for example because of host code, nvcc tries it, if its wheel and a host's C++ compiler are
installed. If both refuse the source, the error has the compiler's own words.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from ..ptx import parse
from ..ptx.declarations import DebugInfo, KernelInfo, Parameter, Variable
from . import (
    cicc,
    compiler_cache,
    compiler_options,
    debug_info,
    front_ends,
    includes,
    named_later,
    notices,
    ptx_places,
)
from .careful import CarefulTranslation, with_names_of
from .compiler_options import Options
from .later_ptx import LaterPtx
from .toolchain import CacheError, CompileFailed

__all__ = [
    "CompileFailed",
    "Compiled",
    "DebugInfo",
    "KernelInfo",
    "Parameter",
    "Variable",
    "as_nvcc",
    "careful_ptx",
    "compile_source",
    "debugger_ptx",
    "parsed",
    "preprocess",
]

_TEMPLATE = re.compile(
    r"\btemplate\s*<(?:[^<>;{}]|<[^<>;{}]*>)*>\s*(?:[\w\s]|\([^()]*\))*?__global__(?P<head>[^;{]*)"
)
# Headers of many thousands of lines, which take seconds where a kernel takes milliseconds.
_LARGE_HEADER = re.compile(
    r"^\s*#\s*include\s*[<\"](?P<path>(?:cub|thrust)/[^>\"\n]+)", re.MULTILINE
)
_KERNEL_NAME = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*\(")
_NOT_NAMES = (
    "__launch_bounds__",
    "__attribute__",
    "__maxnreg__",
    "__cluster_dims__",
    "alignas",
    "decltype",
)


@dataclass(frozen=True)
class Compiled:
    """A compiled source.

    file: the source's name in messages and lines; ptx: has `.loc` lines, whose `.file` names are
    `file` and the plain names of headers; kernels: every .entry; debug: the variables; warnings:
    the compiler's warnings; templates: names of kernel templates without an instance in the source;
    dynamic_shared: names and element types of `extern __shared__` arrays; compiler: "nvrtc" or
    "nvcc"; architecture: "90" or "90a"; registers: the limit of registers of a thread, 0 if the
    options set none; contract: whether products and sums may become fused multiply-adds; careful:
    makes the PTX that `careful_ptx` returns; is_careful: `ptx` is the careful translation; by_cicc:
    makes the PTX of nvcc's front end, for `as_nvcc`; remark: why `ptx` is not what nvcc writes,
    though somebody asked for that.
    """

    source: str
    file: str
    ptx: str
    kernels: tuple[KernelInfo, ...]
    debug: DebugInfo
    warnings: str = ""
    templates: tuple[str, ...] = ()
    dynamic_shared: tuple[tuple[str, str], ...] = ()
    compiler: str = "nvrtc"
    architecture: str = "90"
    registers: int = 0
    contract: bool = True
    careful: CarefulTranslation | None = field(default=None, compare=False, repr=False)
    is_careful: bool = False
    by_cicc: LaterPtx | None = field(default=None, compare=False, repr=False)
    remark: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(replace(self, careful=None, by_cicc=None))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Compiled:
        """Raise TypeError, KeyError and ValueError if `data` does not come from `to_dict`."""
        kernels = tuple(
            KernelInfo(
                **{**kernel, "parameters": tuple(Parameter(**p) for p in kernel["parameters"])}
            )
            for kernel in data["kernels"]
        )
        shared = tuple((name, element) for name, element in data["dynamic_shared"])
        debug, templates = DebugInfo.from_dict(data["debug"]), tuple(data["templates"])
        return cls(
            **{
                **data,
                "kernels": kernels,
                "debug": debug,
                "templates": templates,
                "dynamic_shared": shared,
            }
        )


def compile_source(
    source: str,
    options: Sequence[str] = (),
    file: str = "kernel.cu",
    extern_c: bool = False,
    compiler: str = "",
    counts: bool = False,
) -> Compiled:
    """Compile CUDA `source`, or take it from the cache.

    options: options of nvcc, see compiler_options; file: the source's name in messages, with the
    folder in which the compiler looks for its includes; extern_c: put the source into extern "C",
    which is PyCUDA's default; compiler: use only "nvrtc" or "nvcc", else the first that takes the
    source; counts: `as_nvcc` will be asked for, so begin its compilation at the same time.
    Raises CompileFailed with the compiler's own text and the source's lines, and
    toolkit.ToolkitMissingError.
    """
    text = _checked(source, options, file, extern_c)
    if counts and compiler != "nvcc":
        _by_cicc(_unnamed(text)).begin()
    return _compiled_once(text, compiler)


def preprocess(source: str, options: Sequence[str] = (), file: str = "kernel.cu") -> str:
    """Return `source` as nvcc's preprocessor writes it: with what it includes, and without macros.
    The arguments are those of compile_source. Raises CompileFailed.
    """
    return front_ends.preprocessed(_checked(source, options, file, extern_c=False))


def _checked(source: str, options: Sequence[str], file: str, extern_c: bool) -> front_ends.Text:
    """Return a source with all that decides its meaning. Raises CompileFailed for a file that it
    must not include.
    """
    # Editors on Windows write a byte order mark. Nvcc skips it at the very beginning only.
    if not extern_c:
        source = source.removeprefix("\ufeff")
    read = compiler_options.read(options)
    folders = _folders(file, read)
    included = includes.check(source, file, read.macros, folders)
    return front_ends.Text(source, file, extern_c, read, tuple(folders), tuple(included.items()))


def _folders(file: str, options: Options) -> list[Path]:
    """Return the folders of the files that a source may include: its own, if it has one, and those
    of -I.
    """
    own = Path(file).parent if "/" in file and Path(file).is_file() else None
    return [
        path.absolute()
        for path in ([own] if own else []) + [Path(path) for path in options.include_paths]
    ]


_under_way: dict[tuple[front_ends.Text, str], Future[Compiled]] = {}
_lock = threading.Lock()


def _compiled_once(text: front_ends.Text, compiler: str) -> Compiled:
    """Return what `_compiled` does. A thread that needs what another one compiles waits for it."""
    with _lock:
        there = _under_way.get((text, compiler))
        mine: Future[Compiled] = Future()
        if there is None:
            _under_way[text, compiler] = mine
    if there is not None:
        return there.result()
    try:
        compiled = _compiled(text, compiler)
        mine.set_result(compiled)
        return compiled
    except BaseException as error:
        mine.set_exception(error)
        raise
    finally:
        with _lock:
            del _under_way[text, compiler]


@lru_cache(maxsize=64)
def _compiled(text: front_ends.Text, compiler: str) -> Compiled:
    unnamed = _unnamed(text)
    if unnamed == text:
        return _kept(text, compiler)
    try:
        compiled = _kept(unnamed, compiler)
    except CompileFailed as refused:
        message = refused.message.replace(named_later.STAND_IN, text.file)
        raise CompileFailed(message) from refused.__cause__
    if named_later.remains_in(compiled.ptx):
        return _kept(text, compiler)
    return _named(compiled, text.file)


def _unnamed(text: front_ends.Text) -> front_ends.Text:
    """Return the text with a stand-in for its name, or as it is if it must have its own name."""
    return replace(text, file=named_later.STAND_IN) if named_later.possible(text) else text


@lru_cache(maxsize=64)
def _by_cicc(text: front_ends.Text) -> LaterPtx:
    """Return the PTX of nvcc's front end, which a thread makes once `begin` is called."""
    key = compiler_cache.key_of([_key(text, "cicc"), cicc.fingerprint()])
    return LaterPtx("cicc", key, partial(front_ends.as_nvcc, text))


@lru_cache(maxsize=64)
def as_nvcc(compiled: Compiled) -> Compiled:
    """Return the compiled source with the PTX that nvcc writes, as PyCUDA would have it on a GPU.

    Where nvcc's front end is not installed, or refuses the source, it is `compiled` with a remark.
    """
    if compiled.by_cicc is None or compiled.is_careful or compiled.compiler == "nvcc":
        return compiled
    try:
        ptx = named_later.renamed(compiled.by_cicc.get(), compiled.file)
        ptx = with_names_of(compiled.ptx, ptx)
        kernels = set(parsed(ptx).kernels)
    except cicc.NotAvailable as missing:
        return replace(compiled, remark=str(missing))
    except (CompileFailed, CacheError, OSError):
        return replace(compiled, remark="nvcc's front end, cicc, refuses this source without nvcc")
    if kernels != {one.mangled for one in compiled.kernels}:
        return replace(compiled, remark="nvcc's front end, cicc, names the kernels otherwise")
    return replace(compiled, ptx=ptx)


def _named(compiled: Compiled, file: str) -> Compiled:
    """Return what a text with this name would have been compiled to."""
    return replace(
        compiled,
        file=file,
        ptx=named_later.renamed(compiled.ptx, file),
        kernels=tuple(
            replace(kernel, file=file) if kernel.file == named_later.STAND_IN else kernel
            for kernel in compiled.kernels
        ),
        warnings=compiled.warnings.replace(named_later.STAND_IN, file),
    )


def _kept(text: front_ends.Text, compiler: str) -> Compiled:
    """Return the compiled text from the cache, or compile it and keep it there."""
    key, careful = _key(text, compiler), _careful(text, compiler)
    if (record := compiler_cache.load("ptx", key)) is not None:
        try:
            return replace(Compiled.from_dict(record), careful=careful, by_cicc=_by_cicc(text))
        except (TypeError, KeyError, ValueError):  # another version wrote this record: replace it
            pass
    compiled = _compile(text, compiler, careful)
    compiler_cache.store("ptx", key, compiled.to_dict())
    return replace(compiled, careful=careful, by_cicc=_by_cicc(text))


@lru_cache(maxsize=64)
def _careful(text: front_ends.Text, compiler: str) -> CarefulTranslation:
    """Return the careful translation of a text, which is the same one under all names of it."""
    return CarefulTranslation(text, _key(text, compiler))


def _key(text: front_ends.Text, compiler: str) -> str:
    return compiler_cache.key_of(
        [
            text.source,
            text.file,
            str(text.extern_c),
            repr(text.options),
            repr(text.folders),
            repr(text.included),
            compiler,
            front_ends.fingerprint(),
        ]
    )


def require_text(source: str, options: Sequence[object]) -> None:
    """Raise TypeError for options that are no list of texts, and ValueError for a source or an
    option that no compiler can read: one with a NUL byte, or with half of a surrogate pair.
    """
    if isinstance(options, str | bytes) or not isinstance(options, Iterable):
        raise TypeError(f'options takes a list, such as options=["-DN=4"], got {options!r}')
    wrong = [one for one in options if not isinstance(one, str)]
    if wrong:
        raise TypeError(f"an option of the compiler is a text, got {wrong[0]!r}: give str values")
    for what, text in (("the source", source), *(("an option", str(one)) for one in options)):
        if (at := text.find("\0")) >= 0:
            line = text.count("\n", 0, at) + 1
            raise ValueError(
                f"{what} has a NUL byte (in line {line}), at which the compiler stops to read: "
                "leave it out"
            )
        try:
            text.encode()
        except UnicodeEncodeError as error:
            line = text.count("\n", 0, error.start) + 1
            raise ValueError(
                f"{what} has half of a surrogate pair (in line {line}), which is no character: was "
                'the file read with errors="surrogateescape"? Read it as UTF-8'
            ) from None


def careful_ptx(compiled: Compiled) -> str:
    """Return the PTX of the careful translation (careful.py), "" if there is none."""
    if compiled.careful is None:
        return ""
    return named_later.renamed(compiled.careful.ptx(compiled.compiler, compiled.ptx), compiled.file)


def debugger_ptx(compiled: Compiled) -> str:
    """Return the PTX of the source for a debugger, with its debug information. Raises
    CompileFailed.
    """
    if compiled.careful is None:
        raise CompileFailed(f"{compiled.file}: there is no translation for a debugger")
    ptx = compiled.careful.for_debugger(compiled.compiler, compiled.ptx)
    return named_later.renamed(ptx, compiled.file)


def _compile(text: front_ends.Text, compiler: str, careful: CarefulTranslation) -> Compiled:
    with notices.during(notice_of(text.source, text.file)):
        translation = front_ends.translate(text, compiler)
    careful.needed = translation.needed
    ptx = ptx_places.with_short_paths(translation.ptx, text.file)
    kernels, debug = debug_info.read(parsed(ptx), translation.debug_ptx, text.file)
    dynamic = tuple(
        (v.name, v.element or "char")
        for v in debug.variables
        if v.space == "shared" and v.extents == (0,)
    )
    return Compiled(
        source=text.source,
        file=text.file,
        ptx=ptx,
        kernels=kernels,
        debug=debug,
        warnings=translation.warnings,
        templates=_unused_templates(text.source, kernels),
        dynamic_shared=dynamic,
        compiler=translation.compiler,
        architecture=text.options.architecture,
        registers=text.options.registers,
        contract=text.options.contract,
    )


@lru_cache(maxsize=64)
def parsed(ptx: str) -> parse.Module:
    """Return the module of a PTX text; it reads a function when something needs it. Raises
    CompileFailed.
    """
    try:
        return parse.Module(ptx)
    except parse.ParseError as error:
        raise CompileFailed(f"the simulator cannot read this PTX: {error}") from error


def notice_of(source: str, file: str) -> str:
    """Return what a notice says while the compiler works on a source for the first time."""
    large = _LARGE_HEADER.search(source)
    if large is None:
        return f"Compiling {file} with its headers, for the first time"
    return f"Compiling {file} with <{large['path']}>, for the first time: up to a minute"


def _unused_templates(source: str, kernels: tuple[KernelInfo, ...]) -> tuple[str, ...]:
    """Return the names of the source's kernel templates that have no .entry."""
    if "template" not in source:
        return ()
    code, names = includes.without_comments(source), []
    for template in _TEMPLATE.finditer(code):
        candidates = [
            m["name"]
            for m in _KERNEL_NAME.finditer(template["head"])
            if m["name"] not in _NOT_NAMES
        ]
        names += candidates[:1]
    instances = {kernel.name.partition("<")[0].split("::")[-1] for kernel in kernels}
    return tuple(name for name in dict.fromkeys(names) if name not in instances)
