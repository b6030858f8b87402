"""Why an answer is wrong: the causes that are told of wrong answers."""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
import time
from dataclasses import replace

import pytest

from helpers import exercises, kernel_cells
from helpers.exercises.judge import exercise, explained, mutants, stories
from helpers.exercises.judge.base import NOTEBOOK_SEED
from helpers.exercises.judge.compiler_words import Remark
from helpers.exercises.judge.verdict import ExerciseError, Verdict
from helpers.simulator import Finding
from helpers.simulator.explain import pictures, story, words
from helpers.simulator.findings.words import Cause, Sentence
from tests import golden
from tests.exercises import edited
from tests.exercises.answers import Edit
from tests.exercises.told import EDITS, TOLD

pytestmark = pytest.mark.long


@pytest.mark.parametrize(("name", "edit"), TOLD)
def test_what_is_told_of_a_wrong_answer(
    name: str, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exercise, "_stories", {})
    one = exercises.find(name)
    cell = kernel_cells.parse(edited(one, edit))
    said = one._with_story(one._of_cell(cell, NOTEBOOK_SEED), cell)
    if not said.is_guess and said.story is None:
        one._follow(cell)  # its mistake has a hint of its own: why() shows its story
    told = exercise._stories.get(one.name)
    if told is not None:
        sentence = words.sentence(told.story)
        assert words.count_of_words(sentence) <= words.MOST_WORDS
    in_box = None
    if edit == EDITS[name][0]:
        tasks = (replace(task, right=None) for task in stories.tasks(one, cell))
        in_box = explained.cause_of(cell, tasks, one.limit_s)
    row = golden.of_story(said, told, in_box)
    golden.require("stories", f"{name}: {edit[0]} -> {edit[1]}", row)


def test_a_story_is_the_same_on_a_slow_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its work is counted: a clock that races changes nothing."""
    one = exercises.find("conv1d_symmetric")
    cell = kernel_cells.parse(edited(one, ("blockIdx.x * blockDim.x", "blockIdx.x + blockDim.x")))
    usual = stories.story_of(one, cell)
    assert usual is not None and usual.has_cause
    seconds = itertools.count(step=60)
    for name in ("process_time", "perf_counter"):
        monkeypatch.setattr(time, name, lambda: float(next(seconds)))
    slow = stories.story_of(one, cell)
    assert slow is not None
    assert words.lines_of(slow.story, "") == words.lines_of(usual.story, "")
    assert slow.experiment.work.spent == usual.experiment.work.spent


@pytest.mark.parametrize("most", [1, 2_000, 8_000, 20_000])
def test_a_story_with_less_work_says_less(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    one = exercises.find("conv1d_symmetric")
    cell = kernel_cells.parse(edited(one, ("blockIdx.x * blockDim.x", "blockIdx.x + blockDim.x")))
    monkeypatch.setattr(explained, "LEAST_WORK", most)
    monkeypatch.setattr(explained, "MOST_MORE_WORK", 0)
    told = stories.story_of(one, cell)
    assert told is not None and not told.has_cause
    assert words.sentence(told.story).endswith(words.UNKNOWN)
    assert told.experiment.work.spent < 2 * most + story.MOST_WORK_OF_FORMULAS


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
    assert "no thread stores P[32][0]" in story.evidence[0]
    monkeypatch.setattr(stories, "story_of", lambda *_: None)
    with pytest.raises(ExerciseError) as caught:
        one.check(cell)
    assert caught.value.verdict.hint == same_blocks.hint


def test_a_missing_wait_of_a_warp_is_told_as_such() -> None:
    """A story tries waits of all threads alone, which a branch forbids here."""
    one = exercises.find("block_sums")
    with pytest.raises(ExerciseError) as caught:
        one.check(kernel_cells.parse(edited(one, ("        __syncwarp();\n", ""))))
    said = str(caught.value.verdict)
    assert "__syncwarp() is missing" in caught.value.verdict.explanation.sentence
    assert "wait of all threads" not in said
    assert "Thread 8: `s[t]` with t = 8" in " ".join(said.split())


MADE = {  # kinds of stories: an exercise, an edit of its solution
    "cause": ("conv1d_basic", ("cell >= 0 &&", "cell > 0 &&")),
    "no cause": ("conv1d_symmetric", ("? N[left] : 0.0f", "? N[left] : N[0]")),
    "race in a warp": ("block_sums", ("        __syncwarp();\n", "")),
    "one line": ("conv2d_same", ("w >= W)", "w > W)")),
    "endless": ("above_lowest", ("far > 0", "far >= 0")),
}
# The kind of a story, what else is known of the answer, and what comes first.
FIRST = [
    ("cause", "guess", "story"),
    ("cause", "finding", "story"),
    ("cause", "mutant", "story"),
    ("cause", "remark on its line", "remark"),
    ("cause", "remark on another line", "story"),
    ("no cause", "guess", "story"),
    ("no cause", "mutant", "mutant"),
    ("no cause", "finding", "finding"),
    ("no cause", "remark on another line", "remark"),
    ("race in a warp", "mutant", "mutant"),
    ("race in a warp", "finding", "advice"),
    ("one line", "finding", "story"),  # nothing can stand between two stores in one line
    ("endless", "time", "story"),
    ("endless", "mutant", "story"),
]


@functools.cache
def made(kind: str) -> explained.Told:
    name, edit = MADE[kind]
    one = exercises.find(name)
    told = stories.story_of(one, kernel_cells.parse(edited(one, edit)))
    assert told is not None
    return told


def a_race() -> Finding:
    return story.faults(made("race in a warp").story.tape)[0]


@pytest.mark.parametrize(("kind", "known", "speaker"), FIRST)
def test_who_speaks_first(kind: str, known: str, speaker: str) -> None:
    told = made(kind)
    line = told.story.causes[0].line if told.story.causes else 3
    finding = a_race()
    guess = Verdict("x", "wrong", "FAIL x: 2 of 9 values", 0, 5, hint="A guess.", is_guess=True)
    found = replace(guess, status="finding", message=f"FAIL x: n = 9\n{finding}", finding=finding)
    verdicts = {
        "guess": guess,
        "finding": replace(found, hint=""),
        "mutant": replace(guess, hint="Of a mutant.", is_recognised=True),
        "time": replace(guess, status="time"),
        "remark on its line": guess.after(Remark(line, "A remark.")),
        "remark on another line": guess.after(Remark(line + 1, "A remark.")),
    }
    says = {
        "story": words.sentence(told.story),
        "mutant": "Of a mutant.",
        "remark": "A remark.",
        "advice": finding.cause,
    }
    said = stories.told_in(verdicts[known], told)
    first = said.explanation.sentence
    assert first.startswith(says.get(speaker, f"FAIL: {finding.kind}")), first
    assert str(said).count("A remark.") == ("remark" in known)


def test_the_reason_for_no_story_does_not_come_before_a_finding() -> None:
    finding = a_race()
    found = Verdict(
        "x", "finding", f"FAIL x: n = 9\n{finding}", 0, 5, finding=finding, is_guess=True
    )
    said = stories.untold(found, "Its launches are not recorded.")
    assert said.explanation.sentence.startswith("FAIL: race")
    assert "Its launches are not recorded." in str(said)


@pytest.mark.parametrize(
    ("name", "cause", "is_told"),
    [
        ("axpy_basic", Cause.UPDATED(element="y[i]", atomic="A()", instead="B()"), False),
        ("block_histograms", Cause.UPDATED(element="c[i]", atomic="A()", instead="B()"), True),
        ("axpy_basic", Cause.GUARD(), False),
        ("axpy_basic", Cause.NO_WAIT_FOUND(), False),
        ("axpy_basic", Cause.NO_BARRIER(), True),  # which has been tried
    ],
)
def test_no_cure_is_told_that_nobody_has_tried(name: str, cause: Sentence, is_told: bool) -> None:
    """An atomic function is told where the solution has one."""
    finding = replace(a_race(), causes=(cause,))
    found = Verdict(name, "finding", f"FAIL\n{finding}", 0, 5, finding=finding, is_guess=True)
    said = stories.without_untried_cure(found, exercises.find(name))
    advice = " ".join(finding.cause.split())
    assert (advice in " ".join(str(said).split())) == is_told
    assert finding.headline in " ".join(str(said).split())


def test_a_guess_says_that_it_is_one() -> None:
    """An answer whose launches cannot be recorded keeps its hint."""
    one = exercises.find("conv1d_basic")
    guess = Verdict.of(one.name, "wrong", "2 of 9 values", 5, "A guard is missing.", is_guess=True)
    said = stories.untold(guess, "The launch is too large.").hint.splitlines()
    often = "I do not know the cause. This often leads to it: A guard is missing."
    assert said == [often, "The launch is too large."]
