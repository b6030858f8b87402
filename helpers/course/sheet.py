"""A table that an instructor's spreadsheet saved as CSV, with commas, semicolons or tabs. Its first
line names the columns, in any order and in letters of any size.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from helpers.course import CourseError, texts


def read(
    path: Path, needed: Sequence[str], allowed: Sequence[str], error: type[CourseError]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number of the line in which a row ends, and the row's cells by column; "" where it
    has no cell for a column. Rows without a word are left out, and so are columns of other names.

    needed: the columns that must be there; allowed: those that may be. Raises `error`.
    """
    text = _text(path, error)
    head = text.partition("\n")[0]
    delimiter = max(",;\t", key=head.count)
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    columns = [column.strip().lower() for column in next(rows, [])]
    if not set(needed) <= set(columns) or len(set(columns)) != len(columns):
        more = f", and may name {', '.join(allowed)}" if allowed else ""
        raise error(
            f"{path}: the first line is {head.strip()[:80]!r}; it must name the columns "
            f"{', '.join(needed)}{more}, each of them once"
        )
    for row in rows:
        if any(cell.strip() for cell in row[len(columns) :]):
            raise error(
                f"{path}, line {rows.line_num}: {len(row)} cells for {len(columns)} columns; put "
                f"quotes around a cell that contains {delimiter!r}"
            )
        found = {
            name: texts.clean(cell.strip()) for name, cell in zip(columns, row, strict=False)
        }
        if any(found.values()):
            yield rows.line_num, {name: found.get(name, "") for name in (*needed, *allowed)}


def _text(path: Path, error: type[CourseError]) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as failed:
        raise error(f"{path} cannot be read: {failed.strerror}") from None
    except UnicodeDecodeError as failed:
        raise error(
            f"{path} cannot be read as UTF-8 text: {failed}. A spreadsheet saves it as "
            '"CSV UTF-8"'
        ) from None
