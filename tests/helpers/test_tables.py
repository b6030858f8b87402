"""Tables as text and in Markdown: by hand, and what they refuse."""

import pytest

from helpers import tables


def test_names_to_the_left_and_numbers_to_the_right():
    assert tables.text(["kernel", "ms"], [["a", "12.5"], ["conv1d_tiled", "3"]]).splitlines() == [
        "kernel          ms",
        "a             12.5",
        "conv1d_tiled     3",
    ]


def test_names_of_columns_in_several_lines_end_together():
    assert tables.text(["kernel", "time\nms", "of\nall\nruns"], [["a", "1", "2"]]).splitlines() == [
        "                of",
        "        time   all",
        "kernel    ms  runs",
        "a          1     2",
    ]


def test_the_columns_on_the_left_are_chosen_and_lines_end_without_spaces():
    assert tables.text(["n", "word"], [["1", "a"], ["10", "abc"]], left=[1]).splitlines() == [
        " n  word",
        " 1  a",
        "10  abc",
    ]


def test_markdown_by_hand():
    assert tables.markdown(["kernel", "ms"], [["a", "12.5"]]).splitlines() == [
        "| kernel |   ms |",
        "| ------ | ---: |",
        "| a      | 12.5 |",
    ]


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match=r"the row \['a'\] does not have 2 cells, but 1"):
        tables.text(["kernel", "ms"], [["a"]])
