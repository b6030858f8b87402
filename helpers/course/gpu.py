"""A kernel that has passed in the simulator, on this machine's GPU: right there, too, and timed
beside the lab's solution.

    result = gpu.timed(result, "conv1d_edge", text, seed)

Each kernel gets a process of its own (gpu_job.py), so that a fault or a kernel that never ends
takes nothing of the grader with it. A process that is ended takes its kernel from the GPU.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from helpers import exercises
from helpers.course import texts
from helpers.exercises.judge.exercise import Exercise

ROOT = Path(__file__).resolve().parents[2]
START_S = 120.0  # to import, to make a context and to compile: none of it is the student's time
RUN_S = 30.0  # for all cases and the timing
END_S = 20.0  # until the driver has given up a kernel whose process was ended
MOST = 1 << 20  # bytes of an answer
COMMAND = (sys.executable, "-m", "helpers.course.gpu_job")
# The toolkit and the compiler of PyCUDA are found by these; nothing else of the grader is passed
# on.
_VARIABLES = (
    "PATH", "HOME", "USER", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH",
    "CUDA_ROOT",
    "CUDA_VISIBLE_DEVICES", "HALO_CACHE", "HALO_CUDA", "VIRTUAL_ENV", "XDG_CACHE_HOME",
)


def timed(result: Mapping[str, Any], exercise: str, text: str, seed: int) -> dict[str, Any]:
    """Return a result with the times on the GPU; with the GPU's verdict where it has another one.

    A result that is no pass stays as it is, and so do those of labs whose answer is no kernel.
    """
    if result["status"] != "pass" or not isinstance(exercises.find(exercise), Exercise):
        return dict(result)
    found = run(exercise, text, seed)
    said = texts.clean(str(found.get("said", "")))[:2_000]
    if found["status"] == "not_timed":
        return {**result, "gpu": f"not timed: {said}"}
    if found["status"] != "pass":
        words = f"FAIL {exercise}: right in the simulator; on the GPU {said}"
        return {
            **result,
            "status": found["status"],
            "points": 0.0,
            "messages": [words],
            "gpu": said,
        }
    times: dict[str, Any] = {
        name: float(found[name]) for name in ("time_ms", "solution_ms") if name in found
    }
    return {**result, **times, "gpu": said}


def run(exercise: str, text: str, seed: int, limit_s: float = RUN_S) -> dict[str, Any]:
    """Return what the GPU says of a kernel: status "pass", "wrong", "finding", "time" or
    "not_timed".
    """
    here, there = os.pipe()
    kept = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    packages = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    process = subprocess.Popen(
        [*COMMAND, str(there)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env={**kept, "LAB_DEVICE": "gpu", "PYTHONPATH": packages},
        pass_fds=(there,),
        start_new_session=True,
    )
    os.close(there)
    try:
        assert process.stdin is not None
        job = {"exercise": exercise, "text": text, "seed": seed}
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(job).encode())
            process.stdin.close()
        return _answer(here, limit_s)
    finally:
        os.close(here)
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_S)


def _answer(pipe: int, limit_s: float) -> dict[str, Any]:
    """Wait for the lines of a job: "running" once the kernel is there, and then what came of it."""
    data, end, started = b"", time.monotonic() + START_S, False
    while True:
        ready, _, _ = select.select([pipe], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            if started:
                late = f"it was still running after {limit_s:g} s, and was stopped"
                return {"status": "time", "said": late}
            return {"status": "not_timed", "said": f"the GPU was not ready within {START_S:g} s"}
        got = os.read(pipe, 1 << 16)
        data += got
        if not started and data.startswith(b"running\n"):
            started, end = True, time.monotonic() + limit_s
        if not got or len(data) > MOST:
            return _parsed(data, started)


def _parsed(data: bytes, started: bool) -> dict[str, Any]:
    lines = data.split(b"\n")
    try:
        found = json.loads(lines[1] if started else lines[0])
        known = found["status"] in ("pass", "wrong", "finding", "not_timed")
    except (ValueError, IndexError, KeyError, TypeError):
        known = False
    if known:
        return found
    if started:
        return {"status": "finding", "said": "its process was ended by a fault of the launch"}
    return {"status": "not_timed", "said": "the process of the GPU ended before it had begun"}
