"""The broken kernels of lab 105: their faults, how they are fixed, and what fixes nothing."""

from __future__ import annotations

import nbformat
import pytest

from helpers import kernel_cells, labs
from helpers.experiments import broken

FAULTS = {
    "difference": broken.BARRIER,
    "sliding_max": broken.UNSET,
    "blur": broken.LEAVES,
    "axpy4": broken.MISSING,
    "smooth": broken.BLOCKS,
}


@pytest.fixture(scope="module")
def cells() -> dict[str, kernel_cells.KernelCell]:
    """The %%kernel cells of the lab, by name."""
    (path,) = (path for path in labs.notebooks() if path.stem.startswith("105"))
    book = nbformat.read(path, as_version=4)
    texts = [cell.source for cell in book.cells if cell.source.startswith("%%kernel")]
    return {one.name: one for one in map(kernel_cells.parse, texts)}


@pytest.mark.parametrize("name", FAULTS)
def test_a_broken_kernel_passes_its_check_and_has_its_fault(cells, name):
    kernel = cells[name]
    assert broken.check(kernel)
    assert broken.fault(kernel) == FAULTS[name]
    assert (broken.findings(kernel) == "no findings") == (name == "axpy4")
    assert broken.fix(kernel).startswith(f"FAIL {name}, fixed")


@pytest.mark.parametrize("name", FAULTS)
def test_our_changes_fix_a_kernel_and_are_shown(cells, name):
    assert broken.fix(cells[name], *broken.OURS[name]).startswith(f"PASS {name}, fixed")
    listing = repr(broken.show(name))
    assert all(line.strip() in listing for _, new in broken.OURS[name] for line in new.split("\n"))


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("difference", [("N[i] - N[i - 1] : N[i]", "N[i] : N[i]")]),
        ("sliding_max", broken.OURS["sliding_max"][:2]),
        ("sliding_max", [(old, new.replace("-INFINITY", "0")) for old, new in
                         broken.OURS["sliding_max"]]),
        ("blur", [("[T + 1][T]", "[T + 1][T + 1]"), ("min(x + 1, width - 1)", "x")]),
        ("axpy4", [("    if (first + 3 < n)\n", "")]),
        ("axpy4", [("first + 3 < n", "first < n")]),
        ("smooth", [("    __syncthreads();\n", "    __syncthreads();\n    __syncthreads();\n")]),
        ("smooth", [("float* A, int n", "float* S, const float* A, int n"),
                    ("A[i] = (tile[t] +", "S[i] = (")]),
        ("smooth", [("int n)", "int n")]),
    ],
)  # fmt: skip
def test_what_fixes_nothing_fails(cells, name, changes):
    assert broken.fix(cells[name], *changes).startswith(f"FAIL {name}, fixed")


def test_other_fixes_pass(cells):
    barrier = [("    if (i < n && t > 0) D", "    __syncthreads();\n    if (i < n && t > 0) D")]
    assert broken.fix(cells["difference"], *barrier).startswith("PASS")
    no_halo = [
        ("    if (tx == T - 1) tile[ty][tx + 1] = A[y * width + min(x + 1, width - 1)];\n", ""),
        ("tile[ty][tx + 1])", "A[y * width + min(x + 1, width - 1)])"),
    ]
    assert broken.fix(cells["blur"], *no_halo).startswith("PASS")


def test_a_text_that_is_not_there_is_named(cells):
    with pytest.raises(ValueError, match="difference has no 'tile\\[0\\] = 1' to replace"):
        broken.fix(cells["difference"], ("tile[0] = 1", ""))


def test_leftovers_of_zeros_show_in_negative_cells_alone(cells):
    assert broken.with_zeros(cells["sliding_max"], 1).size == 0
    assert broken.with_zeros(cells["sliding_max"], -1).tolist() == [0, 1000]


def test_an_old_result_is_seen_by_stores_and_by_poison(cells):
    assert broken.stored(cells["axpy4"]) == (1000, 1001)
    assert broken.poisoned(cells["axpy4"]).startswith("FAIL axpy4 into NaN: 1 of 1,001")
