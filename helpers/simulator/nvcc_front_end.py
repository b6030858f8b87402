"""nvcc's own front end, cicc, without nvcc: the PTX that PyCUDA's SourceModule gets.

NVRTC and cicc make different PTX of one source. cicc addresses shared memory by 32-bit pointers and
NVRTC by 64-bit ones, so that ptxas joins other loads. nvcc would let a host compiler preprocess the
source with the whole toolkit first. cicc preprocesses by itself: here it reads the text that NVRTC
reads, with the header that NVRTC has inside, which needs no host compiler and takes 0.1 s.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from . import compiler_cache, standard_headers, toolkit
from .compiler_options import Options
from .toolchain import CacheError, CompileFailed, cache_directory, scratch

# A function of NVRTC's library of built-in functions: it returns the header and its length.
_HEADER_FUNCTION = "getBuiltinHeader"
# The macros that NVRTC defines, apart from those for types that only its own parser has.
_MACROS = {
    "__cplusplus": "201703L", "__CUDACC_RTC__": "1", "__LP64__": "1",
    "__CUDACC_VER_MAJOR__": "13", "__CUDACC_VER_MINOR__": "0", "__CUDACC_VER_BUILD__": "88",
    "__CUDA_API_VER_MAJOR__": "13", "__CUDA_API_VER_MINOR__": "0",
    "__CUDA_ARCH__": "900", "__CUDA_ARCH_LIST__": "900",
    "__NVCC_DIAG_PRAGMA_SUPPORT__": "1", "__CUDACC_DEVICE_ATOMIC_BUILTINS__": "1",
    "__NV_BUILTIN_MOVE_FORWARD": "1", "__NV_BUILTIN_INITIALIZER_LIST": "1",
}  # fmt: skip
