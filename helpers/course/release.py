"""Notebooks for students, from the labs of this repository: without outputs, without a line of a
solution.

    release(["101", "105"], Path("release"))
    release/101_conv1d_blocks_and_halos/101_conv1d_blocks_and_halos.ipynb, manifest.json

A deeper notebook lies beside its lab there.

The manifest says where each answer stands, by the cell's id. With nbgrader=True the cells have
nbgrader's metadata, and the folder is what `nbgrader generate_assignment` reads.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from helpers import labs
from helpers.course import CourseError, grades, notebooks, submissions, texts
from helpers.course.submissions import Place

ROOT = labs.ROOT
_SOLUTION = re.compile(
    r"[^\n]*(?://|#) BEGIN SOLUTION[^\n]*\n(?:.*\n)*?[^\n]*(?://|#) END SOLUTION[^\n]*\n?"
)
_CALL = re.compile(r"\b\w+_solution\b")


_CONFIG = """c = get_config()
c.CourseDirectory.course_id = "halo-labs"
# The notebooks have no solutions: a cell of an answer keeps its stub.
c.ClearSolutions.enabled = False
# Points come from `python -m helpers.course export grades/ --nbgrader gradebook.db`: no Python of
# a student's is run.
c.Execute.enabled = False
"""


GLOSSARY = "GLOSSARY.md"
LINK = re.compile(r"(?<!!)\[([^\]\n]*)\]\(([^)\s]+)\)")
_README = """# Your labs

| lab | what is graded |
| --- | --- |
{rows}

1. **Install** Halo Labs once: in the folder of the course's package, or in a clone of its
   repository, type `make env`, and then `. .venv/bin/activate`. No GPU is needed: without one the
   kernels run in a simulator.
2. **Open** JupyterLab in this folder, with that environment active: `jupyter lab`.
3. **Write** into the cells that begin with `%%kernel NAME`, or with the name that the lab asks for.
   Keep that first line: it says whose answer the cell is. Of several cells with one name the last
   one counts, and an untouched one counts nothing.
4. **Check**: the cell below an answer says PASS, or what is wrong. The grader does the same, with
   other sizes and numbers. From a terminal:

       python -m helpers.course check {example}/{example}.ipynb

5. **Hand in** the notebook, saved, after "Restart Kernel and Run All Cells". Only the text of the
   answers' cells is graded; nothing else of it is run. A figure that you hand in is a PNG that
   `results.save_figure` has saved.
"""


class ReleaseError(CourseError, ValueError):
    """A lab that cannot be released; the message says which and why."""


def release(wanted: Sequence[str], to: Path, *, nbgrader: bool = False) -> list[Path]:
    """Write student notebooks of labs (all where none is named) and manifest.json, in which the
    labs of earlier releases to this folder stay. Raises ReleaseError, SubmissionError.
    """
    asked, written = chosen(wanted), []
    manifest = to / "manifest.json"
    names = {path.stem for path in asked}
    before = submissions.manifest(manifest) if manifest.exists() else ()
    places = [place for place in before if place.lab not in names]
    places += [place for place in submissions.places() if place.lab in names]
    places.sort(key=lambda place: labs.number(place.lab))
    folders = {labs.number(path.stem): path.stem for path in asked}
    released = {
        path.stem: folders[labs.number(path.stem)] for path in [*asked, *deeper_of(asked)]
    }
    links = _Links(released, None if nbgrader else to)
    for path in [*asked, *deeper_of(asked)]:
        made = student_copy(path)
        mend_links(made, links.mended)
        here = [place for place in submissions.places() if place.lab == path.stem]
        if nbgrader:
            _mark(made, here)
        folder = to / "source" / released[path.stem] if nbgrader else to / released[path.stem]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / path.name).write_text(text_of(made), encoding="utf-8")
        written.append(folder / path.name)
    rows = [asdict(place) for place in places]
    content = {"schema": 1, "grader": grades.grader_version(), "exercises": rows}
    texts.write(manifest, json.dumps(content, indent=1) + "\n")
    if nbgrader:
        (to / "nbgrader_config.py").write_text(_CONFIG, encoding="utf-8")
    else:
        (to / "README.md").write_text(_readme(places), encoding="utf-8")
    return written


def leads_elsewhere(target: str) -> bool:
    """Return whether a link leads to no file beside its page."""
    return "://" in target or target.startswith(("mailto:", "attachment:", "data:"))


def mend_links(book: dict[str, Any], mended: Callable[[re.Match[str]], str]) -> None:
    """Put what `mended` makes of each link in its place, in the texts of a notebook."""
    for cell in book["cells"]:
        if cell["cell_type"] == "markdown":
            text = LINK.sub(mended, notebooks.source(cell))
            cell["source"] = text.splitlines(keepends=True)


class _Links:
    """Links of notebooks that leave the repository: to notebooks of the same release (by name, the
    folder of each), and to kernels and the glossary, which are copied (to: None where nothing can
    be, as nbgrader gives out folders of labs alone). Of all others the words stay.
    """

    def __init__(self, released: dict[str, str], to: Path | None):
        self._released, self._to = released, to

    def mended(self, found: re.Match[str]) -> str:
        words, target = found[1], found[2]
        place, _, part = target.partition("#")
        name = Path(place).name
        if not place or leads_elsewhere(target):
            return found[0]
        if name.endswith(".ipynb") and name.removesuffix(".ipynb") in self._released:
            folder = self._released[name.removesuffix(".ipynb")]
            return f"[{words}](../{folder}/{name}{'#' * bool(part)}{part})"
        if self._to is None:
            return words
        if target in ("README.md#glossary", "../README.md#glossary"):
            self._to.mkdir(parents=True, exist_ok=True)
            (self._to / GLOSSARY).write_text(_glossary(), encoding="utf-8")
            return f"[{words}](../{GLOSSARY})"
        kernel = ROOT / "kernels" / name
        if "kernels/" in place and kernel.suffix in (".cu", ".cuh") and kernel.is_file():
            (self._to / "kernels").mkdir(parents=True, exist_ok=True)
            shutil.copyfile(kernel, self._to / "kernels" / name)
            return f"[{words}](../kernels/{name})"
        return words


def _glossary() -> str:
    """Return the glossary of the labs, without its links to labs."""
    text = (labs.LABS / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^## Glossary\n.*?(?=^## |\Z)", text, flags=re.DOTALL | re.MULTILINE)
    if found is None:
        raise ReleaseError("labs/README.md has no section `## Glossary`, to which labs link")
    return LINK.sub(r"\1", found[0].removeprefix("#"))


def _readme(places: Sequence[Place]) -> str:
    """Return what a student does with a release."""
    names = list(dict.fromkeys(place.lab for place in places))
    rows = "\n".join(
        f"| [{labs.number(name)}]({name}/{name}.ipynb) | "
        f"{', '.join(place.exercise for place in places if place.lab == name)} |"
        for name in names
    )
    return _README.format(rows=rows, example=names[0])


def chosen(wanted: Sequence[str]) -> list[Path]:
    """Return the notebooks of labs, by number or name; all where none is named. Raises
    ReleaseError.
    """
    every = labs.notebooks()
    if not wanted:
        return list(every)
    found = []
    for lab in wanted:
        fitting = [path for path in every if path.stem == lab or labs.number(path.stem) == lab]
        if not fitting:
            known = ", ".join(labs.number(path.stem) for path in every)
            raise ReleaseError(f"there is no lab {lab!r}; there are: {known}")
        found += fitting
    return list(dict.fromkeys(found))


def deeper_of(chosen: Sequence[Path]) -> list[Path]:
    """Return the deeper notebooks of labs."""
    numbers = {labs.number(path.stem) for path in chosen}
    return [path for path in labs.deeper() if labs.number(path.stem) in numbers]


def student_copy(path: Path) -> dict[str, Any]:
    """Return a lab's notebook without outputs, without cells tagged "solution", and without what
    needs them.

    Raises ReleaseError where a line of a solution would stay.
    """
    book = json.loads(path.read_text(encoding="utf-8"))
    cells = []
    for cell in book["cells"]:
        text = notebooks.source(cell)
        tags = cell.get("metadata", {}).get("tags", [])
        if "solution" in tags:
            continue
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
            text = "\n".join(line for line in text.split("\n") if not _CALL.search(line))
        text = _SOLUTION.sub("", text)
        if "SOLUTION" in text:
            raise ReleaseError(
                f"{path.name}: the cell {cell.get('id')} has a BEGIN "
                "SOLUTION without its END SOLUTION"
            )
        if text.strip():
            cell["source"] = text.splitlines(keepends=True)
            cells.append(cell)
    book["cells"] = cells
    return book


def text_of(book: dict[str, Any]) -> str:
    """Return the text of a notebook's file."""
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def _mark(book: dict[str, Any], places: Sequence[Place]) -> None:
    """Add nbgrader's metadata: the answer's cell is a solution to be graded by hand or by us, and
    has the points.
    """
    for cell in book["cells"]:
        place = next((p for p in places if p.cell == cell.get("id")), None)
        if place is not None:
            cell["metadata"]["nbgrader"] = {
                "grade": True, "solution": True, "locked": False, "task": False,
                "schema_version": 3, "grade_id": place.exercise, "points": place.points,
            }  # fmt: skip
