"""Notebooks as files: their cells, and the texts of these. Nothing of a notebook is run."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from helpers.course import CourseError, texts
from helpers.exercises.judge import gate

MOST_NOTEBOOK = 100 << 20  # bytes; outputs with figures make most of it
MOST_CELLS = 500  # a lab has 60
SHOWN = ("image/png", "image/svg+xml")  # what is shown of pictures


class SubmissionError(CourseError, ValueError):
    """A notebook or a folder that cannot be read as a submission; the message says why."""


def read(path: Path) -> list[dict[str, Any]]:
    """Return the cells of a notebook. Raises SubmissionError."""
    return [_plain(cell) for cell in _cells(path)]


def pictures(path: Path) -> Iterator[tuple[str, list[str], str, bytes]]:
    """Yield what the cells of a notebook show as pictures, and what is attached to them: the cell's
    id, its tags, the type ("image/png") and the bytes. Of a picture in several types one is taken,
    PNG first. Raises SubmissionError.
    """
    for cell in _cells(path):
        metadata = cell.get("metadata")
        tags = metadata.get("tags") if isinstance(metadata, dict) else None
        tags = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
        attached = cell.get("attachments")
        outputs = cell.get("outputs")
        shown = [one.get("data") for one in outputs if isinstance(one, dict)] if isinstance(
            outputs, list
        ) else []  # fmt: skip
        for data in [*shown, *(attached.values() if isinstance(attached, dict) else ())]:
            data = data if isinstance(data, dict) else {}
            kinds = [kind for kind in data if str(kind).startswith("image/")]
            for kind in sorted(kinds, key=lambda kind: (kind not in SHOWN, str(kind)))[:1]:
                text = "".join(data[kind]) if isinstance(data[kind], list) else data[kind]
                with contextlib.suppress(ValueError, TypeError, AttributeError):
                    is_text = text.lstrip().startswith("<")  # an SVG that is no attachment
                    got = text.encode() if is_text else base64.b64decode(text)
                    yield _plain(cell)["id"][:64], tags[:10], str(kind)[:60], got


def _cells(path: Path) -> list[dict[str, Any]]:
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
        raise SubmissionError(
            f"{path.name} is no notebook: its text is not Unicode. Save it in JupyterLab, and hand "
            "it in again"
        ) from None
    except json.JSONDecodeError as error:
        lines = error.doc.splitlines()
        at = lines[error.lineno - 1].strip()[:60] if error.lineno <= len(lines) else ""
        where = f"line {error.lineno} is {at!r}" if at else f"it ends in line {error.lineno}"
        raise SubmissionError(
            f"{path.name} is no notebook: it is not JSON, or only the beginning of it ({where}). "
            "Save it in JupyterLab, and hand it in again"
        ) from None
    except (ValueError, RecursionError):
        raise SubmissionError(
            f"{path.name} is no notebook: it is not JSON that can be read. Save it in JupyterLab, "
            "and hand it in again"
        ) from None
    cells = book.get("cells") if isinstance(book, dict) else None
    if isinstance(cells, list) and len(cells) > MOST_CELLS:
        raise SubmissionError(
            f"{path.name} has {len(cells):,} cells; at most {MOST_CELLS} are read. Delete those "
            "that you added, and hand it in again"
        )
    if not isinstance(cells, list):
        if isinstance(book, dict) and "worksheets" in book:
            raise SubmissionError(
                f"{path.name} has the form of 2014 (nbformat 3); open it in JupyterLab and save it"
            )
        raise SubmissionError(f"{path.name} is no notebook: it has no list of cells")
    found = [cell for cell in cells if isinstance(cell, dict)]
    if not any(source(cell).strip() for cell in found):
        raise SubmissionError(f"{path.name} is empty: none of its cells has a text")
    return found


def _plain(cell: dict[str, Any]) -> dict[str, str]:
    """Return id, kind and text of a cell, without its outputs: a program may write anything in
    place of them. A text is cut where the gate refuses it as too long.
    """
    found = {name: cell.get(name, "") for name in ("id", "cell_type")}
    found["source"] = source(cell)[: gate.MOST_BYTES + 1]
    return {name: texts.clean(one) if isinstance(one, str) else "" for name, one in found.items()}


def source(cell: Mapping[str, Any]) -> str:
    """Return the text of a cell, which a file holds as one text or as lines."""
    text = cell.get("source", "")
    if isinstance(text, list):
        text = "".join(line for line in text if isinstance(line, str))
    return text if isinstance(text, str) else ""
