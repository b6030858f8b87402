"""kernels: finding and showing sources, grids, and the form that every .cu file has."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import kernels
from helpers.kernels import GridError, UnknownKernelError
from tests.kernels import cards

GOOD = """\
// toy_copy.cu -- copies an array, one thread per cell
//
// Computes   P[i] = N[i]
// Idea       A thread copies
//            one cell.
// Arrays     N, P: float32, shape (n,).
// Launch     block = (any, 1, 1); grid = (ceil(n / block), 1)
// Sizes      any n >= 1
// Memory     none
// Constants  none
// Reference  numpy.copy

extern "C" __global__ void toy_copy(float* P, const float* N, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        P[i] = N[i];
    }
}
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A kernels folder with one good file; returns the file."""
    monkeypatch.setattr(kernels, "FOLDER", tmp_path)
    file = tmp_path / "toy_copy.cu"
    file.write_text(GOOD)
    return file


# --------------------------------------------------------------------------------------------------
# The form of a .cu file


def faults_of_form(name: str) -> list[str]:
    """What kernels/README.md asks of a kernel file and this one does not keep."""
    text = kernels.source(name)
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    functions = re.findall(
        r"__global__[^(;{]*?\b(\w+)\s*\(", re.sub(r"__launch_bounds__\s*\([^)]*\)", "", code)
    )
    faults = []
    if functions != [name]:
        faults.append(f"__global__ functions {functions}, one named {name} allowed")
    if host := re.findall(
        r"<<<|\bcuda[A-Z]\w*\s*\(|\bmain\s*\(|\bprintf\b|#include\s*<(?!cuda|mma)", code
    ):
        faults.append(f"host code: {host}")
    try:
        cards.read(name, text)
    except cards.HeaderError as error:
        faults.append(str(error))
    if (
        not text.isascii()
        or "\t" in text
        or not text.endswith("}\n")
        or max(map(len, text.splitlines())) > 132
    ):
        faults.append(
            "ASCII without tabs, lines of at most 132 characters, and a "
            "newline at the end are asked for"
        )
    return faults


@pytest.mark.parametrize("name", kernels.names())
def test_every_kernel_keeps_the_form(name):
    assert faults_of_form(name) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("toy_copy(", "toy_copies("), "one named toy_copy"),
        (
            ("{\n    const", '{\n}\nextern "C" __global__ void two(int* a)\n{\n    const'),
            "one named toy_copy",
        ),
        (("// Sizes      any n >= 1\n", ""), "has the fields"),
        (
            (
                "// Memory     none\n// Constants  none\n",
                "// Constants  none\n// Memory     none\n",
            ),
            "has the fields",
        ),
        (("toy_copy.cu --", "toy.cu --"), "first line"),
        (("    P[i]", "    cudaMalloc(&P, n); P[i]"), "host code"),
        (("    if", "\tif"), "tabs"),
    ],
)
def test_a_file_out_of_form_is_found(toy, change, fault):
    assert faults_of_form("toy_copy") == []
    toy.write_text(GOOD.replace(*change))
    assert fault in " ".join(faults_of_form("toy_copy"))


def test_comments_do_not_count_as_functions(toy):
    toy.write_text(GOOD.replace("{\n", "{  // not __global__ void other(int a)\n", 1))
    assert faults_of_form("toy_copy") == []


# --------------------------------------------------------------------------------------------------
# Sources


def test_header_joins_continued_lines(toy):
    header = cards.header("toy_copy", kernels.source("toy_copy"))
    assert header["Summary"] == "copies an array, one thread per cell"
    assert header["Idea"] == "A thread copies one cell."
    assert header["Reference"] == "numpy.copy"


def test_a_source_is_read_again_at_each_call(toy):
    assert kernels.names() == ("toy_copy",)
    assert kernels.source("toy_copy") == GOOD and kernels.path("toy_copy") == toy
    toy.write_text(GOOD + "// more\n")
    assert kernels.source("toy_copy").endswith("// more\n")


def test_an_unknown_name_suggests_the_nearest(toy):
    with pytest.raises(UnknownKernelError, match="did you mean toy_copy") as caught:
        kernels.source("toycopy")
    assert isinstance(caught.value, KeyError)
    assert str(caught.value).startswith("no kernel 'toycopy'")
    with pytest.raises(UnknownKernelError, match="there are: toy_copy"):
        kernels.path("../../etc/passwd")


def test_show_is_readable_as_text_and_in_any_theme(toy):
    listing = kernels.show("toy_copy")
    assert (
        repr(listing).splitlines()[1]
        == " 1  // toy_copy.cu -- copies an array, one thread per cell"
    )
    page = listing._repr_html_()
    assert "<style" not in page and "class=" not in page.replace('class="highlight"', "")
    # An opaque background and a text colour of its own, on the <pre> too, where JupyterLab sets
    # both by theme.
    assert re.search(r"<pre style=\"[^\"]*background:#f8f8f8;color:#1a1a1a", page)
    assert "blockIdx" in page and re.search(r">\s*1</span>", page)


def test_show_some_lines_keeps_their_numbers(toy):
    listing = kernels.show("toy_copy", lines=(13, 15))
    assert (
        repr(listing).splitlines()[1].startswith("13  extern")
        and len(repr(listing).splitlines()) == 4
    )
    assert (
        re.search(r">\s*15</span>", listing._repr_html_())
        and "Computes" not in listing._repr_html_()
    )
    for wrong in ((0, 3), (5, 4), (1, 1000)):
        with pytest.raises(ValueError, match="first <= last"):
            kernels.show("toy_copy", lines=wrong)


def test_a_header_keeps_its_numbers_and_says_what_it_has_not():
    shown = kernels.show_header("mma.cuh", "#pragma once", "#if defined")
    assert shown.first == 15 and shown.text.startswith("#pragma once\n#include")
    assert kernels.show_header("stages.cuh", "// Waits until the bulk").text.endswith("}\n")
    with pytest.raises(ValueError, match="no line with 'nothing like it' from line 1 on"):
        kernels.show_header("mma.cuh", "nothing like it")
    with pytest.raises(ValueError, match="from line 15 on"):
        kernels.show_header("mma.cuh", "#pragma once", "// mma.cuh --")


# --------------------------------------------------------------------------------------------------
# Grids


@settings(deadline=None)
@given(st.integers(1, 10**6), st.integers(1, 1024))
def test_a_grid_covers_every_cell_and_one_block_less_does_not(n, block):
    blocks, *others = kernels.grid_for(n, block)
    assert (blocks - 1) * block < n <= blocks * block and others == [1, 1]


def test_grids_by_hand():
    assert kernels.grid_for(1000, 256) == (4, 1, 1)
    assert kernels.grid_for((1024,), (256, 1, 1)) == (4, 1, 1)
    assert kernels.grid_for((30, 100), (32, 8)) == (4, 4, 1)  # rows, columns; x is the column
    assert kernels.grid_for((5, 30, 100), (32, 8)) == (4, 4, 5)
    assert kernels.grid_for(1000, 128, tile=120) == (9, 1, 1)
    assert kernels.grid_for(10_000, 256, tile=(1280,)) == (8, 1, 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, 256), "empty"),
        (((3, 0), 256), "empty"),
        (((), 256), "0 axes"),
        (((1, 2, 3, 4), 256), "4 axes"),
        ((10, 1025), "1,025 threads; CUDA allows 1,024"),
        ((10, (32, 64)), "2,048 threads"),
        ((10, (1, 1, 128)), "too long along an axis"),
        ((10, 0), "at least 1"),
        (((10**6, 10), (32, 1)), "too long along an axis"),
    ],
)
def test_impossible_grids_are_refused(arguments, words):
    with pytest.raises(GridError, match=words):
        kernels.grid_for(*arguments)
    assert issubclass(GridError, ValueError)


def test_fractions_are_no_sizes():
    with pytest.raises(TypeError):
        kernels.grid_for(1000 / 256, 256)


def test_a_changed_source_holds_the_change_or_is_refused():
    text = kernels.changed("axpy_basic", ("axpy_basic", "axpy_other"))
    assert text == kernels.source("axpy_basic").replace("axpy_basic", "axpy_other")
    with pytest.raises(ValueError, match=r"axpy_basic\.cu has no 'no such text' to replace"):
        kernels.changed("axpy_basic", ("no such text", ""))


def test_code_is_the_source_without_comments_and_line_breaks():
    text = (
        "// what it does\n#define A 1 // one\n#define B \\\n    2\n__global__ void k(float* a,\n"
        '                  int n) { // n cells\n    asm("mov; // no '
        'comment");\n\n    a[0] = /* first */ 1;\n}\n'
    )
    assert kernels.code(text) == (
        "#define A 1\n#define B \\\n2\n"
        '__global__ void k(float* a, int n) { asm("mov; // no comment"); a[0] = 1; }'
    )


@pytest.mark.parametrize(
    "other", ["#define A 2\nint x;", "#define A 1\nint y;", "#define A 1 int x;"]
)
def test_code_that_differs_is_told_apart(other):
    assert kernels.code(other) != kernels.code("#define A 1\nint x;")
