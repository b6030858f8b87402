"""A synthetic class: submissions with the exercises' own answers, whose verdicts are known.

    python -m tests.exercises.synthetic_submissions submitted/ --students 500 --exercises 10
    [--distinct] python -m tests.exercises.synthetic_submissions submitted/ --compare grades/

--distinct appends a comment with the student's name to each answer, so that no two texts are equal.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path

from helpers import exercises, labs
from helpers.course import grades, python_answers, submissions
from tests import exercises as stored
from tests.exercises.answers import Answer

EXPECTED = "expected.json"


def write(folder: Path, students: int, count: int, distinct: bool = False, seed: int = 1) -> int:
    """Write submitted/STUDENT/LAB/LAB.ipynb for `count` exercises, and expected.json.

    Returns the number of answers.
    """
    rng = random.Random(seed)
    places = [p for p in submissions.places() if p.exercise not in python_answers.PLAYERS][:count]
    answers = {p.exercise: _answers(p.exercise) for p in places}
    books = {
        p.lab: json.loads((labs.LABS / f"{p.lab}.ipynb").read_text(encoding="utf-8"))
        for p in places
    }
    expected: dict[str, str] = {}
    for number in range(students):
        student = f"student{number:03}"
        cells: dict[str, list[dict]] = {lab: [] for lab in books}
        for place in places:
            answer, text = rng.choice(answers[place.exercise])
            if distinct:
                text += f"// {student}\n"
            cells[place.lab].append(dict(_cell(place.cell), source=text))
            expected[f"{student}/{place.lab}/{place.exercise}"] = answer.status
        for lab, book in books.items():
            # A submitted notebook with only the answers' cells, to save space on the disk.
            path = folder / student / lab / f"{lab}.ipynb"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({**book, "cells": cells[lab]}), encoding="utf-8")
    (folder / EXPECTED).write_text(json.dumps(expected, indent=1), encoding="utf-8")
    return len(expected)


def _answers(name: str) -> list[tuple[Answer, str]]:
    exercise = exercises.find(name)
    every = (*stored.right(exercise), *stored.wrong(exercise))
    return [(answer, stored.text_of(exercise, answer)) for answer in every]


def _cell(cell: str) -> dict:
    return {"cell_type": "code", "id": cell, "metadata": {}, "outputs": [], "execution_count": None}


def compare(folder: Path, graded: Path) -> list[str]:
    """Return a line for each answer whose verdict is not the expected one."""
    expected = json.loads((folder / EXPECTED).read_text(encoding="utf-8"))
    wrong = []
    for place, status in expected.items():
        grade = grades.load(graded / f"{place}.json")
        got = grade["status"] if grade else "no result"
        if got != status:
            wrong.append(
                f"{place}: {got}, expected {status}: {grade['messages'][0][:200] if grade else ''}"
            )
    return wrong


def main() -> int:
    """Write submissions, or compare their grades; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--students", type=int, default=500)
    parser.add_argument("--exercises", type=int, default=10)
    parser.add_argument("--distinct", action="store_true")
    parser.add_argument("--compare", type=Path, metavar="GRADES")
    options = parser.parse_args()
    if options.compare is None:
        count = write(options.folder, options.students, options.exercises, options.distinct)
        print(f"{count:,} answers in {options.folder}")
        return 0
    wrong = compare(options.folder, options.compare)
    print("\n".join([*wrong, f"{len(wrong):,} verdicts differ from those expected"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
