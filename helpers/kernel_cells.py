"""The text of a %%kernel cell: its name, its options, its kernel, and the source that the compiler
gets.

    cell = kernel_cells.parse("%%kernel twice -DBLOCK=256\\n__global__ void twice(...) { ... }")
    cell.name, cell.options, cell.kernel, cell.source

The magic %%kernel reads a cell of a notebook so, and an exercise reads an answer so, without a
notebook.
"""

from __future__ import annotations

import keyword
import re
import shlex
from dataclasses import dataclass

from helpers.simulator.includes import without_comments

USAGE = (
    "usage: %%kernel NAME [-DMACRO=VALUE ...], then CUDA source with `__global__ void NAME(...)`"
)

_C_LINKAGE = re.compile(r'extern\s*"C"')
_KERNEL = re.compile(
    r"__global__(?:[^;{}()]|__launch_bounds__\s*\([^)]*\))*?\b(\w+)\s*\((?<!__launch_bounds__\()"
)


class CellError(Exception):
    """A %%kernel cell that gives no kernel. IPython shows the message alone, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


@dataclass(frozen=True)
class KernelCell:
    """name: of the %%kernel line; kernel: the `__global__` function that it stands for; options:
    -D... of that line; source: CUDA whose line numbers are those of the cell, line 1 being the
    %%kernel line.
    """

    name: str
    kernel: str
    options: tuple[str, ...]
    source: str


def parse(text: str) -> KernelCell:
    """Read the whole text of a cell. Its first line is `%%kernel NAME ...`, or `// %%kernel NAME
    ...` in a .cu file.

    Raises CellError for a text that begins otherwise, and as `parts` does.
    """
    first, _, rest = text.partition("\n")
    found = re.match(r"\s*(?://\s*)?%%kernel\b(.*)", first)
    if not found:
        raise CellError(f"the first line is {first.strip()[:60]!r}, not %%kernel\n{USAGE}")
    return parts(found[1].strip(), rest)


def parts(line: str, cell: str) -> KernelCell:
    """Read what follows %%kernel in its line, and the lines below. Raises CellError; the message
    says what to type.
    """
    name = name_of(line)
    # The first line stands for the magic's own, so that every line number is one of the cell.
    source = f"// %%kernel {name}\n{with_c_linkage(cell)}"
    return KernelCell(name, _kernel_of(cell, name), tuple(_options(line)), source)


def name_of(line: str) -> str:
    """The name in a %%kernel line."""
    name = line.split(maxsplit=1)[0] if line.strip() else ""
    if not name:
        raise CellError(f"%%kernel needs the name of the kernel\n{USAGE}")
    if not name.isidentifier() or keyword.iskeyword(name):
        raise CellError(f"%%kernel {name}: {name!r} cannot be a Python name\n{USAGE}")
    return name


def _options(line: str) -> list[str]:
    """The options for the compiler in a %%kernel line."""
    try:
        name, *rest = shlex.split(line)
    except ValueError as error:
        raise CellError(f"%%kernel {line}: {error}\n{USAGE}") from None
    options = []
    while rest:
        word = rest.pop(0)
        macro = rest.pop(0) if word == "-D" and rest else word.removeprefix("-D")
        if not word.startswith("-D") or not re.match(r"[A-Za-z_]", macro):
            raise CellError(f"%%kernel {name}: cannot make sense of {word!r}\n{USAGE}")
        if re.fullmatch(r"[A-Za-z]", macro.partition("=")[0].strip()):
            raise CellError(
                f"%%kernel {name}: -D{macro} names a macro by one letter. nvcc would replace it "
                f"in CUDA's own "
                "headers, too, where\nsuch names stand for types and parameters (`template "
                "<typename T>`). "
                f"Take a longer name, such as TILE.\n{USAGE}"
            )
        options.append(f"-D{macro}")
    return options


def _kernel_of(cell: str, name: str) -> str:
    """The kernel of the cell to bind to `name`: the one of that name, or the only one."""
    kernels = _KERNEL.findall(without_comments(cell))
    if name in kernels:
        return name
    if len(kernels) == 1:
        return kernels[0]
    found = f"has {' and '.join(kernels)}" if kernels else "has no `__global__` function"
    raise CellError(
        f"%%kernel {name}: the cell {found}, and needs `__global__ void {name}(...)`\n{USAGE}"
    )


def with_c_linkage(source: str) -> str:
    """The source with extern "C" before each kernel, on the same line; as it is, where it says
    extern "C" itself.

    SourceModule would put the whole source into extern "C", where a header with templates does not
    compile.
    """
    code = without_comments(source)
    if _C_LINKAGE.search(code):
        return source
    pieces, end = [], 0
    for found in re.finditer(r"__global__", code):
        if not re.search(r"template\s*<[^;{}]*>\s*$", code[: found.start()]):
            pieces += [source[end : found.start()], 'extern "C" ']
            end = found.start()
    return "".join([*pieces, source[end:]])
