"""%%kernel in a real IPython shell: what is bound, what a student reads when it fails."""

from __future__ import annotations

import threading
import uuid
import warnings

import numpy as np
import pytest

from helpers import device, exercises, kernel_cells, simulator
from helpers.jupyterlab import kernel_magic
from helpers.jupyterlab.kernel_magic import KernelError, with_c_linkage
from helpers.simulator.compile import front_ends
from helpers.simulator.machine import library, prebuilt
from helpers.simulator.program import encoded

TWICE = """%%kernel twice -DFACTOR=2
// __global__ in a comment is no kernel
__global__ void twice(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = FACTOR * in[i];
}
"""


def failure(shell, cell: str, capsys) -> str:
    """What the frontend shows for a cell that must fail."""
    capsys.readouterr()
    result = shell.run_cell(cell)
    assert not result.success, "the cell counts as passed"
    assert isinstance(result.error_in_exec, KernelError), result.error_in_exec
    shown = capsys.readouterr()
    assert "Traceback" not in shown.out + shown.err
    return shown.out + shown.err


def test_the_kernel_is_bound_and_runs(shell):
    assert "twice" not in shell.user_ns
    assert shell.run_cell(TWICE).success
    import pycuda.driver as cuda

    twice, data, out = (
        shell.user_ns["twice"],
        np.arange(10, dtype=np.float32),
        np.zeros(10, np.float32),
    )
    twice(cuda.Out(out), cuda.In(data), np.int32(10), block=(32, 1, 1))
    np.testing.assert_array_equal(out, 2 * data)


def test_the_source_can_be_profiled_with_the_lines_of_the_cell(shell):
    shell.run_cell(TWICE)
    twice, out = shell.user_ns["twice"], np.zeros(32, np.float32)
    got = simulator.profile(
        twice.source,
        twice.name,
        out,
        np.ones(32, np.float32),
        np.int32(32),
        grid=(1,),
        block=(32,),
        options=twice.options,
    )
    np.testing.assert_array_equal(out, 2)
    assert got.global_load_requests == 1
    assert TWICE.splitlines()[6].strip() == "out[i] = FACTOR * in[i];"
    assert {line.line for line in got.lines} == {7}


def test_constants_are_reached_through_the_module(shell):
    shell.run_cell(
        "%%kernel weigh\n__constant__ float w[2];\n__global__ void weigh(float "
        "*out) { out[0] = w[0] + w[1]; }\n"
    )
    import pycuda.driver as cuda

    weigh, out = shell.user_ns["weigh"], np.zeros(1, np.float32)
    address, nbytes = weigh.module.get_global("w")
    assert nbytes == 8
    cuda.memcpy_htod(address, np.array([3, 4], np.float32))
    weigh(cuda.Out(out), block=(1, 1, 1))
    assert out[0] == 7


def test_a_compile_error_is_the_message_alone_with_the_cells_lines(shell, capsys):
    shown = failure(
        shell, "%%kernel k\n__global__ void k(float *out)\n{\n    out[0] = missing;\n}\n", capsys
    )
    assert shown.startswith("k does not compile (line 1 is the %%kernel line):")
    assert "line 4: error: " in shown and "missing" in shown
    assert "kernel.cu" not in shown
    assert shell.run_cell("1 + 1").success


FAILING = {
    "the compiler refuses it": TWICE.replace("in[i]", "in[i"),
    "an option is wrong": TWICE.replace("-DFACTOR=2", "-O3"),
    "a quote is open": TWICE.replace("-DFACTOR=2", "'-DFACTOR=2"),
    "there is no kernel in it": TWICE.replace("__global__", "__device__"),
}


@pytest.mark.parametrize("case", FAILING)
def test_a_failed_cell_leaves_no_kernel_of_before(shell, capsys, case):
    shell.run_cell(TWICE)
    failure(shell, FAILING[case], capsys)
    assert "twice" not in shell.user_ns
    assert shell.run_cell(TWICE).success
    assert "twice" in shell.user_ns


def test_a_check_after_a_failed_cell_says_which_cell_to_mend(shell, capsys):
    shell.run_cell("def check(kernel):\n    return 'PASS'")
    shell.run_cell(TWICE)
    failure(shell, FAILING["the compiler refuses it"], capsys)
    result = shell.run_cell("check(twice)")
    assert isinstance(result.error_in_exec, NameError)
    shown = capsys.readouterr().out.strip()
    assert len(shown.splitlines()) == 1
    assert shown == f"NameError: twice is not defined: {kernel_magic.UNBOUND}"


def test_an_interrupted_cell_leaves_no_kernel_of_before(shell, capsys, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    shell.run_cell(TWICE)
    monkeypatch.setattr(kernel_magic, "_compile", interrupt)
    shell.run_cell(TWICE)
    assert "twice" not in shell.user_ns


def test_nvccs_places_become_lines_of_the_cell():
    said = (
        'kernel.cu(4): error: identifier "missing" is undefined\n      out[0] '
        "= missing;\n               ^\n\n"
        '/tmp/tmpabc/kernel.cu(7): warning #177-D: variable "x" was declared\n\n'
        '1 error detected in the compilation of "kernel.cu".\n'
    )
    shown = kernel_magic.explanation("k", said, "")
    assert 'line 4: error: identifier "missing" is undefined\n      out[0] = missing;' in shown
    assert "line 7" not in shown, "the first error alone"
    assert "kernel.cu" not in shown


WRONG_CELLS = {
    "no name": ("%%kernel\n__global__ void k(int *a) {}", "needs the name of the kernel"),
    "a name that is no name": (
        "%%kernel 2fast\n__global__ void k(int *a) {}",
        "cannot be a Python name",
    ),
    "a keyword": ("%%kernel for\n__global__ void k(int *a) {}", "cannot be a Python name"),
    "another option": (
        "%%kernel k -O3\n__global__ void k(int *a) {}",
        "cannot make sense of '-O3'",
    ),
    "an empty -D": ("%%kernel k -D\n__global__ void k(int *a) {}", "cannot make sense of '-D'"),
    "a macro of one letter": (
        "%%kernel k -DT=16\n__global__ void k(int *a) {}",
        "-DT=16 names a macro by one letter",
    ),
    "one letter, apart": (
        "%%kernel k -D n\n__global__ void k(int *a) {}",
        "-Dn names a macro by one letter",
    ),
    "an open quote": ("%%kernel k '-DA\n__global__ void k(int *a) {}", "No closing quotation"),
    "no kernel": ("%%kernel k\nvoid k(int *a) {}", "has no `__global__` function"),
    "other kernels": (
        "%%kernel k\n__global__ void f(int *a) {}\n__global__ void g(int *a) {}",
        "has f and g",
    ),
    "what a GPU is needed for": (
        '%%kernel k\n__global__ void k(int *a)\n{\n    asm("wgmma.fence.sync.aligned;");\n}',
        "line 4: the simulator cannot",
    ),
}


@pytest.mark.parametrize("case", WRONG_CELLS)
def test_wrong_cells_say_what_is_wrong(shell, capsys, case):
    cell, words = WRONG_CELLS[case]
    assert words in failure(shell, cell, capsys)


@pytest.fixture
def nothing_loaded():
    """The simulator as in a new process, which has yet to build or load its machine."""
    caches = (library.machine, library.operation_names, library.operation_ids, encoded._encoder)
    for one in caches:
        one.cache_clear()
    yield
    for one in caches:
        one.cache_clear()


def test_a_missing_compiler_is_the_message_alone(shell, capsys, monkeypatch, nothing_loaded):
    monkeypatch.setenv("CXX", "/nonexistent/compiler")
    monkeypatch.setattr(library, "_prebuilt", lambda: prebuilt.Prebuilt(None))
    shown = failure(shell, "%%kernel k\n__global__ void k(int *a) { a[0] = 12345; }\n", capsys)
    assert "/nonexistent/compiler" in shown


def test_remarks_of_nvcc_have_the_cells_lines_and_no_paths():
    said = (
        "The CUDA compiler succeeded, but said the following:\n"
        'kernel.cu(5): warning #177-D: variable "tile" was declared but never referenced\n'
        "      __attribute__((shared)) float tile[22][22];\n"
        "                                    ^\n\n"
        'Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"\n\n'
        '/tmp/x/kernel.cu(7): warning #549-D: variable "sum" is used before its value is set\n'
        "      P[i] = sum;\n"
        "             ^\n\n"
    )
    assert kernel_magic.remarks(said) == (
        'line 7: warning #549-D: variable "sum" is used before its value is set\n'
        "      P[i] = sum;\n"
        "             ^\n"
    )
    assert kernel_magic.remarks("") == ""


def test_a_warning_of_the_compiler_is_printed_and_the_kernel_bound(shell, capsys, monkeypatch):
    from pycuda import compiler  # the simulator's, which the shell has activated

    compiled = compiler.SourceModule

    def warned(*args, **options):
        warnings.warn("kernel.cu(2): warning #549-D: used before it is set\n", stacklevel=1)
        return compiled(*args, **options)

    monkeypatch.setattr(compiler, "SourceModule", warned)
    assert shell.run_cell("%%kernel k\n__global__ void k(int *a) { a[0] = 1; }\n").success
    shown = capsys.readouterr()
    assert shown.out == "line 2: warning #549-D: used before it is set\n" and not shown.err


def test_the_only_kernel_may_have_another_name(shell):
    assert shell.run_cell("%%kernel mine\n__global__ void theirs(int *a) { a[0] = 1; }\n").success
    assert shell.user_ns["mine"].name == "theirs"


def test_options_of_both_spellings(shell):
    cell = (
        "%%kernel k -D FIRST=1 -DSECOND=2\n__global__ void k(int *a) { a[0] = FIRST + SECOND; }\n"
    )
    assert shell.run_cell(cell).success
    assert shell.user_ns["k"].options == ["-DFIRST=1", "-DSECOND=2"]


def test_a_kernel_with_launch_bounds_is_found(shell):
    cell = "%%kernel k\n__global__ void __launch_bounds__(128) k(int *a)\n{\n    a[0] = 1;\n}\n"
    assert shell.run_cell(cell).success


def test_the_magic_selects_the_device_where_the_lab_did_not(monkeypatch, shell):
    calls = []
    monkeypatch.setattr(device, "select", lambda: calls.append(1))
    shell.run_cell(TWICE)
    assert calls


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("__global__ void __launch_bounds__(MAX(1, 2)) __maxnreg__(32)\nother() {}", "other"),
        ("void __global__ __cluster_dims__(1, 1, 1) k() {}\n__global__ void other() {}", "k"),
        ("__global__ void other(int);\n__global__ auto other(int) -> void {}", "other"),
        ("#define NAME k\n__global__ void other();\n__global__ void NAME() {}", "k"),
        ("__global__ void NAME() {}", "k"),
        ("#define KERNEL(name) __global__ void name\nKERNEL(k)() {}", "k"),
    ],
)
def test_the_kernel_of_a_cell_is_found(source, name):
    assert kernel_cells.parts("k -DNAME=k", source).kernel == name


@pytest.mark.parametrize(
    ("source", "want"),
    [
        ("__global__ void k() {}", 'extern "C" __global__ void k() {}'),
        ('extern "C" __global__ void k() {}', 'extern "C" __global__ void k() {}'),
        ("template <int R>\n__global__ void k() {}", "template <int R>\n__global__ void k() {}"),
        (
            "// __global__\nint f();\n__global__ void k() {}",
            '// __global__\nint f();\nextern "C" __global__ void k() {}',
        ),
        ("#include <x>\nvoid __global__ k() {}", '#include <x>\nextern "C" void __global__ k() {}'),
        (
            "__launch_bounds__(32) __global__ void k() {}",
            'extern "C" __launch_bounds__(32) __global__ void k() {}',
        ),
        (
            "#define K(n, ...) void __global__ n(__VA_ARGS__)\nK(a, int*) {}",
            '#define K(n, ...) extern "C" void __global__ n(__VA_ARGS__)\nK(a, int*) {}',
        ),
        ("extern __global__ void k(int);", 'extern "C" __global__ void k(int);'),
        ("static __global__ void k() {}", "static __global__ void k() {}"),
    ],
)
def test_c_linkage_is_added_once_and_on_the_same_line(source, want):
    assert with_c_linkage(source) == want


def test_a_cell_begins_to_compile_for_its_check(shell, monkeypatch):
    """All that the first check of an answer needs before it counts, here for three widths."""
    exercises.progress("104")
    exercise = exercises.find("conv1d_tiled_steps")
    assert shell.run_cell(f"{exercise.solution}\n// {uuid.uuid4()}, which no cache knows").success
    for kind in ("ahead", "careful"):  # the first kind starts the second
        for thread in [one for one in threading.enumerate() if one.name == kind]:
            thread.join()
    translated = []
    for name in ("translate", "careful"):
        work = getattr(front_ends, name)
        count = lambda *given, work=work: (translated.append(given), work(*given))[1]  # noqa: E731
        monkeypatch.setattr(front_ends, name, count)
    assert exercise.check(shell.user_ns["conv1d_tiled_steps"]).passed
    assert not translated
