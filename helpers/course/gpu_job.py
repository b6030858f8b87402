"""The process that times one kernel on the GPU: python -m helpers.course.gpu_job DESCRIPTOR.

It reads exercise, text and seed from standard input, and writes into the file descriptor: a line
"running" before the kernel's first launch, then one line of JSON. It ends without clean-up, which
after a fault would only fail as well.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from helpers import device, exercises, kernel_cells
from helpers.exercises.judge.exercise import Exercise


def main() -> None:
    """Time the kernel that standard input asks for."""
    out = int(sys.argv[1])
    os.set_inheritable(out, False)  # no compiler that outlives this process may hold it open
    job = json.loads(sys.stdin.buffer.read())
    try:
        found = _timed(job["exercise"], job["text"], job["seed"], out)
    except Exception as error:  # before the first launch: none of the student's
        found = {"status": "not_timed", "said": f"{type(error).__name__}: {error}"}
    os.write(out, json.dumps(found).encode() + b"\n")
    os._exit(0)


def _timed(name: str, text: str, seed: int, out: int) -> dict[str, Any]:
    exercise = exercises.find(name)
    assert isinstance(exercise, Exercise)
    cell = kernel_cells.parse(text)
    selected = device.select()
    from pycuda import driver as cuda

    from helpers.exercises.judge import on_gpu

    modules = on_gpu.compiled(exercise, cell, seed)
    os.write(out, b"running\n")
    try:
        wrong = on_gpu.first_wrong(exercise, cell, seed, modules)
        if wrong is not None:
            said = f"({selected.name}) {wrong.title} is wrong"
            return {"status": "wrong", "said": said}
        found = on_gpu.beside_solution(exercise, cell, seed, modules)
    except cuda.Error as error:
        return {"status": "finding", "said": f"({selected.name}) {error}"}
    except Exception as error:
        return {"status": "not_timed", "said": f"{type(error).__name__}: {error}"}
    if found is None:
        return {"status": "pass", "said": "several launches with copies between them: no time"}
    case, compared = found
    return {
        "status": "pass",
        "time_ms": compared.a.median,
        "solution_ms": compared.b.median,
        "said": f"{selected.name}, {case.title}: {compared}",
    }


if __name__ == "__main__":
    main()
