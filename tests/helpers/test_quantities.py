"""A count with its noun, and a share."""

from __future__ import annotations

import pytest

from helpers.quantities import percent, quantity


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 tiles"), (1, "1 tile"), (2, "2 tiles"), (-1, "-1 tiles"), (1234567, "1,234,567 tiles")],
)
def test_a_noun_has_its_plural_unless_the_count_is_one(count, words):
    assert quantity(count, "tile") == words


def test_a_plural_of_another_form():
    assert [quantity(n, "launch", "launches") for n in (1, 2)] == ["1 launch", "2 launches"]


def test_a_share_has_whole_percents():
    shares = 0, 0.004, 0.006, 0.1105, 0.743, 1, 1.2
    words = ["0 %", "less than 1 %", "1 %", "11 %", "74 %", "100 %", "120 %"]
    assert list(map(percent, shares)) == words
