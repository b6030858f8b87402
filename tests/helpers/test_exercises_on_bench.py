"""An exercise on the bench: a student's kernel counted beside the lab's, once it has passed."""

import pytest

from helpers import exercises, kernel_cells
from helpers.bench import sources
from helpers.exercises.judge.exercise import Exercise

TURNED = exercises.find("turned_tiles")
STORES = ("shared_store_requests",)


def rows(counts, *columns):
    """The names and cells of a table, without its head."""
    lines = counts.table(*columns, outputs=counts[0].outputs).splitlines()
    return [line.rsplit(None, len(columns)) for line in lines[-len(counts) :]]


def test_a_students_kernel_has_counters_once_the_exercise_accepts_it():
    turned = TURNED.on_bench()
    mine = kernel_cells.parse(TURNED.solution)
    assert rows(turned.count(turned.given("in turns"), *turned.ours, mine), *STORES) == [
        ["in turns", "20.0"],
        ["ours", "0.0"],
        ["yours: turned_tiles", "0.0"],
    ]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(TURNED.stub, id="right, and accepted only with another copy"),
        pytest.param(TURNED.solution.replace("255 - o", "254 - o"), id="wrong"),
        pytest.param(TURNED.solution.replace("P[start", "Q[start"), id="does not compile"),
    ],
)
def test_what_the_exercise_does_not_accept_has_none(text):
    found = TURNED.on_bench().count(kernel_cells.parse(text))
    assert rows(found, *STORES) == [["yours: not yet", "-"]]


def test_a_cell_that_has_not_run_has_none():
    found = TURNED.on_bench().count(sources.Missing("turned_tiles"))
    assert rows(found, *STORES) == [["yours: not yet", "-"]]


def test_the_largest_case_with_budgets_is_counted():
    cases = [case for case in TURNED.all_cases(0) if case.budgeted]
    assert len(cases) > 1
    assert TURNED.on_bench().outputs == max(case.count for case in cases)


def test_a_package_without_solutions_has_none_of_ours(monkeypatch):
    monkeypatch.setattr(Exercise, "has_solution", False)
    assert exercises.find("store_rows").on_bench().ours == ()


def test_another_kernel_and_other_sizes_are_refused():
    turned = TURNED.on_bench()
    with pytest.raises(sources.KernelError, match="the only kernel of this exercise is 'turned_"):
        turned.kernel("copy_plain")
    with pytest.raises(sources.KernelError, match="an exercise has its own sizes, so leave out T"):
        turned.kernel(kernel_cells.parse(TURNED.solution), TILE=3)


def test_complex_outputs_are_compared():
    back = exercises.find("fft_back")
    mine = kernel_cells.parse(back.solution)
    assert back.on_bench().check(mine)
    wrong = back.solution.replace("a.x + b.x", "a.x - b.x")
    assert wrong != back.solution and not back.on_bench().check(kernel_cells.parse(wrong))


def test_a_kernel_stands_in_a_figure_once_the_exercise_accepts_it():
    summed = exercises.find("split_sum")
    stub, right = (kernel_cells.parse(text) for text in (summed.stub, summed.solution))
    assert summed.accepted(right) is right
    for waiting in (stub, sources.Missing("split_sum")):
        assert summed.accepted(waiting) == sources.Missing("split_sum")
