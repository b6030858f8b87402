"""The pictures of the front page show what the simulator and the records say today."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from helpers.tools import front_page

ROOT = Path(__file__).resolve().parents[2]


def test_the_picture_has_the_words_of_todays_finding():
    with Image.open(front_page.FOLDER / front_page.FINDING) as picture:
        assert picture.info[front_page.TEXT] == str(front_page.race())


def test_the_picture_of_times_is_that_of_todays_record():
    with Image.open(front_page.FOLDER / front_page.SHARES) as picture:
        drawn = picture.info[front_page.TEXT]
    figure, words = front_page.shares()
    assert drawn == words
    assert "Recorded on" in words and "no GPU here" not in words
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert "conv1d_vector" in names and not any("yours" in name for name in names)


def test_both_lines_of_the_race_are_marked():
    finding = front_page.race()
    figure = front_page.picture_of(finding)
    bands = {round(one.get_y() + 0.5) for one in figure.axes[0].patches}
    assert bands == {finding.line, finding.other_line}
    assert len(front_page.KERNEL.splitlines()) > finding.line


def test_the_front_page_shows_them():
    shown = {
        "README.md": (front_page.FINDING, front_page.LAYERS),
        "labs/README.md": (front_page.MAPS, front_page.SHARES),
    }
    for page, names in shown.items():
        text = (ROOT / page).read_text(encoding="utf-8")
        assert all(f"data/pictures/{name}" in text for name in names)
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) < 600


def test_the_chart_of_layers_is_that_of_todays_record():
    with Image.open(front_page.FOLDER / front_page.LAYERS) as picture:
        drawn = picture.info[front_page.TEXT]
    figure, words = front_page.layers()
    assert drawn == words and "cuDNN 6.99 ms" in words
    assert figure.axes[0].get_xlim()[0] == 0  # lengths of bars can be compared
