"""The text of a %%kernel cell: its name, options, kernel, and the source for the compiler.

    cell = kernel_cells.parse("%%kernel twice -DBLOCK=256\\n__global__ void twice(...) { ... }")
    cell.name, cell.options, cell.kernel, cell.source

The magic %%kernel reads the cells of notebooks with it, and exercises read answers without one.
What IPython does to a cell before the magic sees it, `magic_of` does to the text of a file, so that
both read the same kernel.
"""

from __future__ import annotations

import bisect
import keyword
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from helpers.simulator.compile.includes import without_comments

USAGE = (
    "usage: %%kernel NAME [-DMACRO=VALUE ...], then CUDA source with `__global__ void NAME(...)`"
)

_AROUND = ("%%time", "%%capture")  # magics that run the cell below their line
# Each word ends at the first sign that is none of its own, whatever the text is: a literal without
# its second quote is the rest of the line. So the time grows with the length of the text only.
_WORD = re.compile(
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|\w+|[^\w\s]""",
    re.DOTALL,
)
_PYTHON_TEXT = re.compile(r"(\"\"\"|''').*?\1", re.DOTALL)  # of several lines
_C_LINKAGE = re.compile(r'extern\s*"C"')
# The words of a declaration up to its first sign that ends it, and each name with a parenthesis.
_HEAD_END = re.compile(r"[;{}]|\b__global__\b|\Z")
_CALL_LIKE = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
# With a parenthesis of their own, before the name of a kernel or behind its parameters.
_ATTRIBUTES = (
    "__launch_bounds__", "__maxnreg__", "__cluster_dims__", "__block_size__", "__attribute__",
    "__declspec", "alignas", "decltype", "noexcept",
)  # fmt: skip
# Where a declaration cannot, or must not, begin with extern "C".
_OTHER_LINKAGE = re.compile(r"\b(?:template|static)\b")
_DIRECTIVE = re.compile(
    r"^[ \t]*(?:#|%:)[ \t]*(?:define[ \t]+(?P<head>(?P<name>\w+)(?:\([^()\n]*\))?))?"
    r"(?:\\[ \t]*\n|[^\n])*",
    re.MULTILINE,
)


class CellError(Exception):
    """A %%kernel cell without a kernel. IPython shows only the message, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


@dataclass(frozen=True)
class KernelCell:
    """The parts of a %%kernel cell.

    name: of the %%kernel line. kernel: the name of its `__global__` function. options: -D... of the
    %%kernel line. source: CUDA with the line numbers of the cell; line 1 is the %%kernel line.
    text: of the cell, from its %%kernel line on.
    """

    name: str
    kernel: str
    options: tuple[str, ...]
    source: str
    text: str = ""


def is_cell(kernel: Any) -> bool:
    """Return whether this is what a %%kernel cell binds, or the parts of one."""
    return hasattr(kernel, "source") and hasattr(kernel, "options") and hasattr(kernel, "name")


def parse(text: str) -> KernelCell:
    """Return the parts of the whole text of a cell. Raises CellError for a cell that is not a
    %%kernel cell, and as `parts` does.
    """
    return parts(*_magic(text))


def _magic(text: str) -> tuple[str, str]:
    """Return what `magic_of` returns. Raises CellError for a cell of another kind."""
    found = magic_of(text)
    if found is None:
        first = next((line.strip() for line in text.splitlines() if line.strip()), "")
        raise CellError(f"the first line is {first[:60]!r}, not %%kernel NAME\n{USAGE}")
    return found


def missing_magic(text: str) -> str:
    """Return what is wrong with a cell of CUDA C++ that does not begin with %%kernel, so that
    IPython takes it for Python; "" for any other cell.
    """
    names = list(_names_of_kernels(_PYTHON_TEXT.sub("", text)))
    if not names or magic_of(text) is not None:
        return ""
    first = next(line.strip() for line in text.splitlines() if line.strip())
    return (
        f"This cell is CUDA C++, but its first line is `{first[:60]}`. Begin it with "
        f"`%%kernel {names[0]}`, and run it again."
    )


def magic_of(text: str) -> tuple[str, str] | None:
    """Return the rest of the %%kernel line and the lines below it, as IPython gives them to the
    magic; None for a cell of another kind.

    IPython removes empty lines above the magic and the indentation, and takes one blank after its
    name, no tab. %%time and %%capture run the cell below them.
    """
    lines = text.splitlines(keepends=True)
    while lines:
        if not lines[0].strip():
            del lines[0]
            continue
        magic, _, rest = lines[0].strip().partition(" ")
        if magic == "%%kernel":
            return rest.strip(), "".join(lines[1:])
        if magic not in _AROUND:
            return None
        del lines[0]
    return None


def sizes(options: Sequence[str], known: Mapping[str, int]) -> dict[str, int]:
    """Return the values of -D options, where a cell gives them; known: their names and defaults.

    Raises CellError for one below 1, and for a TILE_WIDTH whose blocks CUDA does not allow.
    """
    values = dict(known)
    for option in options:
        if found := re.fullmatch(rf"-D({'|'.join(known)})=(-?\d+)", option):
            values[found[1]] = int(found[2])
    if min(values.values()) < 1:
        raise CellError(f"{', '.join(known)} must be 1 or more; got {' '.join(options)}")
    if values.get("TILE_WIDTH", 1) > 32:
        raise CellError(
            f"TILE_WIDTH can be at most 32: a block has TILE_WIDTH x TILE_WIDTH threads, got "
            f"{values['TILE_WIDTH']}"
        )
    return values


def name_in(text: str) -> str:
    """Return the name in the %%kernel line of a cell's text; "" for a cell without one."""
    found = magic_of(text)
    return found[0].split(maxsplit=1)[0] if found and found[0] else ""


def tokens(text: str) -> tuple[str, ...]:
    """Return the words and signs of a cell below its %%kernel line, without comments: two cells
    with the same ones differ in form alone.
    """
    found = magic_of(text)
    every = _WORD.findall(found[1] if found else text)
    return tuple(word for word in every if not word.startswith(("//", "/*")))


def is_same(text: str, other: str) -> bool:
    """Return whether the texts of two cells have the same words, signs and options; their names may
    differ.
    """
    options = ((magic_of(one) or ("", ""))[0].split()[1:] for one in (text, other))
    return tokens(text) == tokens(other) and next(options) == next(options)


def parts(line: str, cell: str) -> KernelCell:
    """Return the parts of a cell from the rest of its %%kernel line and the lines below.

    Raises CellError; the message says what to type.
    """
    name = name_of(line)
    # The comment replaces the %%kernel line, so that the line numbers are those of the cell.
    source = f"// %%kernel {name}\n{with_c_linkage(cell)}"
    text = f"%%kernel {line}\n{cell}"
    options = tuple(_options(line))
    return KernelCell(name, _kernel_of(cell, name, options), options, source, text)


def head(text: str) -> KernelCell:
    """Return the parts of a cell's %%kernel line alone: name and options, no source.

    Raises CellError.
    """
    line, _ = _magic(text)
    name = name_of(line)
    return KernelCell(name, name, tuple(_options(line)), "")


def name_of(line: str) -> str:
    """Return the name in a %%kernel line. Raises CellError for a missing or wrong name."""
    name = line.split(maxsplit=1)[0] if line.strip() else ""
    if not name:
        raise CellError(f"%%kernel needs the name of the kernel\n{USAGE}")
    if not name.isidentifier() or keyword.iskeyword(name):
        raise CellError(f"%%kernel {name}: {name!r} cannot be a Python name\n{USAGE}")
    return name


def _options(line: str) -> list[str]:
    """Return the compiler's options in a %%kernel line."""
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
        if re.search(r"[{}$]", macro):
            raise CellError(
                f"%%kernel {name}: -D{macro} has a variable of Python; write its value. A grader "
                f"reads this line\nand runs no Python.\n{USAGE}"
            )
        if re.fullmatch(r"[A-Za-z]", macro.partition("=")[0].strip()):
            raise CellError(
                f"%%kernel {name}: -D{macro} names a macro by one letter. nvcc would replace it "
                "in CUDA's own headers, too, where\nsuch names stand for types and parameters "
                f"(`template <typename T>`). Take a longer name, such as TILE.\n{USAGE}"
            )
        options.append(f"-D{macro}")
    return options


def _kernel_of(cell: str, name: str, options: Sequence[str]) -> str:
    """Return the kernel of the cell to bind to `name`: the one of that name, or the only one. Where
    macros make the names of kernels, the compiler alone knows them: it is `name`.
    """
    code = without_comments(cell)
    macros = {found["name"] for found in _DIRECTIVE.finditer(code)}
    macros |= {option[2:].partition("=")[0] for option in options}
    plain = _DIRECTIVE.sub("", code)
    kernels = tuple(dict.fromkeys(_names_of_kernels(plain)))
    if name in kernels:
        return name
    if macros.intersection(kernels) or (not kernels and "__global__" in code):
        return name
    if len(kernels) == 1:
        return kernels[0]
    content = f"has {' and '.join(kernels)}" if kernels else "has no `__global__` function"
    raise CellError(
        f"%%kernel {name}: the cell {content}, and needs `__global__ void {name}(...)`\n{USAGE}"
    )


def _names_of_kernels(code: str) -> Iterator[str]:
    """Yield the name that each `__global__` of a text without comments declares."""
    for found in re.finditer(r"\b__global__\b", code):
        end = _HEAD_END.search(code, found.end())
        head = code[found.end() : end.start()] if end else ""
        at = 0
        while named := _CALL_LIKE.search(head, at):
            if named[1] not in _ATTRIBUTES:
                yield named[1]
                break
            at = _behind_parenthesis(head, named.end())


def _behind_parenthesis(text: str, at: int) -> int:
    """Return the place behind the parenthesis that is open at a place."""
    depth = 1
    for found in re.compile(r"[()]").finditer(text, at):
        depth += 1 if found[0] == "(" else -1
        if depth == 0:
            return found.end()
    return len(text)


def with_c_linkage(source: str) -> str:
    """Return the source with extern "C" before each kernel, on the same line.

    A source with its own extern "C" stays unchanged, and so do templates and static functions.
    SourceModule would put the whole source into extern "C", in which a header with templates does
    not compile.
    """
    code = without_comments(source)
    if _C_LINKAGE.search(code):
        return source
    directives = list(_DIRECTIVE.finditer(code))
    pieces, end, after = [], 0, 0
    for match in re.finditer(r"\b__global__\b", code):
        at = match.start()
        start = max(after, *(code.rfind(sign, after, at) + 1 for sign in ";{}"))
        known = bisect.bisect_right(directives, at, key=lambda one: one.start()) - 1
        if known >= 0:
            one = directives[known]
            # Of a macro: what it stands for begins behind its parameters.
            start = max(start, one.end() if one.end() <= at else one.end("head"))
        after = match.end()
        if _OTHER_LINKAGE.search(code, start, at):
            continue
        begin = at - len(code[start:at].lstrip())
        if named := re.compile(r"extern\b").match(code, begin):
            pieces += [source[end : named.end()], ' "C"']
            end = named.end()
        else:
            pieces += [source[end:begin], 'extern "C" ']
            end = begin
    return "".join([*pieces, source[end:]])
