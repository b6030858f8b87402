"""Where the labs run: what the compiler says of a source, and the table of labs/README.md."""

from __future__ import annotations

import re

import pytest

from helpers import kernels
from helpers.problems.measured import ROOT
from helpers.tools import lab_needs
from helpers.tools.lab_needs import NeedsError, Source

PAGE = (ROOT / lab_needs.PAGE).read_text(encoding="utf-8")


def kernel(body: str) -> Source:
    return Source("one", f'extern "C" __global__ void one(float* out)\n{{\n{body}\n}}\n')


@pytest.mark.parametrize(
    ("body", "architecture", "simulated"),
    [
        ("out[threadIdx.x] = WIDTH;", "75", True),
        ('asm volatile("cp.async.wait_all;");', "80", True),
        ("out[0] = __reduce_max_sync(0xffffffff, threadIdx.x);", "80", True),
        ('asm volatile("griddepcontrol.wait;");', "90", True),
        (
            'int x;\nasm volatile("mov.b32 %0, %%envreg1;" : "=r"(x));\nout[0] = x;',
            "75",
            False,
        ),
        ('asm volatile("wgmma.fence.sync.aligned;");', "90a", None),
    ],
)
def test_the_compiler_says_what_a_source_needs(body, architecture, simulated):
    one = kernel(body)
    found = lab_needs.of(Source(one.name, one.text, ("-DWIDTH=3",)))
    assert found.architecture == architecture
    assert simulated in (None, found.simulated)
    assert found == lab_needs.of(Source(one.name, one.text, ("-DWIDTH=3",))), "kept in the cache"


def test_a_source_that_nobody_takes_is_an_error():
    with pytest.raises(NeedsError, match=r"one: (.|\n)*WIDTH"):
        lab_needs.of(kernel("out[0] = WIDTH;"))


STATED = re.compile(r"[Cc]ompute capability\s+(?://\s+)?(\d\.\d)|Compile for (sm_90a)")


@pytest.mark.parametrize("name", [n for n in kernels.names() if STATED.search(kernels.source(n))])
def test_a_kernel_says_of_itself_what_the_compiler_says(name):
    number, only = STATED.search(kernels.source(name)).groups()
    wanted = "90a" if only else number.replace(".", "")
    assert lab_needs.of(Source(name, kernels.source(name))).architecture == wanted


@pytest.mark.parametrize(
    ("header", "supported", "other"),
    [
        ("mma.cuh", "8.0 and later; compile with -arch=sm_80 or a newer one", "75"),
        ("warpgroup.cuh", "9.0 only; compile with -arch=sm_90a", "80"),
    ],
)
def test_a_header_says_which_gpus_it_supports(header, supported, other):
    """All kernels with products of tensor cores include one of the two."""
    one = Source("one", f'#define PARTS 1\n#define HALF_IO 0\n#include "{header}"\n')
    said = lab_needs._refusal(one, other)
    assert f"{header} supports compute capability {supported}" in said


def test_the_page_says_where_the_labs_run():
    assert lab_needs.filled(PAGE) == PAGE, "type: python -m helpers.tools.lab_needs --write"


def rows(made: str) -> dict[str, str]:
    return {row[3:6]: row for row in made.splitlines() if row.startswith("| [")}


def test_the_table_follows_the_labs(tmp_path):
    """A lab whose cells name a kernel of tensor cores, and one with two cards."""
    (tmp_path / "labs").mkdir()
    cells = ['layer.check("conv2d_mma_pairs")', 'os.environ.setdefault("HALO_DEVICES", "2")']
    for number, source in zip(("901_a", "902_b"), cells, strict=True):
        quoted = source.replace('"', '\\"')
        text = f'{{"cells": [{{"cell_type": "code", "source": ["{quoted}"]}}]}}'
        (tmp_path / "labs" / f"{number}.ipynb").write_text(text)
    page = "| [901_a](901_a.ipynb) | q | `copy_as*` |\n| [902_b](902_b.ipynb) | q | none |\n"
    first, second = rows(lab_needs.table(page, tmp_path)).values()
    assert first.endswith("| all | 1 | 8.0 and later: `conv2d_mma_pairs`, `copy_async` |")
    assert second.endswith("| all | 2 | - |")


def test_a_page_without_a_place_is_an_error():
    with pytest.raises(NeedsError, match="needs two lines"):
        lab_needs.filled("# Labs\n")
