"""Finds the host's C++ compiler, runs it, and caches its libraries by content.

The simulator uses it (its machine is C++), and so does `helpers.problems.baselines` (the C++ CPU
baselines). Importing this module neither looks for a compiler nor compiles.
"""

from __future__ import annotations

import ctypes
import fcntl
import functools
import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.pool import ThreadPool
from pathlib import Path

import platformdirs

from helpers.quantities import quantity

from . import notices

CACHE_VARIABLE = "HALO_CACHE"
SHARED_FLAGS = ("-std=c++17", "-shared", "-fPIC")
_OBJECT_FLAGS = ("-std=c++17", "-fPIC")
OPENMP_FLAGS = ("-fopenmp",)
# Files. A header that is compiled once saves half a second for each of them, and takes two.
_WORTH_A_PRECOMPILED_HEADER = 8

_INSTALL = """Install one of these and try again:
  Debian, Ubuntu, WSL   sudo apt install g++
  Fedora, RHEL          sudo dnf install gcc-c++
  macOS                 xcode-select --install
  conda                 conda install -c conda-forge cxx-compiler
  anywhere, no root     pip install ziglang"""

_OPENMP_PROBE = (
    '#include <omp.h>\nextern "C" int halo_threads() { return omp_get_max_threads(); }\n'
)
_FLAG_PROBE = 'extern "C" int halo_probe() { return 7; }\n'


class CompilerMissingError(RuntimeError):
    """No C++ compiler runs on this machine; the message lists the commands that it tried and how to
    install a compiler.
    """


class CompileFailed(Exception):
    """The compiler refuses a source. `message` is its output without the paths of temporary
    folders.
    """

    def __init__(self, message: str):
        super().__init__(message)
        self.message = message


class CacheError(OSError):
    """The folder for compiled code cannot be used; the message names it and HALO_CACHE."""


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler that answers `--version`.

    argv: its command, such as ("/usr/bin/c++",) or (python, "-m", "ziglang", "c++"); kind: "gcc",
    "clang" or "zig"; version: the first line of its answer.
    """

    argv: tuple[str, ...]
    kind: str
    version: str

    def __str__(self) -> str:
        return f"{' '.join(self.argv)} ({self.version})"


def find_compiler() -> Compiler:
    """Return the first compiler that runs: $CXX, c++, g++, clang++ or the ziglang wheel. It looks
    once for each $CXX and $PATH.

    Raises CompilerMissingError if none runs, and also if $CXX is set and does not run: it never
    replaces the user's choice in silence.
    """
    return _find_compiler(os.environ.get("CXX", "").strip(), os.environ.get("PATH", ""))


@functools.cache
def _find_compiler(chosen: str, search_path: str) -> Compiler:
    if chosen:
        compiler, why = _try(tuple(shlex.split(chosen)), search_path)
        if compiler is None:
            raise CompilerMissingError(
                f"CXX is set to {chosen!r}, which does not run ({why}). Set CXX to a C++ compiler, "
                "or unset it to try c++, g++, clang++ and the ziglang wheel."
            )
        return compiler
    failures = []
    for argv in (("c++",), ("g++",), ("clang++",), (sys.executable, "-m", "ziglang", "c++")):
        compiler, why = _try(argv, search_path)
        if compiler is not None:
            return compiler
        failures.append(f"  {' '.join(argv[-2:] if 'ziglang' in argv else argv)}: {why}")
    raise CompilerMissingError(
        "No C++ compiler was found. Tried:\n" + "\n".join(failures) + "\n" + _INSTALL
    )


def _try(argv: tuple[str, ...], search_path: str) -> tuple[Compiler | None, str]:
    """Return (compiler, "") if `argv --version` answers, else (None, the reason)."""
    program = shutil.which(argv[0], path=search_path)
    if program is None:
        return None, "not found on PATH"
    if (
        "ziglang" in argv
        and argv[0] == sys.executable
        and importlib.util.find_spec("ziglang") is None
    ):
        return None, "the Python package ziglang is not installed"
    argv = (program, *argv[1:])
    try:
        answer = subprocess.run(
            [*argv, "--version"],
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            env=_environment(),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, f"{program} does not start: {error}"
    lines = (answer.stdout or answer.stderr).strip().splitlines()
    if answer.returncode != 0 or not lines:
        return (
            None,
            f"{program} --version failed: "
            f"{lines[0] if lines else f'exit status {answer.returncode}'}",
        )
    return Compiler(argv, _kind(argv, answer.stdout), lines[0]), ""


def _kind(argv: tuple[str, ...], version_text: str) -> str:
    # zig's driver also says "clang version ...", and g++ is clang on macOS: the program's name does
    # not tell the compiler, its words do.
    if "ziglang" in argv or Path(argv[0]).stem == "zig":
        return "zig"
    return "clang" if "clang" in version_text.lower() else "gcc"


def _environment() -> dict[str, str]:
    # The C locale keeps messages in English with plain quotes, so that this package can find line
    # numbers in them.
    return {**os.environ, "LC_ALL": "C"}


def run_compiler(arguments: list[str], cwd: Path) -> None:
    """Run the compiler with `arguments` in the folder `cwd`.

    Raises CompileFailed with the compiler's message, and CompilerMissingError without a compiler.
    """
    compiler = find_compiler()
    process = subprocess.run(
        [*compiler.argv, *arguments],
        check=False,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        env=_environment(),
    )
    if process.returncode != 0:
        message = (
            process.stderr.strip() or process.stdout.strip()
        ) or f"{compiler} ended with status {process.returncode}"
        raise CompileFailed(_without_folder(message, Path(cwd)))


def _without_folder(message: str, folder: Path) -> str:
    # In each compilation g++ writes a note that a pass of its optimiser is off.
    message = "\n".join(line for line in message.splitlines() if "note: disable pass" not in line)
    for prefix in {str(folder), str(folder.resolve())}:
        message = message.replace(prefix + os.sep, "").replace(prefix, ".")
    return message


def cache_directory() -> Path:
    """Return the folder for compiled code, and creates it: $HALO_CACHE, else in the user's cache.

    Raises CacheError if it cannot create the folder or write to it.
    """
    setting = os.environ.get(CACHE_VARIABLE, "").strip()
    folder = (
        Path(setting).expanduser().absolute()
        if setting
        else platformdirs.user_cache_path("halo-labs")
    )
    try:
        if not folder.is_dir():  # this is asked for each file of the cache, and mkdir is slower
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cache_error(folder, error) from error
    return folder


def _cache_error(folder: Path, error: OSError) -> CacheError:
    return CacheError(
        f"Cannot write to {folder}, the folder for compiled code ({error.strerror or error}). "
        f"Set the environment variable {CACHE_VARIABLE} to a folder that you can write to."
    )


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a new folder inside the cache folder and remove it afterwards. `os.replace` from it
    into the cache is atomic.

    Raises CacheError if it cannot write to the cache folder.
    """
    cache = cache_directory()
    try:
        folder = tempfile.TemporaryDirectory(prefix="build-", dir=cache, ignore_cleanup_errors=True)
    except OSError as error:
        raise _cache_error(cache, error) from error
    with folder as name:
        yield Path(name)


@contextmanager
def _only_builder(folder: Path) -> Iterator[None]:
    """Let one process at a time build in the cache `folder`; the others wait, and then find what
    it has built.

    The system takes the lock back when a process ends. On a file system without locks each process
    builds for itself, which takes longer and does no harm.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def content_key(*parts: str) -> str:
    """Return 24 hexadecimal digits of sha256 over `parts`; their order counts."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        # The lengths make ("ab", "c") and ("a", "bc") differ.
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()[:24]


def _build_key(*parts: str) -> str:
    """Return the content_key of `parts` with the compiler and this machine's architecture."""
    compiler = find_compiler()
    return content_key(compiler.kind, compiler.version, sys.platform, platform.machine(), *parts)


def shared_library(
    name: str, text: str, flags: tuple[str, ...] = (), *, extra_key: str = ""
) -> Path:
    """Compile C++17 `text` into a shared library and return its path in the cache.

    The cache is keyed by text, flags, compiler, architecture and `extra_key`, and by the processor
    where the flags ask for its own instructions. When several processes ask at once, one builds in
    a folder of its own and moves the finished file into place; the others wait for it. Raises
    CompileFailed, CompilerMissingError, CacheError.
    """
    own_instructions = any(flag.endswith("=native") for flag in flags)
    key = _build_key(text, *flags, extra_key, processor() if own_instructions else "")
    target = cache_directory() / f"{name}-{key}.so"
    if target.exists():
        return target
    with _only_builder(target.parent), scratch() as folder:
        if target.exists():
            return target
        try:
            (folder / f"{name}.cpp").write_text(text, encoding="utf-8")
        # On a full disk a program can create a folder, but cannot write into it.
        except OSError as error:
            raise _cache_error(folder.parent, error) from error
        run_compiler([*SHARED_FLAGS, f"{name}.cpp", *flags, "-o", f"{name}.so"], folder)
        os.replace(folder / f"{name}.so", target)
    return target


def _sources(folder: Path) -> dict[str, str]:
    return {
        path.name: path.read_text(encoding="utf-8")
        for path in sorted(folder.iterdir())
        if path.suffix in (".cpp", ".h")
    }


def sources_key(folder: Path) -> str:
    """Return the content_key of all .cpp and .h files of a folder, with their names."""
    return content_key(*(part for row in _sources(folder).items() for part in row))


def folder_library(
    library: str,
    folder: Path,
    flags: tuple[str, ...] = (),
    common: str = "",
    *,
    link_flags: tuple[str, ...] = (),
    remark: str = "",
) -> Path:
    """Compile all .cpp files of `folder` into one shared library, one file on each core at a time,
    and return its path in the cache.

    The key is that of shared_library with the texts of all .cpp and .h files of the folder. The
    cache keeps objects as well, so that a change in one .cpp file compiles only this file. common:
    a header of the folder that most files include; g++ reads it once for all of them; remark: what
    the notice says beside how many files are done. Raises CompileFailed, CompilerMissingError,
    CacheError.
    """
    texts = _sources(folder)
    headers = [part for name, text in texts.items() if name.endswith(".h") for part in (name, text)]
    own = processor() if any(flag.endswith("=native") for flag in flags) else ""
    cache = cache_directory()
    objects = {
        name: cache / f"{Path(name).stem}-{_build_key(text, *headers, *flags, own)}.o"
        for name, text in texts.items()
        if name.endswith(".cpp")
    }
    key = _build_key(*(path.name for path in objects.values()), *link_flags)
    target = cache / f"{library}-{key}.so"
    if target.exists():
        return target
    with _only_builder(cache), scratch() as build:
        if target.exists():
            return target
        for name, text in texts.items():  # the texts of the key, even if a file has changed since
            (build / name).write_text(text, encoding="utf-8")

        missing = {name: path for name, path in objects.items() if not path.exists()}
        first = []
        if common and len(missing) >= _WORTH_A_PRECOMPILED_HEADER and find_compiler().kind == "gcc":
            made = ["-x", "c++-header", common, "-o", f"{common}.gch"]
            run_compiler([*_OBJECT_FLAGS, *flags, *made], build)
            first = ["-include", common]

        def compile_one(missing_one: tuple[str, Path]) -> None:
            name, path = missing_one
            run_compiler([*_OBJECT_FLAGS, *flags, *first, "-c", name, "-o", path.name], build)
            os.replace(build / path.name, path)

        what = (
            f"Compiling {quantity(len(missing), 'file')} of the simulator, once here{remark}: "
            "about a minute"
        )
        # An executor of concurrent.futures would refuse work of threads that outlive the script.
        with ThreadPool(os.cpu_count()) as pool:
            for _ in notices.counted(what, pool.imap_unordered(compile_one, missing.items())):
                pass
        made = [*map(str, objects.values()), *flags, *link_flags, "-o", target.name]
        run_compiler([*SHARED_FLAGS, *made], build)
        os.replace(build / target.name, target)
    return target


@functools.cache
def processor() -> str:
    """Return a text that identifies the type of processor, because machines of several types may
    share a home folder.
    """
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    fields = ("model name", "flags", "Features", "CPU part", "isa")
    return "\n".join(sorted({line for line in lines if line.startswith(fields)}))


def supports_openmp() -> bool:
    """Return whether the compiler builds OpenMP code that loads here; it tries once for each
    compiler.
    """
    return _supports_openmp(find_compiler())


@functools.cache
def _supports_openmp(compiler: Compiler) -> bool:
    try:
        path = shared_library("openmp_probe", _OPENMP_PROBE, OPENMP_FLAGS)
    except CompileFailed:
        return False
    try:
        return ctypes.CDLL(str(path)).halo_threads() >= 1
    except OSError:  # it compiles, but OpenMP's runtime library is not installed
        return False


def native_flags() -> tuple[str, ...]:
    """Return the flags for this processor's own instructions, () if there are none."""
    return _native_flags(find_compiler())


@functools.cache
def _native_flags(compiler: Compiler) -> tuple[str, ...]:
    for flag in ("-march=native", "-mcpu=native"):
        try:
            shared_library("flag_probe", _FLAG_PROBE, (flag,))
        except CompileFailed:
            continue
        return (flag,)
    return ()
