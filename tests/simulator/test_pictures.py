"""Pictures of a launch: their data, what they show without JavaScript, and their limits."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from helpers.simulator.explain import pictures
from helpers.simulator.explain.pictures import Replay, TooLarge, Why, Window
from helpers.simulator.explain.scenes import Access, Frame, Order, Race, Term, WrongCell

SOURCE = ("// </script> <b>", "if (threadIdx.x > 0) sum += N[i - 1] * f[0];", "P[i] = sum;")


def why(width: int = 4, cells: int = 1) -> Why:
    """Return the picture of an output that misses one of two terms."""
    terms = (
        Term("N[0]*f[0]", "missing", 2.0, (("N", 0), ("f", 0))),
        Term("N[1]*f[1]", "added", 6.0, (("N", 1), ("f", 1))),
    )
    causes = tuple(
        WrongCell(k, 6.0, 8.0, terms, "thread 0", (2,), "`threadIdx.x > 0` is false")
        for k in range(cells)
    )
    values = tuple(float(k) for k in range(width))
    return Why(
        "P[0] misses a term: line 2, `threadIdx.x > 0` is false.",
        ("P[0] = 6; it should be 8.",),
        "n = 4",
        SOURCE,
        (Window("N", "input", (1, width), values), Window("f", "input", (1, 2), (1.0, 2.0))),
        Window("P", "your output", (1, width), (6.0, None, *values[2:])),
        (8.0, 1.0, *values[2:]),
        tuple(range(cells)),
        causes,
    )


def reverse(count: int) -> Replay:
    """Return a replay of a kernel that turns an array around without a barrier, in two orders."""
    everyone, half = tuple(range(count)), count // 2

    def frames(*groups: tuple[int, ...]) -> tuple[Frame, ...]:
        made: list[Frame] = []
        for group in groups:
            partners = tuple(count - 1 - t for t in group)
            races = tuple(
                Race(t, count - 1 - t, "s", count - 1 - t, (3, 2), ("r", "w"), len(groups) > 1)
                for t in group
            )
            made += [
                Frame(2, group, {"t": group}, (Access("s", "w", group, group),)),
                Frame(
                    3,
                    group,
                    {},
                    (Access("s", "r", partners), Access("d", "w", group, partners)),
                    races,
                ),
            ]
        return tuple(made)

    none, right = (None,) * count, tuple(reversed(everyone))
    return Replay(
        "Thread 0 reads s in line 3.",
        "one block",
        SOURCE,
        tuple(map(str, everyone)),
        (1, count),
        ("t",),
        (Window("d", "global", (1, count), none), Window("s", "shared", (1, count), none)),
        (
            Order("A", "all threads together", frames(everyone)),
            Order("B", "half of them run ahead", frames(everyone[:half], everyone[half:])),
        ),
        ("d", right),
    )


def data_of(html: str) -> dict:
    """Return the JSON inside a picture."""
    (text,) = re.findall(r'<script type="application/json" class="data">(.*?)</script>', html, re.S)
    return json.loads(text)


def test_why_holds_its_data_and_says_it_without_javascript() -> None:
    html = why().html()
    (cause,) = data_of(html)["causes"]
    assert cause["terms"][0] == ["N[0]*f[0]", "missing", 2, [["N", 0], ["f", 0]]]
    assert data_of(html)["src"] == list(SOURCE) and data_of(html)["main"] == "N"
    still = html.partition('<script type="application/json"')[0]
    assert "P[0] misses a term: line 2, <code>threadIdx.x &gt; 0</code> is false." in still
    assert re.search(r"<td>P\[0\]</td><td>6</td><td>8</td><td>N\[1\]\*f\[1\]</td><td>N\[0\]", still)
    (image,) = re.findall(r'alt="([^"]*)" src="data:image/svg\+xml;base64,([^"]*)"', still)
    assert image[0] == "P[0] adds N[1]*f[1]. Missing: N[0]*f[0]. Too much: nothing."
    assert 'stroke-dasharray="5 4"' in base64.b64decode(image[1]).decode()


def test_nothing_ends_the_script_early() -> None:
    html = why().html()
    assert html.count("</script>") == html.count("<script") == 2


def test_replay_holds_frames_and_races() -> None:
    data = data_of(reverse(8).html())
    second, first = data["orders"][1]["frames"][1], data["orders"][0]["frames"][0]
    regular = {"from": 0, "by": 1}
    assert first["m"] == "ff" and first["do"] == [["s", "w", regular, regular]]
    assert second["m"] == "f" and second["race"][0]["later"] is True
    assert second["race"][0]["say"] == (
        "Line 3: thread 0 reads s[7]. Thread 7 writes it in line 2, later. Nothing orders the two."
    )
    assert data["orders"][0]["end"] == "The end. What must stand between lines 2 and 3?"


@pytest.mark.parametrize("count", [8, 32, 64])
def test_sizes(count: int) -> None:
    assert len(reverse(count).html()) <= pictures.MOST_BYTES


def test_long_replays_keep_the_frames_around_the_race() -> None:
    one = reverse(8)
    before = tuple(Frame(1, tuple(range(8))) for _ in range(500))
    order = replace(one.orders[0], frames=before + one.orders[0].frames)
    frames = data_of(replace(one, orders=(order,)).html())["orders"][0]["frames"]
    assert len(frames) <= pictures.MOST_FRAMES and "race" in frames[-1]


def test_what_is_too_large() -> None:
    with pytest.raises(TooLarge, match="65 threads, and a replay shows at most 64"):
        reverse(65).html()
    with pytest.raises(TooLarge, match="too large for a picture"):
        why(20_000).html()
    rng = np.random.default_rng(0)
    many = replace(
        why(400, 200), inputs=(Window("N", "input", (1, 400), tuple(rng.random(400).tolist())),)
    )
    assert len(many.html()) <= pictures.MOST_BYTES
    assert 0 < len(data_of(many.html())["causes"]) < 200
