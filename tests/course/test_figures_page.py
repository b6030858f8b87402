"""The page on which people grade figures: decisions are kept as they are made, for this computer
alone.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from helpers.course import decisions, serve, svg
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
