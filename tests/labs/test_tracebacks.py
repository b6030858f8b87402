"""Errors in a real IPython shell: how much of them a student sees."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell

from helpers import device
from helpers.jupyterlab import tracebacks

REAL_PYCUDA = """
class CompileError(Exception):
    # As pycuda.driver.CompileError: message, command line, what nvcc wrote.
    def __init__(self, msg, command_line, stdout=None, stderr=None):
        self.msg, self.command_line, self.stdout, self.stderr = msg, command_line, stdout, stderr
    def __str__(self):
        return f"{self.msg}\\n[command: {' '.join(self.command_line)}]\\n[stderr:\\n{self.stderr}]"

CompileError.__module__ = "pycuda.driver"
"""


@pytest.fixture
def shell(monkeypatch, capsys):
    monkeypatch.setenv("LAB_DEVICE", "simulator")
    if device.selected() is None:
        device.select()
    shell = InteractiveShell()
    shell.run_cell("%load_ext helpers")
    shell.run_cell(
        "import numpy as np, pycuda.driver as cuda\nfrom pycuda.compiler import SourceModule"
    )
    capsys.readouterr()
    yield shell
    shell.history_manager.end_session()


def shown(shell, capsys, cell: str) -> list[str]:
    """The lines that IPython shows for a cell that must fail."""
    result = shell.run_cell(cell, store_history=True)
    assert not result.success, "the cell counts as passed"
    captured = capsys.readouterr()
    return (captured.out + captured.err).strip().splitlines()


def test_a_budget_is_its_message_and_the_lines_of_the_notebook(shell, capsys):
    cell = "def check(loads):\n    assert loads <= 3, f'{loads} loads; the budget is 3'\n\ncheck(4)"
    lines = shown(shell, capsys, cell)
    assert lines[0] == "AssertionError: 4 loads; the budget is 3"
    assert [line.split(":")[0] for line in lines[1:]] == [
        "  In[1], line 2, in check",
        "  In[1], line 4",
    ]


def test_an_assertion_without_a_message_shows_its_line(shell, capsys):
    lines = shown(shell, capsys, "x = 1\nassert x == 2")
    assert lines == ["AssertionError", "  In[1], line 2: assert x == 2"]


LIBRARY = """there = {"__name__": "library"}
exec(compile("def f():\\n    assert False", "library.py", "exec"), there)
there["f"]()
"""


def test_an_assertion_of_a_library_without_a_message_is_shown_whole(shell, capsys):
    assert any("Traceback" in line for line in shown(shell, capsys, LIBRARY))


def test_deep_recursion_does_not_fill_the_page(shell, capsys):
    cell = "def f(n):\n    assert n, 'too deep'\n    f(n - 1)\n\nf(50)"
    assert len(shown(shell, capsys, cell)) == 1 + tracebacks.PLACES


def test_a_compile_error_of_the_simulator(shell, capsys):
    cell = "SourceModule('__global__ void k(float* a)\\n{\\n    a[0] = missing;\\n}')"
    text = "\n".join(lines := shown(shell, capsys, cell))
    assert lines[0].startswith("CompileError: ")
    assert "kernel.cu(3)" in text and "missing" in text
    assert lines[-1].startswith("  In[1], line 1")
    assert len(lines) < 10 and "helpers" not in text


def test_a_compile_error_is_the_first_one_at_the_line_that_is_at_fault(shell, capsys):
    source = "__global__ void f(float *p)\n{\n    int unused\n    p[0] = true + True;\n}"
    lines = shown(shell, capsys, f"SourceModule({source!r})")
    assert [line for line in lines if "error" in line or "warning" in line] == [
        'kernel.cu(3): error: expected a ";"'
    ]
    lines = shown(shell, capsys, f"SourceModule({source.replace('unused', 'unused;')!r})")
    assert "C writes `true`." in lines


def test_a_compile_error_of_pycuda_has_no_command_and_no_temporary_folder(shell, capsys):
    shell.run_cell(REAL_PYCUDA)
    said = (
        "/tmp/tmpx1/kernel.cu(4): error: identifier \\\"missing\\\" is "
        "undefined\\n\\n1 error detected"
    )
    cell = (
        'raise CompileError("nvcc compilation failed", ["nvcc", "/tmp/tmpx1/kernel.cu"], "", '
        f'"{said}")'
    )
    lines = shown(shell, capsys, cell)
    assert 'kernel.cu(4): error: identifier "missing" is undefined' in lines
    assert not any("/tmp" in line and "raise" not in line for line in lines)
    assert not any("[command" in line for line in lines)


def test_a_long_message_of_a_compiler_is_cut():
    said = "\n".join(f"kernel.cu(1): error {n}" for n in range(100))
    lines = tracebacks.compiler_message(said).splitlines()
    assert len(lines) == tracebacks.COMPILER_LINES + 1
    assert lines[-1] == "... and 80 more lines"


@pytest.mark.parametrize("over", [-1, 0, 1, 40])
def test_a_long_line_is_cut(over):
    line = "x" * (tracebacks.LINE + over)
    cut = tracebacks._cut(line)
    assert cut == line if over <= 0 else len(cut) == tracebacks.LINE and cut.endswith("x ...")


OUT_OF_BOUNDS = """source = "__global__ void k(float* a) { a[threadIdx.x] = 1.0f; }"
k = SourceModule(source).get_function("k")
k(cuda.Out(np.zeros(8, np.float32)), block=(32, 1, 1))
"""


def test_a_finding_that_stops_a_launch_is_shown_without_the_simulator(shell, capsys):
    text = "\n".join(lines := shown(shell, capsys, OUT_OF_BOUNDS))
    assert lines[0] == "LaunchError:" and lines[1].startswith("out-of-bounds: ")
    assert lines[-1].startswith("  In[1], line 3")
    assert len(lines) < 8 and "pycuda_api" not in text
    assert all(len(line) <= tracebacks.LINE for line in lines)


def test_a_wrong_argument_is_shown_without_the_simulator(shell, capsys):
    cell = OUT_OF_BOUNDS.replace("block=(32, 1, 1)", "block=32")
    text = "\n".join(lines := shown(shell, capsys, cell))
    assert lines[0].startswith("TypeError: block must be")
    assert "pycuda_api" not in text


def test_an_interrupt_is_one_line(shell, capsys):
    cell = "def wait():\n    raise KeyboardInterrupt\n\nwait()"
    assert shown(shell, capsys, cell) == [
        "KeyboardInterrupt: stopped at In[1], line 2, in wait: raise KeyboardInterrupt"
    ]


def test_the_students_own_errors_stay_as_ipython_shows_them(shell, capsys):
    for cell in ("1 / 0", "[][1]", "{}['a']", "raise TypeError('mine')"):
        lines = shown(shell, capsys, cell)
        assert any("Traceback" in line for line in lines), cell


def test_a_missing_name_says_which_cells_to_run(shell, capsys):
    lines = shown(shell, capsys, "undefined_name + 1")
    assert lines[0] == "NameError: name 'undefined_name' is not defined"
    assert lines[1] == tracebacks.NOT_RUN and lines[2].startswith("  In[1], line 1")
    assert len(lines) == 3


def test_tb_shows_all_of_a_shortened_error(shell, capsys):
    short = shown(shell, capsys, OUT_OF_BOUNDS)
    shell.run_cell("%tb")
    assert len(capsys.readouterr().out.splitlines()) > 2 * len(short)


@pytest.mark.parametrize(
    ("cell", "must"),
    [
        ("exercises.find('conv1d_edge').check(lambda n: n)", "the function that a %%kernel"),
        ("exercises.find('conv1d_edge').check(max)", "the function that a %%kernel"),
        ("Prediction().number('loads', 'three', 'loads')", "write a number in place of None"),
        ("Prediction().number('loads', (1, 2), 'loads')", "write a number in place of None"),
        ("Prediction().choice('best', ['a'], 'the best', among=('a',))", "choose one of 'a'"),
        ("Prediction().beside(best='a')", "nothing has asked for a prediction of 'best' yet"),
    ],
)
def test_a_wrong_argument_of_ours_is_a_few_lines(shell, capsys, cell, must):
    shell.run_cell("from helpers import exercises")
    shell.run_cell("from helpers.bench.predictions import Prediction")
    capsys.readouterr()
    lines = shown(shell, capsys, cell)
    assert must in " ".join(line.strip() for line in lines) and len(lines) <= 4, lines
    assert lines[-1].startswith("  In[1], line 1")


def test_a_bug_of_ours_keeps_its_traceback(shell, capsys):
    code = "from helpers import kernel_cells\nkernel_cells.with_c_linkage(3)"
    assert "Traceback (most recent call last)" in "\n".join(shown(shell, capsys, code))


CUDA = 'extern "C" __global__ void twice(float* y, int n)\n{\n    float two = 2.0f;\n}'


@pytest.mark.parametrize(
    "first", ["%kernel twice", "%% kernel twice", "%%Kernel twice", "kernel twice", "// mine"]
)
def test_cuda_without_the_magic_is_told_its_first_line(shell, capsys, first):
    lines = shown(shell, capsys, f"{first}\n{CUDA}")
    assert len(lines) == 1 and f"its first line is `{first}`" in lines[0], lines
    assert "Begin it with `%%kernel twice`" in lines[0]


def test_the_students_own_syntax_errors_show_no_line_of_ipython(shell, capsys):
    for cell in ("if x\n    y = 1", f'source = """\n{CUDA}\n"""\nif x', "  x = 1\n y = 2"):
        lines = shown(shell, capsys, cell)
        assert "SyntaxError" in lines[-1] or "IndentationError" in lines[-1], lines
        assert not any("interactiveshell.py" in line or "%%kernel" in line for line in lines), lines
