"""Why an answer is wrong: the causes that are told of wrong answers; right ones have none."""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace

import pytest

from helpers import exercises, kernel_cells
from helpers.exercises.judge import exercise, explained, mutants, stories
from helpers.exercises.judge.verdict import ExerciseError, Verdict
from helpers.simulator.explain import pictures, story, words
from tests.exercises import edited, right, text_of

# Exercise, edits of its solution, kind of the cause, line of the %%kernel cell, sentence.
WRONG: list[tuple[str, tuple[tuple[str, str], ...], str, int, str]] = [
    (
        "conv1d_basic",
        (("cell >= 0 && cell < n", "cell > 0 && cell < n"),),
        "decision",
        15,
        "The first 2 cells of P lack a term: line 15, `cell > 0 && cell < n` is false with "
        "cell = 0, n = 6.",
    ),
    (
        "conv1d_basic",
        (("cell >= 0 && cell < n", "0 <= cell < n"),),
        "decision",
        15,
        "Thread 0 reads N[-1]: line 15, `0 <= cell < n` is true with cell = -1, n = 2.",
    ),
    (
        "conv1d_basic",
        (("cell >= 0 && cell < n", "cell >= 0 && cell < n && (j > 0 || threadIdx.x > 0)"),),
        "decision",
        15,
        "P[4] lacks N[3]*filter[0]: line 15, `cell >= 0 && cell < n && (j > 0 || threadIdx.x > 0)` "
        "is false with cell = 3, n = 6, j = 0, threadIdx.x = 0.",
    ),
    (
        "conv1d_basic",
        (("filter[j]", "filter[2 - j]"),),
        "index",
        16,
        "Line 16 reads filter[0] where filter[2] belongs: `filter[2 - j]` with j = 2.",
    ),
    (
        "conv1d_basic",
        (("blockIdx.x * blockDim.x + threadIdx.x", "blockIdx.x + threadIdx.x * blockDim.x"),),
        "variable",
        5,
        "Line 5, `i = blockIdx.x + threadIdx.x * blockDim.x`, gives thread 1 i = 4; 1 belongs "
        "there.",
    ),
    (
        "axpy_basic",
        (("i < n", "i < n - 1"),),
        "decision",
        8,
        "No thread stores y[2]: line 8, `i < n - 1` is false with i = 2, n = 3.",
    ),
    (
        "axpy_basic",
        (("i < n", "i <= n"),),
        "decision",
        8,
        "Thread 3 reads x[3]: line 8, `i <= n` is true with i = 3, n = 3.",
    ),
    (
        "block_sums",
        (("stride >= 1;", "stride > 1;"),),
        "decision",
        12,
        "sums[0] lacks N[1]: line 12, `t < 32 && stride > 1` is false with t = 0, stride = 1.",
    ),
    (
        "conv1d_tiled_steps",
        (("TILE_WIDTH + 2 * RADIUS; s", "TILE_WIDTH + RADIUS; s"),),
        "unset",
        0,
        "",
    ),
    ("deal_cells", (("__syncthreads();", "__syncthreads;"),), "race", 0, ""),
    (  # another line's fault would explain the first output as well
        "conv1d_basic",
        (("i - 1 + j", "i + j"),),
        "index",
        16,
        "Line 16 reads N[1] where N[0] belongs: `N[cell]` with cell = 1.",
    ),
    (  # what a thread reads is right; where it stores is not
        "transpose",
        (("column < height && row < width", "x < width && y < height"),),
        "decision",
        14,
        "No thread stores P[2][1]: line 14, `x < width && y < height` is false with x = 1, "
        "width = 3, y = 2, height = 2.",
    ),
    (  # the condition that is there is no fault
        "axpy_basic",
        (("i < n", "true"),),
        "unguarded",
        9,
        "Thread 3 has no output, but nothing keeps it from line 9, where it reads x[3].",
    ),
    (  # many steps: only some of the wrong cells are followed
        "conv2d_patch",
        (("r < 8", "r < 7"),),
        "decision",
        13,
        "Row 1 of y lacks 7 terms: line 13, `r < 7` is false with r = 7.",
    ),
    (  # all outputs are right, but for what no thread has stored
        "rung",
        (("if (m < maps) sum[m]", "sum[m]"),),
        "unset",
        35,
        "",
    ),
    (  # too many steps for formulas, and an index that the source writes by a pointer
        "conv2d_windows",
        (("const int map = g + i / 2 * 8;", "const int map = g;"),),
        "variable",
        98,
        "Line 98, `map = g`, gives thread 0 map = 0; 8 belongs there.",
    ),
    (  # a lane without an output reads all the same in the right kernel
        "taps_split",
        (("c = t / (K * K)", "c = t / K"),),
        "outside",
        15,
        "Thread (2, 0) reads x[16], outside of the array: line 15, "
        "`x[((b * C + c) * H + h + p) * W + w + q]`.",
    ),
    (  # no wait helps two threads with one cell
        "small_product",
        (("PITCH = 72", "PITCH = 56"),),
        "one cell",
        15,
        "Thread 0 and thread 24 both write left[56]: line 15, `left[row * PITCH + term]`.",
    ),
    (
        "conv1d_basic",
        (("if (i < n)", "if (i > 0 && i < n - 1)"),),
        "decision",
        8,
        "No thread stores the first and the last cell of P: line 8, `i > 0 && i < n - 1` is false "
        "with i = 0, n = 6.",
    ),
]
WITH_SMALL = [
    name for name in exercises.names() if getattr(exercises.find(name), "small", None) is not None
]


@pytest.mark.parametrize(("name", "edits", "kind", "line", "sentence"), WRONG)
def test_cause(
    name: str,
    edits: tuple[tuple[str, str], ...],
    kind: str,
    line: int,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What a slow computer finds must not depend on its speed.
    monkeypatch.setattr(story, "MOST_SECONDS", 20.0)
    monkeypatch.setattr(explained, "MOST_SECONDS", 20.0)
    one = exercises.find(name)
    told = stories.story_of(one, kernel_cells.parse(edited(one, *edits)))
    assert told is not None
    cause = told.story.causes[0]
    assert (cause.kind, cause.line if line else 0) == (kind, line)
    said = words.sentence(told.story)
    assert words.count_of_words(said) <= words.MOST_WORDS
    assert said == sentence or not sentence


@pytest.mark.parametrize("name", WITH_SMALL)
def test_right_answers_have_no_story(name: str) -> None:
    one = exercises.find(name)
    cases = stories.small_cases(one, kernel_cells.parse(str(one.solution)))
    refused: contextlib.AbstractContextManager[object]
    if any(len(case.steps) != 1 or case.within for case in cases):
        refused = pytest.raises(stories.NoStory, match="several launches")
    else:
        refused = contextlib.nullcontext()
    for answer in right(one):
        with refused:
            told = stories.story_of(one, kernel_cells.parse(text_of(one, answer)))
            assert told is None, answer.what


def test_a_fault_of_the_explanation_costs_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise LookupError("no such step")

    monkeypatch.setattr(stories, "story_of", fail)
    one = exercises.find("conv1d_basic")
    cell = kernel_cells.parse(edited(one, ("cell >= 0 &&", "cell > 1 &&")))
    wrong = Verdict(one.name, "wrong", "FAIL", 0.0, 1.0, hint="A hint.", is_guess=True)
    verdict = one._with_story(wrong, cell)
    assert verdict.status == "wrong" and "LookupError('no such step')" in verdict.hint


# Exercise, edits of its solution, what the picture says of its terms.
DRAWN = [
    ("conv1d_basic", (("cell >= 0 &&", "cell > 0 &&"),), "Missing: N[0]*filter[1]. Too much: n"),
    ("transpose", (("tile[threadIdx.x][threadIdx.y];", "tile[threadIdx.y][0];"),), "Too much: N["),
    ("axpy_basic", (("i < n", "i < n - 1"),), "y[2] adds nothing."),
]


@pytest.mark.parametrize(("name", "edits", "terms"), DRAWN)
def test_picture(name: str, edits: tuple[tuple[str, str], ...], terms: str) -> None:
    one = exercises.find(name)
    told = stories.story_of(one, kernel_cells.parse(edited(one, *edits)))
    assert told is not None
    made = stories.picture_of(told)
    html = made.html()
    assert len(html) <= pictures.MOST_BYTES
    still = html.partition('<script type="application/json"')[0]
    (alt,) = re.findall(r'<img alt="([^"]*)"', still)
    assert terms in alt
    assert repr(made).startswith(words.sentence(told.story))


def test_why_shows_the_latest_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exercise, "_stories", {})
    one = exercises.find("deal_cells")
    with pytest.raises(ValueError, match="check an answer first"):
        one.why()
    with pytest.raises(ExerciseError) as caught:
        one.check(kernel_cells.parse(edited(one, ("P[start + t]", "P[t]"))))
    story = caught.value.verdict.story
    assert story is not None and repr(one.why()).startswith(story.sentence)
    with contextlib.suppress(ExerciseError):
        one.check(kernel_cells.parse(str(one.solution)))
    with pytest.raises(ValueError, match="a right one has none"):
        one.why()


def test_why_shows_an_answer_whose_mistake_has_a_hint_of_its_own() -> None:
    one = exercises.find("conv1d_basic")
    text = edited(one, ("cell >= 0 &&", "cell > 0 &&"))
    with pytest.raises(ExerciseError) as caught:
        one.check(kernel_cells.parse(text))
    assert not caught.value.verdict.is_guess and caught.value.verdict.story is None
    assert "N[0]" in one.why().html()


def test_a_recognised_mistake_is_told_where_nothing_else_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A story that knows no cause shows what was seen beside the hint of the mutant."""
    one = exercises.find("transpose")
    same_blocks = next(mutant for mutant in mutants.of(one) if "blockIdx" in mutant.hint)
    cell = kernel_cells.parse(edited(one, *same_blocks.edits))
    with pytest.raises(ExerciseError) as caught:
        one.check(cell)
    story = caught.value.verdict.story
    assert story is not None and story.sentence == same_blocks.hint
    assert "no thread stores P[0][32]" in story.evidence[0]
    monkeypatch.setattr(stories, "story_of", lambda *_: None)
    with pytest.raises(ExerciseError) as caught:
        one.check(cell)
    assert caught.value.verdict.hint == same_blocks.hint


def test_a_remark_of_the_compiler_comes_before_a_story_without_a_cause() -> None:
    one = exercises.find("conv1d_basic")
    cell = kernel_cells.parse(edited(one, ("P[i] = sum;", "P[i] == sum;")))
    told = stories.story_of(one, cell)
    assert told is not None
    verdict = replace(one._of_cell(cell, 1), is_recognised=False)
    unknown = replace(told, story=replace(told.story, causes=()))
    first = stories.told_in(verdict, unknown).explanation
    assert "`==` compares" in first.sentence and first.evidence[0].startswith("No thread stores")
    assert "`==` compares" not in stories.told_in(replace(verdict, remark=""), unknown).hint


def test_a_missing_wait_of_a_warp_is_told_as_such() -> None:
    """A story tries waits of all threads alone, which a branch forbids here."""
    one = exercises.find("block_sums")
    with pytest.raises(ExerciseError) as caught:
        one.check(kernel_cells.parse(edited(one, ("        __syncwarp();\n", ""))))
    said = str(caught.value.verdict)
    assert "__syncwarp() is missing" in caught.value.verdict.explanation.sentence
    assert "No wait of all threads" not in said
    assert "Thread 8: `s[t]` with t = 8" in " ".join(said.split())


def test_a_guess_says_that_it_is_one() -> None:
    """An answer whose launches cannot be recorded keeps its hint."""
    one = exercises.find("conv1d_basic")
    guess = Verdict.of(one.name, "wrong", "2 of 9 values", 5, "A guard is missing.", is_guess=True)
    said = stories.untold(guess, "The launch is too large.").hint.splitlines()
    often = "I do not know the cause. This often leads to it: A guard is missing."
    assert said == [often, "The launch is too large."]
