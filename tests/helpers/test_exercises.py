"""Every exercise: its cases, hints and records, and how a notebook and a grader ask for a verdict.

test_right_answers.py, test_wrong_answers.py and test_mutants_of_exercises.py judge the answers:
modules of their own, because a worker takes a whole one.
"""

from __future__ import annotations

import dataclasses
import itertools
import json

import numpy as np
import pytest

from helpers import exercises, kernel_cells
from helpers.bench import cost, results
from helpers.course import codec, wire
from helpers.exercises import labs
from helpers.exercises.content import my_entry, puzzles, rung
from helpers.exercises.judge import amounts, mutants, outcome
from helpers.exercises.judge import hints as hints_module
from helpers.exercises.judge.cases import Case
from helpers.exercises.judge.exercise import Exercise
from helpers.exercises.judge.python_exercise import PythonExercise
from helpers.exercises.judge.verdict import ExerciseError
from helpers.experiments import leaderboard
from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.simulator.compile.ahead import Ahead
from helpers.tools import exercise_records
from tests import exercises as answers
from tests.exercises import title, words

pytestmark = pytest.mark.long

ALL = [exercises.find(name) for name in exercises.names()]
PUZZLES = exercises.of_lab(labs.number(puzzles.LAB))


def test_every_lab_has_exercises_in_their_order():
    files = [path.stem for path in labs.notebooks()]
    with_some = list(dict.fromkeys(one.lab for one in ALL))
    assert with_some == [file for file in files if file in with_some]
    # In this one a student writes lines of Python and compares.
    assert set(files) - set(with_some) == {"115_when_a_gpu_is_worth_it"}
    for lab in with_some:
        places = [one.place for one in exercises.of_lab(labs.number(lab))]
        assert places == list(range(1, len(places) + 1))
    assert len({one.name for one in ALL}) == len(ALL)


@pytest.mark.parametrize("one", ALL, ids=title)
def test_an_exercise_has_hints_and_several_answers(one):
    assert 2 <= len(one.hints) <= 3
    right, wrong = answers.right(one), answers.wrong(one)
    assert len(right) >= 2 and len(wrong) + len(mutants.of(one)) >= 5
    assert [answers.text_of(one, answer) == one.solution for answer in right].count(True) == 1
    stubs = {answers.text_of(one, answer) for answer in wrong if answer.status == "not_begun"}
    assert one.stub in stubs, "the stub is not right yet"
    assert len({answer.what for answer in (*right, *wrong)}) == len(right) + len(wrong)


@pytest.mark.parametrize("one", [one for one in ALL if isinstance(one, Exercise)], ids=title)
def test_cases_follow_the_seed_and_hold_no_result(one):
    first, again, other = one.all_cases(3), one.all_cases(3), one.all_cases(4)
    drawn = [(case.title, {n: a.tobytes() for n, a in case.arrays.items()}) for case in first]
    assert drawn == [(c.title, {n: a.tobytes() for n, a in c.arrays.items()}) for c in again]
    assert drawn != [(c.title, {n: a.tobytes() for n, a in c.arrays.items()}) for c in other]
    for case in first if one.name != "copy_in_flight" else ():  # the result of a copy is its input
        for want in one.wanted(case).values():
            assert all(array.tobytes() != want.tobytes() for array in case.arrays.values())


# ---- apart: a kernel runs in one place, and is judged in another ----


def test_outcomes_travel_as_a_message():
    one = exercises.find("conv1d_edge")
    tried = [answer for answer in answers.wrong(one) if answer.status in ("wrong", "finding")]
    flipped = next(mutant for mutant in mutants.of(one) if "flipped" in mutant.hint)
    texts = [answers.text_of(one, answer) for answer in (answers.right(one)[0], *tried)]
    for text in (*texts, mutants.edited(one.solution, flipped.edits)):
        cases = one.fitted(kernel_cells.parse(text), 5)
        message = codec.answer(cases, one.run(text, 5))
        notes, start = wire.content(message)
        there = one.verdict(codec.outcomes(notes["outcomes"], cases, message, start), 5)
        there = one.recognised(there, one.run_small(kernel_cells.parse(text)))
        assert there.to_dict() == one.judge(text, 5).to_dict()
        json.dumps(there.to_dict())


@pytest.mark.parametrize("one", [one for one in ALL if isinstance(one, Exercise)], ids=title)
def test_cases_travel_as_a_message(one):
    """The box launches what the notebook launches: the same kernel on the same arrays."""
    cell = kernel_cells.parse(one.solution) if one.has_solution else kernel_cells.parse(one.stub)
    cases = one.fitted(cell, 5)
    text, arrived, how = codec.work(codec.job(cell.text, cases, {"each": True}))
    assert (text, how) == (cell.text, {"each": True})
    for case, there in zip(cases, arrived, strict=True):
        assert repr(case.plan(cell)) == repr(there.plan(cell))
        assert [a.source for a in case.plan(cell)] == [a.source for a in there.plan(cell)]
        assert {n: a.tobytes() for n, a in case.arrays.items()} == {
            n: a.tobytes() for n, a in there.arrays.items()
        }


def test_outcomes_that_lack_cases_do_not_pass():
    one = exercises.find("conv1d_edge")
    assert one.verdict(one.run(one.solution, 1)[:-1], 1).status == "refused"


def test_outcomes_of_other_cases_do_not_pass():
    one, other = exercises.find("conv1d_edge"), exercises.find("axpy_two")
    assert one.verdict(other.run(other.solution, 1), 1).status == "refused"
    assert one.verdict(one.run(one.solution, 2), 1).status in ("refused", "wrong")


@pytest.mark.parametrize("one", [one for one in ALL if isinstance(one, Exercise)], ids=title)
def test_the_recorded_amounts_are_those_of_the_solution(one):
    recorded = json.loads(amounts.FILE.read_text(encoding="utf-8")).get(one.name, ())
    if one.fit is not None:
        assert not recorded
        return
    assert not exercise_records.differ(exercise_records.amounts_of(one), recorded), (
        "`python -m helpers.tools.exercise_records --write` counts them anew"
    )


def test_the_watched_block_is_drawn_from_the_inputs():
    one = exercises.find("add_arrays")
    drawn = {one.all_cases(seed)[0].watched[0] for seed in range(12)}
    assert len(drawn) > 2
    case = one.all_cases(3)[0]
    assert dataclasses.replace(case, arrays=dict(case.arrays)).watched == case.watched


def test_what_is_counted_must_come_out_right_too(monkeypatch):
    """A kernel may do other things in the launch that counts, by a clock for instance."""
    one = exercises.find("conv1d_symmetric")
    assert one.judge(one.solution).passed
    run = outcome.run

    def idle(*given, **how):
        return [
            dataclasses.replace(made, arrays={k: 0 * a for k, a in made.arrays.items()})
            for made in run(*given, **how)
        ]

    monkeypatch.setattr(outcome, "run", idle)
    assert one.judge(one.solution).status == "wrong"


def test_a_launch_that_stops_while_it_is_counted_is_told(monkeypatch):
    one = exercises.find("conv1d_symmetric")
    run = outcome.run

    def stopped(*given, **how):
        first, *others = run(*given, **how)
        return [dataclasses.replace(first, stopped="refused", said="no memory is left"), *others]

    monkeypatch.setattr(outcome, "run", stopped)
    found = one.judge(one.solution)
    assert found.status == "refused" and "no memory is left" in str(found)


def test_the_cases_of_a_wrong_answer_are_not_compiled_for_counters(monkeypatch):
    """That takes longer than the launches, and a student waits for the hint."""
    one, begun = exercises.find("conv1d_edge"), []

    def ahead(wanted, counts=False):
        begun.append(counts)
        return Ahead(wanted, counts)

    monkeypatch.setattr(outcome, "Ahead", ahead)
    wrong = kernel_cells.parse(mutants.edited(one.solution, mutants.of(one)[0].edits))
    assert mutants.hint_of(one, one.run_small(wrong)) and begun == [False]
    assert one.judge(one.solution).passed and True in begun


# ---- in a notebook ----


class Kernel:
    """What a %%kernel cell binds, without a device."""

    def __init__(self, text: str):
        cell = kernel_cells.parse(text)
        self.source, self.name, self.options = cell.source, cell.kernel, list(cell.options)
        self.cell = cell


def test_check_raises_a_short_error_and_returns_a_verdict():
    one = exercises.find("conv1d_edge")
    with pytest.raises(ExerciseError, match="cell -1 must count as") as caught:
        one.check(Kernel(mutants.edited(one.solution, mutants.of(one)[0].edits)))
    assert caught.value._render_traceback_() == str(caught.value).splitlines()
    assert str(one.check(Kernel(one.solution))).startswith("PASS conv1d_edge: 8 sizes, 2 filters")


def test_check_says_what_it_takes():
    with pytest.raises(TypeError, match="that a %%kernel cell makes"):
        exercises.find("conv1d_edge").check(print)


def hints(one, count, capsys):
    """What so many calls of hint() print, from the first hint on."""
    hints_module._shown.pop(one.name, None)
    shown = []
    for _ in range(count):
        one.hint()
        shown.append(capsys.readouterr().out)
    return shown


def test_hints_unfold_one_by_one_and_then_the_solution(capsys):
    one = exercises.find("conv1d_edge")
    shown = hints(one, 5, capsys)
    last = " The next call shows a solution."
    for number, (text, hint) in enumerate(zip(shown, one.hints, strict=False), 1):
        assert words(text) == words(f"Hint {number} of 3: {hint}") + last * (number == 3)
    assert shown[3].startswith("These were all hints.") and one.solution in shown[3]
    assert shown[4] == shown[0]


def test_a_solution_is_a_text_that_a_notebook_shows_in_colours():
    cuda = exercises.find("conv1d_edge")
    python = next(one for one in ALL if isinstance(one, PythonExercise))
    assert cuda.solution.startswith("%%kernel conv1d_edge")
    for one in (cuda, python):
        lines = repr(one.solution).splitlines()
        assert lines[0] == f"A solution: {one.title}"
        assert lines[1].split(maxsplit=1) == ["1", one.solution.splitlines()[0]]
        assert "<span style=" in one.solution._repr_html_()


def test_a_pass_says_where_the_solution_is_and_a_package_without_solutions_says_so(
    monkeypatch, capsys
):
    one = exercises.find("add_arrays")
    right, hint = Kernel(one.solution), "exercise.solution"
    assert str(one.check(right)).endswith(hint)
    monkeypatch.setattr(type(one), "has_solution", False)
    monkeypatch.delitem(vars(one), "solution", raising=False)
    assert hint not in str(one.check(right))
    *_, third, after = hints(one, len(one.hints) + 1, capsys)
    assert "solution" not in third
    assert after.startswith("These were all hints. This package of the labs has no solutions")
    with pytest.raises(FileNotFoundError, match="has no solutions: your instructor has them"):
        one.solution  # noqa: B018


def test_the_error_of_an_unknown_exercise_is_short_and_leads_on():
    with pytest.raises(LookupError, match="no exercise 'conv1d_edges'; did you mean 'conv1d_edge'"):
        exercises.find("conv1d_edges")
    with pytest.raises(LookupError, match=r"no exercise 'nowhere'; exercises.names\(\) lists all"):
        exercises.find("nowhere")


def test_a_lab_with_several_exercises_asks_for_a_name():
    with pytest.raises(LookupError, match=r'such as exercises.find\("squares"\)'):
        exercises.find("103")
    assert exercises.of_lab("103")[6] is exercises.find("transpose")
    lab, (only,) = next(
        (lab, every)
        for lab in (labs.number(path.stem) for path in labs.notebooks())
        if len(every := exercises.of_lab(lab)) == 1
    )
    assert exercises.find(lab) is only
    assert exercises.of_lab("99") == ()


def test_the_latest_verdict_is_kept():
    one = exercises.find("add_arrays")
    with pytest.raises(ExerciseError):
        one.check(Kernel(one.stub))
    assert one.latest.status == "not_begun"
    one.check(Kernel(one.solution))
    assert one.latest.passed and one.latest.points == one.points


@pytest.mark.parametrize("one", PUZZLES, ids=title)
def test_the_value_that_a_puzzle_follows_comes_from_the_marked_inputs(one):
    """Each input is changed, one after another: the value changes for the marked ones alone."""
    case = one.example
    output = case.outputs[0]
    want = one.wanted(case)[output]
    assert want.shape == case.arrays[output].shape
    for name in set(case.arrays) - {output}:
        touched = {
            place
            for place in np.ndindex(case[name].shape)
            for value in other_values(case[name][place])
            if value_of(one, with_value(case, name, place, value)) != want[one.follow]
        }
        assert touched == set(one.comes_from[name]), name


def other_values(value: np.generic) -> tuple[float, ...]:
    """Very different numbers; of a value to count, one that no puzzle follows."""
    return (-1_000.0, 1_000.0) if value.dtype.kind == "f" else (0 if value == 3 else 3,)


def with_value(case: Case, name: str, place: tuple[int, ...], value: float) -> Case:
    array = case[name].copy()
    array[place] = value
    return dataclasses.replace(case, arrays={**case.arrays, name: array})


def value_of(one: puzzles.Puzzle, case: Case) -> float:
    return one.wanted(case)[case.outputs[0]][one.follow]


# ---- numbers that stand in modules ----


def counted(name: str, layer: str) -> tuple[float, float]:
    """Sectors per output and the estimated cost of a kernel, for one image of a layer."""
    shape = conv2d.shape_of(layer, 1)
    _, launches = conv2d.simulate(name, *conv2d.random_inputs(shape))
    sectors = sum(one.global_load_sectors for one in launches)
    cycles = sum(cost.cycles(one.lines, one.instructions) for one in launches)
    return sectors / shape.outputs, 32 * cycles / (shape.outputs * shape.terms)


def test_the_budgets_of_the_competitions_are_those_of_the_labs_kernels():
    for layer in ("layer 1", "layer 2"):
        (sectors, _), (_, cycles) = (
            counted(name, layer) for name in ("conv2d_tiled", "conv2d_tiled_maps")
        )
        assert rung.SECTORS[layer] == pytest.approx(sectors, abs=0.001)
        assert my_entry.COST[layer] == pytest.approx(cycles, abs=0.001)


def test_the_estimate_orders_the_board_as_the_record_of_times_does():
    rows = results.load(results.MEASURED / "501_leaderboard.json").rows()
    for layer in leaderboard.LAYERS:
        ms = {row["series"]: row["median_ms"] for row in rows if row["layer"] == layer}
        costs = {name: counted(name, layer)[1] for name in ms}
        assert sorted(ms, key=ms.get) == sorted(ms, key=costs.get)


def test_the_counters_of_the_sweep_are_those_of_the_simulator():
    from helpers.problems.conv2d import tile_counters

    for layer, width in (("layer 1", 17), ("layer 2", 20)):
        stored = vars(tile_counters.counted()[layer, width])
        counted = tile_counters.count(layer, width)
        assert {name: n for name, n in counted.items() if n} == {
            name: n for name, n in stored.items() if n
        }


def test_python_exercises_are_those_that_grade_what_python_makes():
    assert [labs.number(one.lab) for one in ALL if isinstance(one, PythonExercise)] == [
        "106",
        *["113"] * 2,
        *["203"] * 3,
        "400",
        *["502"] * 2,
        *["503"] * 2,
    ]


@pytest.mark.parametrize("seed", [2, 246446619280644])
def test_one_tap_a_turn_is_seen_whatever_sizes_are_drawn(seed):
    """A warp beyond the last row turned no loop, and left its turns to the others."""
    one = exercises.find("unrolled_by_two")
    slow = [answer for answer in answers.wrong(one) if answer.what.startswith("one tap a turn")]
    assert len(slow) == 2
    assert {one.judge(answers.text_of(one, answer), seed=seed).status for answer in slow} == {
        "budget"
    }


def test_an_untouched_text_is_not_begun_where_no_history_has_its_cell():
    one = exercises.find("400")
    names: dict = {}
    exec(one.stub, names)
    with pytest.raises(ExerciseError, match="NOT BEGUN"):
        one.check(names["mine"])


def alike(shapes: list[ConvShape]) -> set[str]:
    """The pairs of images, channels and maps that are equal in all shapes with several images."""
    several = [{"images": one.B, "channels": one.C, "maps": one.M} for one in shapes if one.B > 1]
    return {
        f"{one} and {other}"
        for one, other in itertools.combinations(("images", "channels", "maps"), 2)
        if several and all(numbers[one] == numbers[other] for numbers in several)
    }


@pytest.mark.parametrize("name", exercises.names())
def test_an_index_with_one_number_in_anothers_place_meets_a_case(name):
    """An answer that takes the maps for the images is right where both are two."""
    drawn = getattr(exercises.find(name), "cases", lambda _: ())(np.random.default_rng(5))
    assert alike([one.facts["shape"] for one in drawn if "shape" in one.facts]) == set()


def test_numbers_that_no_case_tells_apart_are_found():
    assert alike([ConvShape(2, 3, 2, 9, 9, 3), ConvShape(2, 1, 2, 9, 9, 3)]) == {"images and maps"}
    assert alike([ConvShape(2, 3, 4, 9, 9, 3)]) == alike([ConvShape(1, 1, 1, 9, 9, 3)]) == set()
