"""pycuda.compiler, for machines without a GPU: SourceModule compiles for the simulator with the host's C++ compiler."""

from __future__ import annotations

import os
from collections.abc import Sequence

from . import _launch
from ._launch import Function

DEFAULT_NVCC_FLAGS = os.environ.get("PYCUDA_DEFAULT_NVCC_FLAGS", "").split()
_TARGETS = ("cubin", "ptx", "fatbin")


def _all_options(options: list[str] | None, include_dirs: Sequence[str] | None) -> list[str]:
    if options is None:
        options = DEFAULT_NVCC_FLAGS
    if not isinstance(options, list):
        # PyCUDA extends the list it is given and fails on anything else, with the same class.
        raise AttributeError(f"options must be a list of str, was given a {type(options).__name__}: {options!r}")
    return [*options, *(f"-I{path}" for path in include_dirs or ())]


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
    """Compiles `source`, and returns an image that pycuda.driver.module_from_buffer loads.

    nvcc, keep, arch, code and cache_dir steer nvcc and are not used. Raises CompileError with file and line.
    """
    if target not in _TARGETS:
        raise AssertionError(f"target must be one of {', '.join(_TARGETS)}, was given {target!r}")
    options = _all_options(options, include_dirs)
    _launch.load(source, options, extern_c=not no_extern_c)
    return _launch.image_of(source, options, extern_c=not no_extern_c)


class SourceModule:
    """A module made from CUDA source.

    options: nvcc's, of which -D, -U and -I count; no_extern_c: leave the source as it is, else it is put in extern "C".
    nvcc, keep, arch, code and cache_dir steer nvcc and are not used. Raises CompileError with file and line.
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
        self.module = _launch.load(source, _all_options(options, include_dirs), extern_c=not no_extern_c)
        self.get_global = self.module.get_global
        self.get_texref = self.module.get_texref

    def get_function(self, name: str) -> Function:
        return self.module.get_function(name)
