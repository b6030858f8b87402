"""NVIDIA's compiler from PyPI: where the wheels' library, headers and programs lie, and their
versions.

No GPU, driver or CUDA installation is needed or looked at: the same wheels give the same code on
every machine. Only where the environment variable HALO_CUDA names the folder of a CUDA 13
installation, that one is taken. Nothing is searched for or loaded when this module is imported.
"""

from __future__ import annotations

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
_ASKED = "HALO_CUDA"


class ToolkitMissingError(RuntimeError):
    """A wheel of NVIDIA's compiler is missing or does not load: the message says what to do."""


def _install(what: str) -> ToolkitMissingError:
    if sys.platform != "linux":
        return ToolkitMissingError(
            f"the simulator needs NVIDIA's compiler ({what}), which runs on Linux only: use WSL on "
            "Windows, a container on macOS"
        )
    return ToolkitMissingError(
        f"the simulator needs NVIDIA's compiler, of which {what}: {install_command(*_WHEELS)}"
    )


def install_command(*wheels: str) -> str:
    """The command that installs `wheels` in the one release that goes with the others."""
    return "pip install " + " ".join(f'"{wheel}{_RELEASE}"' for wheel in wheels)


@cache
def root() -> Path:
    """The folder of the wheels, with include/ and lib/. Raises ToolkitMissingError."""
    if asked := os.environ.get(_ASKED):
        return _installation(Path(asked))
    package = importlib.util.find_spec("nvidia")
    places = package.submodule_search_locations if package is not None else None
    folders = [Path(place) / _FOLDER for place in places or ()]
    for folder in folders:
        if all((folder / "lib" / name).is_file() for name in (_LIBRARY, _BUILTINS)):
            return folder
    raise _install(f"{_LIBRARY} was not found")


def _installation(folder: Path) -> Path:
    """A CUDA installation that was asked for. Raises ToolkitMissingError where it is none."""
    if (folder / "include" / _HEADERS).is_file() and (
        folder / _libraries_of(folder) / _LIBRARY
    ).exists():
        return folder
    raise ToolkitMissingError(
        f"{_ASKED}={folder}: expected a CUDA 13 installation with include/{_HEADERS} and "
        f"{_LIBRARY} "
        f"in lib64/; without {_ASKED} the simulator takes NVIDIA's wheels"
    )


def _libraries_of(folder: Path) -> str:
    """ "lib", as in the wheels, or "lib64", as in an installation."""
    return "lib64" if (folder / "lib64" / _LIBRARY).exists() else "lib"


@cache
def include_directories() -> tuple[Path, ...]:
    """The folders of CUDA's headers, in the order of search. Raises ToolkitMissingError."""
    include = root() / "include"
    for header, wheel in ((_HEADERS, _WHEELS[1]), ("crt/host_defines.h", _WHEELS[2])):
        if not (include / header).is_file():
            raise _install(f"the header {header} ({wheel}) was not found")
    return tuple(folder for folder in (include, include / "cccl") if folder.is_dir())


def nvrtc_libraries() -> tuple[Path, Path]:
    """The run-time compiler's library, and that of its built-in functions."""
    folder = root() / _libraries_of(root())
    return folder / _LIBRARY, folder / _BUILTINS


@cache
def program(name: str) -> Path | None:
    """One of the wheels' programs ("nvcc", "ptxas", "nvdisasm"); None where its wheel is not
    installed.
    """
    path = root() / "bin" / name
    return path if path.is_file() and os.access(path, os.X_OK) else None


@cache
def host_compiler() -> Path | None:
    """A C++ compiler that nvcc can preprocess with: $CXX, g++ or clang++; None without one."""
    for name in (
        os.environ.get("NVCC_CCBIN", ""),
        os.environ.get("CXX", ""),
        "g++",
        "c++",
        "clang++",
    ):
        if name and (found := shutil.which(name)):
            return Path(found)
    return None


@cache
def version() -> str:
    """The compiler's version, such as "13.0.88"."""
    if asked := os.environ.get(_ASKED):
        return f"13.0 of {asked}"
    try:
        return importlib.metadata.version(_WHEELS[0])
    except importlib.metadata.PackageNotFoundError:  # the files are there, and nobody says whose
        return _BUILTINS.partition(".so.")[2]


@cache
def versions() -> dict[str, str]:
    """The versions of the wheels that are installed, by name: what a cache of compiled code depends
    on.
    """
    names = (*_WHEELS, "nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-nvdisasm")
    found = {_ASKED: asked} if (asked := os.environ.get(_ASKED)) else {}
    beside = _installed_beside()
    for name in names:
        if (version := beside.get(name) or _installed(name)) is not None:
            found[name] = version
    return found


def _installed_beside() -> dict[str, str]:
    """Versions by name of NVIDIA's wheels that lie beside the compiler's, from the names of their
    folders: importlib.metadata reads each wheel's description, which takes longer than a
    compilation.
    """
    folders = (path.name for path in root().parent.parent.glob("nvidia_*.dist-info"))
    parts = (name.removesuffix(".dist-info").split("-") for name in folders)
    found: dict[str, str] = {}
    for name, *version in parts:
        if len(version) != 1 or name in found:  # two versions of one wheel: the slow way tells
            return {}
        found[name] = version[0]
    return {name.replace("_", "-"): version for name, version in found.items()}


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


@contextmanager
def scratch() -> Iterator[Path]:
    """A new folder for one run of a program, removed afterwards; it needs no cache folder."""
    with tempfile.TemporaryDirectory(prefix="halo-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def environment() -> dict[str, str]:
    """This process's, with messages in English and without options that nobody sees."""
    hidden = ("NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS", "NVRTC_APPEND_FLAGS")
    return {**{k: v for k, v in os.environ.items() if k not in hidden}, "LC_ALL": "C"}


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs one of the wheels' programs in `folder`, with messages in English."""
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
