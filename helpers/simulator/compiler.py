"""CUDA source to PTX, by NVIDIA's own compiler from PyPI: no GPU, no driver, and for most sources
no host compiler.

A source goes to the run-time compiler (NVRTC) first, which takes milliseconds. What it refuses,
such as a file with host code, goes to nvcc, where its wheel and a host's C++ compiler are there.
What both refuse is refused in the compiler's words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from . import compiler_cache, compiler_options, debug_info, front_ends, includes
from .careful import CarefulTranslation
from .compiler_options import Options
from .debug_info import DebugInfo, KernelInfo, Parameter, Variable
from .toolchain import CompileFailed

__all__ = [
    "CompileFailed",
    "Compiled",
    "DebugInfo",
    "KernelInfo",
    "Parameter",
    "Variable",
    "careful_ptx",
    "compile_source",
]

_TEMPLATE = re.compile(
    r"\btemplate\s*<(?:[^<>;{}]|<[^<>;{}]*>)*>\s*(?:[\w\s]|\([^()]*\))*?__global__(?P<head>[^;{]*)"
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

    file: what messages and lines call the source; ptx: with `.loc` lines, whose `.file` names are
    `file` and the plain names of headers; kernels: every .entry; debug: the variables; warnings:
    the compiler's; templates: names of kernels' templates that the source asks no instance of;
    dynamic_shared: names and element types of `extern __shared__` arrays; compiler: "nvrtc" or
    "nvcc"; architecture: "90" or "90a"; registers: the most that a thread may have, 0 where the
    options set no limit; contract: whether products and sums may become fused multiply-adds;
    careful: where `careful_ptx` comes from; is_careful: the PTX is that one.
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

    def to_dict(self) -> dict[str, Any]:
        return asdict(replace(self, careful=None))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Compiled:
        """Raises TypeError, KeyError and ValueError for what `to_dict` did not make."""
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
) -> Compiled:
    """Compiles CUDA `source`, or takes it from the cache.

    options: nvcc's, see compiler_options; file: what messages call the source, and with a folder
    before its name where its includes are looked for; extern_c: put the source into extern "C",
    as PyCUDA does unless told otherwise; compiler: "nvrtc" or "nvcc" for this one only, else the
    first that takes the source.
    Raises CompileFailed with the compiler's own text and the source's lines, and
    toolkit.ToolkitMissingError.
    """
    # Nvcc passes over a byte order mark, as editors on Windows write it, at the very beginning
    # only.
    if not extern_c:
        source = source.removeprefix("\ufeff")
    read = compiler_options.read(options)
    folders = _folders(file, read)
    included = includes.check(source, file, read.macros, folders)
    return _compiled(
        source, file, extern_c, read, tuple(folders), tuple(included.items()), compiler
    )


def _folders(file: str, options: Options) -> list[Path]:
    """The folders of the files that a source may include: its own, if it has one, and -I's."""
    own = Path(file).parent if "/" in file and Path(file).is_file() else None
    return [
        path.absolute()
        for path in ([own] if own else []) + [Path(path) for path in options.include_paths]
    ]


@lru_cache(maxsize=64)
def _compiled(
    source: str,
    file: str,
    extern_c: bool,
    options: Options,
    folders: tuple[Path, ...],
    included: tuple[tuple[str, str], ...],
    compiler: str,
) -> Compiled:
    text = front_ends.Text(source, file, extern_c, options, folders)
    key = compiler_cache.key_of(
        [
            source,
            file,
            str(extern_c),
            repr(options),
            repr(folders),
            repr(included),
            compiler,
            front_ends.fingerprint(),
        ]
    )
    careful = CarefulTranslation(text, key)
    if (record := compiler_cache.load("ptx", key)) is not None:
        try:
            return replace(Compiled.from_dict(record), careful=careful)
        except (TypeError, KeyError, ValueError):  # another version's record: it is made anew
            pass
    compiled = _compile(text, compiler, careful)
    compiler_cache.store("ptx", key, compiled.to_dict())
    return replace(compiled, careful=careful)


def careful_ptx(compiled: Compiled) -> str:
    """PTX of the same kernels that is hardly optimised; "" where there is none. See careful.py."""
    return (
        compiled.careful.ptx(compiled.compiler, compiled.ptx)
        if compiled.careful is not None
        else ""
    )


def _compile(text: front_ends.Text, compiler: str, careful: CarefulTranslation) -> Compiled:
    translation = front_ends.translate(text, compiler)
    # Only now: the compiler's process is free for it, and a second one would take longer to start.
    careful.begin(translation.compiler)
    ptx = debug_info.with_short_paths(translation.ptx, text.file)
    kernels, debug = debug_info.read(ptx, translation.debug_ptx, text.file)
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


def _unused_templates(source: str, kernels: tuple[KernelInfo, ...]) -> tuple[str, ...]:
    """Names of the source's templates of kernels that no .entry comes from."""
    if "template" not in source:
        return ()
    code, names = includes.without_comments(source), []
    for template in _TEMPLATE.finditer(code):
        found = [
            m["name"]
            for m in _KERNEL_NAME.finditer(template["head"])
            if m["name"] not in _NOT_NAMES
        ]
        names += found[:1]
    known = {kernel.name.partition("<")[0].split("::")[-1] for kernel in kernels}
    return tuple(name for name in dict.fromkeys(names) if name not in known)
