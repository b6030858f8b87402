"""Runs of whole labs in which answers stand in place of the gaps, and the faults of such a run.

The tests are in several modules, test_filled_labs_*.py, because a worker takes a whole module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode

from helpers import exercises, labs
from helpers.bench.counts import NOT_YET
from helpers.exercises.judge.base import BaseExercise
from helpers.tools import forked_kernels
from helpers.tools.lab_execution import run_lab
from helpers.tools.progress import Progress
from tests import exercises as stored
from tests import golden

forked_kernels.use()

OWN = "# yours"  # marks a line that the student writes into a cell that is no exercise
SHARES = 4  # modules among which the labs are dealt

# Below the first cell: the description of a figure holds its labels, which name each kernel.
ALL_WORDS = """
from helpers.plotting import descriptions as _descriptions

def _all_words(figure, _claim=_descriptions.description):
    labels = (ax.get_xticklabels() + ax.get_yticklabels() + ax.texts for ax in figure.axes)
    return " ".join([_claim(figure), *(one.get_text() for some in labels for one in some)])

_descriptions.description = _all_words
"""


def share(number: int) -> Any:
    """Return the mark that gives a test the labs of one share, from 1 on."""
    paths = labs.notebooks()[number - 1 :: SHARES]
    return pytest.mark.parametrize("path", paths, ids=lambda path: path.stem)


def solutions(path: Path) -> dict[str, str]:
    """Return the solutions of a lab, by the names of its exercises."""
    return {one.name: str(one.solution) for one in _exercises(path)}


def _exercises(path: Path) -> tuple[BaseExercise, ...]:
    return exercises.of_lab(labs.number(path.stem))


def filled(path: Path, answers: Mapping[str, str]) -> NotebookNode:
    """Return the notebook with an answer in place of each stub. Raises ValueError without one."""
    book = nbformat.read(path, as_version=4)
    for one in _exercises(path):
        found = [cell for cell in book.cells if cell.source.rstrip() == one.stub.rstrip()]
        if len(found) != 1:
            raise ValueError(f"{path.name} has {len(found)} cells with the stub of {one.name}")
        if one.name in answers:
            found[0].source = str(answers[one.name])
    first = next(cell for cell in book.cells if cell.cell_type == "code")
    first.source += ALL_WORDS
    return book


def run(path: Path, answers: Mapping[str, str], scratch: Path) -> tuple[str, NotebookNode]:
    """Run a lab with these answers; return where it stopped ("" at its end), and its outputs."""
    given = scratch / "given" / path.name
    given.parent.mkdir()
    nbformat.write(filled(path, answers), given)
    (scratch / "results").mkdir()
    with forked_kernels.importing("helpers.tools.undrawn_figures"):
        outcome = run_lab(given, scratch / "results", Progress([given]))
    stopped = "" if outcome.failure is None else str(outcome.failure)
    return stopped, nbformat.read(scratch / "results" / path.name, as_version=4)


def faults(path: Path, scratch: Path) -> list[str]:
    """Return what is wrong with a lab whose gaps are filled by the solutions: a cell that raises, a
    check without PASS, a table or a figure that still waits for a student's kernel.
    """
    stopped, book = run(path, solutions(path), scratch)
    said = [f"it stops {stopped}"] if stopped else []
    for one in _exercises(path) if not stopped else ():
        if not re.search(rf"^PASS {one.name}\b", _text(_checks(book, one)), re.MULTILINE):
            said.append(f"the check of {one.name} does not pass:\n{_text(_checks(book, one))}")
    if not stopped and path in labs.notebooks():
        golden.require("filled", path.stem, _same_everywhere(book))
    return said + [f"a cell still says {NOT_YET!r}: {cell.source}" for cell in _waiting(book)]


def wrong_answers(path: Path) -> dict[str, str]:
    """Return a typical wrong answer to each exercise of a lab."""
    found = {}
    for one in _exercises(path):
        answer = next(answer for answer in stored.wrong(one) if answer.status == "wrong")
        found[one.name] = stored.text_of(one, answer)
    return found


def faults_of_wrong(path: Path, answers: Mapping[str, str], scratch: Path) -> list[str]:
    """Return what is wrong with a lab whose gaps are filled by wrong answers: a cell that raises
    and is not tagged for it, a check that passes, and tables that take the answer for right.
    """
    stopped, book = run(path, answers, scratch)
    said = [f"it stops {stopped}"] if stopped else []
    for one in _exercises(path) if not stopped else ():
        if one.name in answers and _text(_checks(book, one)).startswith("PASS "):
            said.append(f"the check of {one.name} passes")
    waits = stopped or _waiting(book) or not waits_for_answers(book)
    return said + ([] if waits else [f"no cell says {NOT_YET!r}"])


def waits_for_answers(book: NotebookNode) -> bool:
    """Return whether the cells of a lab use a student's kernel beside ours."""
    return any("yours(" in cell.source for cell in book.cells if cell.cell_type == "code")


def _checks(book: NotebookNode, one: BaseExercise) -> list[NotebookNode]:
    bound = getattr(one, "answer", one.name)
    return [cell for cell in book.cells if f"exercise.check({bound})" in cell.source]


def _same_everywhere(book: NotebookNode) -> dict[str, str]:
    """The words in the outputs of the cells that nbval compares, by the cells' numbers."""
    return {
        str(number): golden.anywhere(_text([cell]))
        for number, cell in enumerate(book.cells)
        if "nbval-check-output" in cell.metadata.get("tags", ())
    }


def _waiting(book: NotebookNode) -> list[NotebookNode]:
    """The cells that wait for the answer to an exercise; others wait for a line of their own."""
    code = [cell for cell in book.cells if cell.cell_type == "code" and OWN not in cell.source]
    return [cell for cell in code if NOT_YET in _text([cell])]


def _text(cells: Iterable[NotebookNode]) -> str:
    """The words in the outputs of cells, with those of a figure and of a page. What a cell prints
    reaches a notebook in pieces, whose number depends on the machine: they are joined.
    """
    words: list[str] = []
    printed = ""
    for output in (output for cell in cells for output in cell.outputs):
        if output.output_type == "stream":
            printed += output.text
            continue
        words, printed = [*words, printed], ""
        data = output.get("data", {})
        words += [data.get("text/plain", ""), data.get("text/html", "")]
        words += output.get("traceback", [])
    return "\n".join([*words, printed])
