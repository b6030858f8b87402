"""In the box: run a %%kernel cell on cases whose inputs came with the job. What should come out
is not known here, but for the public cases in which a wrong answer is explained.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from helpers import kernel_cells
from helpers.course import codec, wire
from helpers.exercises.judge import outcome
from helpers.exercises.judge.cases import Case
from helpers.simulator.compile.nvrtc import CompilerCrashed


def run(message: bytes, answer: int) -> None:
    """Run a job, and write its answer into the file descriptor."""
    text, cases, how = codec.work(message)
    try:
        if "explain" in how:
            return _write(answer, wire.pack({"told": _told(text, cases, how)}))
        run = outcome.checked if "each" in how else outcome.run
        seen = run(kernel_cells.parse(text), cases, **how)
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
    return _write(answer, codec.answer(cases, seen))


def _told(text: str, cases: Sequence[Case], how: Mapping[str, Any]) -> list[str]:
    """Return the lines of a story with a cause. how: "explain" has atol of each case, rtol and the
    most seconds of a run; "wants" the right outputs of the cases, which decide nothing.
    """
    from helpers.exercises.judge.explained import Task, cause_of

    given = how["explain"]
    each = zip(cases, how["wants"], given["atol"], strict=True)
    tasks = (Task(case, wants, atol, given["rtol"]) for case, wants, atol in each)
    return cause_of(kernel_cells.parse(text), tasks, given["limit_s"])


def _write(answer: int, message: bytes) -> None:
    with os.fdopen(answer, "wb") as file:
        file.write(message)
