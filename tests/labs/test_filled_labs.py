"""Labs with wrong answers in their gaps, and faults of a filled lab that must be found."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from helpers import exercises, labs
from tests.labs import filled

pytestmark = pytest.mark.long


def with_wrong_answers():
    """The first lab, and of each part the first with a place for a student's kernel in tables."""
    found = {"": labs.notebooks()[0]}
    for path in labs.notebooks():
        if filled.waits_for_answers(nbformat.read(path, as_version=4)):
            found.setdefault(labs.number(path.stem)[0], path)
    return list(dict.fromkeys(found.values()))


@pytest.mark.parametrize("path", with_wrong_answers(), ids=lambda path: path.stem)
def test_a_wrong_answer_stops_no_cell(path, tmp_path):
    assert filled.faults_of_wrong(path, filled.wrong_answers(path), tmp_path) == []


# --------------------------------------------------------------------------------------------------
# small labs with a fault

ALL = exercises.of_lab("101")
EDGE = ALL[-1]
SET_UP = """%load_ext helpers
from helpers import bench, device, exercises
gpu = device.select()
mine = bench.yours("NAME")"""
FIGURE = """%matplotlib inline
import matplotlib.pyplot as plt
figure, ax = plt.subplots()
ax.set_yticks([0], ["yours: not yet"])
figure"""


def lab(folder, *after):
    """A lab 101 with its gaps, their checks and more cells; (source, tags) or a source."""
    cells = [SET_UP.replace("NAME", EDGE.name)]
    for one in ALL:
        check = f'exercise = exercises.find("{one.name}")\nexercise.check({one.name})'
        cells += [one.stub, (check, "raises-exception")]
    cells += after
    made = []
    for cell in cells:
        source, *tags = cell if isinstance(cell, tuple) else (cell,)
        made.append(new_code_cell(source, metadata={"tags": tags}))
    path = folder / "101_small.ipynb"
    nbformat.write(new_notebook(cells=made), path)
    return path


def test_a_lab_without_a_fault_has_none(tmp_path):
    own = "guess = ...  # yours\nprint('yours: not yet')"
    path = lab(tmp_path, ("1 / 0", "raises-exception"), f"{EDGE.name}.source", own)
    assert filled.faults(path, tmp_path) == []


def test_a_cell_that_breaks_on_the_solution_is_found(tmp_path):
    path = lab(tmp_path, "if exercise.latest.passed:\n    1 / 0")
    (fault,) = filled.faults(path, tmp_path)
    assert f"in cell {2 * len(ALL) + 2}" in fault and "ZeroDivisionError" in fault


def test_a_check_that_fails_and_a_table_that_waits_are_found(tmp_path):
    path = lab(tmp_path, "print('| yours: not yet |')", FIGURE)
    book = nbformat.read(path, as_version=4)
    check = 2 * len(ALL)  # of the last exercise, before its answer
    book.cells[check - 1 : check + 1] = book.cells[check], book.cells[check - 1]
    nbformat.write(book, path)
    failed, table, figure = filled.faults(path, tmp_path)
    assert failed.startswith(f"the check of {EDGE.name} does not pass:")
    assert table.endswith("print('| yours: not yet |')") and figure.endswith("\nfigure")


def test_cells_that_need_a_right_answer_are_found(tmp_path):
    wrong = filled.wrong_answers(lab(tmp_path))
    for number, (cell, fault) in enumerate(
        [("assert exercise.latest.passed", "it stops"), ("1 + 1", "no cell says 'yours: not yet'")]
    ):
        scratch = tmp_path / str(number)
        scratch.mkdir()
        (found,) = filled.faults_of_wrong(lab(scratch, cell), wrong, scratch)
        assert found.startswith(fault)


def test_a_lab_without_the_stub_is_an_error(tmp_path):
    path = tmp_path / "101_small.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("1")]), path)
    with pytest.raises(ValueError, match=f"0 cells with the stub of {ALL[0].name}"):
        filled.faults(path, tmp_path)
