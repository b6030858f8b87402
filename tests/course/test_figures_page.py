"""The page on which people grade figures: decisions are kept as they are made, for this computer
alone.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from matplotlib import pyplot

from helpers.bench import png
from helpers.course import box, decisions, grades, pictures, serve, svg
from helpers.course.decisions import Decision
from tests.support import ROOT

TOKEN = "a-word"
LAB, NAME = "101", "115_sizes"
HERE = {"base_url": "http://127.0.0.1:8765"}


@pytest.fixture
def folder(whole, tmp_path) -> Path:
    """A graded class of its own."""
    copy = tmp_path / "grades"
    shutil.copytree(whole.to / "grades", copy)
    return copy


@pytest.fixture
def page(folder):
    return serve.application(serve.Class(folder), TOKEN, "ann").test_client()


@pytest.fixture
def student(folder) -> str:
    """One who handed in the figure."""
    (question,) = (one for one in serve.Class(folder).read()[1] if one.name == NAME)
    return question.cards[0].names[0]


def decide(page, student: str, line: int = 0, **more):
    given = {"lab": LAB, "of": NAME, "who": "ann", "seen": {student: line}, **more}
    return page.post(f"/{TOKEN}/decide", json=given, **HERE)


@pytest.mark.parametrize(
    ("path", "base"),
    [
        ("/", "http://127.0.0.1"),
        ("/another-word/", "http://127.0.0.1"),
        (f"/{TOKEN}/", "http://halo.example"),
        (f"/{TOKEN}/decide", "http://halo.example"),
    ],
)
def test_only_this_computer_with_the_secret_word_gets_an_answer(page, path, base):
    assert page.get(path, base_url=base).status_code == 403


def test_every_question_is_listed_with_how_far_it_is(page, student):
    text = page.get(f"/{TOKEN}/", **HERE).get_data(as_text=True)
    assert NAME in text and re.search(r"\b0 of \d+", text)
    assert decide(page, student, points=2).status_code == 200
    assert re.search(r"\b1 of \d+", page.get(f"/{TOKEN}/", **HERE).get_data(as_text=True))


def test_a_question_shows_its_figures_as_files_and_runs_no_foreign_script(page, student):
    listed = page.get(f"/{TOKEN}/", **HERE).get_data(as_text=True)
    row = next(line for line in listed.splitlines() if NAME in line)
    place = re.search(r'href="([0-9]+/1)"', row)[1]
    path = f"/{TOKEN}/{place}"
    answer = page.get(path, **HERE)
    text = answer.get_data(as_text=True)
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    assert "data:image/png" not in text and len(text) < 200_000
    picture = re.search(rf'src="(/{TOKEN}/picture/[^"]*)"', text)[1]
    shown = page.get(picture, **HERE)
    assert shown.mimetype in ("image/png", "image/svg+xml")
    assert "sandbox" in shown.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "name", ["../.seed", "..%2f.seed", ".decisions.jsonl", "x.html", "nothing.png"]
)
def test_nothing_but_pictures_is_served(page, name):
    assert page.get(f"/{TOKEN}/picture/{name}", **HERE).status_code == 404


def test_a_decision_is_in_the_file_at_once_and_can_be_undone(page, folder, student):
    assert decide(page, student, points=2.5, comment="axes?").status_code == 200
    one = decisions.load(folder)[student, LAB, NAME]
    assert (one.points, one.comment, one.who) == (2.5, "axes?", "ann") and one.at
    undone = page.post(f"/{TOKEN}/undo", json={"who": "ann"}, **HERE)
    assert undone.status_code == 200
    last = decisions.load(folder).get((student, LAB, NAME))
    assert last is None or last.points is None


def test_a_second_grader_overwrites_nothing(page, folder, student):
    assert decide(page, student, points=3, who="ann").status_code == 200
    late = decide(page, student, points=1, who="bob")  # has not seen ann's line
    assert late.status_code == 409 and "ann has decided" in late.json["said"]
    assert decisions.load(folder)[student, LAB, NAME].points == 3
    line = late.json["now"][0]["line"]
    assert decide(page, student, line, points=1, who="bob").status_code == 200
    since = page.get(f"/{TOKEN}/since/{line}", **HERE).json["decisions"]
    assert [(one["who"], one["points"]) for one in since] == [("bob", 1)]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"points": 3.5}, "must be a number from 0 to 3"),
        ({"points": -1}, "must be a number from 0 to 3"),
        ({"points": True}, "must be a number from 0 to 3"),
        ({"points": "2"}, "must be a number from 0 to 3"),
        ({"points": 1, "items": ["no such item"]}, "must be names of"),
        ({"points": 1, "comment": "x" * 6000}, "at most 5,000 characters"),
        ({"points": 1, "who": ""}, "must be a name"),
        ({"points": 1, "of": "no_figure"}, "there is no question"),
        ({"points": 1, "seen": {"nobody": 0}}, "must name students"),
        ({"points": 1, "items": [["axes"]]}, "must be names of"),
        ({}, "nothing is decided"),
    ],
)
def test_what_is_no_decision_is_refused_and_keeps_nothing(page, folder, student, more, said):
    before = decisions.history(folder)
    answer = decide(page, student, **more)
    assert answer.status_code == 400 and said in answer.json["said"]
    assert decisions.history(folder) == before


def test_a_form_of_another_site_decides_nothing(page, folder):
    before = decisions.history(folder)
    sent = page.post(f"/{TOKEN}/decide", data={"points": "3"}, **HERE)
    assert sent.status_code == 400 and decisions.history(folder) == before


def test_a_program_that_is_killed_loses_nothing(folder, student):
    command = [sys.executable, "-m", "helpers.course", "figures", str(folder), "--serve"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env, cwd=ROOT)
    try:
        assert program.stdout is not None
        address = re.search(r"http://127\.0\.0\.1:\d+/[\w-]+/", program.stdout.readline())[0]
        given = {"lab": LAB, "of": NAME, "who": "ann", "seen": {student: 0}, "points": 1.5}
        request = urllib.request.Request(
            f"{address}decide", json.dumps(given).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert answer.status == 200
    finally:
        program.send_signal(signal.SIGKILL)
        program.wait()
    assert decisions.load(folder)[student, LAB, NAME].points == 1.5


def test_what_a_page_does_not_send_stays(page, folder, student):
    line = decide(page, student, points=2, comment="neat").json["decisions"][0]["line"]
    assert decide(page, student, line, comment="axes?").status_code == 200
    one = decisions.load(folder)[student, LAB, NAME]
    assert (one.points, one.comment) == (2, "axes?")


def test_undo_goes_back_step_by_step_and_not_behind_another_grader(tmp_path):
    def points() -> float | None:
        found = decisions.load(tmp_path).get(("ann", LAB, NAME))
        return found.points if found else None

    for value in (1, 2, 3):
        decisions.decide(tmp_path, [Decision("ann", LAB, NAME, value)], "eve")
    for value in (2, 1, None):
        decisions.undo(tmp_path, "eve")
        assert points() == value
    with pytest.raises(grades.GradesError, match="eve has nothing to undo"):
        decisions.undo(tmp_path, "eve")
    for value, who in ((1, "eve"), (2, "bob"), (3, "eve")):
        decisions.decide(tmp_path, [Decision("ann", LAB, NAME, value)], who)
    decisions.undo(tmp_path, "eve")
    assert points() == 2
    with pytest.raises(decisions.Changed):
        decisions.undo(tmp_path, "eve")
    assert points() == 2


def test_lines_that_are_cut_short_or_mended_are_read_as_they_stand(tmp_path):
    def points() -> list[float | None]:
        return [one.points for one in decisions.history(tmp_path)]

    path = tmp_path / decisions.FILE
    for value in (1, 2):
        decisions.decide(tmp_path, [Decision("ann", LAB, NAME, value)])
    with path.open("ab") as file:
        file.write(b'{"student": "ann", "la')  # its program was killed
    assert points() == [1, 2]
    decisions.decide(tmp_path, [Decision("ben", LAB, NAME, 3)])
    assert points() == [1, 2, 3]
    path.write_bytes(path.read_bytes().replace(b'"points": 1', b'"points": 5'))
    assert points() == [5, 2, 3]
    path.write_bytes(b"no decision\n" + path.read_bytes())
    with pytest.raises(grades.GradesError, match="line 1 is no decision"):
        points()


# ---- pictures ----


def drawn(data: bytes, kind: str = "image/png") -> dict[str, Any]:
    """A cell's output with a picture."""
    return {"output_type": "display_data", "data": {kind: base64.b64encode(data).decode()}}


def test_plots_in_outputs_and_files_answer_the_figures_that_name_them(tmp_path):
    one, two, three = (png.SIGNATURE + letter for letter in (b"1", b"2", b"3"))
    vector = {"data": {"image/svg+xml": [SVG.format('<path d="M0 0L1 1"/>')]}}
    code = {"cell_type": "code", "source": "plot()"}
    cells = [
        {**code, "id": "by_id", "outputs": [drawn(one), vector]},
        {**code, "id": "x", "metadata": {"tags": ["by_tag"]}, "outputs": [drawn(two)]},
        {**code, "id": "y", "metadata": {"tags": ["The_Same"]}, "outputs": [drawn(three)]},
        {**code, "id": "photo", "outputs": [drawn(b"x", "image/jpeg")]},
        {**code, "id": "nobody_asked", "outputs": [drawn(png.SIGNATURE)]},
    ]
    book, file = tmp_path / "x.ipynb", tmp_path / "by_file.png"
    book.write_text(json.dumps({"cells": cells}))
    file.write_bytes(three)  # what the cell shows, too
    found = pictures.of_lab([book], [file], tmp_path / "grades")
    expected = ("by_id", "by_tag", "by_file", "the_same", "photo", "missing")
    by = {name: [row["picture"][-4:] for row in rows]
          for name, rows in pictures.answers(found, expected).items()}  # fmt: skip
    assert by == {"by_id": [".png", ".svg"], "by_tag": [".png"], "by_file": [".png"],
                  "the_same": [".png"], "photo": [""], "missing": [], "": [".png"]}  # fmt: skip
    (photo,) = pictures.answers(found, ["photo"])["photo"]
    assert "image/jpeg" in photo["problem"]


def test_more_pictures_than_are_kept_are_told(tmp_path):
    files = [tmp_path / f"{k}.png" for k in range(pictures.MOST + 3)]
    for k, file in enumerate(files):
        file.write_bytes(png.SIGNATURE + bytes([k]))
    found = pictures.of_lab([], files, tmp_path / "grades")
    assert len(found) == pictures.MOST and found[-1]["name"] == "4 more pictures"
    assert f"the first {pictures.MOST}" in found[-1]["problem"]


def plot(path: Path, **more: Any) -> None:
    """Save a plot. more: what is not as in others."""
    how = {"title": "a", "values": (1, 2, 4), "label": "ms", "dpi": 100, **more}
    figure, axes = pyplot.subplots(figsize=(6, 4))
    axes.plot(how["values"], "o-", label="kernel")
    axes.set(title=f"Time of {how['title']}", xlabel="n", ylabel=how["label"], ylim=(0, 5))
    figure.savefig(path, dpi=how["dpi"], metadata={"Comment": path.name})
    pyplot.close(figure)


def test_figures_are_shown_once_if_nothing_but_their_titles_differ(tmp_path):
    try:
        level = box.find_level()
    except box.NoBox as error:
        pytest.skip(str(error).splitlines()[0])
    alone: tuple[dict[str, Any], ...] = (
        {"values": (1, 2, 4.1)}, {"values": (1, 2.2, 4)}, {"label": ""}, {"label": "s"},
        {"dpi": 130},
    )  # fmt: skip
    files = [tmp_path / f"{k}.png" for k in range(4 + len(alone))]
    for file, more in zip(files, ({}, {}, {"title": "another"}, {}, *alone), strict=True):
        plot(file, **more)
    found = pictures.of_lab([], files, tmp_path)
    found[3]["claim"] = {"rows": [{"claimed_ms": 1.0}], "problems": []}
    assert len({one["picture"] for one in found}) == len(files)
    pictures.look_at(tmp_path, level, [one["picture"] for one in found])
    rows = [[one] for one in found]
    assert pictures.folds(rows, tmp_path) == [[0, 1, 2], *([k] for k in range(3, len(files)))]
    assert pictures.folds([[], [], [{"picture": ""}], [{"picture": ""}]], tmp_path) == [
        [0], [1], [2], [3],
    ]  # fmt: skip


SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">{}</svg>'


@pytest.mark.parametrize(
    "unsafe",
    [
        "<script>alert(1)</script>",
        '<rect width="1" onload="alert(1)"/>',
        "<foreignObject><p>x</p></foreignObject>",
        '<a xlink:href="javascript:alert(1)"><text>x</text></a>',
        '<image xlink:href="http://halo.example/x.png"/>',
        '<image xlink:href="data:image/svg+xml;base64,PHN2Zz4="/>',
        '<use xlink:href="http://halo.example/x.svg#a"/>',
        '<rect style="fill:url(http://halo.example/x)"/>',
        "<style>@import 'http://halo.example/x.css';</style>",
        '<animate attributeName="x" to="1"/>',
    ],
)
def test_of_an_svg_the_drawing_alone_is_left(unsafe):
    made = svg.safe(SVG.format(f'<path d="M0 0L1 1"/>{unsafe}').encode()).decode()
    assert 'd="M0 0L1 1"' in made
    for word in (
        "script",
        "alert",
        "onload",
        "halo.example",
        "foreignObject",
        "svg+xml",
        "animate",
    ):
        assert word not in made


@pytest.mark.parametrize(
    "data",
    [b"", b"<html></html>", b"<svg", b'<!DOCTYPE svg [<!ENTITY a "b">]><svg>&a;</svg>'],
)
def test_what_is_no_svg_is_refused(data):
    with pytest.raises(svg.UnsafeSvg):
        svg.safe(data)
