"""In the box: run a %%kernel cell on cases whose inputs came with the job. What should come out
is not known here.
"""

from __future__ import annotations

import dataclasses
import os
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from helpers import kernel_cells
from helpers.course import wire
from helpers.exercises import outcome
from helpers.exercises.cases import Case, Step
from helpers.simulator.nvrtc import CompilerCrashed


def run(message: bytes, answer: int) -> None:
    """Run a job, and write its answer into the file descriptor."""
    job, start = wire.content(message)
    cases = _cases(job, message, start)
    try:
        run = outcome.each if job["each"] else outcome.run
        seen = run(kernel_cells.parse(job["text"]), cases, **job["how"])
    except outcome.DoesNotCompile as error:
        return _write(answer, wire.pack({"stopped": "compile", "said": str(error)[:20_000]}))
    except CompilerCrashed as error:
        return _write(answer, wire.pack({"stopped": "compiler", "said": str(error)[:20_000]}))
    except kernel_cells.CellError as error:
        return _write(answer, wire.pack({"stopped": "refused", "said": str(error)[:20_000]}))
    except MemoryError:
        raise
    except Exception as error:  # a fault of the simulator's is none of the student's
        place = "; ".join(
            f"{Path(f.filename).name}:{f.lineno}"
            for f in traceback.extract_tb(error.__traceback__)[-3:]
        )
        return _write(
            answer,
            wire.pack(
                {"stopped": "broken", "said": f"{type(error).__name__}: {error} ({place})"[:2_000]}
            ),
        )
    notes = [_note(one) for one in seen]
    arrays = [
        one.arrays[name] for case, one in zip(cases, seen, strict=False) for name in case.outputs
    ]
    return _write(answer, wire.pack({"outcomes": notes}, arrays))


def _note(one: outcome.Outcome) -> dict[str, Any]:
    return {
        "counts": [dataclasses.asdict(c) for c in one.counts],
        "findings": [f.to_dict() for f in one.findings],
        "stopped": one.stopped,
        "said": one.said,
        "printed": one.printed,
        "lines": one.lines,
        "spread": outcome.spread_note(one.spread),
    }


def _cases(job: dict[str, Any], message: bytes, start: int) -> list[Case]:
    stored = iter(wire.arrays(message, start, [(np.dtype(d), tuple(s)) for d, s in job["arrays"]]))
    cases = []
    for one in job["cases"]:
        arrays = {name: next(stored) for name in one["arrays"]}
        steps = []
        for step in one["steps"]:
            arguments = tuple(
                a if isinstance(a, str) else np.dtype(a[0]).type(a[1]) for a in step["arguments"]
            )
            constants = {name: next(stored) for name in step["constants"]}
            steps.append(Step(tuple(step["grid"]), tuple(step["block"]), arguments, constants))
        more = {"budgeted": one["budgeted"], "within": one["within"]}
        cases.append(Case(one["title"], arrays, tuple(one["outputs"]), tuple(steps), **more))
    return cases


def _write(answer: int, message: bytes) -> None:
    with os.fdopen(answer, "wb") as file:
        file.write(message)
