"""From CUDA source to C++ that the host's compiler takes: names the kernels, places dynamic shared memory, refuses the rest.

Nothing else is rewritten: `halo_cuda.h` gives CUDA's words a meaning, and the compiler's own instrumentation reports the accesses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# What would compile and mean something else, or not compile and say so badly.
_REFUSED = (
    (r"\basm\b", "inline PTX (`asm`)"),
    (r"<<<", "a launch from the device (`<<<...>>>`)"),
    (r"\btex[123]D\w*\s*[<(]|\bcudaTextureObject_t\b", "textures"),
    (r"\b__managed__\b", "managed memory (`__managed__`)"),
)
_TO_MODULE_SCOPE = re.compile(r'extern\s*"C"\s*\{')
_KERNEL = re.compile(r"__global__(?P<between>(?:\s|__launch_bounds__\s*\([^)]*\)|static\b|inline\b|void\b)+)(?P<name>\w+)\s*\(")
_DYNAMIC_SHARED = re.compile(
    r"extern\s+(?:volatile\s+)?__shared__\s+(?:__align__\s*\([^)]*\)\s*|alignas\s*\([^)]*\)\s*)?(?P<type>[\w:][\w:\s]*?)\s+(?P<name>\w+)\s*\[\s*\]\s*;"
)


class UnsupportedError(Exception):
    """The source uses what the simulator cannot run; the message names it and its line."""


@dataclass(frozen=True)
class Signature:
    """A kernel as its source declares it: parameter names and types in order, and the line of its name (from 1)."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    line: int


@dataclass(frozen=True)
class Translation:
    """C++ text with the line numbers of the .cu, its kernels, and the names of its dynamic shared arrays with their types."""

    text: str
    kernels: tuple[Signature, ...]
    dynamic_shared: tuple[tuple[str, str], ...]


def translate(source: str, file: str, extern_c: bool = False, macros: str = "") -> Translation:
    """Translates CUDA `source`; messages and debug information call it `file`.

    `extern_c` wraps the whole source in `extern "C"`, as PyCUDA's SourceModule does unless told otherwise; `macros` are
    preprocessor lines that come before it.
    Raises UnsupportedError for what the simulator cannot run.
    """
    code = without_comments(source)
    _refuse(code, file)
    kernels = tuple(_kernels(code))
    text, dynamic = _place_dynamic_shared(source, code)
    if extern_c:
        text = f'extern "C" {{\n#line 1 "{file}"\n{text}\n}}'
    entries = "\n".join(f"HALO_KERNEL({kernel.name})" for kernel in kernels)
    text = f'{macros}\n#line 1 "{file}"\n{text}\n#line 1 "halo_entries"\n{entries}\n'
    return Translation(text, kernels, dynamic)


def without_comments(source: str) -> str:
    """The source with comments and the insides of strings blanked out, every character in its old place."""

    def blank(match: re.Match[str]) -> str:
        found = match.group(0)
        keep = 1 if found[0] in "\"'" else 0
        inner = found[keep : len(found) - keep]
        return found[:keep] + re.sub(r"[^\n]", " ", inner) + found[len(found) - keep :]

    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?!C")(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', blank, source, flags=re.DOTALL)


def line_of(text: str, position: int) -> int:
    """The line number, from 1, of a character position."""
    return text.count("\n", 0, position) + 1


def _refuse(code: str, file: str) -> None:
    for pattern, what in _REFUSED:
        if found := re.search(pattern, code):
            line = line_of(code, found.start())
            raise UnsupportedError(f"{file}:{line}: the simulator cannot run {what}; this kernel needs a GPU.")


def _kernels(code: str):
    for found in _KERNEL.finditer(code):
        if "void" not in found["between"]:
            continue
        inside, depth, position = [], 1, found.end()
        while depth and position < len(code):
            depth += {"(": 1, ")": -1}.get(code[position], 0)
            inside.append(code[position])
            position += 1
        is_definition = code[position:].lstrip().startswith("{")
        if is_definition:
            yield Signature(found["name"], tuple(_parameters("".join(inside[:-1]))), line_of(code, found.start("name")))


def _parameters(text: str):
    for part in (p.strip() for p in text.split(",")):
        if part:
            words = re.match(r"(?P<type>.*?)(?P<name>\w+)\s*(?P<array>\[[^\]]*\])?$", part, flags=re.DOTALL)
            type_text = re.sub(r"\b__restrict__\b|\b__restrict\b", "", words["type"]) + ("*" if words["array"] else "")
            yield words["name"], " ".join(type_text.split())


def _place_dynamic_shared(source: str, code: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """`extern __shared__ T s[];` becomes a pointer into the buffer that a launch gives."""
    names, pieces, end = [], [], 0
    for found in _DYNAMIC_SHARED.finditer(code):
        name, type_text = found["name"], " ".join(found["type"].split())
        before = _TO_MODULE_SCOPE.sub("", code[: found.start()])
        inside_function = before.count("{") > before.count("}")
        pointer = f"reinterpret_cast<{type_text}*>(halo_dynamic_shared())"
        # Outside a function there is no launch yet to ask, so there the name stands for the question.
        new = f"{type_text}* const {name} = {pointer};" if inside_function else f"\n#define {name} ({pointer})\n"
        if not inside_function:
            new += f"#line {line_of(code, found.end())}\n"
        names.append((name, type_text))
        pieces += [source[end : found.start()], new]
        end = found.end()
    return "".join([*pieces, source[end:]]), tuple(names)
