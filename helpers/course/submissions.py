"""The answers in what students handed in (see collect.py), and pictures beside a notebook. Only
texts are read.

An answer is the text of one cell: the last one of the notebook that says whose answer it is (a
kernel by its first line, Python by the name that it binds) and is not the stub any more; else the
cell with the id that `release` wrote. Nothing of a notebook is run, and no output of it counts.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from functools import cache
from pathlib import Path
from typing import Any

from helpers import exercises, labs
from helpers.course import collect, notebooks, writing
from helpers.course.notebooks import SubmissionError
from helpers.course.roster import Names
from helpers.exercises.judge import gate
from helpers.exercises.judge.base import BaseExercise
from helpers.exercises.judge.python_exercise import PythonExercise

MOST_VERSIONS = 10  # of one student's answer to an exercise


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
    "name" or "id"; note: what its student should hear of how it was found; submitted: when, as ISO
    8601, "" where nobody knows; writing: what else its student wrote into the notebook; source: the
    notebook's path, "" where it cannot be read.
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
    submitted: str = ""
    writing: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""


@cache
def places() -> tuple[Place, ...]:
    """Return where the answers stand in the labs of this repository, in the order of the labs."""
    found = []
    for path in labs.notebooks():
        cells = [cell for cell in notebooks.read(path) if cell.get("cell_type") == "code"]
        for name, begins, points in _answers_of(path.stem):
            at = next((cell for cell in cells if notebooks.source(cell).startswith(begins)), None)
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
    """Return the places that `release` wrote down. Raises SubmissionError."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["exercises"]
        fields = ("exercise", "lab", "cell", "begins", "points")
        return tuple(Place(**{field: row[field] for field in fields}) for row in rows)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SubmissionError(f"{path} is no manifest that `release` wrote: {error}") from None


def answers(
    folder: Path,
    where: tuple[Place, ...],
    scratch: Path | None = None,
    remarks: list[str] | None = None,
    names: Names | None = None,
    zone: tzinfo | None = None,
    stamped: bool = False,
) -> Iterator[Answer]:
    """Yield the answers in submitted/, or in a zip of it: for each student and each notebook handed
    in, one for each exercise of its lab. A student may have several notebooks for a lab.

    scratch: an empty folder to unpack zips in; remarks: gets a sentence for all that is left out;
    names, zone, stamped: as collect.Collection has them.
    """
    if not folder.exists():
        raise SubmissionError(
            f"there is no folder {folder}; submissions lie in {folder}/STUDENT/LAB/*.ipynb"
        )
    with contextlib.ExitStack() as stack:
        if scratch is None:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="halo-zips-")))
        known = tuple(dict.fromkeys(place.lab for place in where))
        said = remarks if remarks is not None else []
        reader = collect.Collection(known, scratch, names or Names(()), zone, stamped, said)
        handed: dict[tuple[str, str], list[Answer]] = {}
        for one in reader.handed_in(folder):
            try:
                found = list(_of_handed(one, where, said))
            except Exception as error:  # a form that nobody thought of stops nobody else's
                found = list(_unread(one, where, said, error))
            for answer in found:
                handed.setdefault((answer.student, answer.lab), []).append(answer)
        for mine in handed.values():
            yield from _begun(mine, said)


def _of_handed(
    one: collect.Handed, where: tuple[Place, ...], remarks: list[str]
) -> Iterator[Answer]:
    """Yield the answers of one notebook."""
    missing, cells = "", []
    name = one.name
    at = one.at.astimezone(UTC).isoformat(timespec="seconds") if one.at is not None else ""
    if one.notebook is None:
        missing = "no notebook (.ipynb) was handed in"
    else:
        try:
            cells = notebooks.read(one.notebook)
        except SubmissionError as error:
            missing = str(error)
            if one.lab:
                remarks.append(f"{one.student}: {missing}")
    mine = [place for place in where if place.lab == one.lab]
    held = labs_in(cells, where)
    if one.lab and held and one.lab not in held:
        # A notebook in the folder or under the name of another lab is graded as what it is.
        numbers = " and ".join(map(labs.number, held))
        missing = f"{name} is a notebook of lab {numbers}, and was graded as that"
        remarks.append(f"{one.student}: {missing}; it was handed in as lab {labs.number(one.lab)}")
        for place in mine:
            yield replace(_answer(one.student, place, [], name, missing), submitted=at)
        mine, missing = [place for place in where if place.lab in held], ""
    elif not one.lab:
        mine = [place for place in where if place.lab in held]
        if not mine:
            said = missing or f"{name} is no lab of this course"
            remarks.append(f"{one.student}: {said}, and is left out")
    beside = {lab: writing.of_cells(cells, lab) for lab in {place.lab for place in mine}}
    for place in mine:
        found = _answer(one.student, place, cells, name, missing, one.figures)
        source = "" if missing or one.notebook is None else str(one.notebook)
        yield replace(found, submitted=at, writing=beside[place.lab], source=source)


def _unread(
    one: collect.Handed, where: tuple[Place, ...], remarks: list[str], error: Exception
) -> Iterator[Answer]:
    """Yield what stands for the answers of a notebook that raised an error of no known kind."""
    name = one.name
    missing = f"{name} cannot be read ({type(error).__name__}: {error})"[:500]
    remarks.append(f"{one.student}: {missing}")
    for place in where:
        if place.lab == one.lab:
            yield _answer(one.student, place, [], name, missing)


def labs_in(cells: list[dict[str, Any]], where: tuple[Place, ...]) -> tuple[str, ...]:
    """Return the labs whose answers stand in the cells of a notebook: by the cells' ids and first
    lines; where these are of no lab, by the names that the cells bind.
    """
    ids = {cell.get("id") for cell in cells} - {""}
    written = [notebooks.source(cell) for cell in cells if cell.get("cell_type") == "code"]
    held = [
        place
        for place in where
        if place.cell in ids or any(t.startswith(place.begins) for t in written)
    ]
    held = held or [
        place
        for place in where
        if any(_is_bound(exercises.find(place.exercise), text) for text in written)
    ]
    return tuple(dict.fromkeys(place.lab for place in held))


def _is_bound(exercise: BaseExercise, text: str) -> bool:
    """Return whether a cell binds an answer by its name. For a text only a literal counts: many
    labs have `mine = bench.yours(...)`, and `mine` is a text in lab 400.
    """
    if isinstance(exercise, PythonExercise) and exercise.is_text:
        with contextlib.suppress(gate.Refused):
            return bool(exercise.bound(text))
        return False
    return exercise.is_answer(text)


def _begun(mine: list[Answer], remarks: list[str]) -> Iterator[Answer]:
    """Yield the answers of a student to a lab, without those of notebooks that hold none where
    another one does. Many notebooks would try out what is right, so that only the last ones count.
    """
    for name in dict.fromkeys(answer.exercise for answer in mine):
        every = [answer for answer in mine if answer.exercise == name]
        begun = sorted((one for one in every if one.text), key=lambda one: one.submitted)
        if len(begun) > MOST_VERSIONS:
            remarks.append(
                f"{begun[0].student}: {len(begun):,} notebooks have an answer to {name}; the "
                f"{MOST_VERSIONS} that were handed in last are graded"
            )
        yield from begun[-MOST_VERSIONS:] or every[:1]


def _answer(
    student: str,
    place: Place,
    cells: list[dict[str, Any]],
    name: str,
    missing: str = "",
    figures: tuple[str, ...] = (),
) -> Answer:
    """Return the answer to one exercise in the cells of a notebook."""
    text, by, note = _text(cells, place)
    if not text and not missing:
        missing = f"the notebook has no code cell that begins with {place.begins!r}"
        for cell in cells:
            kind, other = cell.get("cell_type"), notebooks.source(cell).lstrip()
            if kind != "code" and other.startswith(place.begins):
                missing += f"; a {kind} cell does, and no such cell is run: make it a code cell"
                break
    return Answer(
        student, place.lab, place.exercise, text, place.points, missing, by, name, figures, note
    )


def _text(cells: list[dict[str, Any]], place: Place) -> tuple[str, str, str]:
    """Return the text of an answer, how it was found, and a note."""
    exercise = exercises.find(place.exercise)
    code = [cell for cell in cells if cell.get("cell_type") == "code"]
    every = [(cell.get("id"), notebooks.source(cell)) for cell in code]
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
    """Return the answers in one notebook: of the labs whose answers its cells are, else of the lab
    that it is named after. What is missing is told of a lab's notebook, which has the ids of its
    cells, and not of a notebook of other cells. Raises SubmissionError.
    """
    cells = notebooks.read(path)
    ids = {cell.get("id") for cell in cells}
    own = labs_in(cells, places()) or (path.stem,)
    whole = {one.lab for one in places() if one.cell in ids or one.lab == path.stem}
    mine = [one for one in places() if one.lab in own]
    mine = [one for one in mine if one.lab in whole or _text(cells, one)[0]]
    if not mine:
        raise SubmissionError(f"{path} has no cell of an exercise: give a notebook of a lab")
    return [_answer("", place, cells, path.name) for place in mine]
