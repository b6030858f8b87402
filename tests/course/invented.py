"""A course that never was, from roster to feedback: students of every kind, and what must become of
them.

    python -m tests.course.invented --students 40 --to invented/
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import warnings
import zipfile
from datetime import datetime, timedelta
from pathlib import Path

from matplotlib import pyplot

from helpers import exercises
from helpers.bench.results import PNG_KEY
from helpers.course import roster, submissions, times
from helpers.course.__main__ import main as course
from helpers.problems.measured import MEASURED

DEADLINE = datetime(2026, 10, 5, 18, 0)
NAMES = ("squares", "add_arrays", "flip_rows")  # of lab 103, which this course has, with 101
EDGE = "conv1d_edge"
COURSE = f"""title = "A course that never was"
over_budget = 0.5
take = "best"

[late]
grace_minutes = 15
share_a_day = 0.1
most_days = 3

[labs.101]
deadline = {DEADLINE.isoformat()}
weight = 2
[labs.103]
column = "Puzzles (4711)"
deadline = {DEADLINE.isoformat()}
[labs.101.by_hand]
predictions = 1
written = 2
[labs.101.figures]
"115_sizes" = 3
[labs.103.points]
squares = 4
[[labs.101.cases.conv1d_edge]]
name = "whole blocks"
when = {{size = 256}}
[[labs.101.cases.conv1d_edge]]
name = "all others"
weight = 3
hidden = true

[rubric]
"axes have names and units" = 1
"the claim is what the numbers say" = 2

[extensions.late_with_leave]
101 = 7
"""


def place(name: str) -> submissions.Place:
    return next(one for one in submissions.places() if one.exercise == name)


def book(answers: dict[str, str], ids: bool = True, more: tuple[dict[str, str], ...] = ()) -> str:
    """The text of a notebook with an answer for each exercise. more: cells of other kinds."""
    cells: list[dict] = [dict(one) for one in more]
    cells += [
        {
            "cell_type": "code", "id": place(name).cell if ids else f"own{k}", "metadata": {},
            "outputs": [], "execution_count": None, "source": text.splitlines(True),
        }
        for k, (name, text) in enumerate(answers.items())
    ]  # fmt: skip
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def solutions(*names: str) -> dict[str, str]:
    return {name: exercises.find(name).solution for name in names}


WRITING = (
    {"cell_type": "code", "source": 'prediction.number("loads", 7_000, "loads of <N>", unit="x")\n'
     'prediction.choice("fastest", None, "the fastest", among=("a", "b"))'},
    {"cell_type": "markdown", "id": "mine", "source": "Because <script>the halo</script> is read."},
)  # fmt: skip
EDGE_OVER = ("P[i] = sum;", "P[i] = sum + 0 * N[n - 1 - i];")  # a fourth load


def edited_figure(path: Path) -> None:
    """Save a picture whose record is the course's own with shorter times, under another name."""
    record = json.loads((MEASURED / "115_sizes.json").read_text())
    record["device"]["name"] = "NVIDIA A100-SXM4-80GB"
    for row in record["measurements"]:
        if timing := row.get("timing"):
            timing["samples"] = [0.7 * one for one in timing["samples"]]
            timing["median"] *= 0.7
    figure, axes = pyplot.subplots(figsize=(5, 3.2), layout="constrained")
    for series in ("kernel only", "with copies", "C++, one core"):
        rows = [row for row in record["measurements"] if row["series"] == series]
        sizes = [row["parameters"]["n"] for row in rows]
        axes.loglog(sizes, [row["timing"]["median"] for row in rows], "o-", label=series)
    axes.set(xlabel="values", ylabel="time (ms)", title="My kernel is faster from 10,000 values on")
    axes.legend()
    figure.savefig(path, dpi=110, metadata={PNG_KEY: json.dumps(record)})
    pyplot.close(figure)


class Class:
    """Writes a class into a folder. expected: points of a student, in all."""

    def __init__(self, to: Path):
        self.to, self.submitted = to, to / "submitted"
        self.expected: dict[str, float] = {}
        self.roster: list[tuple[str, ...]] = []
        self.times: list[tuple[str, str, str]] = []

    def student(
        self, name: str, points: float, shown: str = "", nickname: str = "", id: str = ""
    ) -> None:
        self.expected[name] = points
        section = "Monday" if len(self.roster) % 2 else "Tuesday"
        self.roster.append((name, shown or name.title(), section, nickname, f"{name}@x.edu", id))

    def hand_in(
        self, student: str, where: str, text: str, late: timedelta = timedelta(hours=-1)
    ) -> Path:
        path = self.submitted / student / where
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        at = (DEADLINE + late).timestamp()
        os.utime(path, (at, at))
        return path

    def kinds(self) -> None:
        """One student of each kind. The exercise of 101 that they hand in is worth 20, the one that
        nobody does is worth 10; 103 is worth 4 + 2 + 2 and nine others 2.
        """
        edge, three = solutions(EDGE), solutions(*NAMES)
        lab = place(EDGE).lab
        puzzles = place("squares").lab
        self.student("all_right", 28, nickname="halo")
        self.hand_in("all_right", f"{lab}/{lab}.ipynb", book(edge, more=WRITING))
        self.hand_in("all_right", f"{puzzles}/{puzzles}.ipynb", book(three))
        edited_figure(self.submitted / "all_right" / lab / "115_sizes.png")
        self.student("nothing", 0)
        self.student("empty_folder", 0)
        (self.submitted / "empty_folder" / lab).mkdir(parents=True)
        self.student("stub", 0)
        self.hand_in("stub", f"{lab}/{lab}.ipynb", book({EDGE: exercises.find(EDGE).stub}))
        self.student("over_budget", 10)
        over = {EDGE: edge[EDGE].replace(*EDGE_OVER)}
        self.hand_in("over_budget", f"{lab}/{lab}.ipynb", book(over))
        unal = "Ünal Ağaoğlu 李"
        self.student(unal, 20, unal)
        self.hand_in(unal, f"{lab.upper()}.ipynb", book(edge))
        self.student("run.json", 20)
        self.hand_in("run.json", "Lab 101/mine.ipynb", book(edge, ids=False))
        self.student("in_grace", 20)
        self.hand_in("in_grace", "101/x.ipynb", book(edge), timedelta(minutes=10))
        self.student("two_days_late", 16)
        self.hand_in("two_days_late", "101/x.ipynb", book(edge), timedelta(hours=30))
        self.student("too_late", 0)
        self.hand_in("too_late", "101/x.ipynb", book(edge), timedelta(days=5))
        self.student("late_with_leave", 20)
        self.hand_in("late_with_leave", "101/x.ipynb", book(edge), timedelta(days=5))
        self.student("two_attempts", 18)  # the first one is right and a day late, the last wrong
        self.hand_in("two_attempts", "101/first.ipynb", book(edge), timedelta(hours=2))
        wrong = {EDGE: edge[EDGE].replace("min(max(i - 1 + j, 0), n - 1)", "max(i - 1 + j, 0)")}
        self.hand_in("two_attempts", "101/second.ipynb", book(wrong), timedelta(hours=3))
        self.student("checkpoints", 20)
        self.hand_in("checkpoints", "101/x.ipynb", book(edge))
        self.hand_in("checkpoints", "101/.ipynb_checkpoints/x-checkpoint.ipynb", "{")
        self.student("broken_notebook", 0)
        self.hand_in("broken_notebook", "101/x.ipynb", '{"cells": [')
        self.student("surrogate", 20)
        self.hand_in(
            "surrogate", "101/x.ipynb", book({EDGE: edge[EDGE] + "// \ud800 <script>x</script>\n"})
        )
        self.student("huge", 0)
        body = edge[EDGE].replace("\n", "\n__device__ float huge[1ull << 36];\n", 1)
        huge = body.replace("P[i] = sum;", "P[i] = sum; huge[i] = sum;")
        self.hand_in("huge", "101/x.ipynb", book({EDGE: huge}))
        self.student("huge_array", 0)
        array = "volatile float a[1ull << 36]; a[i] = P[i] = sum;"
        local = {EDGE: edge[EDGE].replace("P[i] = sum;", array)}
        self.hand_in("huge_array", "101/x.ipynb", book(local))
        # Each of these is right for whole blocks alone: a quarter of what "over budget" is worth.
        self.student("no_guard", 2.5)
        bare = edge[EDGE].replace("if (i < n)", "")
        self.hand_in("no_guard", "101/x.ipynb", book({EDGE: bare}))
        self.student("first_block_only", 2.5)
        one = edge[EDGE].replace("blockIdx.x * blockDim.x + ", "")
        self.hand_in("first_block_only", "101/x.ipynb", book({EDGE: one}))
        self.student("no_type", 0)
        self.hand_in("no_type", "101/x.ipynb", book({EDGE: edge[EDGE].replace("float sum", "sum")}))
        self.student("all_twelve", 4 + 2 * 11)
        twelve = solutions(*(p.exercise for p in submissions.places() if p.lab == puzzles))
        self.hand_in("all_twelve", "LAB_103/MINE.IPYNB", book(twelve))
        self.student("Zo\N{LATIN SMALL LETTER E WITH DIAERESIS}", 20)  # one letter, or two signs
        self.hand_in("Zoe\N{COMBINING DIAERESIS}", "101/x.ipynb", book(edge))
        self.student("two_folders", 20)
        self.hand_in("two_folders", "101/a/x.ipynb", book(wrong), timedelta(hours=-2))
        self.hand_in("two_folders", "101/b/x.ipynb", book(edge))
        self.student("one_name_twice", 20)
        self.student("two_zips", 28)
        for student, place_of, books in (
            ("one_name_twice", "WORK.ZIP", (("101.ipynb", edge), ("101.ipynb", wrong))),
            ("two_zips", "a/work.zip", (("101.ipynb", edge),)),
            ("two_zips", "b/work.zip", (("103.ipynb", three), ("more.zip", {}))),
        ):
            archive = self.submitted / student / place_of
            archive.parent.mkdir(parents=True)
            with zipfile.ZipFile(archive, "w") as file, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python tells a name that stands there twice
                for name, answers in books:
                    self._zipped(file, name, book(answers))
        self.student("too_deep", 0)
        self.hand_in("too_deep", "101/a/b/c/d/e/f/x.ipynb", book(edge))
        self.student("=1+1", 20, "=1+1")
        self.hand_in("=1+1", "101/x.ipynb", book(edge))
        self.student("copied", 20)
        renamed = edge[EDGE].replace("sum", "total").replace("cell", "place")
        self.hand_in("copied", "101/x.ipynb", book({EDGE: renamed}))
        self.student("zipped", 20)
        archive = self.submitted / "zipped" / "work.zip"
        archive.parent.mkdir(parents=True)
        with zipfile.ZipFile(archive, "w") as file:
            self._zipped(file, "my work/101.ipynb", book(edge))
            self._zipped(file, "../../outside.ipynb", book(edge))
        self.student("unreadable_zip", 0)
        bad = self.submitted / "unreadable_zip" / "work.zip"
        bad.parent.mkdir(parents=True)
        bad.write_bytes(b"PK no zip")
        # Moodle writes full names, Canvas the letters of "Last, First" and its own number.
        of_moodle = "_assignsubmission_file_"
        self.student("anna", 20, "Anna Berg")
        self.student("flat", 20, "Flóra Nagy")
        with zipfile.ZipFile(self.submitted / "moodle.zip", "w") as file:
            self._zipped(file, f"Anna Berg_123{of_moodle}/101.ipynb", book(edge))
            self._zipped(file, f"Flóra Nagy_124{of_moodle}101.ipynb", book(edge))
            self._zipped(file, f"Same Name_125{of_moodle}/101.ipynb", book(edge))
            self._zipped(file, f"Same Name_126{of_moodle}/101.ipynb", book(wrong))
        self.student("unpacked", 20, "Úrsula Pé")
        self.hand_in(f"Úrsula Pé_127{of_moodle}", "101.ipynb", book(edge))
        self.student("carl1", 16, "Carl Berg", id="123")
        self.student("carl2", 0, "Carl Berg", id="124")
        self.times.append(("carl1", "101", (DEADLINE + timedelta(hours=30)).isoformat()))
        with zipfile.ZipFile(self.submitted / "canvas.zip", "w") as file:
            self._zipped(file, "bergcarl_LATE_123_456_101.ipynb", book(edge))
            self._zipped(file, "bergcarl_124_457_101.ipynb", book(wrong))
        self.student("of_a_section", 20)
        self.hand_in("Monday", "of_a_section/101/x.ipynb", book(edge))
        self.student("nested_zips", 20)
        inner = self.submitted / "nested_zips" / "inner.zip"
        inner.parent.mkdir(parents=True)
        with zipfile.ZipFile(inner, "w") as file:
            self._zipped(file, "101.ipynb", book(edge))
        with zipfile.ZipFile(inner.with_name("outer.zip"), "w") as file:
            file.write(inner, "deeper/inner.zip")
        inner.unlink()
        self.student("old_form", 0)
        self.hand_in("old_form", "101/x.ipynb", '{"nbformat": 3, "worksheets": []}')
        self.student("link", 0)
        (self.submitted / "link" / "101").mkdir(parents=True)
        (self.submitted / "link" / "101" / "x.ipynb").symlink_to("/etc/passwd")
        self.student("byte_order_mark", 20)
        self.hand_in("byte_order_mark", "101/x.ipynb", "\ufeff" + book(edge))
        at = DEADLINE.timestamp()
        for archive in self.submitted.glob("*/**/*.[zZ]*"):
            os.utime(archive, (at, at))
        self.hand_in("not_on_the_roster", "101/x.ipynb", book(edge))
        (self.submitted / "stray.ipynb").write_text(book(edge))

    @staticmethod
    def _zipped(file: zipfile.ZipFile, name: str, text: str) -> None:
        entry = zipfile.ZipInfo(name, (2026, 10, 5, 17, 0, 0))
        file.writestr(entry, text)

    def fill(self, students: int) -> None:
        """Students of the usual kind, up to so many: all right, each with a text of its own."""
        lab = place(EDGE).lab
        for number in range(len(self.roster), students):
            name = f"student{number:02}"
            self.student(name, 20)
            text = exercises.find(EDGE).solution + f"// {name}\n"
            self.hand_in(name, f"{lab}/{lab}.ipynb", book({EDGE: text}))

    def write(self) -> None:
        with (self.to / "roster.csv").open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(roster.COLUMNS)
            rows.writerows(self.roster)
        with (self.to / "times.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([times.COLUMNS, *self.times])
        (self.to / "course.toml").write_text(COURSE)


def run(to: Path, students: int, *more: str) -> Class:
    """Make a class, grade it, write its pages and every table. more: options of `grade`."""
    made = Class(to)
    to.mkdir(parents=True, exist_ok=True)
    made.kinds()
    made.fill(students)
    made.write()
    files = ["--course", str(to / "course.toml"), "--roster", str(to / "roster.csv"),
             "--times", str(to / "times.csv")]  # fmt: skip
    where = [str(made.submitted), "--to", str(to / "grades")]
    assert course(["grade", *where, *files, *more]) == 0
    assert course(["report", str(to / "grades"), "--to", str(to / "report")]) == 0
    for kind in ("csv", "canvas", "moodle"):
        export = ["export", str(to / "grades"), f"--{kind}", "--to", str(to / f"{kind}.csv")]
        assert course(export) == 0
    (to / "gradescope").mkdir(exist_ok=True)
    for student in made.expected:
        found = str(to / "gradescope" / f"{student}.json")
        assert course(["export", str(to / "grades"), f"--gradescope={student}", "--to", found]) == 0
    return made


def main() -> int:
    """Run a course; return 1 if a student got other points than expected."""
    from helpers.course import gradebook

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--students", type=int, default=40)
    parser.add_argument("--to", type=Path, default=Path("invented"))
    options, more = parser.parse_known_args()
    made = run(options.to, options.students, *more)
    wrong = [
        f"{one.student.student}: {one.points}, expected {made.expected[one.student.student]}"
        for one in gradebook.read(options.to / "grades").students
        if one.listed and abs(one.points - made.expected[one.student.student]) > 1e-6
    ]
    print("\n".join([*wrong, f"{len(wrong)} of {len(made.expected)} students differ"]))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
