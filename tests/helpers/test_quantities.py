"""A count with its noun."""

from __future__ import annotations

import pytest

from helpers.quantities import quantity


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 tiles"), (1, "1 tile"), (2, "2 tiles"), (-1, "-1 tiles"), (1234567, "1,234,567 tiles")],
)
def test_a_noun_has_its_plural_unless_the_count_is_one(count, words):
    assert quantity(count, "tile") == words


def test_a_plural_of_another_form():
    assert [quantity(n, "launch", "launches") for n in (1, 2)] == ["1 launch", "2 launches"]
