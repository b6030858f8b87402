"""What a student predicted and wrote beside the exercises. An instructor reads it, and may give
points: `by_hand` in course.toml says how many.

Nothing of a notebook is run, and none of its Python is parsed: a prediction is found by the letters
of its call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from helpers import labs
from helpers.course import notebooks, texts

FILE = ".writing.json"  # in a student's folder of a lab
KINDS = ("predictions", "written")  # what points can be given for
MOST_TEXT, MOST_CELLS = 20_000, 50  # characters of a cell; cells
_TEXT = r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'"""
_PREDICTION = re.compile(
    rf"\b\w+\.(?:number|choice)\(\s*(?:{_TEXT})\s*,\s*"
    rf"(?P<guess>{_TEXT}|[^,()\n]{{1,100}})\s*,\s*(?P<question>{_TEXT})"
)
_LINK = re.compile(r"\[([^\[\]\n]*)\]\([^()\s]*\)")
_MARK = re.compile(r"<!--(?:(?!<!--).)*?-->", re.DOTALL)


def of_cells(cells: Sequence[Mapping[str, Any]], lab: str) -> dict[str, Any]:
    """Return the predictions of a notebook, and the texts that are not the lab's, as plain values.
    lab: the notebook's name.
    """
    predictions: list[dict[str, str]] = []
    written: list[dict[str, str]] = []
    for cell in cells:
        text = notebooks.source(cell)[:MOST_TEXT]
        if cell.get("cell_type") == "code":
            predictions += [
                {"question": _unquoted(one["question"]), "guess": _guess(one["guess"])}
                for one in _PREDICTION.finditer(text)
            ]
        elif text.strip() and _words(text) not in _words_of(lab):
            written.append({"cell": str(cell.get("id", ""))[:64], "text": text})
    return {"predictions": predictions[:MOST_CELLS], "written": written[:MOST_CELLS]}


def _unquoted(text: str) -> str:
    return text[1:-1] if text[:1] in ("'", '"') else text


def _guess(text: str) -> str:
    """Return what was written in place of None, "" for None."""
    text = text.strip()
    return "" if text == "None" else _unquoted(text)


def _words(text: str) -> str:
    """Return a text without what a release changes: links, marks, white space."""
    return " ".join(_LINK.sub(r"\1", _MARK.sub("", text)).split())


@cache
def _words_of(lab: str) -> frozenset[str]:
    """Return the texts of a lab."""
    path = labs.LABS / f"{lab}.ipynb"
    if not path.is_file():
        return frozenset()
    return frozenset(_words(notebooks.source(cell)) for cell in notebooks.read(path))


def has(one: Mapping[str, Any], what: str) -> bool:
    """Return whether there is something to read: a prediction that was made, or a text."""
    if what == "predictions":
        return any(row["guess"] for row in one.get(what, ()))
    return bool(one.get(what))


def load(folder: Path) -> dict[str, Any] | None:
    """Return what lies in a student's folder of a lab; None where there is nothing whole."""
    try:
        found = texts.clean(json.loads((folder / FILE).read_text(encoding="utf-8")))
        return {kind: list(found[kind]) for kind in KINDS}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
