"""A copy of this repository for students, without the solutions of the exercises; the checks still
run.

    python -m helpers.course release 101 103 --package student/

The exercises are data: an answer is judged by what it does, so that no check needs a solution.
What a package lacks: solution.* and the mutants.py that edit it, the answers in tests/, and, on a
GPU, the time of the lab's own kernel beside a student's. What the mutants leave is recorded
(helpers.exercises.judge.mutants), so that a package gives their hints all the same.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from helpers import exercises, labs
from helpers.course import CourseError, notebooks, release

ROOT = labs.ROOT
EXERCISES = ROOT / "helpers/exercises/content"
_FOLDERS = ("helpers", "kernels", "data")
_FILES = ("pyproject.toml", "environment.yml", "Makefile", "LICENSE", "CITATION.cff", "INSTALL.md",
          "README.md", "START.md")
_NOTE = """
**This copy was made for a course.** It has the course's labs, and neither solutions nor tests. You
have it already, so nothing is to be cloned: type `make jupyter` in this folder. `make test` and
`make gpu` have nothing to run here. `python -m helpers.course check my_labs/NAME.ipynb`, in the
environment (`. .venv/bin/activate`), checks your answers to a lab.
"""


class PackageError(CourseError, ValueError):
    """A folder that no package can be written to; the message says why."""


def write(wanted: Sequence[str], to: Path) -> int:
    """Write the package with the labs asked for (all where none is named); how many files.

    Raises PackageError, release.ReleaseError.
    """
    if to.exists() and any(to.iterdir()):
        raise PackageError(f"{to} is not empty; give a new folder")
    chosen = release.chosen(wanted)
    for folder in _FOLDERS:
        shutil.copytree(ROOT / folder, to / folder, ignore=_ignored)
    for one in map(exercises.find, exercises.names()):
        stub = to / one.folder.relative_to(ROOT) / f"stub{one.suffix}"
        stub.write_text(re.sub(r"\A%%", "// %%", one.stub), encoding="utf-8")
    for name in _FILES:
        if (ROOT / name).exists():
            shutil.copyfile(ROOT / name, to / name)
    for path in [*chosen, *release.deeper_of(chosen)]:
        book = release.student_copy(path)
        book["cells"] = [cell for cell in book["cells"] if not _needs_solution(cell)]
        target = to / "labs" / labs.place(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(release.text_of(book), encoding="utf-8")
    shutil.copyfile(labs.LABS / "README.md", to / "labs" / "README.md")
    readme = to / "README.md"
    title, _, rest = readme.read_text(encoding="utf-8").partition("\n")
    readme.write_text(f"{title}\n{_NOTE}{rest}", encoding="utf-8")
    for path in to.rglob("*.md"):
        text = release.LINK.sub(_without_dead(path.parent), path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")
    for path in (to / "labs").rglob("*.ipynb"):
        book = json.loads(path.read_text(encoding="utf-8"))
        release.mend_links(book, _without_dead(path.parent))
        path.write_text(release.text_of(book), encoding="utf-8")
    return sum(path.is_file() for path in to.rglob("*"))


def _without_dead(folder: Path) -> Callable[[re.Match[str]], str]:
    """Return what makes of a link on a page of a folder its words, where the package lacks its
    target.
    """

    def mended(found: re.Match[str]) -> str:
        target = found[2].partition("#")[0]
        is_alive = release.leads_elsewhere(target) or (folder / target).exists()
        return found[0] if is_alive else found[1]

    return mended


def _ignored(folder: str, names: list[str]) -> set[str]:
    here = Path(folder)
    in_exercise = EXERCISES in here.parents
    return {
        name
        for name in names
        if name == "__pycache__"
        or (name.startswith(".") and name != ".gitignore")
        or (in_exercise and name.startswith(("solution.", "mutants.")))
    }


def _needs_solution(cell: dict) -> bool:
    return cell["cell_type"] == "code" and bool(re.search(r"\bsolution", notebooks.source(cell)))
