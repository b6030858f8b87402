"""A course from roster to feedback: what counts, who decides, and what is handed in."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from helpers import exercises, labs
from helpers.course import __main__ as commands
from helpers.course import (
    box,
    collect,
    decisions,
    export,
    gradebook,
    grades,
    grading,
    notebooks,
    policy,
    release,
    report,
    roster,
    similarity,
    submissions,
    times,
    writing,
)
from helpers.course.__main__ import main as course
from helpers.course.decisions import Decision
from tests.course import invented

DEADLINE = invented.DEADLINE
CASES = "[[labs.101.cases.conv1d_edge]]\n"  # of a course.toml


def written(tmp_path: Path, text: str, name: str = "file") -> Path:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


# ---- roster ----


@pytest.mark.parametrize("text", [
    "student,name,section\nann,Ann Müller,Mo\nben,,\n",
    "\ufeffStudent;Name;Section\r\nann;Ann Müller;Mo\r\nben;;\r\n\r\n",
    "section\tname\tstudent\textra\nMo\tAnn Müller\tann\tx\n\t\tben\t\n",
])  # fmt: skip
def test_a_roster_is_read_as_programs_write_it(tmp_path, text):
    found = roster.read(written(tmp_path, text))
    assert [(one.student, one.shown, one.section) for one in found] == [
        ("ann", "Ann Müller", "Mo"),
        ("ben", "ben", ""),
    ]


@pytest.mark.parametrize(("text", "said"), [
    ("name,section\nann,Mo\n", "must name the columns"),
    ("", "must name the columns"),
    ("student\nann\nann\n", "line 3: 'ann' is there already"),
    ("student,name\n,Ann\n", "line 2: the column `student` is empty"),
    ("student\n", "has no student"),
    ("student\na/b\n", "line 2: 'a/b' cannot be a student's name"),
    ("student,name\nann,Müller, Ann\n", "line 2: 3 cells for 2 columns; put quotes around"),
])  # fmt: skip
def test_a_roster_that_cannot_be_read_says_why(tmp_path, text, said):
    with pytest.raises(roster.RosterError, match=re.escape(said)):
        roster.read(written(tmp_path, text))


ROSTER = """student,name,email,id
ann,Ann Müller,ann@example.edu,
cberg,Carl Berg,,123
cberg2,Carl Berg,,124
wang,Wáng Xiǎo Lóng,,
"""


def test_a_roster_that_is_not_there_is_no_matter_of_utf_8(tmp_path):
    with pytest.raises(roster.RosterError, match=r"cannot be read: No such file") as refused:
        roster.read(tmp_path / "none.csv")
    assert "UTF-8" not in str(refused.value)


@pytest.mark.parametrize(("name", "number", "found"), [
    ("ann", "", "ann"), ("ANN", "", "ann"), ("Ann Müller", "", "ann"), ("müllerann", "", "ann"),
    ("Ann@Example.edu", "", "ann"), ("Müller, Ann", "", "ann"), ("mülleranna", "", ""),
    ("bergcarl", "123", "cberg"), ("bergcarl", "124", "cberg2"), ("bergcarl", "125", ""),
    ("Carl Berg", "", ""), ("lóngwángxiǎo", "9", "wang"),
])  # fmt: skip
def test_a_student_is_found_by_what_moodle_and_canvas_write(tmp_path, name, number, found):
    names = roster.Names(roster.read(written(tmp_path, ROSTER)))
    assert names.find(name, number) == found


# ---- course.toml ----


def test_the_example_is_a_course(tmp_path, capsys):
    assert course(["example"]) == 0
    made = policy.read(written(tmp_path, capsys.readouterr().out))
    assert made.lab("103").weight == 2 and made.lab("103").points["transpose"] == 3
    assert made.extensions["ann"]["101"] == 7 and made.take == "best"


@pytest.mark.parametrize(("text", "said"), [
    ("over_budget = 2", "over_budget = 2; it must be a number, 0 to 1"),
    ("over = 1", "the file has 'over'; it may have"),
    ('take = "first"', 'it must be "best" or "last"'),
    ("[late]\nshare = 1", "[late] has 'share'"),
    ("[late]\nshare_a_day = -1", "late.share_a_day = -1"),
    ("[late]\nshare_a_day = true", "late.share_a_day = True"),
    ("[labs.101]\nweight = inf", "labs.101.weight = inf"),
    ("[labs.99]", "no lab 99 has an exercise; these have: 100, 101"),
    ("[labs.101]\ndeadline = 'soon'", "without quotes: 2026-10-05T18:00:00"),
    ("[labs.101.points]\nconv = 1", "it may have conv1d_basic, conv1d_edge"),
    ("[labs.101.cases]\nconv1d_edge = 3", "write tables, [[labs.101.cases.conv1d_edge]]"),
    (f"{CASES}weigth = 3", "may have name, weight, hidden, when"),
    (f"{CASES}hidden = 1", "it must be true or false"),
    (f"{CASES}weight = -1", "it must be a number, 0 or more"),
    (f"{CASES}when = {{n = 3}}", "it may have block size, filter, size, values"),
    (f"{CASES}when = {{size = 3}}", "no case is left for 'group 1'"),
    (f"{CASES}\n{CASES}", "no case is left for 'group 2'"),
    ("[labs.101.by_hand]\nfigures = 3", "it may have predictions, written"),
    ("[rubric]\n" + "".join(f"item{k} = 1\n" for k in range(27)), "has 27 items; at most 26"),
    ("[[labs.113.cases.stream_order]]", "an answer in Python has no cases"),
    ("[labs]\n101 = 3", "write a table, [labs.101]"),
    ("[extensions.ann]\n101 = 1", "there is no [labs.101]"),
    ("[extensions]\nann = 1", "ann = 1; write a table, [ann]"),
    ('timezone = "Berlin"', 'such as "Europe/Berlin"'),
    ("timezone = 2", 'such as "Europe/Berlin"'),
    ("labs = ", "cannot be read"),
])  # fmt: skip
def test_a_course_that_cannot_be_used_says_what_is_allowed(tmp_path, text, said):
    with pytest.raises(policy.PolicyError, match=re.escape(said)):
        policy.read(written(tmp_path, text))


@pytest.mark.parametrize(("late", "share", "days"), [
    (timedelta(days=-3), 1.0, 0), (timedelta(0), 1.0, 0), (timedelta(minutes=15), 1.0, 0),
    (timedelta(minutes=16), 0.9, 1), (timedelta(hours=24), 0.9, 1), (timedelta(hours=25), 0.8, 2),
    (timedelta(days=3), 0.7, 3), (timedelta(days=3, seconds=1), 0.0, 4),
])  # fmt: skip
def test_late_work_loses_a_share_for_each_day(late, share, days):
    found = policy.Late(grace_minutes=15, share_a_day=0.1, most_days=3).share(late)
    assert found == (pytest.approx(share), days)


LATE_BERLIN = """timezone = "Europe/Berlin"
[late]
share_a_day = 0.1
[labs.101]
deadline = 2026-10-24T18:00:00
[labs.103]
deadline = 2026-10-24T18:00:00-05:00
[extensions.ann]
101 = 2
"""


@pytest.mark.parametrize(("student", "lab", "handed_in", "days"), [
    ("ben", "101", "2026-10-24T16:00:00+00:00", 0), ("ben", "101", "2026-10-24T16:01:00+00:00", 1),
    # In the night to the 25th clocks are put back: until 18:00 on the wall it is 25 hours.
    ("ben", "101", "2026-10-25T17:00:00+00:00", 1), ("ben", "101", "2026-10-25T17:01:00+00:00", 2),
    ("ann", "101", "2026-10-26T17:00:00+00:00", 0), ("ann", "101", "2026-10-26T17:01:00+00:00", 1),
    ("ben", "101", "2026-10-24T18:00:00", 0), ("ben", "101", "2026-10-24T18:01:00", 1),
    ("ben", "103", "2026-10-24T23:00:00+00:00", 0), ("ben", "103", "2026-10-24T23:01:00+00:00", 1),
])  # fmt: skip
def test_a_deadline_has_a_zone_and_a_day_ends_at_its_hour(
    tmp_path, monkeypatch, student, lab, handed_in, days
):
    made = policy.read(written(tmp_path, LATE_BERLIN))
    for zone in ("America/New_York", "UTC"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        found = made.share_of_time(student, lab, datetime.fromisoformat(handed_in))
        assert found == (pytest.approx(1 - 0.1 * days), days)
    monkeypatch.undo()
    time.tzset()


def test_times_of_a_file_go_before_those_of_files(tmp_path):
    names = roster.Names(roster.read(written(tmp_path, ROSTER)))
    made = policy.read(written(tmp_path, LATE_BERLIN, "course.toml"))
    rows = "Ann Müller;101_x;2026-10-05 17:30;", "cberg;103;2026-10-05T17:30Z"
    text = "\n".join(("Student;Lab;Time;more", *rows))
    found = times.read(written(tmp_path, text), names, made.moment)
    assert found == {
        ("ann", "101"): "2026-10-05T15:30:00+00:00", ("cberg", "103"): "2026-10-05T17:30:00+00:00",
    }  # fmt: skip
    with pytest.raises(times.TimesError, match="line 2: 'noon' is no time"):
        times.read(written(tmp_path, "student,lab,time\nann,101,noon\n"), names, made.moment)
    with pytest.raises(times.TimesError, match="line 2: there is no lab '999'; write a number of"):
        times.read(written(tmp_path, "student,lab,time\nann,999,noon\n"), names, made.moment)
    with pytest.raises(times.TimesError, match=r"cannot be read: No such file or directory$"):
        times.read(tmp_path / "none.csv", names, made.moment)
    with pytest.raises(times.TimesError, match="must name the columns student, lab, time"):
        times.read(written(tmp_path, "student,lab\nann,101\n"), names, made.moment)


def test_times_for_nobody_on_the_roster_are_told(tmp_path):
    written(tmp_path, ROSTER, gradebook.ROSTER)
    written(tmp_path, "student,lab,time\nann,101,2026-10-05 17:30\n", gradebook.TIMES)
    assert gradebook.strangers(tmp_path, {"ann"}) == []
    written(tmp_path, "student,lab,time\nanm,101,2026-10-05 17:30\n", gradebook.TIMES)
    (said,) = gradebook.strangers(tmp_path, {"ann"})
    assert said.startswith("the file of --times names anm, and the roster does not")


def test_groups_of_cases_have_weights_and_each_case_is_in_one(tmp_path):
    text = f"""over_budget = 0.5
{CASES}when = {{size = [1, 256], filter = "a random filter"}}
weight = 3
{CASES}when = {{size = [1, 256]}}
{CASES}hidden = true
weight = 6
"""
    course = policy.read(written(tmp_path, text))
    sizes = {1: True, 256: True, 257: False, 1_000: True}
    cases = [
        {"title": f"{size} {name}", "kinds": {"size": size, "filter": name}, "right": right,
         "said": f"{size} {name} is wrong", "hint": f"why {size}"}
        for size, right in sizes.items() for name in ("a random filter", "the filter 1, 2, 4")
    ]  # fmt: skip
    result = {"exercise": "conv1d_edge", "lab": "101_x", "status": "wrong", "cases": cases,
              "maximum": 10, "messages": ["257 a random filter is wrong"], "hint": "why 257",
              "findings": [{}]}  # fmt: skip
    groups = course.lab("101").groups(result)
    assert [(len(one.cases), one.right) for one in groups] == [(2, True), (2, True), (4, False)]
    assert course.share_of_points(result) == pytest.approx(0.5 * 4 / 10)
    assert course.share_of_points({**result, "status": "pass"}) == 1
    assert course.share_of_points({**result, "status": "compile", "cases": []}) == 0
    assert policy.Policy().share_of_points(result) == 0

    def shown():
        return gradebook._row("ann", "101", "conv1d_edge", result, course, {}).shown

    assert "257" not in json.dumps(shown()) and "hidden" in shown()["messages"][0]
    cases[1]["right"] = False  # 1, 1 2 4: a case that everybody may see
    assert shown()["messages"] == ["1 the filter 1, 2, 4 is wrong"]
    assert "257" not in json.dumps(shown())
    for case in cases[4:]:
        case["right"] = True
    assert shown() is result, "nothing is hidden where the hidden cases are right"


# ---- what is handed in ----

KNOWN = ("101_conv1d_blocks_and_halos", "103_puzzles")


def collected(folder: Path, scratch: Path, names: str = "", **more) -> tuple[list, list[str]]:
    """What lies in a folder or zip, and what is told. names: a roster."""
    listed = roster.read(written(scratch.parent, names, "names")) if names else ()
    reader = collect.Collection(KNOWN, scratch, roster.Names(listed), **more)
    return list(reader.handed_in(folder)), reader.remarks


def zipped(path: Path, **files: bytes | str) -> Path:
    """A zip; files: by name, with / for __."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in files.items():
            file.writestr(name, data)
    return path


MOODLE = "_assignsubmission_file_"


@pytest.mark.parametrize("is_zip", [True, False])
def test_an_export_is_read_as_a_zip_and_unpacked(tmp_path, is_zip):
    inner = zipped(tmp_path / "work.zip", **{"a/101.ipynb": "{}"}).read_bytes()
    files = {
        f"Anna Berg_11{MOODLE}/101.ipynb": "{}", f"李 小龙_12{MOODLE}/work.zip": inner,
        f"Flat Smith_13{MOODLE}101.ipynb": "{}", "doejane_LATE_21_31_103-1.ipynb": "{}",
        "bergcarl_123_32_x.zip": inner,
    }  # fmt: skip
    folder = zipped(tmp_path / "submitted" / "all.zip", **files).parent
    if not is_zip:
        with zipfile.ZipFile(folder / "all.zip") as file:
            file.extractall(folder)
        (folder / "all.zip").unlink()
    found, told = collected(folder, tmp_path / "scratch", ROSTER)
    assert {(one.student, one.lab[:3]) for one in found} == {
        ("Anna Berg", "101"), ("李 小龙", "101"), ("Flat Smith", "101"), ("doejane", "103"),
        ("cberg", "101"),
    }  # fmt: skip
    assert [one.student for one in found if one.at is None] == ["cberg", "doejane"]
    (said,) = told
    assert "doejane_LATE_21_31_103-1.ipynb is late" in said and "--times" in said


def test_two_students_of_one_name_are_two_students(tmp_path):
    files = {f"Anna Berg_1{MOODLE}/101.ipynb": "{}", f"Anna Berg_2{MOODLE}/101.ipynb": "{}"}
    archive = zipped(tmp_path / "x.zip", **files)
    found, told = collected(archive, tmp_path / "scratch")
    assert {one.student for one in found} == {"Anna Berg 1", "Anna Berg 2"}
    assert "several students are called Anna Berg" in told[0]
    # The zips of two assignments are another matter: Moodle's number is that of a submission.
    folder = tmp_path / "submitted"
    for number in ("1", "2"):
        zipped(folder / f"{number}.zip", **{f"Anna Berg_{number}{MOODLE}/101.ipynb": "{}"})
    found, told = collected(folder, tmp_path / "scratch2")
    assert {one.student for one in found} == {"Anna Berg"} and not told


def test_folders_of_sections_and_zips_of_students_are_found_by_the_roster(tmp_path):
    folder = tmp_path / "submitted"
    (folder / "Monday" / "ANN" / "101").mkdir(parents=True)
    (folder / "Monday" / "ANN" / "101" / "x.ipynb").write_text("{}")
    zipped(folder / "wang.zip", **{"101.ipynb": "{}"})
    found, told = collected(folder, tmp_path / "scratch", ROSTER)
    assert {one.student for one in found} == {"ann", "wang"} and not told


def test_zips_in_zips_are_read_to_a_depth(tmp_path):
    data: bytes | str = "{}"
    name = "101.ipynb"
    for depth in range(5):
        path = zipped(tmp_path / "submitted/ann" / f"{depth}.zip", **{name: data})
        data, name = path.read_bytes(), "more.zip"
    found, told = collected(tmp_path / "submitted", tmp_path / "scratch")
    assert len(found) == collect.MOST_NESTED
    assert told and all("lies in 3 other zips" in one for one in told)
    at = datetime(2026, 10, 5, 17, tzinfo=UTC).timestamp()
    for path in (tmp_path / "submitted/ann").iterdir():
        os.utime(path, (at, at))
    found, _ = collected(tmp_path / "submitted", tmp_path / "scratch2")
    assert {one.at for one in found} == {datetime(2026, 10, 5, 17, tzinfo=UTC)}


def test_a_thousand_folders_stop_nothing_else(tmp_path):
    files = {"a/" * 900 + "101.ipynb": "{}", "b/101.ipynb": "{}"}
    zipped(tmp_path / "submitted/ann/x.zip", **files)
    with contextlib.chdir(tmp_path / "submitted/ann"):
        for _ in range(1_500):
            os.mkdir("d")
            os.chdir("d")
    found, told = collected(tmp_path / "submitted", tmp_path / "scratch")
    subprocess.run(["rm", "-r", tmp_path / "submitted"], check=True)  # pytest's end would not
    assert [one.student for one in found] == ["ann"]
    assert "ann: d/d/d/d/d/d/d lies in too many folders; left out" in told
    assert any("101.ipynb is left out: it lies in too many folders" in one for one in told)


def test_a_damaged_file_of_a_zip_stops_nothing_else(tmp_path):
    text = "".join(f"{k * k}," for k in range(5_000))
    archive = zipped(tmp_path / "class.zip", **{"ann/101.ipynb": text, "zoe/101.ipynb": "{}",
                                                "n" * 300 + "/101.ipynb": "{}"})  # fmt: skip
    data = bytearray(archive.read_bytes())
    data[100:4_000] = bytes(3_900)
    archive.write_bytes(data)
    found, told = collected(archive, tmp_path / "scratch")
    assert [one.student for one in found] == ["zoe"]
    assert any("ann/101.ipynb is left out" in one for one in told)
    assert any("File name too long" in one for one in told)


def test_links_and_folders_without_a_notebook_are_told(tmp_path):
    folder = tmp_path / "submitted"
    (folder / "ann" / "101").mkdir(parents=True)
    (folder / "ann" / "101" / "lab.pdf").write_text("")
    (folder / "ben").mkdir()
    (folder / "cy").symlink_to("ann")
    (folder / "dan" / "101").mkdir(parents=True)
    (folder / "dan" / "101" / "x.ipynb").symlink_to("/etc/passwd")
    os.mkfifo(folder / "of_nobody.zip")
    found, told = collected(folder, tmp_path / "scratch")
    assert [(one.student, one.notebook) for one in found] == [("ann", None), ("dan", None)]
    for said in ("ann: no notebook that can be used was handed in; there is 101/lab.pdf",
                 "ben: no notebook that can be used was handed in; the folder is empty",
                 "'cy' is a link", "dan: 101/x.ipynb is a link",
                 "of_nobody.zip' is no plain file"):  # fmt: skip
        assert any(said in one for one in told), said


@pytest.mark.parametrize("is_zip", [False, True])
def test_files_that_nobody_reads_are_told_by_name(tmp_path, is_zip):
    files = {"101/x.ipynb": "{}", "101/report.pdf": "", "figures/1.pdf": "", "figures/2.jpg": "",
             "101/timestamp.txt": ""}  # fmt: skip
    if is_zip:
        zipped(tmp_path / "submitted/ann/work.zip", **files)
    else:
        for name, text in {**files, "loose/plot.png": ""}.items():
            written(tmp_path / "submitted/ann", text, name)
        (tmp_path / "submitted/ann/101/timestamp.txt").unlink()
    _, told = collected(tmp_path / "submitted", tmp_path / "scratch")
    (said,) = told
    names = ["101/report.pdf", "figures/1.pdf", "figures/2.jpg"]
    more = "" if is_zip else " and 1 more"
    where = "ann: work.zip: " if is_zip else "ann: "
    assert said.startswith(f"{where}not used: {', '.join(names)}{more}.")


@pytest.mark.parametrize(("data", "said"), [
    (b"", "is empty"), (b"hello", "it is not JSON"),
    (b"<<<<<<< HEAD\n{}\n=======\n", "line 1 is '<<<<<<< HEAD'"),
    (b'{"cells": [{"cell_type": "code", "source": ""}]}', "is empty: none of its cells has a text"),
    (b'{"cells": []}', "is empty: none of its cells has a text"),
 (b"[" * 100_000, "it is not JSON"),
    (b"[1]", "it has no list of cells"), (b'{"cells": 3}', "it has no list of cells"),
    (b'{"cells": ["\xe4"]}', "its text is not Unicode"), (b'{"cells": [', "only the beginning"),
    (b'{"nbformat": 3, "worksheets": [{"cells": []}]}', "nbformat 3"),
    (b'{"cells": [' + b"{}," * 600 + b"{}]}", "has 601 cells; at most 500"),
])  # fmt: skip
def test_a_notebook_that_cannot_be_read_says_why(tmp_path, data, said):
    (tmp_path / "x.ipynb").write_bytes(data)
    with pytest.raises(notebooks.SubmissionError, match=said):
        notebooks.read(tmp_path / "x.ipynb")



@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_a_notebook_is_read_in_any_unicode(tmp_path, encoding):
    (tmp_path / "x.ipynb").write_bytes('{"cells": [{"source": "größe"}]}'.encode(encoding))
    assert [one["source"] for one in notebooks.read(tmp_path / "x.ipynb")] == ["größe"]


def handed_in(folder: Path, **cells: list[dict]) -> tuple[dict[tuple[str, str], tuple], list[str]]:
    """What becomes of notebooks with such cells: the text of each answer and why it is missing, by
    student and exercise. cells: by "STUDENT/FOLDER/NAME"; what is told comes along.
    """
    for name, content in cells.items():
        path = folder / "submitted" / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"cells": content}))
    told: list[str] = []
    found = submissions.answers(folder / "submitted", submissions.places(), None, told)
    return {(one.student, one.exercise): (one.text, one.missing) for one in found}, told


SQUARES, EDGE = exercises.find("squares").solution, exercises.find("conv1d_edge").solution


def test_a_notebook_in_the_folder_of_another_lab_is_graded_as_what_it_is(tmp_path):
    cells = [{"cell_type": "code", "source": SQUARES}, {"cell_type": "code", "source": "mine = 1"}]
    found, told = handed_in(tmp_path, **{"ann/101/101_conv1d_blocks_and_halos": cells})
    assert found["ann", "squares"] == (SQUARES, "")
    missing = found["ann", "conv1d_edge"][1]
    assert missing.endswith("is a notebook of lab 103, and was graded as that")
    assert ("ann", "loops_swapped") not in found
    (said,) = told
    assert said.startswith("ann: 101/101_conv1d") and said.endswith("it was handed in as lab 101")


def test_cells_of_any_form_stop_nobody_elses(tmp_path, monkeypatch):
    deep: list = []
    for _ in range(600):
        deep = [deep]
    right = {"cell_type": "code", "source": EDGE, "id": "a"}
    odd = [{**right, **more} for more in (
        {"id": ["x"]}, {"id": {}}, {"id": 5}, {"metadata": None}, {"source": EDGE.splitlines(True)},
        {"outputs": deep},
    )]  # fmt: skip
    wrong = [{**right, **more} for more in (
        {"source": None}, {"source": 7}, {"cell_type": ["code"]}, {"source": {}}, {"source": deep},
    )]  # fmt: skip
    students = {f"s{k}/101/a": [cell] for k, cell in enumerate([*odd, *wrong])}
    found, _ = handed_in(tmp_path, **students)
    assert len(found) == 2 * len(students)
    for k in range(len(students)):
        assert found[f"s{k}", "conv1d_edge"][0] == (EDGE if k < len(odd) else "")
    # What nobody has thought of:
    real = writing.of_cells
    monkeypatch.setattr(writing, "of_cells", lambda *of: real(*of) if of[0] else 1 / 0)
    found, told = handed_in(tmp_path / "b", **{"ann/101/a": [], "ben/101/a": [right]})
    assert found["ben", "conv1d_edge"] == (EDGE, "")
    assert "cannot be read (ZeroDivisionError" in found["ann", "conv1d_edge"][1] and told


@pytest.mark.parametrize("name", ["Copy of {}", "{} (2)", "{}-1", "bergcarl_{}", "KOPIE VON {}"])
def test_a_name_around_that_of_a_lab_is_of_that_lab(name):
    assert collect.lab_of(name.format(KNOWN[0]) + ".ipynb", KNOWN) == KNOWN[0]
    assert collect.lab_of(f"my homework 2101{name[:2]}.ipynb", KNOWN) == ""


def test_an_answer_in_a_cell_that_no_kernel_runs_is_told(tmp_path):
    cells = [{"cell_type": "raw", "source": EDGE}, {"cell_type": "code", "source": "x = 1"}]
    found, _ = handed_in(tmp_path, **{"ann/101/a": cells, "ben/101/a": cells[1:]})
    assert "a raw cell does" in found["ann", "conv1d_edge"][1]
    assert found["ben", "conv1d_edge"][1].endswith("begins with '%%kernel conv1d_edge'")


def test_jupyterlabs_copies_alone_are_no_empty_folder(tmp_path):
    _, told = handed_in(tmp_path, **{"ann/101/.ipynb_checkpoints/101-checkpoint": []})
    assert "there is 101/.ipynb_checkpoints/101-checkpoint.ipynb" in told[0]


def test_a_zip_writes_nowhere_else_and_says_what_it_leaves_out(tmp_path):
    archive = tmp_path / "class.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("submitted/ann/101/x.ipynb", "{}")
        file.writestr("../../../evil.ipynb", "{}")
        file.writestr("/etc/evil.ipynb", "{}")
        file.writestr("ben/101/._x.ipynb", "{}")
        file.writestr("__MACOSX/ben/101/x.ipynb", "{}")
        file.writestr("ben/101/x.py", "import os")
        file.writestr("ben/101/" + "a/" * 20 + "x.ipynb", "{}")
    found, told = collected(archive, tmp_path / "scratch")
    assert {one.student for one in found if one.notebook is not None} == {"ann", "etc"}
    assert any("too many folders" in one for one in told)
    inside = tmp_path / "scratch"
    everywhere = [path for path in tmp_path.rglob("*.ipynb") if inside not in path.parents]
    assert everywhere == [] and not list(inside.rglob("*.py"))


def test_a_zip_that_is_a_bomb_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(collect, "MOST_FILE", 1_000)
    archive = zipped(tmp_path / "class.zip", **{"ann/101/x.ipynb": " " * 100_000})
    found, told = collected(archive, tmp_path / "scratch")
    assert not found and "too large" in told[0]
    monkeypatch.setattr(collect, "MOST_OF_STUDENT", 250)
    files = {f"{k}.ipynb": "x" * 100 for k in range(4)}
    zipped(tmp_path / "submitted/ben/x.zip", **files)
    found, told = collected(tmp_path / "submitted", tmp_path / "scratch")
    assert len(found) == 2 and len(told) == 2
    monkeypatch.setattr(collect, "MOST_FILES_OF_STUDENT", 1)
    found, told = collected(tmp_path / "submitted", tmp_path / "scratch")
    assert len(found) == 1 and "too many files; the others are left out" in told[0]


def test_of_many_notebooks_with_an_answer_the_last_ones_count(tmp_path):
    books = {f"ann/101/{k:02}": [{"cell_type": "code", "source": f"{EDGE}// {k}"}]
             for k in range(submissions.MOST_VERSIONS + 2)}  # fmt: skip
    found, told = handed_in(tmp_path, **books)
    assert found["ann", "conv1d_edge"][0] == f"{EDGE}// {len(books) - 1}"
    assert f"ann: {len(books)} notebooks have an answer to conv1d_edge" in told[0]


def test_what_is_told_of_names_is_a_line_each_and_a_few_for_a_student():
    told = [f"eve: x\x1b[2J\nann: {k}" for k in range(50)] + ["ben: y"]
    shown = commands._shown(told)
    assert shown[0] == "eve: x\N{REPLACEMENT CHARACTER}[2J ann: 0"
    assert shown[-2:] == ["eve: and 30 more of that kind", "ben: y"] and len(shown) == 22


@pytest.mark.parametrize("name", ["a<b", "x\ny", "n" * 200, "  ", "-x", "..x", "a\u202eb"])
def test_a_name_that_no_page_can_show_is_told_and_stops_nobody(tmp_path, name):
    (tmp_path / "submitted" / name / "101").mkdir(parents=True)
    (tmp_path / "submitted" / "zoe" / "101").mkdir(parents=True)
    told: list[str] = []
    found = list(
        submissions.answers(tmp_path / "submitted", submissions.places(), tmp_path / "s", told)
    )
    assert {one.student for one in found} == {"zoe"} and "cannot be a student's name" in told[0]


def test_a_zip_that_does_not_say_utf_8_has_the_names_that_were_written():
    entry = zipfile.ZipInfo("Ünal Ağaoğlu/101.ipynb".encode().decode("cp437"))
    assert collect._name_of(entry) == "Ünal Ağaoğlu/101.ipynb"
    entry.filename = "\u00fc\u2592.ipynb"  # of a program that writes the letters of DOS
    assert collect._name_of(entry) == entry.filename


def test_a_second_release_keeps_the_labs_of_the_first(tmp_path, capsys):
    for lab in ("103", "101"):
        assert course(["release", lab, "--to", str(tmp_path)]) == 0
    assert "in manifest.json: 101, 103" in capsys.readouterr().out
    placed = submissions.manifest(tmp_path / "manifest.json")
    assert placed == tuple(p for p in submissions.places() if p.lab in KNOWN)
    assert all(f"{lab}/{lab}.ipynb" in (tmp_path / "README.md").read_text() for lab in KNOWN)


@pytest.mark.parametrize("arguments", [
    ["release", "101", "--to", "{}"], ["release", "101", "--package", "{}"],
    ["gradescope", "101", "--to", "{}/a.zip"], ["grade", "{}", "--to", "{}"],
])  # fmt: skip
def test_a_file_in_place_of_a_folder_is_said_in_a_sentence(tmp_path, arguments, capsys):
    path = written(tmp_path, "no folder")
    assert course([one.format(path) for one in arguments]) == 2
    said = capsys.readouterr().err
    assert f"{arguments[0]} cannot go on: " in said and str(path) in said
    assert path.read_text() == "no folder"


def test_students_of_an_earlier_run_are_told(tmp_path):
    for name in ("ann", "ben", "run.json"):
        grades.save(tmp_path / name / "101_x" / "conv1d_edge.json", {})
    assert grades.stale(tmp_path, {"ann", "ben", "run.json", "zoe"}) == []
    (said,) = grades.stale(tmp_path, {"ann"})
    assert "results of ben, run.json:" in said


@pytest.mark.parametrize(("stamp", "at"), [
    ("2026-10-05 17:30:00.123456 UTC", "2026-10-05T17:30:00.123456+00:00"),
    ("2026-10-05 17:30:00", "2026-10-05T17:30:00+00:00"),
    ("2026-10-05 17:30:00 Europe/Berlin", "2026-10-05T15:30:00+00:00"),
    ("2026-10-05T17:30:00+05:00", "2026-10-05T12:30:00+00:00"),
    ("yesterday", None), ("2026-10-05 17:30:00 ../../etc", None),
])  # fmt: skip
def test_nbgraders_timestamp_goes_before_the_files(tmp_path, stamp, at):
    folder = tmp_path / "submitted/ann/101"
    folder.mkdir(parents=True)
    (folder / "x.ipynb").write_text("{}")
    os.utime(folder / "x.ipynb", (0, 0))
    (folder / "timestamp.txt").write_text(stamp)
    ((found,), told) = collected(tmp_path / "submitted", tmp_path / "s", stamped=True)
    assert found.at == datetime.fromisoformat(at or "1970-01-01T00:00:00+00:00")
    assert bool(told) == (at is None)
    ((found,), told) = collected(tmp_path / "submitted", tmp_path / "s2")
    assert found.at == datetime.fromtimestamp(0, UTC) and "--nbgrader-times" in told[0]


@pytest.mark.parametrize(("where", "stamped"), [
    (f"Ann_12{MOODLE}", False), ("ann", False), ("Monday/ann", False), ("ann.zip", False),
    ("ann/101/deep", True), ("ann.zip", True),  # nbgrader writes none there
])  # fmt: skip
def test_a_students_own_timestamp_moves_no_deadline(tmp_path, where, stamped):
    place = tmp_path / "submitted" / where
    files = {"101/x.ipynb": "{}", "101/timestamp.txt": "2001-10-05 17:30:00 UTC"}
    if place.suffix:
        zipped(place, **files)
    else:
        for name, text in files.items():
            written(place, text, name)
    for path in (tmp_path / "submitted").rglob("*.*"):
        os.utime(path, (1_000, 1_000))
    ((found,), _) = collected(tmp_path / "submitted", tmp_path / "s", ROSTER, stamped=stamped)
    assert found.at == datetime.fromtimestamp(1_000, UTC)


def test_a_time_that_has_not_come_yet_is_told_and_makes_nobody_late(tmp_path):
    folder = tmp_path / "submitted/ann/101"
    folder.mkdir(parents=True)
    (folder / "x.ipynb").write_text("{}")
    for ahead_s, is_told in ((7_200, False), (3 * 86_400, True)):
        os.utime(folder / "x.ipynb", (0, time.time() + ahead_s))
        ((found,), told) = collected(tmp_path / "submitted", tmp_path / "s")
        assert (found.at is None) == bool(told) == is_told
    assert "x.ipynb says" in told[0] and "--times" in told[0]


# ---- similarity ----


def of(student: str, text: str, name: str = "conv2d_two") -> dict:
    lab = exercises.find(name).lab
    return {"student": student, "text": text, "lab": lab, "exercise": name, "status": "pass"}


OWN = [name for name in exercises.names() if exercises.find(name).suffix == ".cu"
       and similarity.Text(
           exercises.find(name).solution, similarity.Text(exercises.find(name).stub)
       ).count >= similarity.FEWEST]  # fmt: skip
DEAD = ("int unused = 0;", "if (0) { }", "int dead = threadIdx.x * 2; (void)dead;",
        "for (int turn = 0; turn < 1; ++turn) { }")  # fmt: skip


@pytest.mark.parametrize("name", OWN)
def test_a_copy_with_other_names_and_a_statement_more_is_found(name):
    """All names that a student may choose; a dead statement behind any other one."""
    one = exercises.find(name)
    kept = similarity._KEPT_WORDS | set("xyzw")
    fresh: dict[str, str] = {}

    def renamed(found: re.Match[str]) -> str:
        word = found[0]
        is_member = word in kept and found.string[: found.start()].endswith(".")
        if not word[0].isidentifier() or is_member or word in kept - set("xyzw"):
            return word  # a literal is one, too: it holds the names of instructions
        # The names x, y and z of a copy that had others, too.
        return fresh.setdefault(word, {0: "x", 1: "z"}.get(len(fresh) % 40, f"own{len(fresh)}"))

    def alike(text: str) -> float:
        found = similarity.groups([of("ann", one.solution, name), of("ben", text, name)])
        return next((group.share for group in found if len(group.students) == 2), 0.0)

    head, _, body = one.solution.partition("\n")
    body = re.sub(r"//[^\n]*|#[^\n]*", "", body)
    copy = f"{head}\n" + re.sub(r'"[^"\n]*"|\w+', renamed, body).replace(";\n", ";  // mine\n", 3)
    assert alike(copy.replace("    ", "\t")) == 1
    ends = [found.end() for found in re.finditer(r";(?=[^\n()]*\n)", copy)]
    for k, end in enumerate(ends):
        assert alike(f"{copy[:end]}\n{DEAD[k % len(DEAD)]}{copy[end:]}"), copy[end - 30 : end]


def test_answers_that_are_written_differently_are_not_alike():
    from tests import exercises as answers

    for name in ("conv2d_two", "taps_split", "running_sums"):
        one = exercises.find(name)
        texts = {answers.text_of(one, a) for a in answers.right(one) if a.file != "solution.cu"}
        found = similarity.groups([of(str(k), text, name) for k, text in enumerate(sorted(texts))])
        assert not [group for group in found if len(group.students) > 1], name


def test_the_stub_makes_nobody_alike():
    one = exercises.find("conv1d_three")
    assert similarity.groups([of("ann", one.stub, one.name), of("ben", one.stub, one.name)]) == []


# ---- a package for students ----


def test_a_package_holds_no_solution_and_its_checks_run(tmp_path):
    to = tmp_path / "student"
    assert course(["release", "101", "104", "--package", str(to)]) == 0
    names = [path.name for path in (to / "helpers/exercises/content").rglob("*")]
    assert not [
        name for name in names if name.startswith(("solution.", "mutants.", "right_", "wrong_"))
    ]
    assert not (to / "tests").exists() and len(list((to / "labs").glob("*.ipynb"))) == 2
    one = exercises.find("conv1d_edge")
    line = next(line.strip() for line in one.solution.splitlines() if "min(max" in line)
    for path in to.rglob("*"):
        if path.is_file() and path.suffix in (".py", ".cu", ".ipynb", ".json"):
            assert line not in path.read_text(encoding="utf-8"), path
    assert "This copy was made for a course" in (to / "README.md").read_text()[:200]
    for target in ("test", "gpu"):
        made = subprocess.run(["make", target], cwd=to, capture_output=True, text=True, check=False)
        assert made.returncode and "helpers.course check my_labs/" in made.stdout
    pages = {path: path.read_text(encoding="utf-8") for path in to.rglob("*")
             if path.suffix in (".md", ".ipynb")}  # fmt: skip
    links = [
        path.parent / link.partition("#")[0]
        for path, text in pages.items()
        for link in re.findall(r"\[[^\]\n]*\]\(([^)#\s][^)\s]*)\)", text)
        if "://" not in link and not link.startswith(("mailto:", "attachment:"))
    ]
    assert len(links) > 20 and [path for path in links if not path.exists()] == []
    (to / "mine.cu").write_text(one.solution)
    (to / "flipped.cu").write_text(one.solution.replace("filter[j]", "filter[2 - j]"))
    program = (
        "import pathlib, helpers; from helpers import exercises; "
        "print(helpers.__file__); "
        "one = exercises.find('conv1d_edge'); print(one.judge(one.stub).status, one.has_solution); "
        "print(one.judge(pathlib.Path('mine.cu').read_text()).status); "
        "print(one.judge(pathlib.Path('flipped.cu').read_text()).hint)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(to), *sys.path[1:]])}
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], cwd=to, env=environment, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert lines[1:3] == ["not_begun False", "pass"] and str(to) in lines[0], done.stderr
    assert lines[3].startswith("The filter is flipped"), "a package has what mutants leave"


def test_a_package_goes_into_no_used_folder(tmp_path, capsys):
    (tmp_path / "x").write_text("")
    assert course(["release", "101", "--package", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err


# ---- a whole course ----


def test_each_student_has_the_points_that_the_course_says(whole):
    found = gradebook.read(whole.to / "grades").students
    points = {one.student.student: one.points for one in found if one.listed}
    assert points == pytest.approx(whole.expected)
    # The most is the same for all, whatever they handed in, and whatever is not decided yet.
    assert {one.maximum for one in found if one.listed} == {2 * (5 + 10 + 3 + 1 + 2) + 4 + 2 * 11}
    assert {one.student.student: one.not_decided for one in found if one.not_decided} == {
        "all_right": 3
    }
    assert [one.student.student for one in found if not one.listed] == [
        "Same Name 125", "Same Name 126", "not_on_the_roster",
    ]  # fmt: skip


def test_points_are_equal_in_every_export(whole):
    folder = whole.to / "grades"
    book = gradebook.read(folder)
    every = (2 * (5 + 10 + 3 + 1 + 2), 4 + 2 * 11)
    totals = {one.student.student: one.points for one in book.students}
    assert {one.maximum for one in book.students} == {sum(every)}

    def read(text: str) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(text)))

    for name, points in totals.items():
        tests = json.loads(export.gradescope(folder, name))["tests"]
        assert sum(test["max_score"] for test in tests) == sum(every), name
        assert sum(test["score"] for test in tests) == pytest.approx(points), name
        tests = json.loads(export.gradescope(folder, name, "101"))["tests"]
        assert sum(test["max_score"] for test in tests) == every[0], name
    sums: dict[str, list[float]] = {}
    for row in read(export.csv(folder)):
        both = sums.setdefault(row["student"].removeprefix("'"), [0.0, 0.0])
        both[0] += float(row["points"] or 0)
        both[1] += float(row["maximum"])
    assert sums == {k: pytest.approx([one, sum(every)], abs=0.02) for k, one in totals.items()}
    for kind, key in ((export.canvas, "SIS User ID"), (export.moodle, "Username")):
        rows = read(kind(folder))
        if kind is export.canvas:
            possible = rows.pop(0)
            assert (float(possible["Lab 101"]), float(possible["Puzzles (4711)"])) == every
        found = {
            row[key].removeprefix("'"): float(row["Lab 101"]) + float(row["Puzzles (4711)"])
            for row in rows
        }
        listed = {one.student.student for one in book.students if one.listed}
        assert found == {name: pytest.approx(totals[name], abs=0.02) for name in listed}


def test_words_about_a_figure_that_is_missing_stand_on_the_students_page(whole, tmp_path):
    folder = tmp_path / "grades"
    shutil.copytree(whole.to / "grades", folder)
    one = Decision("stub", "101", "115_sizes", 1, "came by mail", request="see my mail")
    decisions.decide(folder, [one])
    report.write(folder, tmp_path / "report")
    page = (tmp_path / "report/students/stub.html").read_text()
    assert "2 of 6 points. came by mail" in page and "You asked: see my mail" in page


def test_a_lab_that_the_course_lacks_is_told_with_what_to_write(whole, tmp_path, capsys):
    (tmp_path / "course.toml").write_text("[labs.103]\n")
    told = commands._not_counted(
        [SimpleNamespace(student=name, lab="101_x") for name in ("ann", "ben")],
        policy.read(tmp_path / "course.toml"),
    )
    (said,) = told
    assert "no lab 101, which 2 students handed in" in said and said.endswith("write [labs.101]")
    zipped_to = ["--to", str(tmp_path / "a.zip"), "--course", str(tmp_path / "course.toml")]
    assert course(["gradescope", "101", *zipped_to]) == 2
    assert "has no lab 101: to count it, write [labs.101]" in capsys.readouterr().err


def test_of_a_copied_lab_the_best_answer_counts_and_the_page_says_which(whole):
    page = (whole.to / "report/students/two_attempts.html").read_text()
    assert "2 notebooks have an answer; that of 101/first.ipynb counts." in page
    page = (whole.to / "report/students/two_folders.html").read_text()
    assert "that of 101/b/x.ipynb counts" in page


def test_every_student_has_a_page_and_every_lab_a_row(whole):
    book = gradebook.read(whole.to / "grades")
    pages = {path.stem for path in (whole.to / "report/students").glob("*.html")}
    assert {one.student.student for one in book.students} == pages
    (nothing,) = (one for one in book.students if one.student.student == "nothing")
    assert {row.status for row in nothing.rows} == {gradebook.MISSING} and len(nothing.rows) == 14


def test_no_page_of_a_student_names_another_one(whole):
    names = set(whole.expected) - {"nothing", "stub", "copied", "huge", "surrogate"}
    for path in (whole.to / "report/students").glob("*.html"):
        page = path.read_text()
        assert not [one for one in names - {path.stem} if one in page], path.stem
        assert "index.html" not in page and "grades.csv" not in page


def test_what_cannot_be_used_is_told_on_the_page_of_the_class(whole):
    page = (whole.to / "report/index.html").read_text()
    assert "too_deep: 101/a/b" in page and "two_zips: more.zip cannot be unpacked" in page
    assert "stray.ipynb" in page and "unreadable_zip: work.zip cannot be unpacked" in page
    assert "not on the roster" in page and "halo" in page
    pages = [path.read_text() for path in (whole.to / "report").rglob("*.html")]
    assert not [page for page in pages if "<script>x" in page or "<script>the" in page]


def test_predictions_and_texts_are_shown_and_get_points(whole):
    folder = whole.to / "grades"
    for name in ("writing.html", "students/all_right.html"):
        page = (whole.to / "report" / name).read_text()
        assert "<td>loads of &lt;N&gt;</td><td>7_000</td>" in page
        assert "<td>the fastest</td><td>–</td>" in page and "&lt;script&gt;the halo" in page
    assert "override all_right 101 predictions --grades" in (
        whole.to / "report/writing.html"
    ).read_text()
    assert "the halo" not in (whole.to / "report/students/stub.html").read_text()
    decisions.decide(folder, [Decision("all_right", "101", "predictions", 1, "close"),
                              Decision("all_right", "101", "written", 1.5, "why?")])  # fmt: skip
    try:
        assert gradebook.read(folder).account("all_right").points == 28 + 2 * 2.5
        assert "why?" in export.csv(folder) and "why?" in export.moodle(folder)
        report.write(folder, whole.to / "report")
        assert "close" in (whole.to / "report/students/all_right.html").read_text()
    finally:
        for what in ("predictions", "written"):
            decisions.withdraw(folder, ("all_right", "101", what))


def test_what_nobody_wrote_is_worth_nothing_and_needs_no_decision():
    rows = [{"question": "how many?", "guess": ""}]
    assert not writing.has({"predictions": rows, "written": []}, "predictions")
    assert not writing.has({}, "predictions") and not writing.has({}, "written")
    assert writing.has({"predictions": [*rows, {"question": "", "guess": "3"}]}, "predictions")


def test_a_course_without_a_file_of_its_own_has_pages(whole, tmp_path):
    """Without points by hand and without a rubric: the figures are shown, and get no points."""
    folder = tmp_path / "grades"
    shutil.copytree(whole.to / "grades", folder)
    (folder / gradebook.COURSE).unlink()
    assert report.write(folder, tmp_path / "report") > 30
    assert "points: predictions" in (tmp_path / "report/writing.html").read_text()
    assert "Lab 101: other figures" in (tmp_path / "report/figures.html").read_text()


@pytest.mark.parametrize("lab", ["101", "104"])
def test_the_texts_of_a_lab_and_its_release_are_nobodys(tmp_path, lab):
    path = release.release([lab], tmp_path)[0]
    for one in (path, labs.LABS / path.name):
        found = writing.of_cells(notebooks.read(one), path.stem)
        assert found["written"] == [] and len(found["predictions"]) > 2
        assert {row["guess"] for row in found["predictions"]} == {""}


@pytest.mark.parametrize(("code", "found"), [
    ('prediction.number("a", -1.5e3, "how many, (so)?")', ("how many, (so)?", "-1.5e3")),
    ("mine.choice(\n    'a', 'fast, or',\n    'which?', among=('x',))", ("which?", "fast, or")),
    ('prediction.number("a", (1 + 2), "no number")', None),
    ('prediction.number("' + "a" * 15_000, None),
])  # fmt: skip
def test_a_prediction_is_read_and_never_run(code, found):
    cell = {"cell_type": "code", "source": code}
    rows = writing.of_cells([cell], "none")["predictions"]
    assert [(one["question"], one["guess"]) for one in rows] == ([found] if found else [])


def test_copies_are_listed_and_nobody_loses_points(whole):
    page = (whole.to / "report/similar.html").read_text()
    assert "copied" in page and "and the course's own solution" in page


def test_points_for_some_cases_and_no_word_of_hidden_ones(whole):
    found = {r["student"]: r for r in grades.results(whole.to / "grades")}
    assert "n = " in found["first_block_only"]["messages"][0]
    page = (whole.to / "report/students/first_block_only.html").read_text()
    assert "right in all cases but hidden ones" in page and "n = " not in page
    assert "<td>whole blocks</td><td class=\"n\">2</td>" in page
    assert "n = " not in export.gradescope(whole.to / "grades", "first_block_only")
    assert [case["right"] for case in found["no_guard"]["cases"]].count(True) == 2


def test_a_launch_that_no_memory_can_hold_is_a_verdict(whole):
    edges = [r for r in grades.results(whole.to / "grades") if r["exercise"] == "conv1d_edge"]
    found = {r["student"]: r for r in edges}
    assert found["huge"]["status"] in ("refused", "memory") and found["huge"]["points"] == 0
    assert found["huge_array"]["status"] == "compile"


def test_a_decision_outlives_the_grader_and_every_export(whole):
    folder = str(whole.to / "grades")
    said = ["override", "too_late", "101", "conv1d_edge", "--points", "7.5", "--comment", "ill <b>"]
    assert course([*said, "--grades", folder]) == 0
    where = [str(whole.submitted), "--to", folder, "--only", "too_late", "--again"]
    before = grades.run_of(whole.to / "grades")
    assert course(["grade", *where]) == 0
    after = grades.run_of(whole.to / "grades")
    assert (after["told"], after["ladders"]) == (before["told"], before["ladders"])
    assert len(before["told"]) > 5 and len(before["ladders"]) > 5
    account = gradebook.read(whole.to / "grades").account("too_late")
    assert account.points == 15, "7.5 points, and the lab counts twice"
    assert gradebook.read(whole.to / "grades").account("all_right").points == 28
    assert course(["report", folder, "--to", str(whole.to / "report")]) == 0
    page = (whole.to / "report/students/too_late.html").read_text()
    assert "ill &lt;b&gt;" in page
    rows = list(csv.DictReader(io.StringIO(export.csv(whole.to / "grades"))))
    (row,) = (r for r in rows if r["student"] == "too_late" and r["exercise"] == "conv1d_edge")
    assert (row["points"], row["comment"]) == ("15.0", "ill <b>")
    made = json.loads(export.gradescope(whole.to / "grades", "too_late"))
    (edge,) = (test for test in made["tests"] if "ill <b>" in test["output"])
    assert edge["score"] == 15
    assert course(["override", "too_late", "101", "conv1d_edge", "--withdraw", "--grades",
                   folder]) == 0  # fmt: skip
    assert gradebook.read(whole.to / "grades").account("too_late").points == 0


def test_a_grading_that_is_stopped_says_how_it_goes_on(tmp_path, monkeypatch, capsys):
    lab = invented.place(invented.EDGE).lab
    path = tmp_path / "submitted/ann" / lab / "x.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(invented.book(invented.solutions(invented.EDGE)))

    def stopped(exercise, text, plan):
        grades.save(tmp_path / "grades/.results/one.json", {})
        raise KeyboardInterrupt

    monkeypatch.setattr(grading, "grade_one", stopped)
    monkeypatch.setattr(box, "find_level", lambda *_: "none")
    folder = str(tmp_path / "grades")
    assert course(["grade", str(tmp_path / "submitted"), "--to", folder]) == 130
    assert "run the same command again" in capsys.readouterr().err
    assert course(["report", folder]) == 2
    assert "was stopped before its end" in capsys.readouterr().err


def test_more_days_for_one_student(whole):
    folder = whole.to / "grades"
    decisions.decide(folder, [Decision("two_days_late", "101", days=3)])
    assert gradebook.read(folder).account("two_days_late").points == 20
    decisions.withdraw(folder, ("two_days_late", "101", ""))
    assert gradebook.read(folder).account("two_days_late").points == 16


@pytest.mark.parametrize(("more", "said"), [
    (["nobody", "101", "conv1d_edge", "--points", "1"], "no results of 'nobody'"),
    (["all_right", "105", "block_sums", "--points", "1"], "has no lab 105; there are: 101, 103"),
    (["all_right", "101", "--points", "1"], "needs the name of an exercise"),
    (["all_right", "101", "--comment", "x"], "--comment needs the name of an exercise"),
    (["all_right", "101", "conv1d_egde", "--points", "1"],
     "has no 'conv1d_egde' in lab 101; there are: mine, conv1d_basic, conv1d_edge, 115_sizes, "),
    (["all_right", "103", "conv1d_edge", "--points", "1"], "has no 'conv1d_edge' in lab 103"),
    (["all_right", "101", "conv1d_edge"], "nothing is decided"),
    (["all_right", "101", "conv1d_edge", "--points=-1"], "must be from 0 to 10"),
    (["all_right", "101", "conv1d_edge", "--points=nan"], "must be from 0 to 10"),
    (["all_right", "101", "conv1d_edge", "--points=inf"], "must be from 0 to 10"),
    (["all_right", "101", "conv1d_edge", "--points=10.5"], "must be from 0 to 10"),
    (["all_right", "101", "115_sizes", "--points=3.5"], "must be from 0 to 3"),
    (["all_right", "101", "mine", "--points=1"], "must be from 0 to 0"),
    (["all_right", "101", "--days=-2"], "--days must be 0 or more"),
    (["all_right", "101", "--days=nan"], "--days must be 0 or more"),
    (["all_right", "101", "conv1d_edge", "--withdraw"], "nothing was decided"),
])  # fmt: skip
def test_a_decision_that_cannot_be_says_why(whole, more, said, capsys):
    assert course(["override", *more, "--grades", str(whole.to / "grades")]) == 2
    assert said in capsys.readouterr().err


def test_a_decision_keeps_what_is_not_named_and_clears_a_comment_when_told(whole):
    folder = whole.to / "grades"
    decision = ["override", "all_right", "101", "conv1d_edge"]
    decision += ["--grades", str(folder), "--who", "b"]
    key = "all_right", "101", "conv1d_edge"
    try:
        for more, found in (
            (["--points", "7", "--comment", "neat"], (7, "neat", "")),
            (["--points", "8"], (8, "neat", "")),
            (["--request", "please look at line 3"], (8, "neat", "please look at line 3")),
            (["--comment", "", "--request", ""], (8, "", "")),
        ):
            assert course([*decision, *more]) == 0
            one = decisions.load(folder)[key]
            assert (one.points, one.comment, one.request, one.who) == (*found, "b")
            report.write(folder, whole.to / "report")
            for page in ("index", "students/all_right"):
                page = (whole.to / f"report/{page}.html").read_text()
                assert ("please look at line 3" in page) == bool(found[2])
    finally:
        assert course([*decision, "--withdraw"]) == 0


def test_points_go_out_as_a_table_and_come_back(whole, tmp_path, capsys):
    folder = tmp_path / "grades"
    shutil.copytree(whole.to / "grades", folder)
    table = written(tmp_path, export.csv(folder), "points.csv")
    assert course(["points", str(folder), str(table)]) == 0
    assert capsys.readouterr().out.startswith("0 decisions")
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    for row in rows:
        if (row["student"], row["exercise"]) == ("too_late", "conv1d_edge"):
            row |= {"points": "15", "comment": "was ill"}  # 7.5, and the lab counts twice
        if (row["student"], row["exercise"]) == ("'=1+1", "115_sizes"):
            row["points"] = "6,0"
    with table.open("w", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]))
        out.writeheader()
        out.writerows(rows)
    assert course(["points", str(folder), str(table), "--who", "eve"]) == 0
    found = decisions.load(folder)
    assert {k: (v.points, v.comment, v.who) for k, v in found.items()} == {
        ("too_late", "101", "conv1d_edge"): (7.5, "was ill", "eve"),
        ("=1+1", "101", "115_sizes"): (3.0, "", "eve"),
    }
    before = (folder / decisions.FILE).read_bytes()
    for line, said in (("ann,101,conv1d_edge,1", "no results of 'ann'"),
                       ("too_late,101,conv1d_edge,21", "must be from 0 to 10"),
                       ("too_late,101,nothing,1", "has no 'nothing' in lab 101"),
                       ("too_late,101,conv1d_edge,many", "'many' is no number")):  # fmt: skip
        rows = f"student,lab,exercise,points\ntoo_late,101,conv1d_edge,3\n{line}\n"
        assert course(["points", str(folder), str(written(tmp_path, rows, "bad.csv"))]) == 2
        assert said in capsys.readouterr().err
        assert (folder / decisions.FILE).read_bytes() == before


def test_a_lab_that_is_held_shows_students_and_other_systems_no_points(whole, tmp_path):
    folder = tmp_path / "grades"
    shutil.copytree(whole.to / "grades", folder)
    path = folder / gradebook.COURSE
    path.write_text(path.read_text().replace("[labs.101]", "[labs.101]\nheld = true", 1))
    report.write(folder, tmp_path / "report")
    page = (tmp_path / "report/students/all_right.html").read_text()
    assert "The points of lab 101 are not released yet" in page and "conv1d_edge" not in page
    assert "squares" in page and "conv1d_edge" in (tmp_path / "report/index.html").read_text()
    (row,) = (r for r in csv.DictReader(io.StringIO(export.moodle(folder)))
              if r["Username"] == "all_right")  # fmt: skip
    assert (row["Lab 101"], row["Lab 101 feedback"], row["Puzzles (4711)"]) == ("", "", "8.0")
    made = json.loads(export.gradescope(folder, "all_right"))
    assert {test["name"][:3] for test in made["tests"]} == {"103"}
    assert ",conv1d_edge,pass,20.0" in export.csv(folder)


def test_canvas_and_moodle_get_a_column_for_each_lab(whole):
    rows = list(csv.DictReader(io.StringIO(export.canvas(whole.to / "grades"))))
    assert rows[0]["Student"].strip() == "Points Possible" and rows[0]["Lab 101"] == "42.0"
    by = {row["SIS User ID"]: row for row in rows}
    assert (by["all_right"]["Lab 101"], by["all_right"]["Puzzles (4711)"]) == ("20.0", "8.0")
    assert "not_on_the_roster" not in by
    rows = list(csv.DictReader(io.StringIO(export.moodle(whole.to / "grades"))))
    by = {row["Username"]: row for row in rows}
    assert "not_on_the_roster" not in by, "Moodle takes no file with a name that it does not know"
    assert by["stub"]["Lab 101"] == "0.0" and "not begun" in by["stub"]["Lab 101 feedback"]


def test_what_an_instructor_typed_in_nbgrader_stays(whole, monkeypatch, tmp_path):
    grade = SimpleNamespace(auto_score=None, manual_score=3.0, needs_manual_grade=True)
    comment = SimpleNamespace(auto_comment=None, manual_comment="see me")
    most: dict[str, float] = {}

    class Database:
        def __init__(self, address): ...
        def __enter__(self):
            return self

        def __exit__(self, *_): ...

        db = SimpleNamespace(commit=lambda: None)
        find_grade = staticmethod(lambda *_: grade)
        find_comment = staticmethod(lambda *_: comment)

        def update_or_create_grade_cell(self, name, *_, max_score, **more):
            most[name] = max_score

    api = ModuleType("nbgrader.api")
    api.Gradebook, api.MissingEntry, api.Grade = Database, LookupError, SimpleNamespace
    monkeypatch.setitem(sys.modules, "nbgrader", ModuleType("nbgrader"))
    monkeypatch.setitem(sys.modules, "nbgrader.api", api)
    assert export.nbgrader(whole.to / "grades", str(written(tmp_path, "", "gradebook.db"))) > 10
    assert grade.manual_score == 3.0 and comment.manual_comment == "see me"
    assert grade.auto_score is not None and comment.auto_comment.startswith("<pre>")
    assert (most["conv1d_edge"], most["115_sizes"], most["written"]) == (20, 6, 4)


def test_an_edited_figure_is_told(whole):
    page = (whole.to / "report/figures/101_115-sizes_1.html").read_text()
    assert "the samples that the course recorded, times 0.7" in page
    assert "A100-SXM4-80GB has compute capability 8.0" in page
    (name,) = re.findall(r'<img class="figure"[^>]* src="([^"]*)"', page)
    assert (whole.to / "report/figures" / name).stat().st_size > 10_000


def test_every_table_has_every_student(whole):
    for name in ("csv", "canvas", "moodle"):
        table = (whole.to / f"{name}.csv").read_text()
        rows = list(csv.reader(io.StringIO(table)))
        cells = {cell.removeprefix("'") for row in rows for cell in row}
        assert set(whole.expected) <= cells, name
        assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "@"))]
    for student in whole.expected:
        made = json.loads((whole.to / "gradescope" / f"{student}.json").read_text())
        points = sum(test["score"] for test in made["tests"])
        assert points == pytest.approx(whole.expected[student]), student
    (row,) = (
        row
        for row in csv.DictReader(io.StringIO((whole.to / "moodle.csv").read_text()))
        if row["Username"] == "all_twelve"
    )
    assert row["Puzzles (4711)"] == "26.0"
    assert row["Puzzles (4711) feedback"].count(": right, within its budget") == 12
