"""Stubs are solutions without their gaps."""

from pathlib import Path

import pytest

from helpers import exercises
from helpers.exercises.judge import gaps
from helpers.exercises.judge.gaps import GapError

TEXT = """// %%kernel copy -DWIDTH=8
__global__ void copy(float* y, const float* x)
{
    //> Copy the thread's cell:
    //> one line.
    y[threadIdx.x] = x[threadIdx.x];
    //<
    //>
    //= float a = 0;
    float a = x[0];
    //<
}
"""
STUB = """// %%kernel copy -DWIDTH=8
__global__ void copy(float* y, const float* x)
{
    // Copy the thread's cell:
    // one line.
    float a = 0;
}
"""
SOLUTION = """// %%kernel copy -DWIDTH=8
__global__ void copy(float* y, const float* x)
{
    // Copy the thread's cell:
    // one line.
    y[threadIdx.x] = x[threadIdx.x];
    float a = x[0];
}
"""


def test_a_stub_has_the_words_of_a_gap_and_a_solution_its_code():
    assert gaps.stub(TEXT) == STUB
    assert gaps.solution(TEXT) == SOLUTION


def test_gaps_in_python_have_its_comments():
    text = "total = 0\n#> Add up.\nfor n in range(9):\n    total += n\n#<\n"
    assert gaps.stub(text) == "total = 0\n# Add up.\n"
    assert gaps.solution(text) == "total = 0\n# Add up.\nfor n in range(9):\n    total += n\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a\n//> b\nc\n", "line 2 has no end"),
        ("a\n//> b\nc\n//> d\n//<\n", "line 4: the gap of line 2 has no end"),
        ("a\n//<\n", "line 2: no gap has begun"),
        ("//> a\n//<\n", "holds no code"),
    ],
)
def test_a_gap_that_is_none_is_told_by_its_line(text, says):
    with pytest.raises(GapError, match=says):
        gaps.stub(text)


def test_a_solution_without_a_gap_makes_no_stub():
    with pytest.raises(GapError, match="has no gap"):
        gaps.stub("int a;\n")


def test_every_stub_is_made_of_its_solution():
    """Of two files, one would be changed without the other."""
    folder = Path(exercises.__file__).parent
    assert sorted(folder.rglob("stub.*")) == []


@pytest.mark.parametrize("name", exercises.names())
def test_an_exercise_shows_no_mark(name):
    one = exercises.find(name)
    assert not [mark for mark in ("//>", "//<", "//=", "#>", "#<") if mark in one.stub]
    assert not [mark for mark in ("//>", "//<", "//=", "#>", "#<") if mark in one.solution]
