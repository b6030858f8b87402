"""Times on a GPU: what the grader makes of the process that runs a kernel there, and that process
on a real GPU.
"""

from __future__ import annotations

import sys
import time

import pytest

from helpers import exercises
from helpers.course import gpu, grading

EDGE = exercises.find("conv1d_edge")
PASSED = {"status": "pass", "points": 10.0, "maximum": 10.0, "messages": ["PASS"]}


@pytest.fixture
def job(monkeypatch):
    """Put a program in the place of the process; it gets the descriptor as its last argument."""

    def put(program: str) -> None:
        start = "import os, sys, time; out = int(sys.argv[-1]); sys.stdin.read()\n"
        monkeypatch.setattr(gpu, "COMMAND", (sys.executable, "-c", start + program))

    return put


RUNNING = "os.write(out, b'running\\n')\n"


@pytest.mark.parametrize(
    ("program", "status", "said"),
    [
        (RUNNING + "time.sleep(60)", "time", "still running after 1 s"),
        (RUNNING + "os.kill(os.getpid(), 9)", "finding", "ended by a fault"),
        (RUNNING + "os.write(out, b'[1, 2]')", "finding", "ended by a fault"),
        ("os.kill(os.getpid(), 9)", "not_timed", "before it had begun"),
        (
            'os.write(out, b\'{"status": "not_timed", "said": "no GPU"}\\n\')',
            "not_timed",
            "no GPU",
        ),
        (
            RUNNING + 'os.write(out, b\'{"status": "wrong", "said": "n = 7 is wrong"}\\n\')',
            "wrong",
            "n = 7 is wrong",
        ),
    ],
)
def test_whatever_becomes_of_the_process_is_said(job, program, status, said):
    job(program)
    began = time.monotonic()
    found = gpu.run("conv1d_edge", EDGE.solution, 1, limit_s=1.0)
    assert found["status"] == status and said in found["said"], found
    assert time.monotonic() - began < 30


def test_a_verdict_of_the_gpu_takes_the_points_away(job):
    job(RUNNING + 'os.write(out, b\'{"status": "wrong", "said": "n = 7 is wrong"}\\n\')')
    found = gpu.timed(PASSED, "conv1d_edge", EDGE.solution, 1)
    assert found["status"] == "wrong" and found["points"] == 0
    assert "right in the simulator" in found["messages"][0]


def test_a_grader_without_a_gpu_takes_no_points_and_tries_again(job):
    job("pass")
    found = gpu.timed(PASSED, "conv1d_edge", EDGE.solution, 1)
    assert found["status"] == "pass" and found["points"] == 10
    assert found["gpu"].startswith("not timed") and not grading._is_final(found)


def test_a_time_is_kept(job):
    job(RUNNING + 'os.write(out, b\'{"status": "pass", "time_ms": 2, "said": "H"}\\n\')')
    found = gpu.timed(PASSED, "conv1d_edge", EDGE.solution, 1)
    assert (found["status"], found["time_ms"], grading._is_final(found)) == ("pass", 2.0, True)


def test_what_has_not_passed_and_what_is_no_kernel_stays_as_it_is(job):
    job("sys.exit(1)")
    for result, name in (({**PASSED, "status": "budget"}, "conv1d_edge"), (PASSED, "stream_order")):
        assert gpu.timed(result, name, "", 1) == result


@pytest.mark.gpu
def test_a_kernel_that_never_ends_leaves_the_gpu_to_the_next_one():
    store = "P[i] = sum;"
    endless = EDGE.solution.replace(store, f"while (true) {store}")
    wild = EDGE.solution.replace(store, "*(float*)(i * 1000000000000ll + 16) = sum;")
    wrong = EDGE.solution.replace(store, "P[i] = sum + 1.0f;")
    for text, status in ((endless, "time"), (wild, "finding"), (wrong, "wrong")):
        assert text != EDGE.solution
        assert gpu.run("conv1d_edge", text, 5, limit_s=6.0)["status"] == status
        after = gpu.run("conv1d_edge", EDGE.solution, 5)
        assert after["status"] == "pass" and after["time_ms"] > 0
