"""From folders of submissions to results, tables and pages; two exercises and a few answers, so
that it stays quick.
"""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from importlib import metadata
from pathlib import Path

import pytest

from helpers import exercises
from helpers.course import (
    box,
    codec,
    decisions,
    export,
    gradebook,
    grades,
    gradescope,
    grading,
    judge,
    notebooks,
    policy,
    release,
    report,
    submissions,
    texts,
    writing,
)
from helpers.course.__main__ import main
from helpers.course.box import Benches
from helpers.exercises.judge.base import NOTEBOOK_SEED
from helpers.simulator.compile import toolchain, toolkit
from helpers.simulator.machine import library

NAME, LAB = "conv1d_edge", "101_conv1d_blocks_and_halos"
PLACE = next(place for place in submissions.places() if place.exercise == NAME)


def hand_in(folder: Path, student: str, text: str, cell: str = PLACE.cell) -> Path:
    path = folder / student / LAB / f"{LAB}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    book = {
        "cells": [{"cell_type": "code", "id": cell, "source": text.splitlines(True)}],
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path.write_text(json.dumps(book))
    return path


@pytest.fixture(scope="module")
def level() -> str:
    try:
        return box.find_level()
    except box.NoBox as error:
        pytest.skip(str(error).splitlines()[0])


@pytest.fixture(scope="module")
def graded(tmp_path_factory, level) -> Path:
    folder = tmp_path_factory.mktemp("class")
    exercise = exercises.find(NAME)
    hand_in(folder / "submitted", "ann", exercise.solution)
    hand_in(folder / "submitted", "ben", exercise.solution)  # the same text
    hand_in(folder / "submitted", "cy", exercise.stub, cell="another")  # the cell was made anew
    (folder / "submitted/dan" / LAB).mkdir(parents=True)
    hand_in(folder / "submitted", "eve", "print('no kernel')", cell="another")
    (folder / "submitted/fay" / LAB).mkdir(parents=True)
    (folder / "submitted/fay" / LAB / "broken.ipynb").write_text("[" * 100_000)
    answers = list(submissions.answers(folder / "submitted", submissions.places()))
    seen = []
    plan = grading.Plan(grades.seed_of(folder / "grades"), level)
    try:
        grading.grade(
            answers,
            folder / "grades",
            plan,
            lambda done, total, what: seen.append((done, total)),
            ladders=False,
        )
    finally:
        grading.close()
    assert seen[-1] == (2, 2), "two different texts"
    return folder


def results(graded: Path) -> dict[str, dict]:
    return {r["student"]: r for r in grades.results(graded / "grades")}


def test_each_student_has_a_result(graded):
    found = results(graded)
    assert {name: r["status"] for name, r in found.items()} == {
        "ann": "pass", "ben": "pass", "cy": "not_begun", "dan": "refused", "eve": "refused",
        "fay": "refused",
    }  # fmt: skip
    assert found["cy"]["cell"] == "name"
    assert "no notebook" in found["dan"]["messages"][0]
    assert "is no notebook: it is not JSON" in found["fay"]["messages"][0]
    always = (
        "schema student lab exercise text_sha256 seed points maximum status messages hint counters "
        "findings cost limits box versions grader"
    )
    assert all(set(always.split()) <= set(r) for r in found.values())


@pytest.mark.parametrize(("text", "verdict"), [
    (exercises.find(NAME).solution, "PASS {}: 8 sizes"),
    (exercises.find(NAME).stub, "NOT BEGUN {}: "),
    (f"// mine\n{exercises.find(NAME).solution}", "FAIL {}: the %%kernel line: the first line is"),
])  # fmt: skip
def test_a_students_own_check_names_each_exercise(tmp_path, level, capsys, text, verdict):
    assert main(["check", str(hand_in(tmp_path, "ann", text)), "--box", level]) == 1
    said = capsys.readouterr().out
    assert said.startswith("FAIL conv1d_basic: the notebook has no code cell that begins with")
    assert f"\n{verdict.format(NAME)}" in said


def test_a_second_run_grades_nothing_again(graded, level):
    answers = list(submissions.answers(graded / "submitted", submissions.places()))
    seen = []
    plan = grading.Plan(grades.seed_of(graded / "grades"), level)
    before = {name: r["points"] for name, r in results(graded).items()}
    grading.grade(
        answers,
        graded / "grades",
        plan,
        lambda done, total, what: seen.append(total),
        ladders=False,
    )
    assert seen == [0]
    assert {name: r["points"] for name, r in results(graded).items()} == before


def test_the_seed_is_secret_and_kept(graded):
    path = graded / "grades/.seed"
    assert path.stat().st_mode & 0o077 == 0
    assert grades.seed_of(graded / "grades") != NOTEBOOK_SEED
    with pytest.raises(grades.GradesError, match="another seed"):
        grades.seed_of(graded / "grades", 3)


def test_shards_share_the_texts_and_miss_none(tmp_path, monkeypatch):
    class Seen(Exception):
        """The tasks of a shard are known, and need not be graded."""

    def graded(waiting, plan):
        shares.append({task.text for task in waiting})
        raise Seen

    shares: list[set[str]] = []
    monkeypatch.setattr(grading, "_graded", graded)
    texts = {f"%%kernel {NAME}\n// answer {k}\n" for k in range(7)}
    for k, text in enumerate(sorted(texts)):
        hand_in(tmp_path / "submitted", f"student{k}", text)
    answers = list(submissions.answers(tmp_path / "submitted", submissions.places()))
    for share in (1, 2, 3):
        plan = grading.Plan(1, "none", shard=(share, 3))
        with pytest.raises(Seen):
            grading.grade(answers, tmp_path / "grades", plan, ladders=False)
    assert set().union(*shares) == texts
    assert sorted(map(len, shares)) == [2, 2, 3], "each text is in one share"


def test_an_answer_that_could_not_be_graded_takes_no_points(tmp_path, monkeypatch, level):
    def broken(*_):
        raise OSError("the disk is gone")

    monkeypatch.setattr(grading.judge, "grade", broken)
    hand_in(tmp_path / "submitted", "ann", exercises.find(NAME).solution)
    answers = list(submissions.answers(tmp_path / "submitted", submissions.places()))
    try:
        grading.grade(answers, tmp_path / "grades", grading.Plan(1, level), ladders=False)
    finally:
        grading.close()
    (found,) = (one for one in grades.results(tmp_path / "grades") if one["exercise"] == NAME)
    assert (found["status"], found["points"]) == ("not_graded", None)
    account = gradebook.read(tmp_path / "grades").account("ann")
    assert (account.points, account.maximum, account.not_graded) == (0, 15, 1)
    assert not list((tmp_path / "grades/.results").glob("*.json")), "the next run tries again"


@pytest.mark.parametrize("workers", [1, 2])
def test_a_student_whose_answers_take_too_long_stops_nobody_else(
    tmp_path, level, workers, monkeypatch
):
    """Ten notebooks that never end; the others' answers are graded, and so is a shared text."""
    if workers > 1:
        pytest.importorskip("distributed", reason="Dask is not installed")
    right = exercises.find(NAME).solution
    loop = right.replace("{", "{\n    while (true) P[0] += 1;\n", 1)
    books = {f"eve/{k}": f"{loop}// {k}\n" for k in range(10)}
    books |= {"eve/shared": right, "zoe/x": right}
    for name, text in books.items():
        student, _, book = name.partition("/")
        path = hand_in(tmp_path / "submitted", student, text)
        path.rename(path.with_stem(book))
    answers = list(submissions.answers(tmp_path / "submitted", submissions.places()))
    limits = box.Limits(wall_s=20, cpu_s=1, memory=700 << 20)
    plan = grading.Plan(1, level, workers, student_s=0.3, limits=limits)
    try:
        grading.grade(answers, tmp_path / "grades", plan, ladders=False)
    finally:
        grading.close()
    stored = [json.loads(p.read_text()) for p in (tmp_path / "grades/.results").glob("*.json")]
    statuses = [one["status"] for one in stored]
    assert statuses.count("pass") == 1 and 1 <= len(statuses) - 1 <= 2 * workers
    assert {name: r["status"] for name, r in results(tmp_path).items()} == {
        "eve": "pass", "zoe": "pass",  # the best of her answers
    }  # fmt: skip
    for path in (tmp_path / "submitted/eve").rglob("shared.ipynb"):
        path.unlink()
    monkeypatch.setattr(grading, "grade_one", lambda *_: {"status": "time", "seconds": 1.0})
    answers = list(submissions.answers(tmp_path / "submitted", submissions.places()))
    tasks, _ = grading._tasks(answers, plan)
    eves = [found for task, found in grading._graded(tasks, replace(plan, workers=1))
            if task.students == ("eve",)]  # fmt: skip
    assert [one["status"] for one in eves] == ["time", *["not_graded"] * 9]
    assert "took more than 0.3 s" in eves[1]["messages"][0] and eves[1]["points"] is None


def test_no_box_is_recorded_and_keyed_apart():
    boxed, free = grading.Plan(1, "bubblewrap"), grading.Plan(1, "none")
    assert grades.key("x", NAME, 1, boxed.how) != grades.key("x", NAME, 1, free.how)


@pytest.mark.parametrize("kind", box.LEVELS)
def test_a_box_needs_no_compiler_that_it_cannot_see(kind, tmp_path, monkeypatch):
    """In the box PATH is /usr/bin:/bin, so a compiler elsewhere, by which the grader's library is
    named, is not the box's.
    """
    try:
        with box.Bench("python", kind) as bench:
            bench._start()
    except box.NoBox as error:
        pytest.skip(str(error).splitlines()[0])
    compiler, built = toolchain.find_compiler(), library.build()
    other = tmp_path / "bin/c++"
    other.parent.mkdir()
    other.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "c++ (another) 99.1"\n')
    other.chmod(0o755)

    def copied(arguments: list[str], cwd: Path) -> None:
        """What the other compiler makes: the library that is there, under another key."""
        shutil.copy(os.devnull if "-c" in arguments else built, cwd / arguments[-1])

    monkeypatch.setattr(toolchain, "run_compiler", copied)
    monkeypatch.setenv("HALO_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", f"{other.parent}{os.pathsep}{os.environ['PATH']}")
    assert toolchain.find_compiler() != compiler and library.build().name != built.name
    found = grade(kind, exercises.find(NAME).solution)
    assert found["status"] == "pass", found["messages"]


@pytest.mark.parametrize("headers", [True, False])
def test_the_box_takes_the_toolkit_that_the_grader_has_chosen(headers, monkeypatch, level):
    """A whole installation grades; one without a header is refused, although the installed
    packages, which the box sees as well, have it.
    """
    with tempfile.TemporaryDirectory(prefix="halo-cuda-") as folder:  # readable by other users
        chosen = Path(folder)
        chosen.chmod(0o755)
        (chosen / "include").mkdir()
        for part in toolkit.root().iterdir():
            if part.name != "include":
                (chosen / part.name).symlink_to(part)
        for part in (toolkit.root() / "include").iterdir():
            if headers or part.name != "crt":
                (chosen / "include" / part.name).symlink_to(part)
        monkeypatch.setenv("HALO_CUDA", str(chosen))
        if headers:
            assert grade(level, exercises.find(NAME).solution)["status"] == "pass"
        else:
            with pytest.raises(box.NoBox, match="host_defines"):
                grade(level, exercises.find(NAME).solution)


@pytest.mark.parametrize(
    ("name", "edit", "hint"),
    [
        (NAME, ("filter[j]", "filter[2 - j]"), "The filter is flipped"),
        ("rung", ("filter[((first + m)", "filter[(m"), "Every group of maps has the weights"),
    ],
)
def test_a_grader_gives_the_hint_of_a_mutant(name, edit, hint, level):
    """Its cases are of a secret seed, and mistakes are recognised in cases of every seed, launched
    as the answer asks for.
    """
    found = grade(level, exercises.find(name).solution.replace(*edit), name)
    assert found["status"] == "wrong" and found["hint"].startswith(hint)


def test_a_grader_keeps_the_hint_of_a_missing_wait_of_a_warp(level):
    text = exercises.find("block_sums").solution.replace("        __syncwarp();\n", "")
    found = grade(level, text, "block_sums")
    assert found["status"] == "finding" and "__syncwarp() is missing" in found["hint"]


def test_a_grader_tells_what_the_threads_did(level, monkeypatch):
    """No mutant does this. The box explains it, and a failing explanation costs no verdict."""
    lazy = exercises.find(NAME).solution.replace("if (i < n)", "if (i < n && i != 1)")
    found = grade(level, lazy)
    assert found["status"] == "wrong"
    assert found["hint"].startswith("No thread stores P[1]: line ")
    assert "`i < n && i != 1` is false with i = 1" in found["hint"]
    monkeypatch.setattr(codec, "told", lambda message: 1 // 0)
    general = grade(level, lazy)
    assert (general["status"], general["points"]) == (found["status"], found["points"])
    assert general["messages"] == found["messages"] and "i != 1" not in general["hint"]


def grade(level: str, text: str, name: str = NAME) -> dict:
    with tempfile.TemporaryDirectory(prefix="halo-machine-") as folder:
        benches = Benches(level, box.machine_folder(Path(folder)))
        try:
            return judge.grade(name, text, 11, benches)
        finally:
            benches.close()


def test_without_a_box_grading_stops_with_a_sentence(monkeypatch):
    def none(self):
        raise box.NoBox(f"the box ({self.level}) does not start: tried")

    monkeypatch.setattr(box.Bench, "_start", none)
    with pytest.raises(box.NoBox, match="--no-box"):
        box.find_level()


def test_a_level_must_hold_kernels_and_python(monkeypatch):
    """A box for Python may start where one for kernels does not: it needs fewer packages."""

    def started(self):
        if self.kind == "kernel" and self.level == "bubblewrap":
            raise box.NoBox("no packages can be read")

    monkeypatch.setattr(box.Bench, "_start", started)
    assert box.find_level(("python",)) == "bubblewrap"
    assert box.find_level(box.KINDS) == "landlock"
    with pytest.raises(box.NoBox, match="no packages can be read"):
        box.find_level(box.KINDS, ("bubblewrap",))


def test_a_grading_that_was_stopped_is_told_from_none(graded, tmp_path):
    with pytest.raises(grades.GradesError, match=r"holds no grades: run .* first"):
        list(grades.results(tmp_path))
    shutil.copytree(graded / "grades", tmp_path / "stopped")
    (tmp_path / "stopped" / grades.RUN).unlink()
    with pytest.raises(grades.GradesError, match=r"stopped before its end: run .* again"):
        list(grades.results(tmp_path / "stopped"))


def test_the_table(graded):
    rows = list(csv.DictReader(io.StringIO(export.csv(graded / "grades"))))
    rows = [row for row in rows if row["exercise"] == NAME]
    assert [row["student"] for row in rows] == ["ann", "ben", "cy", "dan", "eve", "fay"]
    assert rows[0]["points"] == "10" or rows[0]["points"] == "10.0"
    assert export._cell("=HYPERLINK(1)") == "'=HYPERLINK(1)"


def test_gradescope_fields(graded):
    made = json.loads(export.gradescope(graded / "grades", "ann"))
    known = {
        "score", "execution_time", "output", "output_format", "test_output_format",
        "test_name_format", "visibility",
        "stdout_visibility", "extra_data", "tests", "leaderboard",
    }  # fmt: skip
    of_tests = {
        "score", "max_score", "status", "name", "name_format", "number", "output", "output_format",
        "tags", "visibility", "extra_data",
    }  # fmt: skip
    assert set(made) <= known
    assert all(
        set(test) <= of_tests and test["status"] in ("passed", "failed") for test in made["tests"]
    )
    (edge,) = (test for test in made["tests"] if test["score"])
    assert edge["score"] == edge["max_score"]
    with pytest.raises(grades.GradesError, match="no results"):
        export.gradescope(graded / "grades", "nobody")


def test_the_gradescope_zip_has_no_caches(tmp_path):
    assert gradescope.write("101", tmp_path / "a.zip") > 100
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        names = archive.namelist()
        assert {"setup.sh", "run_autograder", "pyproject.toml", f"labs/{LAB}.ipynb"} <= set(names)
        assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]
        assert all(
            archive.getinfo(name).external_attr >> 16 & 0o111
            for name in ("setup.sh", "run_autograder")
        )


def test_gradescope_takes_a_python_that_the_project_supports(tmp_path):
    """Ubuntu 22.04 has 3.10 as python3, and others beside it."""
    gradescope.write("101", tmp_path / "a.zip")
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        whole = archive.read("setup.sh").decode()
    with (gradescope.ROOT / "pyproject.toml").open("rb") as file:
        oldest = tomllib.load(file)["project"]["requires-python"].removeprefix(">=")
    assert f"({', '.join(oldest.split('.'))})" in whole and f"python{oldest}-venv" in whole

    # Programs that write down how they are called, in place of all that the script calls.
    def program(name: str, text: str) -> None:
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / name).chmod(0o755)

    def asked(version: str) -> str:
        """A Python that only compares its version, and for all else writes down its call."""
        pretended = f"import sys; sys.version_info = {version}; exec(sys.argv[1])"
        return (
            f'[ "$1" = -c ] && exec "{sys.executable}" -c "{pretended}" "$2"\n'
            f'echo "$0 $*" >> "{tmp_path}/log"; exit 3'
        )

    program("apt-get", f'echo "apt-get $*" >> "{tmp_path}/log"')
    program("python3", asked("(3, 10)"))
    script = tmp_path / "setup.sh"
    script.write_text(whole)

    def run() -> tuple[subprocess.CompletedProcess[str], str]:
        (tmp_path / "log").write_text("")
        done = subprocess.run(
            ["/bin/bash", str(script)], env={"PATH": str(tmp_path)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done, (tmp_path / "log").read_text()

    done, log = run()
    assert done.returncode == 1 and "Python 3.11 or newer is needed" in done.stderr
    assert "python3.11-venv" in log
    program("python3.11", asked("(3, 11)"))
    assert "python3.11 -m venv" in run()[1]
    program("python3", asked("(3, 12)"))
    log = run()[1]
    assert "python3 -m venv" in log and "python3.11" not in log


def without_packages(folder: Path, kept: list[str]) -> Path:
    """A folder for PYTHONPATH that hides the project's packages, without those that are kept."""

    def names(every: list[str]) -> set[str]:
        return {re.split(r"[^\w-]", one)[0].lower() for one in every}

    with (gradescope.ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]["dependencies"]
    hidden = names(project) - names(kept)
    for module, of in metadata.packages_distributions().items():
        if hidden & {one.lower() for one in of}:
            place = folder / module / "__init__.py"
            place.parent.mkdir(parents=True)
            place.write_text(f"raise ModuleNotFoundError('{module} is not installed')\n")
    assert (folder / "IPython").is_dir()
    return folder


def test_what_writes_into_nbgrader_needs_two_packages_beside_it(tmp_path):
    hidden = without_packages(tmp_path, ["numpy", "pyelftools", "platformdirs"])  # Jupyter's, too
    done = subprocess.run(
        [sys.executable, "-c", "from helpers.course import export; print(export.nbgrader)"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(hidden), *sys.path[1:]])},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "function nbgrader" in done.stdout, done.stderr


@pytest.fixture
def readable_folder():
    """A folder that another user may read, as Gradescope's are: root's box runs as one, and nobody
    else may read pytest's folders.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_gradescopes_folders_from_the_zip_to_the_results(readable_folder):
    """As in Gradescope's container, but the packages and the simulator are those of this test."""
    try:
        box.find_level()
    except box.NoBox as error:
        pytest.skip(str(error).splitlines()[0])
    source, submission = readable_folder / "source", readable_folder / "submission"
    course = readable_folder / "course.toml"
    course.write_text(f"[labs.101]\ndeadline = 2020-01-01T00:00:00\n[labs.101.points]\n{NAME} = 7")
    assert gradescope.write("101", readable_folder / "a.zip", course) > 100
    with zipfile.ZipFile(readable_folder / "a.zip") as archive:
        archive.extractall(source)
    (source / ".venv/bin").mkdir(parents=True)
    python = source / ".venv/bin/python"
    packages = ":".join(
        [str(without_packages(readable_folder / "hidden", gradescope.requirements()))]
        + [one for one in sys.path if one.endswith("site-packages")]
    )
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (source / ".cache").symlink_to(toolchain.cache_directory())
    right = exercises.find(NAME).solution
    hand_in(submission / "my work", "Übung", right)
    hand_in(submission / "my work", ".ipynb_checkpoints", right.replace("sum", "x"))
    runner = readable_folder / "run_autograder"  # where Gradescope puts it
    runner.write_bytes((source / "run_autograder").read_bytes())
    done = subprocess.run(
        ["bash", str(runner)], env={**os.environ, "AUTOGRADER_ROOT": str(readable_folder)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    made = json.loads((readable_folder / "results/results.json").read_text())
    (test,) = (one for one in made["tests"] if one["name"] == f"101 {NAME}")
    assert (test["score"], test["max_score"], test["status"]) == (7, 7, "passed"), done.stderr


def test_pages_need_no_other_file(graded, tmp_path):
    assert report.write(graded / "grades", tmp_path / "report") == 10
    text = (tmp_path / "report/index.html").read_text()
    assert "6 students" in " ".join(text.split()) and "conv1d_edge" in text
    for page in (tmp_path / "report").rglob("*.html"):
        words = page.read_text()
        assert "src=" not in words and "http" not in words.replace("http-equiv", "")


def test_what_a_student_writes_is_text_on_the_page(graded):
    bad = {"text": "<script>alert(1)</script>", "messages": ["<img src=x>"], "hint": "<b>bold</b>"}
    bad |= {"note": "<i>", "gpu": "<u>", "counters": {"<s>": [1.0, 2.0]}}
    book = gradebook.read(graded / "grades")
    account = book.account("cy")
    (row,) = (row for row in account.rows if row.exercise == NAME)
    row = replace(row, result=row.result | bad)
    page = report.student_page(replace(account, rows=(row,)), book)
    for word in ("<script", "<img", "<b>bold", "<i>", "<u>", "<s>"):
        assert word not in page
    assert "&lt;script&gt;" in page


NASTY = "<script>alert(1)</script> <img src=x onerror=y> [a](javascript:b) ![c](d) `e` *f* $g$ \\h"


class _Page(HTMLParser):
    """What a browser makes of a page: its elements, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize(
    "message", [NASTY, f"a\n\n    {NASTY}\n\n</pre><b>", f"\n{NASTY}\n# x\n- y\n> z\n"]
)
def test_a_comment_for_nbgrader_is_text_in_markdown_and_in_html(message):
    """nbgrader shows a comment by way of nbconvert's Markdown."""
    from nbconvert.filters import markdown2html

    comment = texts.for_markdown(message)
    for shown in (markdown2html(comment), comment, markdown2html(f"before\n\n{comment}\n\nx")):
        page = _Page(shown)
        assert set(page.tags) <= {"pre", "p"}, shown
        letters = page.text.replace("\N{ZERO WIDTH SPACE}", "")
        assert "".join(message.split()) in "".join(letters.split())


@pytest.mark.parametrize(
    "value", ["\ud800", {"a\udfff": ["\ud800b", 1]}, ["\N{GRINNING FACE}", None, 1.5]]
)
def test_half_of_a_surrogate_pair_is_no_end_of_a_file(value, tmp_path):
    grades.save(tmp_path / "r.json", {"schema": 1, "status": "pass", "value": value})
    found = grades.load(tmp_path / "r.json")
    assert found is not None
    json.dumps(found, ensure_ascii=False).encode("utf-8")
    texts.write(tmp_path / "page.html", str(value))
    assert texts.clean("\N{GRINNING FACE}") == "\N{GRINNING FACE}"


def test_a_full_disk_leaves_the_file_that_was_there(tmp_path, monkeypatch):
    path = tmp_path / "points.csv"
    texts.write(path, "whole\n")
    real = Path.write_text

    def full(self, text, **how):
        real(self, text[:2], **how)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        texts.write(path, "another\n")
    assert path.read_text() == "whole\n" and list(tmp_path.iterdir()) == [path]


def test_the_pages_of_a_class_survive_what_one_student_wrote(graded, tmp_path):
    shutil.copytree(graded / "grades", tmp_path / "grades")
    (path,) = (tmp_path / "grades/ann").glob(f"*/{NAME}.json")
    broken = json.loads(path.read_text())
    broken |= {"text": "// \ud800", "messages": ["\udc80"], "hint": "\ud800", "note": "\ud800"}
    path.write_text(json.dumps(broken))
    assert report.write(tmp_path / "grades", tmp_path / "report") == 10
    assert "\N{REPLACEMENT CHARACTER}" in export.csv(tmp_path / "grades")
    assert json.loads(export.gradescope(tmp_path / "grades", "ann"))


def test_a_students_page_names_no_other_student(graded, tmp_path):
    report.write(graded / "grades", tmp_path / "report")
    page = (tmp_path / "report/students/ann.html").read_text()
    assert "<circle" in page, "the class is drawn on it"
    for other in ("ben", "cy", "dan", "eve", "fay"):
        assert f"{other}:" not in page and f">{other}<" not in page, other
    assert "ben:" in (tmp_path / "report/index.html").read_text()


def test_release_has_no_line_of_a_solution(tmp_path):
    release.release(["101", "105"], tmp_path / "release")
    for path in (tmp_path / "release").rglob("*.ipynb"):
        text = path.read_text()
        assert "SOLUTION" not in text and '"solution"' not in text
        cells = json.loads(text)["cells"]
        assert all(not cell.get("outputs") for cell in cells)
    solution = exercises.find(NAME).solution
    line = next(line for line in solution.splitlines() if "min(max" in line).strip()
    assert line not in (tmp_path / "release" / LAB / f"{LAB}.ipynb").read_text()
    (place,) = (
        p for p in submissions.manifest(tmp_path / "release/manifest.json") if p.exercise == NAME
    )
    assert place == PLACE
    with pytest.raises(release.ReleaseError, match="no lab '77'"):
        release.release(["77"], tmp_path)


def test_every_link_of_a_release_leads_somewhere(tmp_path):
    labs_asked = ["100", "101", "104"]
    release.release(labs_asked, tmp_path)
    count = 0
    for path in [*tmp_path.rglob("*.ipynb"), tmp_path / "README.md"]:
        cells = notebooks.read(path) if path.suffix == ".ipynb" else []
        texts_of = [notebooks.source(c) for c in cells if c["cell_type"] == "markdown"]
        for text in texts_of or [path.read_text()]:
            for target in re.findall(r"\]\(([^)\s]+)\)", text):
                place = target.partition("#")[0]
                if place and "://" not in target:
                    assert (path.parent / place).exists(), (path.name, target)
                    count += 1
    assert count > 5
    readme = (tmp_path / "README.md").read_text()
    assert "conv1d_edge" in readme and "conv2d_same" not in readme
    assert {p.name for p in tmp_path.iterdir() if p.is_dir()} - {"kernels"} == {
        p.parent.name for p in tmp_path.rglob("*.ipynb")
    }


def test_nbgrader_metadata(tmp_path):
    release.release(["101"], tmp_path, nbgrader=True)
    book = tmp_path / "source" / LAB / f"{LAB}.ipynb"
    cells = json.loads(book.read_text())["cells"]
    found = (cell["metadata"]["nbgrader"] for cell in cells if "nbgrader" in cell["metadata"])
    (about,) = (one for one in found if one["grade_id"] == NAME)
    assert about["points"] == 10 and about["schema_version"] == 3


def test_the_writing_of_the_last_notebook_of_a_lab_is_kept(tmp_path):
    early, late = "2026-03-01T10:00:00+00:00", "2026-03-02T10:00:00+00:00"
    for order, to in (((early, late), tmp_path / "a"), ((late, early), tmp_path / "b")):
        answers = [
            submissions.Answer("ada", LAB, NAME, "", 2.0, submitted=at, writing={"at": at})
            for at in order
        ]
        grading._writing(answers, to)
        assert json.loads((to / "ada" / LAB / writing.FILE).read_text())["at"] == late


@pytest.mark.parametrize(("days", "counts"), [(None, "over.ipynb"), (7, "late.ipynb")])
def test_more_days_say_which_of_two_answers_counts(tmp_path, monkeypatch, days, counts):
    """The better one came five days late."""

    def stored(tasks, plan, store):
        for task in tasks:
            found = grades.without_run(exercises.find(NAME), task.text, "said")
            yield task, {**judge.plain(found, "none"), "exercise": NAME}

    monkeypatch.setattr(grading, "_stored", stored)
    monkeypatch.setattr(grading.library, "build", lambda: None)
    at = {"budget": ("over.ipynb", "2026-10-05T10:00:00+00:00"),
          "pass": ("late.ipynb", "2026-10-10T10:00:00+00:00")}  # fmt: skip
    answers = [
        submissions.Answer("ann", LAB, NAME, text, 10.0, notebook=name, submitted=when)
        for text, (name, when) in at.items()
    ]
    lab = policy.Lab("101", deadline=datetime(2026, 10, 5, 18, tzinfo=UTC))
    plan = grading.Plan(1, "none", policy=policy.Policy(late=policy.Late(most_days=3), labs=(lab,)))
    decisions.decide(tmp_path, [decisions.Decision("ann", "101", days=days)])
    grading.grade(answers, tmp_path, plan, ladders=False)
    (found,) = grades.results(tmp_path)
    assert found["notebook"] == counts
