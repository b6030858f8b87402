"""The pictures and the table of the lab with the puzzles."""

from __future__ import annotations

import re

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from helpers import exercises, kernel_cells, plotting
from helpers.exercises.content import puzzles as room
from helpers.exercises.content.puzzles import pictures as puzzles
from helpers.exercises.judge import base
from helpers.exercises.judge.verdict import ExerciseError
from tests import exercises as answers


class Kernel:
    """What a %%kernel cell binds, without a device."""

    def __init__(self, text: str):
        cell = kernel_cells.parse(text)
        self.source, self.name, self.options = cell.source, cell.kernel, list(cell.options)


def answer(name: str, what: str) -> Kernel:
    one = exercises.find(name)
    found = next(a for a in (*answers.right(one), *answers.wrong(one)) if a.what == what)
    return Kernel(answers.text_of(one, found))


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def arrows(ax) -> list:
    return [text for text in ax.texts if getattr(text, "arrow_patch", None) is not None]


def titles(figure: Figure) -> list[str]:
    return [ax.get_title(loc="left") for ax in figure.axes]


# ---- small arrays, cell by cell ----


def test_a_picture_has_every_value_and_an_arrow_for_each_marked_input():
    ax = Figure().subplots()
    N, P = np.array([1.5, 20, 300]), np.array([7, 8])
    plotting.cells(
        ax,
        [plotting.Cells("N", N, ((0,), (2,)), group=2)],
        plotting.Cells("P", P, ((1,),)),
    )
    assert {"1.5", "20", "300", "7", "8", "N", "P", "block 0", "block 1"} <= set(texts(ax))
    assert sum(isinstance(patch, Rectangle) for patch in ax.patches) == 5
    assert [arrow.xy for arrow in arrows(ax)] == [(1.5, 2.5), (1.5, 2.5)], "the upper side of P[1]"


def test_arrays_of_two_axes_stand_side_by_side_without_arrows():
    ax = Figure().subplots()
    inputs = [plotting.Cells("N", np.arange(6).reshape(2, 3), ((1, 2),))]
    plotting.cells(ax, inputs, plotting.Cells("P", np.arange(6).reshape(3, 2), ((2, 1),)))
    assert not arrows(ax)
    corners = [patch.get_xy() for patch in ax.patches]
    assert max(y for _, y in corners) == 2 and len(set(corners)) == 12


def test_an_upright_array_is_a_column():
    ax = Figure().subplots()
    column = plotting.Cells("column", np.array([4, 5, 6]), ((2,),), upright=True)
    plotting.cells(ax, [column], plotting.Cells("P", np.zeros((3, 1)), ((0, 0),)))
    assert [patch.get_xy() for patch in ax.patches[:3]] == [(0, 0), (0, 1), (0, 2)]


def test_a_picture_that_is_too_large_or_follows_nothing_is_refused():
    ax = Figure().subplots()
    wide = plotting.Cells("N", np.zeros(64))
    with pytest.raises(ValueError, match="at most 64 cells, and these arrays have 65"):
        plotting.cells(ax, [wide], plotting.Cells("P", np.zeros(1), ((0,),)))
    with pytest.raises(ValueError, match="mark one cell of the output P, got 0"):
        plotting.cells(ax, [], plotting.Cells("P", np.zeros(1)))


@pytest.mark.parametrize("one", puzzles.all_puzzles(), ids=lambda one: one.name)
def test_a_drawing_shows_what_the_reference_makes(one):
    (ax,) = puzzles.drawing(one.name).axes
    want = one.wanted(one.example)[one.example.outputs[0]]
    shown = texts(ax)
    assert all(f"{value:g}" in shown for value in want.ravel())
    value = re.search(r" = (\S+) comes from", ax.get_title(loc="left"))[1]
    assert float(value) == want[one.follow]


# ---- the accesses of a kernel ----


def test_a_panel_for_each_array_and_kind_of_access():
    solution = Kernel(exercises.find("transpose").solution)
    who = "Warp 0 of block (0, 0, 0)"
    assert titles(puzzles.accesses(solution)) == [
        f"{who} loads N from global memory: 1 request",
        f"{who} stores tile to shared memory: 1 request",
        f"{who} loads tile from shared memory: 1 request",
        f"{who} stores P to global memory: 1 request",
    ]


def test_a_bank_conflict_is_drawn_bank_by_bank():
    figure = puzzles.accesses(answer("transpose", "rows of 32 cells"))
    waits = [k for k, title in enumerate(titles(figure)) if "waits for banks" in title]
    assert waits == [2]
    assert "32 wavefronts" in titles(figure)[2]
    (store,) = [title for title in titles(figure) if "stores P" in title]
    assert store.endswith("1 request"), "the store itself is coalesced"


def test_many_requests_are_cut_and_the_title_says_so():
    figure = puzzles.accesses(
        Kernel(answers.text(exercises.find("running_sums"), "wrong_global.cu"))
    )
    cut = re.search(r"loads N from global memory: the first 6 of (\d+) requests", titles(figure)[0])
    assert int(cut[1]) >= 64, "the longest sum of warp 1 has 64 terms"


def test_a_kernel_that_touches_nothing_has_no_picture(capsys):
    assert puzzles.accesses(Kernel(exercises.find("squares").stub)) is None
    assert capsys.readouterr().out == (
        "Nothing to draw: warp 0 of block (0, 0, 0) of squares touches no memory.\n"
    )


def test_a_finding_is_told_beside_the_picture(capsys):
    figure = puzzles.accesses(answer("deal_cells", "the barrier stands before the filling"))
    said = capsys.readouterr().out
    assert "race" in said and "cells[" in said
    assert figure is not None and "stores cells to shared memory" in titles(figure)[1]


def test_a_kernel_with_other_parameters_is_told_why(capsys):
    stub = exercises.find("add_arrays").stub.replace(", int n)", ")")
    assert puzzles.accesses(Kernel(stub)) is None
    said = capsys.readouterr().out
    assert said.startswith("No picture of add_arrays: the simulator could not launch it.\n")
    assert "argument" in said


def test_what_is_no_kernel_of_a_puzzle_is_refused():
    with pytest.raises(TypeError, match="that a %%kernel cell makes"):
        puzzles.accesses(print)
    with pytest.raises(LookupError, match="no puzzle 'conv1d_edge'; there are: squares"):
        puzzles.accesses(Kernel(exercises.find("conv1d_edge").solution))


# ---- the table ----


def test_the_table_has_the_latest_checks(monkeypatch):
    monkeypatch.setattr(base, "_latest", {})
    count = len(puzzles.all_puzzles())
    assert puzzles.result() == f"0 of {count} puzzles solved, 0 of {2 * count} points"
    exercises.find("squares").check(Kernel(exercises.find("squares").solution))
    for name, what in (("add_arrays", "i <= n"), ("sum_table", "lanes down the columns")):
        with pytest.raises(ExerciseError):
            exercises.find(name).check(answer(name, what))
    rows = [line.split(maxsplit=2) for line in puzzles.table().splitlines()[1:]]
    assert [row[1] for row in rows] == [one.name for one in puzzles.all_puzzles()]
    said = {row[1]: " ".join(row[2].split()) for row in rows}
    assert said["squares"] == "solved 2 of 2"
    assert said["add_arrays"] == "stopped at a finding 0 of 2"
    assert said["sum_table"] == "right, over its budget 1 of 2"
    assert said["transpose"] == "not checked yet 0 of 2"
    assert puzzles.result() == f"1 of {count} puzzles solved, 3 of {2 * count} points"


def test_every_status_has_words():
    from helpers.exercises.judge.verdict import STATUSES

    assert set(puzzles._WORDS) == set(STATUSES)


# ---- the counts that budgets are made of ----


def test_padded_and_as_blocks_keep_what_there_is():
    assert room.padded(np.array([1, 2, 3]), 2, -1).tolist() == [[1, 2], [3, -1]]
    turned = room.as_blocks(np.array([1, 2, 3]), 2, lambda rows: rows[:, ::-1], 9)
    assert turned.tolist() == [2, 1, 9]
