"""Notebooks as files: their cells, and the texts of these. Nothing of a notebook is run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from helpers.course import CourseError, texts

MOST_NOTEBOOK = 32 << 20  # bytes; outputs with figures make most of it


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
                f"{MOST_NOTEBOOK >> 20} are read"
            )
        cells = texts.clean(json.loads(path.read_bytes().decode("utf-8-sig"))["cells"])
        assert isinstance(cells, list)
        return [cell for cell in cells if isinstance(cell, dict)]
    except SubmissionError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AssertionError, RecursionError) as error:
        raise SubmissionError(
            f"{path.name} cannot be read as a notebook ({type(error).__name__})"
        ) from None


def source(cell: Mapping[str, Any]) -> str:
    """Return the text of a cell, which a file holds as one text or as lines."""
    text = cell.get("source", "")
    if isinstance(text, list):
        text = "".join(line for line in text if isinstance(line, str))
    return text if isinstance(text, str) else ""
