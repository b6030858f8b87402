"""python -m helpers.course.gradescope_run LAB SUBMISSION RESULTS: what run_autograder calls."""

from __future__ import annotations

import json
import secrets
import shutil
import sys
import tempfile
from pathlib import Path

from helpers.course import box, export, grades, grading, notebooks, submissions


def main(lab: str, submission: Path, results: Path) -> int:
    """Grade the one submission, and write results.json, whatever happens."""
    try:
        made = _graded(lab, submission)
    except (box.NoBox, grades.GradesError, notebooks.SubmissionError) as error:
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
        folder = Path(name) / "submitted" / "student" / lab
        folder.mkdir(parents=True)
        for path in sorted(submission.rglob("*")):
            if path.suffix in (".ipynb", ".png") and path.is_file() and not path.is_symlink():
                shutil.copyfile(path, folder / path.name)
        answers = list(submissions.answers(Path(name) / "submitted", submissions.places()))
        try:
            to = Path(name) / "grades"
            grading.grade(
                answers,
                to,
                grading.Plan(secrets.randbits(48), box.find_level(box.KINDS)),
                ladders=False,
            )
            return export.gradescope_results(list(grades.results(to)))
        finally:
            grading.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
