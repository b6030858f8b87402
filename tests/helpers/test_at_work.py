"""Lab 503: who is fastest at what, from a record; and what it takes to write it."""

import ast
from pathlib import Path

import numpy as np
import pytest

from helpers import device, kernels
from helpers.bench import results
from helpers.bench.timing import Timing
from helpers.exercises.content.at_work import block_program, choose_tool
from helpers.experiments import at_work

MS = {
    "chain": {"CUDA": 0.15, "PyTorch": 0.6, "torch.compile": 0.15, "Triton": 0.16},
    "product": {"CUDA": 0.25, "PyTorch": 0.2, "torch.compile": 0.21, "Triton": 0.3},
    "7 x 7 layer": {"CUDA": 0.17, "PyTorch": 1.0, "torch.compile": None, "Triton": 0.8},
}


def rows(ms=MS):
    for job, of_tool in ms.items():
        for tool, median in of_tool.items():
            if median is None:
                yield {"series": tool, "job": job, "left_out": "it was refused", "timing": None}
                continue
            time = Timing.of(tool, [median] * 5, what="kernel", device="a GPU", cache="cold")
            yield {"series": tool, "job": job, "ran": "as it is", "timing": time}


@pytest.fixture(name="found")
def of_a_gpu(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_RESULTS", str(tmp_path))
    return results.record(
        at_work.NAME, rows, device=device.select(), lab=at_work.LAB, needs_gpu=False
    )


def test_the_fastest_tool_of_each_job_wins(found):
    assert at_work.fastest(found)["product"] == ("PyTorch",)
    assert at_work.fastest(found)["7 x 7 layer"] == ("CUDA",)
    assert "thin product" not in at_work.fastest(found)  # nobody measured it
    assert at_work.fastest(found)["chain"] == ("CUDA", "torch.compile")  # as fast as each other
    assert at_work.over_best(found, "chain", "PyTorch") == pytest.approx(4)
    assert at_work.over_best(found, "7 x 7 layer", "torch.compile") is None


def test_the_tables_say_what_was_not_measured(found):
    lines = {line.split("  ")[0]: line for line in at_work.table(found).splitlines()}
    assert "1 (5.88)" in lines["7 x 7 layer"] and "-" in lines["7 x 7 layer"]
    assert "0." not in lines["thin product"]
    assert "7 x 7 layer, torch.compile: it was refused" in at_work.details(found)
    assert at_work.NO_CUTLASS in at_work.details(found)


def test_the_choice_follows_the_record(found):
    chosen = at_work.choices(found, choose_tool.reference, (1.0, 1.1, 5.0)).splitlines()
    assert chosen[1].split() == ["chain", "torch.compile", "torch.compile", "PyTorch"]
    assert chosen[2].split()[-3:] == ["PyTorch"] * 3
    assert chosen[5].split()[-3:] == ["CUDA", "CUDA", "Triton"]
    wrong = at_work.choices(found, lambda ms, lines, within: 1 / 0, (1.0,))
    assert "ZeroDivisionError" in wrong


def test_tools_whose_intervals_meet_are_both_the_fastest(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_RESULTS", str(tmp_path))
    samples = {"CUDA": [1.00, 1.01, 1.02], "PyTorch": [1.01, 1.02, 1.03], "Triton": [1.1] * 3}

    def measured():
        for tool, ms in samples.items():
            time = Timing.of(tool, ms, what="kernel", device="a GPU", cache="cold")
            yield {"series": tool, "job": "product", "ran": "as it is", "timing": time}

    found = results.record(
        at_work.NAME, measured, device=device.select(), lab=at_work.LAB, needs_gpu=False
    )
    assert at_work.fastest(found) == {"product": ("CUDA", "PyTorch")}
    assert at_work.result(found) == "fastest at the product CUDA or PyTorch"


def test_without_a_record_nothing_is_invented(monkeypatch, tmp_path):
    monkeypatch.setattr(results, "MEASURED", tmp_path)
    assert at_work.record(device.select()) is None
    assert at_work.table(None).startswith("not measured yet")
    assert at_work.result(None) == "not measured yet"
    assert "not measured yet" in at_work.choices(None, choose_tool.reference, (1.1,))
    assert not any(character.isdigit() for character in at_work.details(None).partition(":")[0])
    figure = at_work.figure(None)
    assert figure.axes[0].get_title(loc="left") == "Nothing is measured yet"


def test_each_job_names_a_kernel_and_a_triton_function():
    for job in at_work.JOBS.values():
        assert not job.ours or job.ours in kernels.names()
        source = at_work.triton_source(job.triton)
        (function,) = ast.parse(source).body
        assert function.name == job.triton and '"""' not in source
        lines = at_work.lines_of(job)
        assert lines["PyTorch"] < lines["torch.compile"] < lines["Triton"]
        assert lines["CUDA"] > lines["Triton"]
    assert at_work.lines_of(at_work.JOBS["chain"])["CUDA"] == at_work.CHAIN_CUDA.count("\n")


def test_lines_count_what_a_kernel_uses_of_its_headers():
    used = at_work._used_code(kernels.source("gemm_wgmma"))
    for name in ("make_barrier", "start_product", "NAMES_128", "shared_address"):
        assert name in used, f"{name} is used, directly or through others"
    for name in ("load_bulk(", "read_four(", "template <int BYTES>"):
        assert name not in used, f"other kernels use {name}"
    assert "//" not in used


def test_the_triton_kernels_import_nothing_but_triton():
    path = Path(at_work.__file__).parents[1] / "problems" / "triton_kernels.py"
    names = [
        alias.name for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import) for alias in node.names
    ]  # fmt: skip
    assert names == ["triton", "triton.language"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: (2 * x + 1).clip(min=0) * 0.5, "PASS your chain"),
        (lambda x: (2 * x + 1) * 0.5, "FAIL your chain: 5 of 13 values are wrong\n  x = -3: got "),
        (lambda x: (2 * x).clip(min=0) + 0.5, "FAIL your chain: 12 of 13 values are wrong\n  x = "),
        (lambda x: x.nothing, "FAIL your chain: AttributeError"),
        (None, "yours: not yet"),
    ],
)
def test_a_readers_call_is_checked_where_nothing_is_installed(call, said):
    assert at_work.called(call).startswith(said)


def test_the_chain_of_the_exercise_is_that_of_the_measurement():
    x = np.array([-3.0, -0.5, 0.0, 2.0])
    assert np.array_equal(block_program.wanted(x), [0, 0, 0.5, 2.5])


def test_what_was_not_measured_is_not_chosen(found):
    chosen = at_work.chosen(found, choose_tool.reference, 1.0)
    assert chosen == {"chain": "torch.compile", "product": "PyTorch", "7 x 7 layer": "CUDA"}
    assert at_work.chosen(None, choose_tool.reference, 1.0) == {}
