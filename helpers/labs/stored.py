"""What the file of a notebook says of its exercises: which it asks, under which heading each
stands, and how the latest check that was saved went.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers import kernel_cells

OURS = "halo_labs"  # our metadata of an output
PASSED, TRIED, NOT_BEGUN = STATES = ("passed", "tried", "not begun")

_ASKED = re.compile(r"""\bexercises\.find\(\s*["'](\w+)["']\s*\)""")
_PREDICTION = re.compile(
    r"""\bprediction\w*\.(?:number|choice)\(\s*["'](?P<key>\w+)["']\s*,\s*(?P<open>None\b)?"""
)
_HEADING = re.compile(r"^#{1,4} (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Asked:
    """An exercise in a notebook's file. name: as the cell asks for it, which may be the number of
    the lab; heading: the last one above the cell, "" for none; state: one of STATES.
    """

    name: str
    heading: str
    state: str


def asked(source: str) -> list[str]:
    """Return the names of the exercises that the text of a cell asks for."""
    return _ASKED.findall(source)


def cells_of(text: str) -> list[dict[str, Any]]:
    """Return the cells of a notebook's text, each with a type, a source in one piece and a list of
    outputs. Raises ValueError for a text that is no notebook.
    """
    book = json.loads(text)
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(cells, list):
        raise ValueError("this is no notebook: it has no list of cells")
    return [_cell(cell) for cell in cells if isinstance(cell, dict)]


def _cell(cell: dict[str, Any]) -> dict[str, Any]:
    lines, outputs = cell.get("source"), cell.get("outputs")
    source = lines if isinstance(lines, str) else "".join(map(str, lines or ()))
    outputs = [one for one in outputs if isinstance(one, dict)] if outputs else []
    return {**cell, "cell_type": cell.get("cell_type"), "source": source, "outputs": outputs}


def exercises_of(text: str) -> dict[str, Asked]:
    """Return the exercises of a notebook's text by name. Of two checks of one, the later counts; a
    cell that asks for an exercise for something else counts only where no cell checks it.
    """
    found = {}
    heading = ""
    for cell in cells_of(text):
        source = cell["source"]
        if cell["cell_type"] == "markdown":
            heading = ([heading, *_HEADING.findall(source)])[-1]
        elif cell["cell_type"] == "code":
            checks = ".check(" in source
            for name in asked(source):
                if name in found and not checks:
                    continue
                found[name] = Asked(name, _plain(heading), _state(cell["outputs"]))
    return found


def kernels_of(text: str) -> dict[str, str]:
    """Return the %%kernel cells of a notebook's text, by the name that each of them binds."""
    cells = (cell["source"] for cell in cells_of(text))
    return {name: cell for cell in cells if (name := kernel_cells.name_in(cell))}


def predictions_of(text: str) -> dict[str, bool]:
    """Return, by the key of each prediction that a notebook's text asks for, whether the reader
    has written one.
    """
    return {
        match["key"]: match["open"] is None
        for cell in cells_of(text)
        if cell["cell_type"] == "code"
        for match in _PREDICTION.finditer(cell["source"])
    }


def notebook() -> Path | None:
    """Return the file of the notebook whose kernel this is; None where nobody says which it is.

    Jupyter's server says it in the kernel's environment, and VS Code in a variable. Programs that
    run a notebook, such as nbclient and papermill, do not.
    """
    from IPython import get_ipython

    shell = get_ipython()
    said = shell.user_ns.get("__vsc_ipynb_file__") if shell is not None else None
    path = Path(str(said or os.environ.get("JPY_SESSION_NAME", "")))
    return path if path.suffix == ".ipynb" and path.is_file() else None


def anchor(heading: str) -> str:
    """Return the anchor of a heading, as JupyterLab and nbconvert make it."""
    return heading.replace(" ", "-")


def _plain(heading: str) -> str:
    """Return the text of a heading without Markdown's signs."""
    words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[`*]", "", words).strip()


def _state(outputs: list[dict]) -> str:
    if any(_ours(output).get("passed") for output in outputs):  # a tick once earned stays
        return PASSED
    said = [text for output in outputs for text in _texts(output)]
    if any(text.startswith("PASS ") for text in said):
        return PASSED
    return TRIED if any(text.startswith(("FAIL ", "NOT YET ")) for text in said) else NOT_BEGUN


def _ours(output: dict) -> dict[str, Any]:
    """Return our metadata of an output; {} where it has none."""
    metadata = output.get("metadata")
    found = metadata.get(OURS) if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def _texts(output: dict) -> Iterator[str]:
    """Yield the texts of an output: printed, displayed, or an error's message."""
    for text in (output.get("text"), (output.get("data") or {}).get("text/plain")):
        yield "".join(text or "")
    yield output.get("evalue") or ""
