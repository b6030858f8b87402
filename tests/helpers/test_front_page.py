"""The pictures of the front page show what the simulator and the records say today."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from helpers.tools import front_page

ROOT = Path(__file__).resolve().parents[2]


def test_the_moving_picture_tells_todays_replay():
    with Image.open(front_page.FOLDER / front_page.REPLAY) as picture:
        told, count = picture.info["comment"].decode(), picture.n_frames
    frames = front_page.frames_of(front_page.replayed())
    assert told == " ".join(words for _, words in frames) and count == len(frames)
    assert "B: Line 9: thread 1 reads tile[1]. Thread 0 writes it in line 5, later." in told


def test_a_cell_without_a_value_is_drawn_as_one():
    """P[1] of the other order: its thread has read a cell that nobody had written."""
    *_, (figure, _) = front_page.frames_of(front_page.replayed())
    texts = [text.get_text() for text in figure.axes[0].texts]
    at = texts.index("P")
    assert texts[at + 1 : at + 5] == ["3", "?", "9", "7"]


def test_the_picture_of_times_is_that_of_todays_record():
    with Image.open(front_page.FOLDER / front_page.SHARES) as picture:
        drawn = picture.info[front_page.TEXT]
    figure, words = front_page.shares()
    assert drawn == words
    assert "Recorded on" in words and "no GPU here" not in words
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert "conv1d_vector" in names and not any("yours" in name for name in names)


def test_the_front_page_shows_them():
    shown = {
        "README.md": (front_page.REPLAY, front_page.LAYERS),
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
