"""Tables as text: for a terminal or a notebook's plain output, and in Markdown.

Numbers align on the right, words on the left. The caller formats the cells, because only the caller
knows how many digits a number needs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

LINE = 100  # characters of a line of text: JupyterLab breaks longer ones inside words
FIRST = (0,)  # a column of names, then numbers


def text(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, left: Collection[int] = FIRST
) -> str:
    """Return lines of text, the columns two spaces apart.

    A name in `head` may have several lines; the names end on the same line. left: the numbers of
    the columns that align on the left. Raises ValueError for a row with more or fewer cells than
    `head`.
    """
    depth = max(name.count("\n") for name in head)
    names = [[*[""] * (depth - name.count("\n")), *name.split("\n")] for name in head]
    lines = [*zip(*names, strict=True), *rows]
    return "\n".join("  ".join(cells).rstrip() for cells in _aligned(lines, len(head), left))


def of(
    rows: Iterable[Any],
    columns: Mapping[str, str | Callable[[Any], str]],
    *,
    left: Collection[int] = FIRST,
) -> str:
    """Return a table with a line for each of `rows`, such as those of a record.

    columns: by head, what a column shows of a row: a format string with the row's entries, as in
    "{median_ms:.2f} ms", or a function of the row. left: as for `text`. Raises KeyError for an
    entry that a row does not have.
    """
    cells = [one.format_map if isinstance(one, str) else one for one in columns.values()]
    return text(tuple(columns), [tuple(cell(row) for cell in cells) for row in rows], left=left)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table that is aligned as text, too: names on the left, then numbers.

    Raises ValueError for a row with more or fewer cells than `head`.
    """
    first, *others = _aligned([head, *rows], len(head), FIRST)
    rule = ["-" * len(first[0]), *("-" * (len(cell) - 1) + ":" for cell in first[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (first, rule, *others))


def _aligned(
    lines: Sequence[Sequence[str]], columns: int, left: Collection[int]
) -> list[list[str]]:
    """Return the cells, each filled with spaces to the width of its column."""
    for line in lines:
        if len(line) != columns:
            raise ValueError(
                f"the table has {columns} columns, so give a cell for each: the row {list(line)} "
                f"does not have {columns} cells, but {len(line)}"
            )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        [
            cell.ljust(width) if k in left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        for line in lines
    ]
