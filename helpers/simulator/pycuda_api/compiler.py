"""pycuda.compiler, for machines without a GPU: SourceModule compiles for the simulator."""

from __future__ import annotations

import os
import warnings
import zlib
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from helpers.simulator.compile import compiler_options
from helpers.simulator.compile.toolchain import CompileFailed
from helpers.simulator.machine import architecture

from . import _device, _errors, _findings, _launch
from ._errors import CompileError
from ._launch import Function

# pycuda-complex.hpp and pycuda-helpers.hpp, which PyCUDA puts on every compiler's path.
_INCLUDE = Path(__file__).parent / "include"
_ARCHITECTURE = int("".join(map(str, architecture.COMPUTE_CAPABILITY)))
_OF_THE_GPU = f"sm_{_ARCHITECTURE}"

DEFAULT_NVCC_FLAGS = os.environ.get("PYCUDA_DEFAULT_NVCC_FLAGS", "").split()
_TARGETS = ("cubin", "ptx", "fatbin")


@cache
def _options_for_headers() -> tuple[str, ...]:
    """Return the options for PyCUDA's headers: their folder and their content, so that a change in
    them compiles a program again.
    """
    content = zlib.crc32(b"".join(path.read_bytes() for path in sorted(_INCLUDE.iterdir())))
    return f"-I{_INCLUDE}", f"-DHALO_PYCUDA_HEADERS={content}"


def _text(source: object, no_extern_c: bool) -> str:
    """Return the text of a source. PyCUDA formats it into extern "C", so that an object with a
    text, such as a module of cgen, is a source there; without extern "C" only a text is one.
    """
    if no_extern_c and not isinstance(source, str):
        raise AttributeError(
            f"with no_extern_c=True, source must be a str, got a {type(source).__name__}: give "
            "str(source)"
        )
    if source is None or isinstance(source, bytes):
        raise TypeError(f"the source is a text of CUDA, got {source!r}: give a str")
    return str(source)


def _all_options(
    source: str,
    options: list[str] | None,
    include_dirs: Sequence[str] | None,
    arch: str | None,
) -> list[str]:
    if options is None:
        options = DEFAULT_NVCC_FLAGS
    if not isinstance(options, list):
        # PyCUDA extends the caller's list, and raises the same error for any other type.
        raise AttributeError(
            f"options must be a list of str, got a {type(options).__name__}: {options!r}"
        )
    options = _as_nvcc_takes_them(options, arch)
    paths = (f"-I{Path(path).resolve()}" for path in include_dirs or ())
    return [*options, *paths, *(_options_for_headers() if "pycuda-" in source else ())]


def _as_nvcc_takes_them(options: list[str], arch: str | None) -> list[str]:
    """Return the options with the -arch that PyCUDA adds behind one of the program's (None: it adds
    none), and remark on those that nvcc would not take.
    """
    try:
        named = compiler_options.values_of("arch", options)
        contradictions = compiler_options.contradictions(options)
    except CompileFailed:
        return options  # the compilation says why
    for words in contradictions:
        _findings.remark(
            f"the options have {words}: nvcc takes the last of them, with a warning. Leave the "
            "others out"
        )
    if not named or arch in (None, named[-1]):
        return options
    _findings.remark(
        f"the options have -arch={named[-1]}, and PyCUDA adds -arch={arch} after them: nvcc takes "
        "the last, with a warning. Leave it out, or give SourceModule(..., arch=...)"
    )
    return [*options, f"-arch={arch}"]


def _require_one_machine_code(options: list[str], arch: str) -> None:
    """Raise CompileError for a -gencode of another architecture than PyCUDA's -arch: nvcc makes one
    machine code only for a module.
    """
    own = f"arch={arch.replace('sm', 'compute')},code={arch}"
    with suppress(CompileFailed):  # the compilation says why
        for value in compiler_options.values_of("gencode", options):
            if value.replace('"', "") != own:
                raise CompileError(
                    "nvcc compilation failed",
                    None,
                    stderr="nvcc fatal   : Option '--cubin' is not allowed when compiling for "
                    f"multiple GPU code instances: PyCUDA adds -arch={arch}, and -gencode has "
                    f"{value}. Leave -gencode out",
                )


def _check_architecture(arch: str | None) -> None:
    """Warn as PyCUDA does: a GPU does not run code for a newer GPU."""
    if arch is not None and not isinstance(arch, str):
        raise TypeError(f'arch is a text such as "sm_90", got {arch!r}')
    if arch is None:
        return
    try:
        compiler_options.require_architecture(arch)
    except CompileFailed as refused:
        title = f"nvcc compilation for {arch} failed"
        raise CompileError(title, None, stderr=refused.message) from None
    digits = "".join(c for c in arch.partition("_")[2] if c.isdigit())
    if digits and int(digits) // 10 < _ARCHITECTURE // 10:
        _findings.remark(
            f"arch={arch!r} makes machine code that no H200 (sm_{_ARCHITECTURE}) can load: leave "
            "arch out, and PyCUDA takes that of the GPU"
        )
    if digits and int(digits) > _ARCHITECTURE:
        warnings.warn(
            "arch asks for a higher compute capability than the selected GPU has", stacklevel=3
        )


def _check_target(target: str) -> None:
    if target not in _TARGETS:
        raise AssertionError(f"target must be one of {', '.join(_TARGETS)}, got {target!r}")


def compile(
    source: str,
    nvcc: str = "nvcc",
    options: list[str] | None = None,
    keep: bool = False,
    no_extern_c: bool = False,
    arch: str | None = None,
    code: str | None = None,
    cache_dir: str | None = None,
    include_dirs: Sequence[str] | None = None,
    target: str = "cubin",
) -> bytes:
    """Compile `source`, and return an image that pycuda.driver.module_from_buffer loads.

    nvcc, keep, arch, code and cache_dir steer nvcc and are not used. Raises CompileError with file
    and line.
    """
    _check_target(target)
    _check_architecture(arch)
    source = _text(source, no_extern_c)
    options = _all_options(source, options, include_dirs, arch or _OF_THE_GPU)
    if target == "cubin":
        _require_one_machine_code(options, arch or _OF_THE_GPU)
    return _image(source, options, no_extern_c)


def _image(source: str, options: list[str], no_extern_c: bool) -> bytes:
    _launch.load(source, options, extern_c=not no_extern_c)
    return _launch.image_of(source, options, extern_c=not no_extern_c)


def compile_plain(
    source: str,
    options: list[str],
    keep: bool,
    nvcc: str,
    cache_dir: str | None,
    target: str = "cubin",
) -> bytes:
    """Compile `source` as it is, without extern "C" around it, as `compile` does. PyCUDA's
    `compile` calls it.
    """
    _check_target(target)
    source = _text(source, no_extern_c=True)
    return _image(source, _all_options(source, list(options), None, None), no_extern_c=True)


def preprocess_source(source: str, options: list[str], nvcc: str) -> str:
    """Return `source`, without extern "C" around it, as nvcc's preprocessor writes it. PyCUDA's
    `compile` finds by it whether a file that a source includes has changed.

    nvcc is not used. Raises CompileError with file and line, also where nvcc is not installed.
    """
    source = _text(source, no_extern_c=True)
    return _launch.preprocessed(source, _all_options(source, list(options), None, None))


class SourceModule:
    """A module made from CUDA source.

    options: nvcc's, of which -D, -U and -I count; no_extern_c: leave the source as it is, else it
    is put in extern "C".
    nvcc, keep, arch, code and cache_dir steer nvcc and are not used. Raises CompileError with file
    and line.
    """

    def __init__(
        self,
        source: str,
        nvcc: str = "nvcc",
        options: list[str] | None = None,
        keep: bool = False,
        no_extern_c: bool = False,
        arch: str | None = None,
        code: str | None = None,
        cache_dir: str | None = None,
        include_dirs: Sequence[str] | None = None,
    ):
        _check_architecture(arch)
        source = _text(source, no_extern_c)
        options = _all_options(source, options, include_dirs, arch or _OF_THE_GPU)
        _require_one_machine_code(options, arch or _OF_THE_GPU)
        self.module = _launch.load(source, options, extern_c=not no_extern_c)
        self.get_global = self.module.get_global
        self.get_texref = self.module.get_texref
        self.get_surfref = self.module.get_surfref

    def get_function(self, name: str) -> Function:
        return self.module.get_function(name)


_NO_LINKER = (
    "the simulator has no device linker: put the sources into one SourceModule, and launch from "
    "Python what a kernel would launch, or use a GPU"
)


class DynamicModule:
    """On a GPU, a module linked from several sources and libraries; here its use raises
    LogicError.
    """

    def __init__(self, *args, **kwargs):
        _device.need_context("cuLinkCreate")

    def _refuse(self, *args, **kwargs):
        raise _errors.logic_error("cuLinkAddData", _errors.NOT_SUPPORTED, _NO_LINKER)

    add_source = add_data = add_file = add_stdlib = link = get_function = _refuse


class DynamicSourceModule(SourceModule):
    """On a GPU, a source whose kernels may launch kernels; here CompileError names the line of such
    a launch.
    """

    def __init__(
        self,
        source: str,
        nvcc: str = "nvcc",
        options: list[str] | None = None,
        *args,
        cuda_libdir=None,
        **kwargs,
    ):
        options = [option for option in options or () if option not in ("-rdc=true", "-lcudadevrt")]
        super().__init__(source, nvcc, options, *args, **kwargs)
