"""Conditions, indices, names and values of lines of a source."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.simulator.explain import trail
from helpers.simulator.explain.source_text import NoValue, Source

ONE = """\
#define RADIUS (FILTER_WIDTH / 2)   // a comment
if (0 <= i + k && (i < n || !last)) sum += N[i - 1] * filter[min(k, 2)];
for (int c = 0; c < RADIUS + 1; ++c) {
tile[y][x + 1] = c >= 0 /* no */ && c < n ? N[c] : 0.0f;
while (d > 0)
const float v = use(
    i % 2 ? N[i] : 0, i < 3 ? 1 : 2);
P[i] = N[N[i]];
"""
SOURCE = Source.of(ONE, ("-DFILTER_WIDTH=5", "--fmad=false"))


@pytest.mark.parametrize(
    ("line", "want"),
    [
        (2, ["0 <= i + k && (i < n || !last)"]),
        (3, ["c < RADIUS + 1"]),
        (4, ["c >= 0          && c < n"]),
        (5, ["d > 0"]),
        (6, ["i % 2", "i < 3"]),
        (8, []),
        (99, []),
    ],
)
def test_conditions(line: int, want: list[str]) -> None:
    assert SOURCE.conditions(line) == want


def test_indices_and_parts() -> None:
    assert SOURCE.indices(2, "N") == ["i - 1"] and SOURCE.indices(2, "filter") == ["min(k, 2)"]
    assert SOURCE.indices(4, "tile") == ["y][x + 1"] and SOURCE.indices(8, "N") == ["N[i]", "i"]
    assert SOURCE.parts("0 <= i + k && (i < n || !last)") == ["0 <= i + k", "i < n", "!last"]
    assert SOURCE.names("c < RADIUS + threadIdx.x * (int)p.y + max(c, k)") == [
        "c", "threadIdx.x", "p.y", "k"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("0 <= i + k", True),
        ("0 <= i < n", True),  # as C reads it
        ("i + 2 * RADIUS", 3),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("(float)7 / 2", 3.5),
        ("i < 0 ? 10 : 0x1f", 10),
        ("1 << 3 | 1", 9),
        ("threadIdx.x * 4u + min(k, 2)", 14),
        ("k == 2 && !(i > 0) || false", True),
    ],
)
def test_values(text: str, want: object) -> None:
    assert SOURCE.value(text, {"i": -1, "k": 2, "n": 5, "threadIdx.x": 3}) == want


@pytest.mark.parametrize("text", ["N[i]", "j", "sizeof(int)", "f(i)", "i +", "1 / 0", "p->x", ")"])
def test_what_has_no_value(text: str) -> None:
    with pytest.raises(NoValue):
        SOURCE.value(text, {"i": 1})


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("i - 1 >= 0", True),
        ("first + threadIdx.x >= 0", True),  # -2 + 1, as an unsigned number
        ("first + threadIdx.x < n", False),
        ("(int)(i - 1) >= 0", False),
        ("(int)threadIdx.x + first >= 0", False),
        ("first >= 0", False),
        ("first >= 0u", True),
        ("wide + first < 0", True),  # 64 bits, signed, hold all 32 bits
        ("wide + i - 1 < 0", True),
        ("(size_t)i - 1 > n", True),
        ("(i - 1) / 2", 2**31 - 1),
        ("min(i - 1, n)", 5),
        ("-1.0f * i >= 0.0f", True),
    ],
)
def test_unsigned_numbers_count_as_in_cuda(text: str, want: object) -> None:
    values = {"i": np.uint32(0), "first": np.int32(-2), "n": np.int32(5), "wide": np.int64(0)}
    assert SOURCE.value(text, {**values, "threadIdx.x": 1}) == want


def test_an_unsigned_index_below_0_stays_one() -> None:
    assert SOURCE.value("threadIdx.x + 1 - j", {"threadIdx.x": 0, "j": np.int32(2)}) == -1


@pytest.mark.parametrize(
    ("text", "values", "goal", "want"),
    [
        ("i - 1 + j", {"i": 4, "j": 0}, 5, {"i": 6, "j": 2}),
        ("y * 8 + x", {"y": 1, "x": 3}, 27, {"y": 3, "x": 19}),
        ("y * 8 + x", {"y": 1, "x": 3}, 13, {"x": 5}),  # 2 cells are no row
        # each of two indices: what moves one alone cannot move the other
        ("y][x + y", {"x": 1, "y": 2}, (2, 5), {"x": 3}),
        ("y][x + y", {"x": 1, "y": 2}, (3, 4), {"y": 3}),
        ("pixel % width", {"pixel": 7, "width": 4}, 2, {"width": 5}),
        # the goal is there, and nothing that has a value leads elsewhere
        ("i", {"i": 4}, 4, {}),
        ("next(i)", {"i": 4}, 5, {}),
        ("i", {"i": 2.0}, 5, {}),
    ],
)
def test_values_that_an_index_needs(
    text: str, values: dict[str, float], goal: int | tuple[int, ...], want: dict[str, int]
) -> None:
    assert trail.needed(SOURCE, text, values, goal) == want
