"""CUDA source to PTX, by NVIDIA's own compiler."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

from . import toolkit
from .toolchain import CompileFailed


@dataclass(frozen=True)
class Compiled:
    source: str
    file: str
    ptx: str
    warnings: str = ""


def compile_source(source: str, options: Sequence[str] = (), file: str = "kernel.cu", extern_c: bool = False) -> Compiled:
    text = f'extern "C" {{\n#line 1 "{file}"\n{source}\n}}\n' if extern_c else source
    paths = [f"-I{path}" for path in toolkit.include_directories()]
    passed = [o for o in options if o.startswith(("-D", "-I", "-U"))]
    ptx, log = _nvrtc(text, ["-arch=compute_90", "-lineinfo", *paths, *passed], file)
    return Compiled(source, file, ptx, log)


def _nvrtc(text: str, options: list[str], file: str) -> tuple[str, str]:
    library, program, size = toolkit.nvrtc(), ctypes.c_void_p(), ctypes.c_size_t()
    if library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), file.encode(), 0, None, None):
        raise CompileFailed(f"{file}: the compiler does not take this source")
    try:
        words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        status = library.nvrtcCompileProgram(program, len(options), words)
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        library.nvrtcGetProgramLog(program, log)
        if status:
            raise CompileFailed(log.value.decode(errors="replace").strip())
        library.nvrtcGetPTXSize(program, ctypes.byref(size))
        ptx = ctypes.create_string_buffer(size.value)
        library.nvrtcGetPTX(program, ptx)
        return ptx.value.decode(), log.value.decode(errors="replace").strip()
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))
