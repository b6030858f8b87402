"""Exercise cells in a real IPython shell: after a restart, after a failed compile, and the labs'
own cells.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from helpers import device, exercises, labs
from helpers.jupyterlab.__main__ import environment
from helpers.kernel_cells import parse
from helpers.programs import DeviceRun

STARTUP = Path(__file__).parents[2] / "helpers/jupyterlab/startup.py"
CHECK = (
    'from helpers import exercises\nexercise = exercises.find("conv1d_edge")\n'
    "exercise.check(conv1d_edge)"
)


@pytest.fixture
def shell(monkeypatch):
    monkeypatch.setenv("LAB_DEVICE", "simulator")
    if device.selected() is None:
        device.select()
    shell = InteractiveShell.instance()
    yield shell
    shell.history_manager.end_session()
    InteractiveShell.clear_instance()


def shown(shell, cell: str, capsys) -> str:
    capsys.readouterr()
    shell.run_cell(cell)
    both = capsys.readouterr()
    return re.sub(r"\x1b\[[\d;]*m", "", both.out + both.err)


def test_a_check_cell_right_after_a_restart_says_what_to_run(shell, capsys):
    # Before this shell had a cell: it must still hear of short errors.
    exercises.find("conv1d_edge")
    text = shown(shell, CHECK, capsys)
    assert "name 'conv1d_edge' is not defined" in text and "Run All Above Selected Cell" in text
    assert "Traceback" not in text and len(text.splitlines()) <= 5


def test_the_kernels_of_jupyterlab_know_the_magic_from_the_start(shell, capsys):
    assert environment({})["PYTHONSTARTUP"] == str(STARTUP)
    assert environment({"PYTHONSTARTUP": "/theirs.py"})["PYTHONSTARTUP"] == "/theirs.py"
    exec(STARTUP.read_text(), {})
    one = exercises.find("conv1d_edge")
    assert "Traceback" not in shown(shell, one.solution, capsys)
    assert "PASS conv1d_edge" in shown(shell, CHECK, capsys)
    assert "already loaded" not in shown(shell, "%load_ext helpers", capsys)


def test_a_kernel_that_does_not_compile_is_no_kernel_to_check(shell, capsys):
    shell.run_cell("%load_ext helpers")
    one = exercises.find("conv1d_edge")
    shell.run_cell(one.solution)
    shell.run_cell(one.solution.replace("P[i] = sum;", "P[i] = sum"))
    assert "its %%kernel cell failed" in shown(shell, CHECK, capsys)


def test_a_rejected_kernel_shows_a_few_lines(shell, capsys):
    shell.run_cell("%load_ext helpers")
    shell.run_cell(exercises.find("conv1d_edge").stub)
    text = shown(shell, CHECK, capsys)
    assert "NOT BEGUN conv1d_edge: the cell is" in text and len(text.splitlines()) <= 8
    assert "Error" not in text and "\x1b[31m" not in text
    assert max(map(len, text.splitlines())) <= 100


def test_the_device_gives_what_the_cases_want():
    """The half of a check that a GPU adds, here with the simulator's PyCUDA."""
    for name in ("conv1d_edge", "conv1d_symmetric", "conv2d_chunk", "fft_back", "block_sums"):
        one = exercises.find(name)
        cell = parse(one.solution)
        for case in one.fitted(cell, 1):
            with DeviceRun(case.plan(cell), case.arrays) as run:
                run.launch()
                assert one.is_right(case, run.read(*case.outputs)), case.title


@pytest.mark.parametrize("path", labs.notebooks(), ids=lambda path: path.stem)
def test_a_lab_shows_its_stubs_and_calls_its_exercises(path):
    number = labs.number(path.stem)
    mine = exercises.of_lab(number)
    cells = ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]
    assert mine or any("# yours" in cell for cell in cells), "the student writes nothing"
    assert sum("exercise.check(" in cell for cell in cells) == len(mine)
    for one in mine:
        assert one.stub.rstrip() in cells
        bound, asked = getattr(one, "answer", one.name), {one.name}
        asked |= {number} if len(mine) == 1 else set()
        (check,) = [cell for cell in cells if f"exercise.check({bound})" in cell]
        assert any(f'exercises.find("{name}")' in check for name in asked)
        assert not [cell for cell in cells if one.solution.strip() in cell]
