"""What students handed in: submitted/STUDENT/LAB/*.ipynb, and pictures beside the notebook. Only
texts are read.

An answer is the text of one cell: the last one of the notebook that says whose answer it is (a
kernel by its first line, Python by the name that it binds) and is not the stub any more; else the
cell with the id that `release` wrote. Nothing of a notebook is run, and no output of it counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from helpers import exercises
from helpers.course import texts
from helpers.course.errors import CourseError
from helpers.exercises import labs

ROOT = Path(__file__).resolve().parents[2]
LABS = ROOT / "labs"
MOST_NOTEBOOK = 32 << 20  # bytes; outputs with figures make most of it
_NAME = re.compile(r"[\w.@+-]{1,100}")


class SubmissionError(CourseError, ValueError):
    """A notebook or a folder that cannot be read as a submission; the message says why."""


@dataclass(frozen=True)
class Place:
    """Where the answer to an exercise stands: the lab (the notebook's name), the cell's id, and
    how its first line begins.
    """

    exercise: str
    lab: str
    cell: str
    begins: str
    points: float


@dataclass(frozen=True)
class Answer:
    """An answer of a student: text is "" where there is none, and `missing` says why then; by:
    "name" or "id"; note: what its student should hear of how it was found.
    """

    student: str
    lab: str
    exercise: str
    text: str
    maximum: float
    missing: str = ""
    by: str = "name"
    notebook: str = ""
    figures: tuple[str, ...] = ()
    note: str = ""


def notebook(path: Path) -> list[dict[str, Any]]:
    """The cells of a notebook. Raises SubmissionError."""
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
    """The text of a cell, which a file holds as one text or as lines."""
    text = cell.get("source", "")
    if isinstance(text, list):
        text = "".join(line for line in text if isinstance(line, str))
    return text if isinstance(text, str) else ""


@cache
def places() -> tuple[Place, ...]:
    """Where the answers stand in the labs of this repository, in the order of the labs."""
    found = []
    for path in sorted(LABS.glob("[0-9]*.ipynb")):
        cells = [cell for cell in notebook(path) if cell.get("cell_type") == "code"]
        for name, begins, points in _answers_of(path.stem):
            at = next((cell for cell in cells if source(cell).startswith(begins)), None)
            if at is not None:
                found.append(Place(name, path.stem, str(at.get("id", "")), begins, points))
    return tuple(found)


def _answers_of(lab: str) -> Iterator[tuple[str, str, float]]:
    for name in exercises.names():
        exercise = exercises.find(name)
        if exercise.lab == lab:
            # A student may change the -D options of a %%kernel line; the rest of the first line
            # stays.
            yield name, exercise.stub.partition("\n")[0].split(" -D")[0].rstrip(), exercise.points


def manifest(path: Path) -> tuple[Place, ...]:
    """The places that `release` wrote down. Raises SubmissionError."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["exercises"]
        fields = ("exercise", "lab", "cell", "begins", "points")
        return tuple(Place(**{field: row[field] for field in fields}) for row in rows)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SubmissionError(f"{path} is no manifest that `release` wrote: {error}") from None


def answers(folder: Path, where: tuple[Place, ...]) -> Iterator[Answer]:
    """The answers in submitted/: for each student and each lab handed in, one for each exercise
    of that lab.
    """
    if not folder.is_dir():
        raise SubmissionError(
            f"there is no folder {folder}; submissions lie in {folder}/STUDENT/LAB/*.ipynb"
        )
    for student in sorted(
        path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")
    ):
        if not _NAME.fullmatch(student.name):
            raise SubmissionError(
                f"{student.name!r} cannot be a student's folder: use letters, digits, . @ + - and _"
            )
        for lab in sorted(
            path for path in student.iterdir() if path.is_dir() and not path.is_symlink()
        ):
            mine = [place for place in where if lab.name in (place.lab, labs.number(place.lab))]
            if mine:
                yield from _of_lab(student.name, lab, mine)


def _of_lab(student: str, folder: Path, where: list[Place]) -> Iterator[Answer]:
    found = sorted(path for path in folder.glob("*.ipynb") if not path.name.startswith("."))
    named = [path for path in found if path.stem == where[0].lab]
    missing, cells, name = "", [], ""
    if not found:
        missing = "no notebook was handed in"
    elif len(found) > 1 and not named:
        missing = f"{len(found)} notebooks were handed in, and none is called {where[0].lab}.ipynb"
    else:
        name = (named or found)[0].name
        try:
            cells = notebook(folder / name)
        except SubmissionError as error:
            missing = str(error)
    figures = tuple(
        str(path)
        for path in sorted(folder.rglob("*.png"))[:50]
        if path.is_file() and not path.is_symlink()
    )
    for place in where:
        yield _answer(student, place, cells, name, missing, figures)


def _answer(
    student: str,
    place: Place,
    cells: list[dict[str, Any]],
    name: str,
    missing: str = "",
    figures: tuple[str, ...] = (),
) -> Answer:
    """The answer to one exercise in the cells of a notebook."""
    text, by, note = _text(cells, place)
    if not text and not missing:
        missing = (
            f"the notebook has no cell {place.cell} and none that begins with {place.begins!r}"
        )
    return Answer(
        student, place.lab, place.exercise, text, place.points, missing, by, name, figures, note
    )


def _text(cells: list[dict[str, Any]], place: Place) -> tuple[str, str, str]:
    """The text of an answer, how it was found, and a note."""
    exercise = exercises.find(place.exercise)
    every = [(cell.get("id"), source(cell)) for cell in cells if cell.get("cell_type") == "code"]
    named = [text for _, text in every if exercise.is_answer(text)]
    begun = [text for text in named if not exercise.is_stub(text)]
    if begun:
        note = (
            f"{len(begun)} cells begin with {place.begins!r}; the last one was graded."
            if len(begun) > 1
            else ""
        )
        return begun[-1], "name", note
    # Its first line may have been lost: the reader of the cell then says so.
    by_id = [text for id, text in every if place.cell and id == place.cell and text.strip()]
    for text in (*by_id, *named):
        if not exercise.is_stub(text):
            return text, "id", ""
    return (named[-1], "name", "") if named else ("", "name", "")


def of_notebook(path: Path) -> list[Answer]:
    """The answers in one notebook, whatever its name: of the labs whose exercise cells it has.
    Raises SubmissionError.
    """
    cells = notebook(path)
    ids = {cell.get("id") for cell in cells}
    mine = [
        place
        for place in places()
        if place.cell in ids or place.lab == path.stem or _text(cells, place)[0]
    ]
    if not mine:
        raise SubmissionError(f"{path} has no cell of an exercise: give a notebook of a lab")
    return [_answer("", place, cells, path.name) for place in mine]
