"""A CUDA source as a shared library: compiled once per content, with what its debug information says beside it."""

from __future__ import annotations

import ctypes
import json
import os
import re
import sys
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from . import debug_info, toolchain
from .debug_info import DebugInfo
from .translate import Signature, Translation, UnsupportedError, translate

NATIVE = Path(__file__).parent / "native"
INCLUDE = NATIVE / "include"

_ENGINE_FLAGS = ("-O2", "-Wall", "-pthread", f"-I{NATIVE}")
# -fsanitize=thread and the others only insert calls; the engine answers them. What a host's optimiser would do to loads and stores
# that a GPU's would not (joining them into vectors or memset) is switched off.
_KERNEL_FLAGS = (
    "-std=c++17", "-O2", "-g", "-fPIC", "-w", "-ffp-contract=off", "-fno-strict-aliasing",
    "-fsanitize=thread", "-fsanitize=bounds", "-fsanitize=return", "-fsanitize-coverage=trace-pc",
    "-fno-tree-vectorize", "-fno-optimize-sibling-calls", "-fno-omit-frame-pointer",
)  # fmt: skip
_ONLY_GCC = (
    "-fno-tree-loop-distribute-patterns", "-fno-thread-jumps", "-fno-reorder-blocks", "-fno-reorder-blocks-and-partition",
    "-fno-ipa-icf", "-fno-gnu-unique", "-fdisable-rtl-loop2_unroll", "--param=tsan-instrument-func-entry-exit=0",
    # What a function returns is copied to where it goes, by a store that is seen: the call's own store has no instrumentation.
    "-fno-elide-constructors",
    # Where each local variable is at each instruction: never asked for, and most of the time of compiling an unrolled loop.
    "-fno-var-tracking",
)  # fmt: skip
_ONLY_CLANG = (
    "-gdwarf-4", "-fno-slp-vectorize", "-mllvm", "-tsan-instrument-func-entry-exit=0",
    "-mllvm", "-tsan-instrument-read-before-write=1", "-fno-finite-loops",
    # Loops that fill or copy stay loops of stores, as on a GPU.
    "-fno-builtin-memset", "-fno-builtin-memcpy", "-fno-builtin-memmove",
)  # fmt: skip
# clang before version 15 leaves the copy of a large struct to memcpy, where later ones call __tsan_memcpy: the engine has both.
_LINK_CLANG = tuple(f"-Wl,--wrap={name}" for name in ("memcpy", "memmove", "memset"))

# Options of nvcc that change speed or messages, never what a kernel means.
_NO_MEANING_HERE = re.compile(
    r"-(O\d|G|g|lineinfo|w|use_fast_math|-use_fast_math|Xptxas|-ptxas-options|maxrregcount|-maxrregcount|arch|-gpu-architecture|gencode|std|-std|Xcompiler|-restrict|restrict|-extra-device-vectorization|v|-resource-usage)\b.*"
)
# Names of parameters in CUDA's own headers: nvcc applies -D to these, too, and `template <typename 16>` does not compile.
_IN_CUDAS_HEADERS = re.compile(r"[TUa-z]")
_TAKES_ANOTHER = {"-Xptxas", "-Xcompiler", "-arch", "-gencode", "-maxrregcount", "-std", "--ptxas-options"}


@dataclass(frozen=True)
class Program:
    """A compiled source: where its library lies, its kernels' signatures, and its debug information."""

    library: Path
    file: str
    source: str
    kernels: tuple[Signature, ...]
    templates: tuple[str, ...]
    dynamic_shared: tuple[tuple[str, str], ...]
    debug: DebugInfo


def compile_program(source: str, options: tuple[str, ...] = (), file: str = "kernel.cu", extern_c: bool = False) -> Program:
    """Compiles CUDA `source` (or takes it from the cache).

    options: nvcc's; -D, -U and -I count, those that only steer optimisation are passed over, others are refused.
    Raises toolchain.CompileFailed with `file`:line in the message, toolchain.CompilerMissingError without a compiler.
    """
    macros, paths = compiler_options(options)
    translated = _translated.__wrapped__ if paths else _translated  # files behind -I may change
    try:
        translation = translated(source, file, extern_c, macros, paths)
    except UnsupportedError as error:
        raise toolchain.CompileFailed(str(error)) from error
    beside = _included(source, paths)
    for name, text in beside.items():
        _refuse_in_header(name, text, macros, paths)
    key = toolchain.content_key(translation.text, *paths, *beside.values(), *_kernel_flags(), *_link_flags(), _headers())
    library = toolchain.cache_directory() / f"kernel-{key}.so"
    notes = library.with_suffix(".json")
    if not (library.exists() and notes.exists()):
        _build(translation, paths, library, notes)
    return Program(library, file, source, translation.kernels, translation.templates, translation.dynamic_shared, _debug(notes))


def _included(source: str, paths: tuple[str, ...]) -> dict[str, str]:
    """Texts, by name, of the files of the -I folders that `source` includes in quotes, and of those that they include."""
    found: dict[str, str] = {}
    waiting = [source]
    while waiting:
        for name in re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', waiting.pop(), re.MULTILINE):
            files = (Path(path.removeprefix("-I").strip(), name) for path in paths)
            file = next((file for file in files if file.is_file()), None)
            if name not in found and file is not None:
                found[name] = file.read_text(encoding="utf-8", errors="replace")
                waiting.append(found[name])
    return found


def _refuse_in_header(name: str, text: str, macros: str, paths: tuple[str, ...]) -> None:
    """Raises toolchain.CompileFailed where a header, as these macros leave it, has what the simulator cannot run."""
    try:
        translate(text, name, False, macros, lambda part: _preprocess(part, name, macros, paths))
    except UnsupportedError as error:
        raise toolchain.CompileFailed(str(error)) from error


@lru_cache(maxsize=64)
def _translated(source: str, file: str, extern_c: bool, macros: str, paths: tuple[str, ...]) -> Translation:
    return translate(source, file, extern_c, macros, lambda text: _preprocess(text, file, macros, paths))


@lru_cache(maxsize=64)
def _debug(notes: Path) -> DebugInfo:
    return DebugInfo.from_dict(json.loads(notes.read_text()))


def compiler_options(options: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """What means something here: -D and -U as preprocessor lines, and the -I options.

    Macros become lines because the compiler would apply -D to the simulator's own headers too, where -DA=16 breaks a template.
    Raises toolchain.CompileFailed for an option that nobody knows, and for a macro that would break CUDA's headers on a GPU.
    """
    lines, paths, rest = [], [], [str(option) for option in options]
    while rest:
        option = rest.pop(0)
        if option in ("-D", "-U", "-I"):
            option += rest.pop(0) if rest else ""
        if option.startswith("-D"):
            name, _, value = option[2:].partition("=")
            if _IN_CUDAS_HEADERS.fullmatch(name.strip()):
                raise toolchain.CompileFailed(
                    f"-D{name.strip()}: nvcc would replace {name.strip()!r} in CUDA's own headers, too, which then do not compile: "
                    "give the macro a longer name, or #define it in the source"
                )
            lines.append(f"#define {name} {value if '=' in option else '1'}")
        elif option.startswith("-U"):
            lines.append(f"#undef {option[2:]}")
        elif option.startswith("-I"):
            paths.append(option)
        elif option in _TAKES_ANOTHER:
            rest[:1] = []
        elif not _NO_MEANING_HERE.fullmatch(option):
            raise toolchain.CompileFailed(
                f"the simulator does not know the compiler option {option!r}: it takes -D, -U and -I, and passes over nvcc's "
                "options for optimisation (-O3, -use_fast_math, -maxrregcount ...)"
            )
    return "\n".join(lines), tuple(paths)


def _preprocess(source: str, file: str, macros: str, paths: tuple[str, ...]) -> str:
    """What the preprocessor leaves of `source`, each line in its old place."""
    with toolchain.scratch() as folder:
        (folder / "kernel.cpp").write_text(f'{macros}\n#line 1 "{file}"\n{source}')
        words = ["-std=c++17", "-D__CUDACC__=1", "-D__CUDA_ARCH__=900", "-DHALO_SIMULATOR=1", f"-I{INCLUDE}", *paths]
        toolchain.run_compiler([*words, "-E", "kernel.cpp", "-o", "kernel.i"], folder)
        text = (folder / "kernel.i").read_text(errors="replace")
    lines: dict[int, str] = {}
    number, here = 0, False
    for line in text.splitlines():
        if marker := re.match(r'# (\d+) "(.*?)"', line):
            number, here = int(marker[1]), marker[2] == file
        else:
            if here:
                lines[number] = f"{lines.get(number, '')} {line}"
            number += 1
    return "\n".join(lines.get(number, "") for number in range(1, max(lines, default=0) + 1)) + "\n"


def _build(translation: Translation, paths: tuple[str, ...], library: Path, notes: Path) -> None:
    with toolchain.scratch() as folder:
        (folder / "kernel.cpp").write_text(translation.text)
        includes = ["-include", str(INCLUDE / "halo_cuda.h"), f"-I{INCLUDE}"]
        toolchain.run_compiler([*_kernel_flags(), *includes, *paths, "-c", "kernel.cpp", "-o", "kernel.o"], folder)
        # Linked without the sanitizers: the engine, loaded before, defines what they would.
        toolchain.run_compiler(["-shared", "kernel.o", *_link_flags(), "-o", "kernel.so"], folder)
        (folder / "kernel.json").write_text(json.dumps(debug_info.read(folder / "kernel.so").to_dict()))
        os.replace(folder / "kernel.json", notes)
        os.replace(folder / "kernel.so", library)


def _kernel_flags() -> tuple[str, ...]:
    return _KERNEL_FLAGS + (_ONLY_GCC if toolchain.find_compiler().kind == "gcc" else _ONLY_CLANG)


def _link_flags() -> tuple[str, ...]:
    return _LINK_CLANG if toolchain.find_compiler().kind == "clang" and sys.platform == "linux" else ()


@cache
def _headers() -> str:
    return "".join(path.read_text() for path in sorted(INCLUDE.glob("*.h")))


@cache
def engine() -> ctypes.CDLL:
    """The engine, built at first use and loaded so that kernels' libraries find its symbols."""
    text = (NATIVE / "engine.cpp").read_text()
    headers = "".join(path.read_text() for path in sorted(NATIVE.glob("*.h")))
    path = toolchain.shared_library("halo_engine", text, _ENGINE_FLAGS, extra_key=headers)
    return ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
