"""Notebooks as files: their cells, and the texts of these. Nothing of a notebook is run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from helpers.course import CourseError, texts

MOST_NOTEBOOK = 100 << 20  # bytes; outputs with figures make most of it


class SubmissionError(CourseError, ValueError):
    """A notebook or a folder that cannot be read as a submission; the message says why."""


def read(path: Path) -> list[dict[str, Any]]:
    """Return the cells of a notebook. Raises SubmissionError."""
    try:
        if path.is_symlink() or not path.is_file():
            raise SubmissionError(f"{path.name} is not a plain file")
        if path.stat().st_size > MOST_NOTEBOOK:
            raise SubmissionError(
                f"{path.name} has {path.stat().st_size >> 20:,} MiB; at most "
                f"{MOST_NOTEBOOK >> 20} are read. Clear its outputs, and save it"
            )
        data = path.read_bytes()
        if not data.strip():
            raise SubmissionError(f"{path.name} is empty")
        book = json.loads(data)  # in UTF-8, or in UTF-16 as PowerShell writes what is redirected
    except SubmissionError:
        raise
    except OSError as error:
        raise SubmissionError(f"{path.name} cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise SubmissionError(f"{path.name} is no notebook: its text is not Unicode") from None
    except (ValueError, RecursionError):
        raise SubmissionError(
            f"{path.name} is no notebook: it is not JSON, or only the beginning of it. Save it in "
            "JupyterLab, and hand it in again"
        ) from None
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(cells, list):
        if isinstance(book, dict) and "worksheets" in book:
            raise SubmissionError(
                f"{path.name} has the form of 2014 (nbformat 3); open it in JupyterLab and save it"
            )
        raise SubmissionError(f"{path.name} is no notebook: it has no list of cells")
    try:
        return [_plain(texts.clean(cell)) for cell in cells if isinstance(cell, dict)]
    except RecursionError:
        raise SubmissionError(f"{path.name} is no notebook: a cell is nested too deep") from None


def _plain(cell: dict[str, Any]) -> dict[str, Any]:
    """Return a cell without an id that is no text: a program may write anything there."""
    return cell if isinstance(cell.get("id", ""), str) else {**cell, "id": ""}


def source(cell: Mapping[str, Any]) -> str:
    """Return the text of a cell, which a file holds as one text or as lines."""
    text = cell.get("source", "")
    if isinstance(text, list):
        text = "".join(line for line in text if isinstance(line, str))
    return text if isinstance(text, str) else ""
