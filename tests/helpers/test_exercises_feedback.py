"""What an answer is told: the verdict first, and what would mend it."""

from __future__ import annotations

import dataclasses

import pytest

from helpers import exercises
from helpers.exercises import outcome
from helpers.exercises.exercise import Exercise


def words(text: object) -> str:
    return " ".join(str(text).split())


def edited(one: Exercise, *edits: tuple[str, str]) -> str:
    """The solution with edits, each of a text that stands in it once."""
    text = one.solution
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


# ---- printf ----

EDGE = exercises.find("conv1d_edge")
STORE = "P[i] = sum;"


def test_a_kernel_that_prints_without_end_is_told_so_below_its_verdict(capsys):
    text = edited(EDGE, (STORE, f'for (int k = 0; k < 2000; ++k) printf("%d\\n", i); {STORE}'))
    found = dataclasses.replace(EDGE, limit_s=0.3).judge(text)
    assert capsys.readouterr().out == "", "the verdict has it all"
    assert found.status == "time" and "calls printf" in words(found)
    lines = str(found).splitlines()
    assert lines[0].startswith("FAIL conv1d_edge") and len(lines) < 20 + outcome.SHOWN_LINES
    head = next(k for k, line in enumerate(lines) if "printf wrote" in line)
    assert lines[head].endswith("lines; the first 50:") and len(lines) == head + 51


def test_a_forgotten_printf_of_a_right_kernel_is_shown_once_and_counted(capsys):
    text = edited(EDGE, (STORE, f'if (i == 0) printf("first %d\\n", n); {STORE}'))
    found = EDGE.judge(text)
    assert found.passed and capsys.readouterr().out == ""
    assert found.printed.splitlines()[0] == f"printf wrote {len(EDGE.all_cases(1))} lines:"


def test_a_printf_that_costs_the_points_is_named():
    """What printf prints lies in local memory, of which this exercise allows none."""
    one = exercises.find("conv1d_symmetric")
    at = one.solution.rindex("}")
    text = one.solution[:at] + '    printf("%d\\n", blockIdx.x);\n}\n'
    found = one.judge(text)
    assert found.status == "budget" and "calls printf" in words(found), found


def test_what_was_printed_travels_as_a_file(tmp_path):
    text = edited(EDGE, (STORE, f'if (i == 0) printf("first %d\\n", n); {STORE}'))
    outcomes = EDGE.run(text, 5)
    outcome.save(outcomes, tmp_path / "outcomes.npz")
    there = EDGE.verdict(outcome.load(tmp_path / "outcomes.npz"), 5)
    assert there.printed and there.to_dict() == EDGE.judge(text, 5).to_dict()


@pytest.mark.parametrize("text", ["", "a" * 1_900, "%d"])
def test_odd_prints_do_no_harm(text):
    call = f'printf("{text}\\n", 1);'
    found = EDGE.judge(edited(EDGE, (STORE, f"if (i == 0) {call} {STORE}")))
    assert found.passed and max(map(len, str(found).splitlines())) <= 200
