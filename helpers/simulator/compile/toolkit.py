"""Finds NVIDIA's compiler from PyPI: the wheels' library, headers and programs, and their versions.

The simulator needs no GPU, driver or CUDA installation: the same wheels give the same code on every
machine. It uses a CUDA 13 installation only if the environment variable HALO_CUDA names its folder.
Importing this module neither looks for the compiler nor loads it.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

# Wheels of one minor version belong together: its compiler, headers and assembler.
_WHEELS = ("nvidia-cuda-nvrtc", "nvidia-cuda-runtime", "nvidia-cuda-crt", "nvidia-cuda-cccl")
_RELEASE = ">=13.0,<13.1"
_FOLDER = "cu13"
_LIBRARY, _BUILTINS = "libnvrtc.so.13", "libnvrtc-builtins.so.13.0"
_HEADERS = "cuda_runtime.h"
_VARIABLE = "HALO_CUDA"
# Arguments of Linux' personality(): ask for it, and load at addresses that are not drawn.
_AS_IT_IS, _SAME_ADDRESSES = 0xFFFFFFFF, 0x0040000
# cicc's allocator is jemalloc, which gives unused pages back after some time: what it hands out
# then lies at other addresses. On a busy machine that changed the text in 40 of 50 runs (see
# `fixed_addresses`); with pages that are never given back, in 0 of 50.
_KEPT_PAGES = "dirty_decay_ms:-1,muzzy_decay_ms:-1"


class ToolkitMissingError(RuntimeError):
    """A wheel of NVIDIA's compiler is missing or does not load; the message says what to do."""


def _install(what: str) -> ToolkitMissingError:
    if sys.platform != "linux":
        return ToolkitMissingError(
            f"the simulator needs NVIDIA's compiler ({what}), which runs only on Linux: use WSL on "
            "Windows, a container on macOS"
        )
    return ToolkitMissingError(
        f"the simulator needs NVIDIA's compiler, but {what}: run {install_command(*_WHEELS)}"
    )


def install_command(*wheels: str) -> str:
    """Return the command that installs `wheels` in the release of the other wheels."""
    return "pip install " + " ".join(f'"{wheel}{_RELEASE}"' for wheel in wheels)


@cache
def root() -> Path:
    """Return the folder of the wheels, with include/ and lib/. Raises ToolkitMissingError."""
    if installation := os.environ.get(_VARIABLE):
        return _installation(Path(installation))
    for folder in _folders_of_wheels():
        if all((folder / "lib" / name).is_file() for name in (_LIBRARY, _BUILTINS)):
            return folder
    raise _install(f"{_LIBRARY} was not found")


def _folders_of_wheels() -> list[Path]:
    """Return the folders with NVIDIA's wheels of CUDA 13; an environment may see several."""
    package = importlib.util.find_spec("nvidia")
    places = package.submodule_search_locations if package is not None else None
    return [Path(place) / _FOLDER for place in places or ()]


def _installation(folder: Path) -> Path:
    """Return `folder` if it is a CUDA installation, else raises ToolkitMissingError."""
    if (folder / "include" / _HEADERS).is_file() and (
        folder / _libraries_of(folder) / _LIBRARY
    ).exists():
        return folder
    raise ToolkitMissingError(
        f"{_VARIABLE}={folder}: expected a CUDA 13 installation with include/{_HEADERS} and "
        f"{_LIBRARY} in lib64/; give its folder, or unset {_VARIABLE} to use NVIDIA's wheels"
    )


def _libraries_of(folder: Path) -> str:
    """Return "lib64" for an installation, "lib" for the wheels."""
    return "lib64" if (folder / "lib64" / _LIBRARY).exists() else "lib"


@cache
def include_directories() -> tuple[Path, ...]:
    """Return the folders of CUDA's headers in the order of search: the compiler's own, then those
    of wheels that are installed elsewhere. Raises ToolkitMissingError.
    """
    include = root() / "include"
    for header, wheel in ((_HEADERS, _WHEELS[1]), ("crt/host_defines.h", _WHEELS[2])):
        if not (include / header).is_file():
            raise _install(f"the header {header} ({wheel}) was not found")
    elsewhere = [] if _VARIABLE in os.environ else _folders_of_wheels()
    folders = dict.fromkeys((include, include / "cccl", *(one / "include" for one in elsewhere)))
    return tuple(folder for folder in folders if folder.is_dir())


def nvrtc_libraries() -> tuple[Path, Path]:
    """Return the run-time compiler's library and the library of its built-in functions."""
    folder = root() / _libraries_of(root())
    return folder / _LIBRARY, folder / _BUILTINS


@cache
def program(name: str) -> Path | None:
    """Return the path of one of the wheels' programs ("nvcc", "ptxas", "nvdisasm"), None if its
    wheel is not installed.
    """
    path = root() / "bin" / name
    return path if path.is_file() and os.access(path, os.X_OK) else None


@cache
def front_end() -> Path | None:
    """Return the path of nvcc's front end, cicc, None if its wheel is not installed."""
    path = root() / "nvvm" / "bin" / "cicc"
    return path if path.is_file() and os.access(path, os.X_OK) else None


@cache
def host_compiler() -> Path | None:
    """Return a C++ compiler for nvcc's preprocessing: $NVCC_CCBIN, $CXX, g++, c++ or clang++; None
    without one.
    """
    for name in (
        os.environ.get("NVCC_CCBIN", ""),
        os.environ.get("CXX", ""),
        "g++",
        "c++",
        "clang++",
    ):
        if name and (path := shutil.which(name)):
            return Path(path)
    return None


@cache
def version() -> str:
    """Return the compiler's version, such as "13.0.88"."""
    if installation := os.environ.get(_VARIABLE):
        return f"13.0 of {installation}"
    try:
        return importlib.metadata.version(_WHEELS[0])
    except importlib.metadata.PackageNotFoundError:  # the files are there without a wheel's record
        return _BUILTINS.partition(".so.")[2]


@cache
def versions() -> dict[str, str]:
    """Return the versions of the installed wheels by name; a cache of compiled code depends on
    them.
    """
    names = (*_WHEELS, "nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-nvdisasm")
    installation = os.environ.get(_VARIABLE)
    by_name = {_VARIABLE: installation} if installation else {}
    beside = _installed_beside()
    for name in names:
        if (version := beside.get(name) or _installed(name)) is not None:
            by_name[name] = version
    return by_name


def _installed_beside() -> dict[str, str]:
    """Return the versions of NVIDIA's wheels beside the compiler's, by name, from the names of
    their folders. importlib.metadata would read each wheel's description, which takes longer than a
    compilation.
    """
    folders = (path.name for path in root().parent.parent.glob("nvidia_*.dist-info"))
    parts = (name.removesuffix(".dist-info").split("-") for name in folders)
    by_name: dict[str, str] = {}
    for name, *version in parts:
        if len(version) != 1 or name in by_name:  # two versions of one wheel
            return {}
        by_name[name] = version[0]
    return {name.replace("_", "-"): version for name, version in by_name.items()}


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a new folder for one run of a program and remove it; it needs no cache folder."""
    with tempfile.TemporaryDirectory(prefix="halo-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def environment() -> dict[str, str]:
    """Return this process's environment, with messages in English, without the variables that would
    add options to the compilers, and with memory that is handed out the same way in each run.
    """
    hidden = ("NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS", "NVRTC_APPEND_FLAGS")
    ours = {k: v for k, v in os.environ.items() if k not in hidden}
    return {**ours, "LC_ALL": "C", "MALLOC_CONF": _KEPT_PAGES}


@contextmanager
def fixed_addresses() -> Iterator[None]:
    """Let the programs that this thread starts meanwhile load at the same addresses in each run.

    NVIDIA's compiler goes through some of its sets by address. With the addresses that Linux draws
    for each process, cicc wrote other loads for one kernel in 8 of 100 runs, so that its counters
    differed. Some containers forbid it: then nothing changes. See also `_KEPT_PAGES`.
    """
    if sys.platform != "linux":
        yield
        return
    personality = ctypes.CDLL(None).personality
    before = personality(_AS_IT_IS)
    personality(before | _SAME_ADDRESSES)
    try:
        yield
    finally:
        personality(before)


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run one of the wheels' programs in `folder`, with messages in English."""
    with fixed_addresses():
        return subprocess.run(
            arguments,
            check=False,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env={**environment(), "TMPDIR": str(folder)},
        )
