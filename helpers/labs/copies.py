"""Students' own copies of the labs, in my_labs/: without outputs, never overwritten once changed.

Nobody works in labs/, so a `git pull` never meets a changed file, and no prediction is spoiled by
an output. A copy that is still as it was made is replaced when its lab changes. Beside a changed
one the new version is put as NAME_new.ipynb.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from helpers import labs
from helpers.labs import stored

ROOT = labs.ROOT
FOLDER = "my_labs"
RECORD = (
    ".versions.json"  # by copy: the sha256 of what was written, and of the lab that it came from
)
START_PAGE, MAP = "0_START.md", "ALL_LABS.md"  # first in the list of files
LEFT_OUT = {"solution"}  # tags of cells


@dataclass
class Update:
    """What `update` did, by the names of the labs; beside: the name of each new version."""

    made: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    beside: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = []
        if self.made:
            lines.append(
                f"{FOLDER}/: {len(self.made)} new {'copy' if len(self.made) == 1 else 'copies'}"
            )
        if self.replaced:
            lines.append(
                f"{FOLDER}/: {len(self.replaced)} that you had not changed brought up to date"
            )
        for name, new in self.beside.items():
            mine = f"{FOLDER}/{name}.ipynb"
            lines.append(f"{mine} is yours and stays; the new version is {new}.ipynb")
        return "\n".join(lines) or f"{FOLDER}/: nothing to update"


def update(root: Path = ROOT) -> Update:
    """Make the copies that are missing, and bring new versions; see the module."""
    folder, done = root / FOLDER, Update()
    folder.mkdir(exist_ok=True)
    record = _read(folder / RECORD)
    for lab in labs.every(root / "labs"):
        text = copy_of(lab.read_text(encoding="utf-8"), labs.is_deeper(lab))
        new = _sha256(text)
        place, known = folder / labs.place(lab), record.get(lab.stem)
        if not place.exists():
            done.made.append(lab.stem)
        elif known is None or known["lab"] == new:
            if known is None:  # a file of the student's own, by this name
                record[lab.stem] = {"written": "", "lab": new}
            continue
        elif _is_as_written(place, record):
            done.replaced.append(lab.stem)
        else:
            place = _beside(place, record)
            done.beside[lab.stem] = place.stem
            record[lab.stem]["lab"] = new
        _write(place, text)
        record[place.stem] = {"written": new, "lab": new}
    _write(folder / RECORD, json.dumps(record, indent=1, sort_keys=True) + "\n")
    _write_pages(root, folder)
    return done


def _is_as_written(place: Path, record: dict[str, dict[str, str]]) -> bool:
    """Return whether a file is still what `update` wrote there."""
    known = record.get(place.stem, {}).get("written")
    return hashlib.sha256(place.read_bytes()).hexdigest() == known


def _beside(place: Path, record: dict[str, dict[str, str]]) -> Path:
    """Return where the new version goes beside a changed copy: NAME_new.ipynb, or NAME_new2.ipynb
    where a student has gone on with the first one.
    """
    names = (f"{place.stem}_new{n if n > 1 else ''}.ipynb" for n in itertools.count(1))
    every = map(place.with_name, names)
    return next(new for new in every if not new.exists() or _is_as_written(new, record))


def copy_of(text: str, deeper: bool = False) -> str:
    """Return the text of a student's copy of a notebook: no outputs, no cells of a solution.

    Links to the list of the labs, with its glossary, lead to the copy of that list. deeper: whether
    the notebook lies one folder below that list.
    """
    up = "../" if deeper else ""
    notebook = json.loads(text)
    cells = [c for c in notebook["cells"] if not LEFT_OUT & set(c["metadata"].get("tags", []))]
    for cell in cells:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
        else:
            words = "".join(cell["source"]).replace(f"]({up}README.md", f"]({up}{MAP}")
            cell["source"] = words.splitlines(keepends=True)
    notebook["cells"] = cells
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def state_of(text: str) -> str:
    """Return how far a student's copy is: "" for not begun, "begun", "2 of 12 passed" or "passed".

    Outputs say it: a cell that was run, and the verdict of a cell that finds its exercise.
    """
    checks = stored.exercises_of(text).values()
    passed = sum(check.state == stored.PASSED for check in checks)
    if checks and passed == len(checks):
        return stored.PASSED
    if passed:
        return f"{passed} of {len(checks)} {stored.PASSED}"
    cells = stored.cells_of(text)
    return "begun" if any(cell.get("execution_count") for cell in cells) else ""


def write_start_page(root: Path = ROOT) -> None:
    """Write the start page: a button that leads on, how far each part and each lab is, and tips.

    Links lead to the copies. The extension of JupyterLab shows a heading that is a link as a
    button.
    """
    folder = root / FOLDER
    start = (root / "START.md").read_text(encoding="utf-8")
    start = start.replace("](labs/README.md)", f"]({MAP})").replace("](labs/", "](")
    start = re.sub(r"\]\((?=kernels/|results/|README\.md|INSTALL\.md|OWN_GPU\.md)", "](../", start)
    copied = [copy for lab in labs.every(root / "labs") if (copy := _copy_at(folder, lab))]
    if any(copy.state for copy in copied):
        begun = [f"| [{c.title}]({c.place}) | {c.state} |" for c in copied if c.state]
        index = (root / "labs" / "README.md").read_text(encoding="utf-8")
        tables = [
            *("| part | labs passed |", "| --- | --- |", *_bars(index, copied), ""),
            *("| lab | state |", "| --- | --- |", *begun),
        ]
        lines = "\n".join([_button(copied), "", "## Where you are", "", *tables])
        start = _BUTTON.sub(lambda _: lines, start, count=1)
    _write(folder / START_PAGE, start)


_BUTTON = re.compile(r"^## \[.*\]\(.*\)$", re.MULTILINE)
_PART = re.compile(r"^## (Part (\d): .+)$", re.MULTILINE)
_BAR = 20  # characters of a part's bar


@dataclass(frozen=True)
class _Copy:
    """A student's copy of a notebook. place: below the folder of the copies; saved: when, in
    seconds; exercises: whether each has passed, in their order.
    """

    place: Path
    title: str
    state: str
    saved: float
    exercises: tuple[bool, ...]


def _copy_at(folder: Path, lab: Path) -> _Copy | None:
    """Return what the copy of a lab says; None where it was removed, is being written, or is no
    notebook any more.
    """
    place = labs.place(lab)
    try:
        text = (folder / place).read_text(encoding="utf-8")
        saved = (folder / place).stat().st_mtime
        first, state = stored.cells_of(text)[0]["source"].partition("\n")[0], state_of(text)
    except (OSError, ValueError, IndexError):
        return None
    passed = tuple(one.state == stored.PASSED for one in stored.exercises_of(text).values())
    title = first.removeprefix("# ") if first.startswith("# ") else lab.stem
    return _Copy(place, title, state, saved, passed)


def _button(copied: Sequence[_Copy]) -> str:
    """Return the link that leads on: to the lab that was saved last of those that are begun, else
    to the first one that is not.
    """
    own = [copy for copy in copied if copy.place.parent.name != labs.DEEPER]
    begun = [copy for copy in own if copy.state not in ("", stored.PASSED)]
    if begun:
        last = max(begun, key=lambda copy: copy.saved)
        words = f"Continue: Lab {labs.number(last.place.stem)}"
        if False in last.exercises:
            words += f", exercise {last.exercises.index(False) + 1} of {len(last.exercises)}"
    elif new := [copy for copy in own if not copy.state]:
        last = new[0]
        words = f"Next: Lab {last.title}"
    else:
        return f"## [All labs are passed]({MAP})"
    return f"## [{words}]({last.place})"


def _bars(index: str, copied: Sequence[_Copy]) -> Iterator[str]:
    """Yield a row for each part of labs/README.md: the share of its labs that are passed. The first
    digit of a lab's number is its part.
    """
    for title, number in _PART.findall(index):
        states = [
            copy.state
            for copy in copied
            if copy.place.parent.name != labs.DEEPER and copy.place.name.startswith(number)
        ]
        if states:
            passed = states.count(stored.PASSED)
            full = passed * _BAR // len(states)
            bar = "█" * full + "░" * (_BAR - full)
            yield f"| {title} | {bar} {passed} of {len(states)} |"


def _write_pages(root: Path, folder: Path) -> None:
    """Write the start page and the map of the labs."""
    write_start_page(root)
    _write(folder / MAP, (root / "labs/README.md").read_text(encoding="utf-8"))


def _read(path: Path) -> dict[str, dict[str, str]]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
