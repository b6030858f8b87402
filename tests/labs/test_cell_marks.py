"""Marks in cells: which lines of which %%kernel cells the text of an error is about."""

from __future__ import annotations

from helpers.jupyterlab import cell_marks
from helpers.jupyterlab.cell_marks import Mark

CELL = """%%kernel one
__global__ void one(float* out)
{
    out[threadIdx.x] = 1.0f;
    out[threadIdx.x] = 2.0f;
}"""
OTHER = "%%kernel other\n\n\n    float* out;\n    out[threadIdx.x] = 2.0f;"

FINDING = """FAIL one: n = 33
out-of-bounds: thread (32, 0, 0) of block (0, 0, 0) writes out[32], but out has 32 elements
    (out[0] to out[31])
  one.cu:4: out[threadIdx.x] = 1.0f;
  Is a guard missing?
race (warning): thread (1, 0, 0) of block (0, 0, 0) writes out[1]
  kernel.cu:5: out[threadIdx.x] = 2.0f;
  In[3], line 5: out[threadIdx.x] = 1.0f;"""

FIRST = Mark(
    4,
    "out[threadIdx.x] = 1.0f;",
    "out-of-bounds: thread (32, 0, 0) of block (0, 0, 0) writes out[32], but out has 32 elements "
    "(out[0] to out[31])",
)
SECOND = Mark(
    5,
    "out[threadIdx.x] = 2.0f;",
    "race (warning): thread (1, 0, 0) of block (0, 0, 0) writes out[1]",
    "warning",
)


def test_a_finding_marks_its_line_with_its_sentence():
    assert cell_marks.marks_of(FINDING, {"one": CELL}) == {"one": [FIRST, SECOND]}


def test_a_line_is_marked_in_every_cell_that_has_it_there_and_in_no_other():
    marks = cell_marks.marks_of(FINDING, {"one": CELL, "other": OTHER})
    assert marks == {"one": [FIRST, SECOND], "other": [SECOND]}
    assert cell_marks.marks_of(FINDING, {"edited": CELL.replace("out[", "to[")}) == {}
    assert cell_marks.marks_of("FAIL one: 3 of 4 values are wrong", {"one": CELL}) == {}


def test_an_inserted_linkage_does_not_hide_a_line():
    text = 'fault: thread 0\n  kernel.cu:2: extern "C" __global__ void one(float* out)'
    assert [mark.line for mark in cell_marks.marks_of(text, {"one": CELL})["one"]] == [2]


def test_a_compiler_marks_errors_and_warnings():
    text = (
        'one does not compile (line 1 is the %%kernel line):\n\nline 5: error: expected a ";"\n'
        "line 4: warning #1: no newline\nline 70: error: nowhere\n"
    )
    assert cell_marks.marks_of_compiler(text, CELL) == [
        Mark(5, "out[threadIdx.x] = 2.0f;", 'error: expected a ";"'),
        Mark(4, "out[threadIdx.x] = 1.0f;", "warning #1: no newline", "warning"),
    ]


def test_a_compiler_marks_the_last_line():
    marks = cell_marks.marks_of_compiler("line 2: error: no end\nline 3: error: none", "a\nb")
    assert marks == [Mark(2, "b", "error: no end")]


LAUNCH = (
    "import numpy as np\nimport pycuda.driver as cuda\n"
    "one(cuda.Out(np.zeros(32, np.float32)), block=(64, 1, 1))"
)


def test_a_shell_marks_a_failed_compilation_a_fault_and_nothing_after_a_new_run(shell, monkeypatch):
    shown = []
    monkeypatch.setattr(cell_marks, "show", lambda name, marks: shown.append((name, marks)))
    shell.run_cell(CELL.replace("1.0f;", "1.0f"))
    shell.run_cell(CELL)
    shell.run_cell(LAUNCH)
    shell.run_cell("%%kernel\n__global__ void without_a_name() {}")
    failed, compiled, faulty = shown  # the last cell has no name, and changes no marks
    assert failed[0] == "one" and [mark.line for mark in failed[1]] == [4]  # it lacks the ;
    assert compiled == ("one", [])
    assert faulty[0] == "one" and faulty[1][0].text.startswith("out-of-bounds: thread (32, 0, 0)")
    assert [mark.line for mark in faulty[1]] == [4]


def test_a_shell_in_a_terminal_sends_nothing(shell):
    cell_marks.show("one", [FIRST])  # it has no kernel, and no error follows


def test_an_error_of_marking_does_not_hide_the_error_itself(shell, monkeypatch, capsys):
    def fail(*_):
        raise RuntimeError("no comm")

    shell.run_cell(CELL)
    monkeypatch.setattr(cell_marks, "marks_of", fail)
    capsys.readouterr()
    shell.run_cell(LAUNCH)
    out = capsys.readouterr()
    assert "out-of-bounds: thread (32, 0, 0)" in out.out + out.err
    assert "no comm" not in out.out + out.err
