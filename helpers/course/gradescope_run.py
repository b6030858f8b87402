"""python -m helpers.course.gradescope_run LAB SUBMISSION RESULTS: what run_autograder calls."""

from __future__ import annotations

import json
import secrets
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from helpers import labs
from helpers.course import (
    CourseError,
    box,
    collect,
    export,
    gradebook,
    grading,
    submissions,
)

COURSE = labs.ROOT / "course.toml"  # where the autograder has one
STUDENT = "student"  # Gradescope knows who


def main(lab: str, submission: Path, results: Path) -> int:
    """Grade the one submission, and write results.json, whatever happens."""
    try:
        made = _graded(lab, submission)
    except CourseError as error:
        # No score: Gradescope then says that the autograder failed, and nobody loses points.
        results.write_text(
            json.dumps({"output": f"This submission could not be graded: {error}"}) + "\n",
            encoding="utf-8",
        )
        return 1
    results.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    return 0


def _graded(lab: str, submission: Path) -> dict:
    with tempfile.TemporaryDirectory(prefix="halo-gradescope-") as name:
        scratch, to = Path(name), Path(name) / "grades"
        folder = scratch / "submitted" / STUDENT / lab
        folder.mkdir(parents=True)
        for path in sorted(submission.rglob("*")):
            if collect.is_kept(path.name) and path.is_file() and not path.is_symlink():
                target = folder / path.relative_to(submission)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
        where = tuple(place for place in submissions.places() if place.lab == lab)
        remarks: list[str] = []
        answers = [
            replace(answer, submitted="")  # Gradescope knows when, and takes points away itself
            for answer in submissions.answers(
                scratch / "submitted", where, scratch / "zips", remarks
            )
        ]
        gradebook.keep(to, COURSE if COURSE.is_file() else None, None)
        plan = grading.Plan(
            secrets.randbits(48), box.find_level(box.KINDS), policy=gradebook.policy_of(to)
        )
        try:
            grading.grade(answers, to, plan, ladders=False)
        finally:
            grading.close()
        made = json.loads(export.gradescope(to, STUDENT, labs.number(lab)))
        return {**made, "output": "\n".join([made["output"], *remarks])}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
