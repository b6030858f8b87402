"""Pictures of a launch: their data, what they show without JavaScript, and their limits."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers import bench
from helpers.kernel_cells import parse
from helpers.simulator import __main__ as cli
from helpers.simulator.explain import pictures
from helpers.simulator.explain.pictures import Replay, TooLarge, Why, Window
from helpers.simulator.explain.replays import replay_of
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


def test_without_javascript_numbers_fit_their_cells_and_what_is_wide_scrolls() -> None:
    made = replace(why(), output=replace(why().output, values=(1.00081234, -70001.5, 1e-9, 123456)))
    still = made.html().partition('<script type="application/json"')[0]
    (data,) = re.findall(r'svg\+xml;base64,([^"]*)"', still)
    drawn = re.findall(r'y="\d+">([^<]*)</text>', base64.b64decode(data).decode())
    assert drawn[-4:] == ["1", "-7e4", "1e-09", "123456"]
    assert len(re.findall(r'<div tabindex="0" role="region"[^>]*><(?:img|table)', still)) == 2


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
    assert data["orders"][0]["end"] == "The end. What must come between lines 2 and 3?"


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


REVERSE = """
__global__ void reverse(float* d, const float* x, int n)
{
    __shared__ float s[8];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * n + t];
    d[blockIdx.x * n + t] = s[n - 1 - t];
}
"""
CELL = parse("%%kernel reverse" + REVERSE)
BLUR = """
__global__ void blur(float* B, const float* A)
{
    __shared__ float tile[5][4];
    int tx = threadIdx.x, ty = threadIdx.y;
    tile[ty][tx] = A[4 * ty + tx];
    if (tx == 3) tile[ty][tx + 1] = A[4 * ty + 3];
    __syncthreads();
    B[4 * ty + tx] = tile[ty][tx] + tile[ty][tx + 1];
}
"""


def numbers(*shape: int) -> np.ndarray:
    return np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)


def turned(count: int = 8, grid: int = 1, **more) -> Replay:
    """Return the replay of a launch of REVERSE."""
    arrays = np.full(grid * count, np.nan, np.float32), numbers(grid * count)
    source = REVERSE.replace("s[8]", f"s[{count}]")
    return replay_of(
        source, "reverse", *arrays, np.int32(count), grid=(grid,), block=(count,), **more
    )


def stored(one: Replay, order: int, array: str) -> list:
    """Return what an array holds after an order."""
    after = one.memory_after(one.orders[order].frames)
    return list(next(window for window in after if window.name == array).values)


@pytest.mark.parametrize(("count", "grid", "shown"), [(8, 1, 0), (8, 2, 1), (64, 1, 0)])
def test_a_launch_with_a_race_is_played_in_two_orders(count: int, grid: int, shown: int) -> None:
    one = turned(count, grid, shown=(shown, 0, 0))
    assert one.title == "A race in reverse: nothing orders lines 6 and 7"
    own = slice(shown * count, (shown + 1) * count)
    right = numbers(grid * count)[own][::-1].tolist()
    first, other = (stored(one, k, "d")[own] for k in (0, 1))
    assert first == right or count > 32  # one warp after the other
    assert other not in (first, right) and set(other) <= {*right, None}
    assert len(one.html()) <= pictures.MOST_BYTES
    assert "lines 6 and 7" in repr(one) and "Nothing orders the two." in repr(one)


def test_threads_of_two_axes_stand_in_a_table() -> None:
    arrays = np.full((4, 4), np.nan, np.float32), numbers(4, 4)
    one = replay_of(BLUR, "blur", *arrays, grid=(1,), block=(4, 4))
    assert one.layout == (4, 4) and one.variables == ()
    assert "thread (0, 1) writes tile[1][0]. Thread (3, 0) writes it in line 7" in repr(one)
    assert [w.shape for w in one.memory] == [(4, 4), (4, 4), (5, 4)]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: turned(128), TooLarge, "128 threads, and a replay shows at most 64"),
        (lambda: turned(shown=(1, 0, 0)), ValueError, r"block \(1, 0, 0\) is not in the grid"),
        (lambda: bench.replay(REVERSE, grid=(1,), block=(8,)), TypeError, "run that cell, and"),
        (
            lambda: bench.replay(CELL, grid=(1,), block=(8,), changes=[("t9", "")]),
            ValueError,
            "reverse has no text 't9' to change",
        ),
    ],
)
def test_what_is_not_replayed(call, error, message) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_cell_is_replayed_with_changes() -> None:
    arrays = np.full(8, np.nan, np.float32), numbers(8)
    mended = ("    d[", "    __syncthreads();\n    d[")
    launch = {"grid": (1,), "block": (8,), "changes": [mended]}
    one = bench.replay(CELL, *arrays, np.int32(8), **launch)
    assert one.title == "What the threads of reverse do" and len(one.orders) == 1
    assert stored(one, 0, "d") == numbers(8)[::-1].tolist()


def test_the_command_writes_a_page_of_its_own(tmp_path: Path, capsys) -> None:
    file, page = tmp_path / "reverse.cu", tmp_path / "page.html"
    file.write_text(REVERSE)
    launch = ["--grid", "1", "--block", "8"]
    for one in ("out:float:8", "in:float:8:arange", "int:8"):
        launch += ["--arg", one]
    assert cli.main(["replay", str(file), *launch, "--output", str(page)]) == cli.HAS_FINDINGS
    assert str(page) in capsys.readouterr().out
    html = page.read_text()
    assert html.startswith("<!doctype html>") and len(html) <= pictures.MOST_BYTES
    still = html.partition('<script type="application/json"')[0]
    assert "<td>all threads</td><td>Line 6: thread 0 writes s[0]. Thread 7 reads it" in still
    assert not re.search(r'(src|href)="http', html)
    assert cli.main(["replay", str(file), *launch, "--show", "3"]) == cli.MISTAKE
    assert "block (3, 0, 0) is not in the grid" in capsys.readouterr().err
