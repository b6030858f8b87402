"""What compute-sanitizer says is understood, recorded and set beside the simulator's findings."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from evidence.sanitizer import __main__ as sanitizer
from evidence.sanitizer import output as sanitizer_output
from evidence.sanitizer import record as sanitizer_record
from evidence.sanitizer import tables as sanitizer_tables
from helpers.tools import corpus
from helpers.tools.corpus import Case, Said

CORPUS = Path(__file__).resolve().parents[1] / "simulator" / "corpus"


def example(name: str) -> Case:
    (path,) = CORPUS.glob(f"*/{name}.cu")
    return corpus.read(path)


run = cache(corpus.run_in_simulator)


FILE = "kernel.cu"
MEMCHECK = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at kernel(float *, int)+0x70 in /tmp/kernel.cu:12
=========     by thread (5,0,0) in block (0,0,0)
=========     Access at 0x7f0000000 is out of bounds
=========
========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) due to "unspecified launch failure" on CUDA API call to cuCtxSynchronize.
========= ERROR SUMMARY: 2 errors
"""
MISALIGNED = """========= Invalid __global__ read of size 16 bytes
=========     at kernel(float *)+0x70 in kernel.cu:9
=========     Access at 0x7f0000004 is misaligned
"""
RACECHECK = """========= Error: Race reported between Write access at kernel(float *)+0x90 in kernel.cu:7
=========     and Read access at kernel(float *)+0xf0 in kernel.cu:9 [124 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
SYNCCHECK = """========= Barrier error detected. Divergent thread(s) in block
=========     at kernel(float *)+0x170 in kernel.cu:14
=========     by thread (0,0,0) in block (0,0,0)
========= ERROR SUMMARY: 1 error
"""
INITCHECK = """========= Host API uninitialized memory access
=========     at 0x7f00000 of size 1000 bytes on CUDA API call to cuMemcpyDtoH
========= Uninitialized __global__ memory read of size 4 bytes
=========     at kernel(float *)+0x70 in kernel.cu:5
"""


@pytest.mark.parametrize(
    ("output", "want"),
    [
        (MEMCHECK, [("out-of-bounds", (12,))]),
        (MISALIGNED, [("misaligned", (9,))]),
        (RACECHECK, [("race", (7, 9))]),
        (SYNCCHECK, [("barrier|mask|shuffle", (14,))]),
        (INITCHECK, [("unwritten", ()), ("uninitialised", (5,))]),
        (
            "kernel.cu:12: void kernel(float*): block: [0,0,0], thread: "
            "[1,0,0] Assertion `v >= 0` failed.",
            [("assert", (12,))],
        ),
        ("pycuda._driver.LogicError: cuLaunchKernel failed: invalid argument", [("resources", ())]),
        (
            "ptxas error   : Entry function 'kernel' uses too much shared data (0xe000 bytes, "
            "0xc000 max)",
            [("resources", ())],
        ),
        ("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n", []),
    ],
)
def test_what_a_tool_said_is_understood(output, want):
    assert [(s.kind, s.lines) for s in sanitizer_output.said_by(output, FILE)] == want


def test_verdicts():
    case, right = example("guard_off_by_one"), example("guard")
    (line,) = case.lines
    assert sanitizer_tables.verdict(case, ()) == "nothing"
    assert sanitizer_tables.verdict(case, [Said("race", (line,), "")]) == "another kind"
    elsewhere = Said(case.fault, (max(case.lines) + 1,), "")
    assert sanitizer_tables.verdict(case, [elsewhere]) == "kind only"
    assert sanitizer_tables.verdict(case, [Said("out-of-bounds", (), "")]) == "kind only"
    assert (
        sanitizer_tables.verdict(case, [Said("out-of-bounds|race", (line, 99), "")])
        == "kind and line"
    )
    assert sanitizer_tables.verdict(right, ()) == "silent"
    assert sanitizer_tables.verdict(right, [Said("race", (), "")]) == "false alarm"


def test_a_record_reads_as_it_was_written(tmp_path):
    case = example("softmax_rows")
    record = made_up_record(case, run(case)[1])
    (tmp_path / "r.json").write_text(sanitizer_record.as_text(record))
    assert sanitizer_record.load(tmp_path / "r.json") == record


def made_up_record(case: Case, outputs: dict[str, np.ndarray]) -> dict:
    entry = {"digest": case.digest, "tools": {"memcheck": {"status": "ended", "said": []}}}
    entry["outputs"] = {
        name: sanitizer_record.pack(case, values) for name, values in outputs.items()
    }
    return {
        "schema": 1,
        "device": "a GPU",
        "software": {},
        "kernels": {f"{case.path.parent.name}/{case.name}": entry},
    }


def test_kernels_that_are_measured_alone_replace_theirs_and_no_others(tmp_path, monkeypatch):
    path = tmp_path / "record.json"
    before = made_up_record(example("softmax_rows"), {})
    before["kernels"]["correct/guard"] = {"digest": "of another text", "tools": {}, "outputs": {}}
    path.write_text(sanitizer_record.as_text(before))
    monkeypatch.setattr(sanitizer.shutil, "which", lambda name: name)
    monkeypatch.setattr(sanitizer, "_show", lambda *_: 0)
    monkeypatch.setattr(sanitizer, "_device", lambda: "a GPU")
    monkeypatch.setattr(
        sanitizer,
        "measure",
        lambda cases, **_: made_up_record(*cases, {}) | {"software": {"numpy": "newer"}},
    )
    assert sanitizer.main(["run", str(CORPUS), "--only", "guard", "--record", str(path)]) == 0
    after = sanitizer_record.load(path)
    assert (after["device"], after["software"]) == ("a GPU", {"numpy": "newer"})
    assert after["kernels"] == {
        "correct/softmax_rows": before["kernels"]["correct/softmax_rows"],
        "correct/guard": made_up_record(example("guard"), {})["kernels"]["correct/guard"],
    }


def test_kernels_of_another_gpu_name_it_in_the_record(tmp_path, monkeypatch):
    path = tmp_path / "record.json"
    case, other = example("softmax_rows"), example("guard")
    path.write_text(sanitizer_record.as_text(made_up_record(case, run(case)[1])))
    monkeypatch.setattr(sanitizer.shutil, "which", lambda name: name)
    monkeypatch.setattr(sanitizer, "_show", lambda *_: 0)
    about = {"device": "another GPU", "created": "today", "software": {"compute-sanitizer": "9"}}
    new = made_up_record(other, run(other)[1]) | about
    monkeypatch.setattr(sanitizer, "measure", lambda *_, **__: new)
    assert sanitizer.main(["run", str(CORPUS), "--only", "guard", "--record", str(path)]) == 0
    after = sanitizer_record.load(path)
    assert after["device"] == "a GPU"
    assert after["kernels"]["correct/guard"] == about | new["kernels"]["correct/guard"]
    table = sanitizer_tables.results_table(after, {one: run(one)[1] for one in (case, other)})
    assert "1 of 1 outputs are the same on a GPU and" in table
    assert "1 of 1 outputs are the same on another GPU and" in table
    table = sanitizer_tables.findings_table(after, {other: run(other)[0]})
    assert "compute-sanitizer 9" in table


@pytest.mark.parametrize("name", ["guard", "softmax_rows", "warp_aggregated_atomic"])
def test_results_are_compared_with_those_of_a_gpu(name):
    case = example(name)
    _, outputs = run(case)
    record = made_up_record(case, outputs)
    entry = sanitizer_record.recorded(record, case)
    assert all(
        agrees for agrees, _ in sanitizer_tables.compare_results(case, outputs, entry).values()
    )
    first, *_ = outputs
    near = {**outputs, first: outputs[first].copy()}
    near[first].reshape(-1)[0] *= 1 + 1e-6
    wrong = {**outputs, first: outputs[first] + 1}
    assert not sanitizer_tables.compare_results(case, wrong, entry)[first][0]
    if outputs[first].dtype.kind == "f":
        assert sanitizer_tables.compare_results(case, near, entry)[first][0] == (
            case.tolerance is not None
        )
    assert "DIFFERENT" in sanitizer_tables.results_table(record, {case: wrong})
    assert "1 of 1" in sanitizer_tables.results_table(record, {case: outputs}) or len(outputs) > 1


def test_the_findings_stand_side_by_side():
    case = example("guard_off_by_one")
    table = sanitizer_tables.findings_table(made_up_record(case, {}), {case: run(case)[0]})
    assert "out-of-bounds  kind and line  nothing" in table
    assert "faulty   compute-sanitizer  1 nothing" in table


def test_a_record_of_another_schema_is_refused(tmp_path):
    (tmp_path / "r.json").write_text('{"schema": 0}')
    with pytest.raises(ValueError, match="schema 0"):
        sanitizer_record.load(tmp_path / "r.json")
