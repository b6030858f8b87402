"""The CUDA sources in kernels/: their text, and the grid of a launch.

Each call reads the file again, so that the next compilation uses an edited source.
"""

from __future__ import annotations

import difflib
import hashlib
import html
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from helpers.limits import MAX_BLOCK, MAX_GRID, MAX_THREADS
from helpers.quantities import quantity

FOLDER = Path(__file__).resolve().parents[1] / "kernels"


class UnknownKernelError(KeyError):
    """No .cu file of that name."""

    def __str__(self) -> str:  # KeyError would put the message in quotes.
        return str(self.args[0])


class GridError(ValueError):
    """A block or grid that CUDA does not allow."""


def names() -> tuple[str, ...]:
    """Return the names of all kernels, in alphabetical order."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.cu")))


def path(name: str) -> Path:
    """Return the file of kernel ``name``. Raises UnknownKernelError with the nearest names."""
    file = FOLDER / f"{name}.cu"
    if file.parent == FOLDER and file.is_file():  # much faster than to list the folder
        return file
    known = names()
    near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.5)
    hint = (
        f"did you mean {' or '.join(near)}?"
        if near
        else f"there are: {', '.join(known) or 'none'}"
    )
    raise UnknownKernelError(f"no kernel {name!r} in {FOLDER.name}/; {hint}")


def source(name: str) -> str:
    """Return the CUDA source of kernel ``name``, for ``SourceModule(..., no_extern_c=True)``."""
    return path(name).read_text(encoding="utf-8")


def code_sha256(text: str) -> str:
    """Return the sha256 of what `code` returns, in hexadecimal digits."""
    return hashlib.sha256(code(text).encode(errors="surrogatepass")).hexdigest()


def code(text: str) -> str:
    """Return CUDA source without its comments, with one space for each run of white space.

    Directives of the preprocessor keep their lines, because a directive ends with its line.
    """
    from pygments.lexers import CppLexer
    from pygments.token import Comment

    kept = []
    in_directive = False
    for kind, words in CppLexer().get_tokens(text):
        if kind in Comment.Preproc or kind in Comment.PreprocFile:
            kept.append(words)
            in_directive = not words.endswith("\n")
        elif kind in Comment:
            kept.append("\n" if in_directive and words.endswith("\n") else " ")
            in_directive = in_directive and not words.endswith("\n")
        else:
            kept.append(words if words.strip() else " ")
    lines = "".join(kept).splitlines()
    return "\n".join(filter(None, (" ".join(line.split()) for line in lines)))


def changed(name: str, *changes: tuple[str, str]) -> str:
    """Return the source of kernel ``name`` with each old text replaced by the new one.

    changes: pairs (old, new), to break a kernel or to undo an optimization. Raises ValueError as
    `replaced` does.
    """
    return replaced(source(name), *changes, name=f"{name}.cu")


def replaced(text: str, *changes: tuple[str, str], name: str = "the kernel") -> str:
    """Return a source with each (old, new) replaced. Raises ValueError where an old is missing."""
    for old, new in changes:
        if old not in text:
            raise ValueError(
                f"{name} has no {old!r} to replace: copy the text from the source, with its spaces"
            )
        text = text.replace(old, new)
    return text


@dataclass(frozen=True)
class Listing:
    """Numbered lines of a source, highlighted in a notebook. first: the first line's number;
    language: Pygments' name of it.
    """

    title: str
    text: str
    first: int = 1
    language: str = "cuda"

    def __repr__(self) -> str:
        lines = self.text.splitlines()
        digits = len(str(self.first + len(lines) - 1))
        numbered = [
            f"{number:>{digits}}  {line}".rstrip() for number, line in enumerate(lines, self.first)
        ]
        return "\n".join([self.title, *numbered])

    def _repr_html_(self) -> str:
        """Return HTML with inline colours on an opaque background, for light and dark themes.

        Long lines scroll; JupyterLab's own style would break words.
        """
        from pygments import highlight
        from pygments.formatters import HtmlFormatter
        from pygments.lexers import get_lexer_by_name

        box = "background:#f8f8f8;color:#1a1a1a;"
        whole_lines = "white-space:pre;word-break:normal;overflow-wrap:normal;"
        formatter = HtmlFormatter(
            noclasses=True,
            style="default",
            linenos="inline",
            linenostart=self.first,
            cssstyles=f"{box}border:1px solid #c8c8c8;"
            "border-radius:3px;max-width:100%;overflow-x:auto;",
            prestyles=f"{box}margin:0;padding:0.5em 0.8em;line-height:1.35;{whole_lines}",
        )
        title = (
            f'<div style="{box}padding:0.3em 0.8em;font-weight:bold;">'
            f"{html.escape(self.title)}</div>"
        )
        lexer = get_lexer_by_name(self.language, stripnl=False)
        return title + highlight(self.text, lexer, formatter)


def show(name: str, lines: tuple[int, int] | None = None) -> Listing:
    """Return the source of kernel ``name`` for display, with line numbers.

    lines: (a, b) for only the lines a to b, counted from 1, both included. Raises ValueError for
    lines outside of the file, UnknownKernelError for an unknown name.
    """
    text = source(name)
    if lines is None:
        return Listing(f"kernels/{name}.cu", text)
    every = text.splitlines()
    first, last = lines
    if not 1 <= first <= last <= len(every):
        raise ValueError(
            f"lines={lines} of {name}.cu; give (first, last) with 1 <= "
            f"first <= last <= {len(every)}"
        )
    return Listing(
        f"kernels/{name}.cu, lines {first} to {last}",
        "\n".join(every[first - 1 : last]) + "\n",
        first,
    )


def show_header(name: str, first: str, up_to: str = "") -> Listing:
    """Return lines of a header of kernels/: from the one with `first` to that before `up_to`.

    They keep their numbers. Without `up_to` they go to the end. Raises ValueError where there is no
    such line.
    """
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    start = _line(name, lines, first, 0)
    end = _line(name, lines, up_to, start) if up_to else len(lines)
    shown = "\n".join(lines[start:end]).rstrip() + "\n"
    last = start + shown.count("\n")
    return Listing(f"{FOLDER.name}/{name}, lines {start + 1} to {last}", shown, start + 1)


def _line(name: str, lines: Sequence[str], text: str, start: int) -> int:
    for number in range(start, len(lines)):
        if text in lines[number]:
            return number
    raise ValueError(f"{FOLDER.name}/{name} has no line with {text!r} from line {start + 1} on")


def grid_for(
    shape: int | Sequence[int], block: int | Sequence[int], tile: int | Sequence[int] | None = None
) -> tuple[int, int, int]:
    """Return the smallest grid (x, y, z) whose blocks cover an output of ``shape``.

    It is ceil(cells / tile) along each axis. shape: in NumPy's order, slowest axis first, up to
    three axes. block, and the result: in CUDA's order, x first. So ``grid_for((rows, columns), (32,
    8))`` is (ceil(columns / 32), ceil(rows / 8), 1). tile: the outputs of one block, in CUDA's
    order; by default each thread computes one output. Raises GridError for an empty shape, more
    than 1,024 threads in a block, or a grid that CUDA does not allow.
    """
    cells = _cells(shape)
    block = _three(block, "block")
    tile = block if tile is None else _three(tile, "tile")
    _require_block(block)
    x, y, z = (-(-c // t) for c, t in zip(cells, tile, strict=True))
    _require_grid((x, y, z))
    return x, y, z


def _cells(shape: int | Sequence[int]) -> tuple[int, int, int]:
    """Return the cells along x, y, z."""
    axes = (
        tuple(operator.index(a) for a in shape)
        if isinstance(shape, Sequence)
        else (operator.index(shape),)
    )
    if not 1 <= len(axes) <= 3:
        raise GridError(
            f"shape {axes} has {len(axes)} axes; a grid has 1 to 3: fold the others into one"
        )
    if min(axes) < 1:
        raise GridError(
            f"shape {axes} is empty: there is nothing to launch; give at "
            "least one cell along each axis"
        )
    x, y, z = (*reversed(axes), 1, 1)[:3]
    return x, y, z


def _three(size: int | Sequence[int], what: str) -> tuple[int, int, int]:
    axes = (
        tuple(operator.index(a) for a in size)
        if isinstance(size, Sequence)
        else (operator.index(size),)
    )
    if not 1 <= len(axes) <= 3 or min(axes) < 1:
        raise GridError(f"{what} is {axes}; give 1 to 3 whole numbers of at least 1: (x, y, z)")
    x, y, z = (*axes, 1, 1)[:3]
    return x, y, z


def _require_block(block: tuple[int, int, int]) -> None:
    threads = math.prod(block)
    if threads > MAX_THREADS:
        raise GridError(
            f"block {block} has {quantity(threads, 'thread')}; CUDA allows {MAX_THREADS:,}. "
            "Take more and smaller blocks."
        )
    if any(size > most for size, most in zip(block, MAX_BLOCK, strict=True)):
        raise GridError(f"block {block} is too long along an axis; CUDA allows {MAX_BLOCK}")


def _require_grid(grid: tuple[int, ...]) -> None:
    if any(size > most for size, most in zip(grid, MAX_GRID, strict=True)):
        raise GridError(
            f"grid {grid} is too long along an axis; CUDA allows {MAX_GRID}. "
            "Put the longest axis along x, or let each thread make several outputs."
        )
