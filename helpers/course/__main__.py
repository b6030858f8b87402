"""python -m helpers.course release | check | grade | override | figures | points | report |
export | gradescope | example | update
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from helpers.course import CourseError, box, texts
from helpers.quantities import quantity

MOST_REMARKS = 20  # sentences for one student on what cannot be used


def main(arguments: list[str] | None = None, prog: str = "python -m helpers.course") -> int:
    """Run one command; the exit status."""
    parser = argparse.ArgumentParser(
        prog=prog, description="release labs, grade, report and export"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for add in (
        _release,
        _check,
        _grade,
        _override,
        _figures,
        _points,
        _report,
        _export,
        _gradescope,
    ):
        add(commands)
    example = commands.add_parser("example", help="print an example of course.toml")
    example.set_defaults(run=_run_example)
    update = commands.add_parser("update", help="bring new versions of the labs to my_labs/")
    update.set_defaults(run=_run_update)
    given = parser.parse_args(arguments)
    try:
        return given.run(given)
    except CourseError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:  # a folder that cannot be written, a full disk
        print(
            f"{given.command} cannot go on: {error}\nWhat was written before is kept. Mend this, "
            "and run the same command again",
            file=sys.stderr,
        )
        return 2
    except KeyboardInterrupt:
        print("\nstopped; what is graded is kept: run the same command again", file=sys.stderr)
        return 130


def _release(commands) -> None:
    command = commands.add_parser(
        "release", help="student notebooks without solutions, and manifest.json"
    )
    command.add_argument("labs", nargs="*", help="numbers of labs, such as 101 105; none for all")
    command.add_argument("--to", type=Path, default=Path("release"))
    command.add_argument(
        "--nbgrader",
        action="store_true",
        help="as nbgrader's source/ folder wants it, with its metadata",
    )
    command.add_argument(
        "--package",
        type=Path,
        metavar="FOLDER",
        help="this repository for students, without solutions and tests, in a new folder",
    )
    command.set_defaults(run=_run_release)


def _run_release(given) -> int:
    from helpers import labs
    from helpers.course import package, release, submissions

    if given.package:
        count = package.write(given.labs, given.package)
        print(f"{quantity(count, 'file')} in {given.package}, without solutions")
        return 0
    written = release.release(given.labs, given.to, nbgrader=given.nbgrader)
    names = {place.lab for place in submissions.manifest(given.to / "manifest.json")}
    numbers = ", ".join(sorted(map(labs.number, names)))
    print(f"{quantity(len(written), 'notebook')} in {given.to}; in manifest.json: {numbers}")
    return 0


def _check(commands) -> None:
    command = commands.add_parser(
        "check", help="a student's own check of a notebook, with the notebook's cases"
    )
    command.add_argument("notebook", type=Path)
    _box_options(command)
    command.set_defaults(run=_run_check)


def _run_check(given) -> int:
    from helpers import exercises
    from helpers.course import grades, grading, submissions
    from helpers.exercises.judge.base import NOTEBOOK_SEED

    mine = submissions.of_notebook(given.notebook)
    plan = grading.Plan(NOTEBOOK_SEED, _level(given))
    try:
        results = [
            grading.grade_one(a.exercise, a.text, plan)
            if a.text
            else grades.without_run(
                exercises.find(a.exercise), "refused", f"FAIL {a.exercise}: {a.missing}"
            ).to_dict()
            for a in mine
        ]
    finally:
        grading.close()
    for answer, result in zip(mine, results, strict=True):
        said, name = "\n".join(result["messages"]), exercises.find(answer.exercise).name
        if name not in said.partition("\n")[0]:  # of a cell that never ran
            said = f"FAIL {name}: {said}"
        print("\n".join(filter(None, [said, result["hint"], answer.note])))
    return 0 if all(result["status"] == "pass" for result in results) else 1


def _grade(commands) -> None:
    command = commands.add_parser("grade", help="grade submitted/STUDENT/LAB/*.ipynb, or a zip")
    command.add_argument("submitted", type=Path)
    command.add_argument("--to", type=Path, default=Path("grades"))
    command.add_argument(
        "--manifest",
        type=Path,
        help="manifest.json of the release; else the labs of this repository",
    )
    command.add_argument(
        "--workers",
        type=int,
        default=1,
        help="processes on this machine (more than one needs Dask)",
    )
    command.add_argument(
        "--cluster", default="", metavar="ADDRESS", help="a Dask scheduler, such as tcp://host:8786"
    )
    command.add_argument(
        "--shard", default="1/1", metavar="I/N", help="grade every N-th text only, from the I-th on"
    )
    command.add_argument(
        "--gpu", action="store_true", help="time what passes, on this machine's GPU"
    )
    command.add_argument(
        "--seed", type=int, help="of the inputs; drawn and kept in --to when not given"
    )
    command.add_argument(
        "--course", type=Path, metavar="COURSE.TOML", help="points, deadlines ...; see `example`"
    )
    command.add_argument("--roster", type=Path, metavar="ROSTER.CSV", help="see README.md")
    command.add_argument(
        "--times",
        type=Path,
        metavar="TIMES.CSV",
        help="student,lab,time: when something was handed in, where files do not say it",
    )
    command.add_argument(
        "--nbgrader-times",
        action="store_true",
        help="nbgrader collected the folder: believe STUDENT/LAB/timestamp.txt",
    )
    command.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="STUDENT",
        help="this student; may be repeated",
    )
    command.add_argument("--again", action="store_true", help="also what was graded already")
    command.add_argument(
        "--student-minutes",
        type=float,
        default=20.0,
        metavar="N",
        help="the most that one student's answers may take in a run (default: 20)",
    )
    _box_options(command)
    command.set_defaults(run=_run_grade)


def _box_options(command) -> None:
    command.add_argument("--box", choices=box.LEVELS[:2], help="this box, and no other one")
    command.add_argument(
        "--no-box",
        action="store_true",
        help="run submissions without a box; every result records it",
    )


def _level(given) -> str:
    if given.no_box:
        print(
            "--no-box: submissions run without a box, with the rights of this user; "
            "every result records it",
            file=sys.stderr,
        )
        return box.find_level(box.KINDS, ("none",))
    return box.find_level(box.KINDS, (given.box,) if given.box else box.LEVELS[:-1])


def _shard(text: str) -> tuple[int, int]:
    first, _, of = text.partition("/")
    if not (first.isdigit() and of.isdigit() and 1 <= int(first) <= int(of)):
        raise CourseError(f"--shard {text}: give I/N with I from 1 to N, such as 2/4")
    return int(first), int(of)


def _run_grade(given) -> int:
    _progress(0, 0, f"Reading {given.submitted}")
    from helpers import labs
    from helpers.course import gradebook, grades, notebooks, submissions

    where = submissions.manifest(given.manifest) if given.manifest else submissions.places()
    gradebook.keep(given.to, given.course, given.roster, given.times)
    counts, names = gradebook.policy_of(given.to), gradebook.names_of(given.to)
    remarks: list[str] = []
    with tempfile.TemporaryDirectory(prefix="halo-zips-") as scratch:
        times = gradebook.times_of(given.to)
        with _waiting(f"Reading {given.submitted}"):
            found = submissions.answers(
                given.submitted, where, Path(scratch), remarks, names, counts.zone,
                given.nbgrader_times,
            )  # fmt: skip
            answers = [
                replace(
                    one,
                    submitted=times.get((one.student, labs.number(one.lab)), one.submitted),
                )
                for one in found
            ]
        remarks = [*_shown(remarks), *_not_counted(answers, counts)]
        if given.only:
            only = {names.find(student) or texts.name(student) for student in given.only}
            answers = [answer for answer in answers if answer.student in only]
            mine = tuple(f"{student}:" for student in only)
            remarks = [one for one in remarks if one.startswith(mine)]
            before = grades.run_of(given.to).get("told", [])
            remarks = [*(one for one in before if not one.startswith(mine)), *remarks]
        else:
            remarks += gradebook.strangers(given.to, {answer.student for answer in answers})
        print("".join(f"{one}\n" for one in remarks), end="", file=sys.stderr)
        if not answers:
            raise notebooks.SubmissionError(
                f"{given.submitted} holds no lab that has an exercise"
                f"{' of ' + ', '.join(given.only) if given.only else ''}: STUDENT/LAB/*.ipynb is "
                "expected"
            )
        counts_of = _graded(given, answers, remarks)
    print(file=sys.stderr)
    print(
        ", ".join(f"{count:,} {status}" for status, count in sorted(counts_of.items()))
        + f"; results in {given.to}"
    )
    return 0


def _not_counted(answers, counts) -> list[str]:
    """Return a sentence for each lab that was handed in and that course.toml lacks."""
    from helpers import labs

    known = {lab.number for lab in counts.labs}
    handed: dict[str, set[str]] = {}
    for one in answers:
        handed.setdefault(labs.number(one.lab), set()).add(one.student)
    return [
        f"course.toml has no lab {number}, which {quantity(len(students), 'student')} handed in: "
        f"it is graded and counts nothing. To count it, write [labs.{number}]"
        for number, students in sorted(handed.items())
        if known and number not in known
    ]


def _shown(remarks: list[str]) -> list[str]:
    """Return sentences that names of files stand in as lines to be seen, a few for each student."""
    by_student: dict[str, list[str]] = {}
    for one in map(texts.line, remarks):
        by_student.setdefault(one.partition(":")[0], []).append(one)
    for student, mine in by_student.items():
        if len(mine) > MOST_REMARKS:
            mine[MOST_REMARKS:] = [f"{student}: and {len(mine) - MOST_REMARKS:,} more of that kind"]
    return [one for mine in by_student.values() for one in mine]


def _graded(given, answers, remarks: list[str]) -> dict[str, int]:
    from helpers.course import gradebook, grades, grading
    from helpers.simulator.machine import library

    said = "the simulator is made ready; on a new machine that takes minutes"
    _progress(0, 0, said)
    with _waiting(said):
        library.build()
    plan = grading.Plan(
        grades.seed_of(given.to, given.seed),
        _level(given),
        given.workers,
        given.cluster,
        _shard(given.shard),
        given.gpu,
        policy=gradebook.policy_of(given.to),
        again=given.again,
        student_s=60 * given.student_minutes,
    )
    try:
        return grading.grade(answers, given.to, plan, _progress, remarks=remarks)
    finally:
        grading.close()


def _progress(done: int, total: int, what: str) -> None:
    """Say how far it is, on one line of a terminal. total: 0 where nobody knows."""
    end = "\r" if sys.stderr.isatty() else "\n"
    if sys.stderr.isatty() or done in (0, total) or done % max(total // 20, 1) == 0:
        count = f"{done:,} of {total:,}  " if total else ""
        print(f"{count + what:79.79}", end=end, file=sys.stderr, flush=True)


@contextlib.contextmanager
def _waiting(what: str, every_s: float = 10.0) -> Iterator[None]:
    """Say every few seconds how long something has taken."""
    done = threading.Event()

    def say() -> None:
        began = time.monotonic()
        while not done.wait(every_s):
            _progress(0, 0, f"{what} ({time.monotonic() - began:.0f} s)")

    thread = threading.Thread(target=say, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _override(commands) -> None:
    command = commands.add_parser(
        "override",
        help="an instructor's points and words, which no later run overwrites",
        description="EXERCISE is the name of an exercise, of a figure's file or of a cell with a "
        "written answer; without it, --days moves the deadline of the lab for this student.",
    )
    command.add_argument("student")
    command.add_argument("lab", help="its number")
    command.add_argument("exercise", nargs="?", default="")
    command.add_argument("--points", type=float, help="before the lab's weight")
    command.add_argument("--comment", help='the student reads it, too; "" clears it')
    command.add_argument("--request", help='what the student asks to be looked at again; "" clears')
    command.add_argument("--days", type=float, help="more time for this lab")
    command.add_argument("--withdraw", action="store_true", help="forget the decision")
    command.add_argument("--who", default="", help="the grader; else the user of this computer")
    command.add_argument("--grades", type=Path, default=Path("grades"))
    command.set_defaults(run=_run_override)


def _run_override(given) -> int:
    from helpers import labs
    from helpers.course import decisions, gradebook

    account = gradebook.read(given.grades).account(given.student)
    lab = labs.number(given.lab) if not given.lab.isdigit() else given.lab
    key = account.student.student, lab, given.exercise
    most = gradebook.most_of(account, lab, given.exercise)
    if given.withdraw:
        decisions.withdraw(given.grades, key, given.who)
        print(f"{given.student} {lab} {given.exercise}: the grader's verdict counts")
        return 0
    told = {name: getattr(given, name) for name in ("points", "comment", "request", "days")}
    told = {name: value for name, value in told.items() if value is not None}
    if not told:
        raise CourseError("nothing is decided: give --points, --comment, --request or --days")
    if not given.exercise and set(told) != {"days"}:
        raise CourseError(
            f"--{next(iter(told))} needs the name of an exercise, a figure or a kind of text; "
            "--days alone is for a whole lab"
        )
    if "points" in told:
        gradebook.check_points(given.exercise, told["points"], most)
    if "days" in told and not 0 <= given.days < math.inf:
        raise CourseError(f"--days must be 0 or more, got {given.days:g}")
    one = decisions.changed(decisions.load(given.grades), key, **told)
    (made,) = decisions.decide(given.grades, [one], given.who)
    print(f"{made.student} {made.lab} {made.of}: points {made.points}, days {made.days}, "
          f"{made.comment!r}")
    return 0


def _figures(commands) -> None:
    command = commands.add_parser(
        "figures", help="the page on which people grade figures and texts, question by question"
    )
    command.add_argument("grades", type=Path)
    command.add_argument(
        "--serve", action="store_true", required=True, help="for a browser on this computer"
    )
    command.add_argument("--port", type=int, help="else one that is free")
    command.add_argument("--who", default="", help="the grader; else the user of this computer")
    command.set_defaults(run=_run_figures)


def _run_figures(given) -> int:
    from helpers.course import decisions, serve

    with contextlib.suppress(KeyboardInterrupt):
        serve.run(given.grades, given.port, given.who or decisions.user())
    return 0


def _points(commands) -> None:
    command = commands.add_parser(
        "points", help="points and comments from a table, as `export --csv` writes one"
    )
    command.add_argument("grades", type=Path)
    command.add_argument("table", type=Path)
    command.add_argument("--who", default="", help="the grader; else the user of this computer")
    command.set_defaults(run=_run_points)


def _run_points(given) -> int:
    from helpers.course import points

    made = points.take(given.grades, given.table, given.who)
    print(f"{quantity(len(made), 'decision')} from {given.table}; the other rows say what counts")
    return 0


def _run_example(given) -> int:
    from helpers.course import policy

    print(policy.EXAMPLE, end="")
    return 0


def _report(commands) -> None:
    command = commands.add_parser(
        "report", help="one page for the class, one for each student, and a table"
    )
    command.add_argument("grades", type=Path)
    command.add_argument("--to", type=Path, default=Path("report"))
    command.set_defaults(run=_run_report)


def _run_report(given) -> int:
    from helpers.course import report

    pages = report.write(given.grades, given.to)
    print(f"{quantity(pages, 'page')} in {given.to}; begin with {given.to / 'index.html'}")
    return 0


def _export(commands) -> None:
    command = commands.add_parser("export", help="points for other systems")
    command.add_argument("grades", type=Path)
    kind = command.add_mutually_exclusive_group(required=True)
    kind.add_argument("--csv", action="store_true", help="a table, on standard output or to --to")
    kind.add_argument("--canvas", action="store_true", help="Canvas' grade file")
    kind.add_argument("--moodle", action="store_true", help="Moodle's grade file")
    kind.add_argument("--gradescope", metavar="STUDENT", help="results.json of one student")
    kind.add_argument(
        "--nbgrader", metavar="GRADEBOOK.DB", help="write the points into nbgrader's gradebook"
    )
    command.add_argument("--to", type=Path)
    command.set_defaults(run=_run_export)


def _run_export(given) -> int:
    from helpers.course import export, gradebook

    if given.nbgrader:
        count = export.nbgrader(given.grades, given.nbgrader)
        text = f"wrote {quantity(count, 'score')} into {given.nbgrader}\n"
    elif given.gradescope:
        text = export.gradescope(given.grades, given.gradescope)
    else:
        table = export.canvas if given.canvas else export.moodle if given.moodle else export.csv
        text = table(given.grades)
    if given.to and not given.nbgrader:
        texts.write(given.to, text)
    else:
        print(text, end="")
    open_ones = sum(one.not_decided for one in gradebook.read(given.grades).students)
    if open_ones:
        said = f"{quantity(open_ones, 'figure or text', 'figures or texts')} not graded yet"
        print(f"{said}: they count 0 points here", file=sys.stderr)
    return 0


def _run_update(given) -> int:
    from helpers.labs import copies

    print(copies.update())
    return 0


def _gradescope(commands) -> None:
    command = commands.add_parser(
        "gradescope", help="autograder.zip for Gradescope: setup.sh and run_autograder"
    )
    command.add_argument("lab")
    command.add_argument("--to", type=Path, default=Path("autograder.zip"))
    command.add_argument("--course", type=Path, metavar="COURSE.TOML", help="points and cases")
    command.set_defaults(run=_run_gradescope)


def _run_gradescope(given) -> int:
    from helpers.course import gradescope

    count = gradescope.write(given.lab, given.to, given.course)
    print(f"{quantity(count, 'file')} in {given.to}")
    return 0


if __name__ == "__main__":
    os.environ.setdefault("LAB_DEVICE", "simulator")
    sys.exit(main())
