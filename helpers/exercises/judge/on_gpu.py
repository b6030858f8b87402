"""A kernel on the GPU: right on the cases there, too, and timed beside the lab's solution."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import checking, kernel_cells
from helpers.bench import timing
from helpers.exercises.judge.cases import Case, real_pairs
from helpers.exercises.judge.verdict import ExerciseError, Verdict
from helpers.programs import DeviceRun, Modules

if TYPE_CHECKING:
    from helpers.exercises.judge.graded import GradedExercise

BUDGET_S = 0.5  # of the two timings together


def compiled(exercise: GradedExercise, cell: kernel_cells.KernelCell, seed: int) -> Modules:
    """Return the kernel of a cell, compiled for the device with the options of all cases."""
    modules = Modules()
    for case in exercise.fitted(cell, seed):
        for one in case.plan(cell):
            modules.load(one)
    return modules


def timed(exercise: GradedExercise, kernel: Any, verdict: Verdict, seed: int) -> Verdict:
    """Return the verdict with the times of a kernel and of the lab's solution, on one large case.

    Raises ExerciseError where a case that is right in the simulator is wrong on the GPU.
    """
    mine = kernel_cells.KernelCell(kernel.name, kernel.name, tuple(kernel.options), kernel.source)
    modules = compiled(exercise, mine, seed)
    wrong = first_wrong(exercise, mine, seed, modules)
    if wrong is not None:
        text = f"FAIL {exercise.name}: {wrong.title}: right in the simulator, and wrong on this GPU"
        hint = "Does the result depend on the order in which threads or blocks come?"
        raise ExerciseError(replace(verdict, status="wrong", message=text, hint=hint, points=0.0))
    found = beside_solution(exercise, mine, seed, modules)
    if found is None:
        return verdict
    case, compared = found
    names = f"yours {compared.a.median:.4g} ms, the lab's {compared.b.median:.4g} ms"
    return replace(verdict, message=f"{verdict.message}\n{case.title}: {names}; {compared}")


def beside_solution(
    exercise: GradedExercise, cell: kernel_cells.KernelCell, seed: int, modules: Modules
) -> tuple[Case, timing.Comparison] | None:
    """Return a kernel timed beside the lab's solution, on one large case.

    None for launches with copies between them, which are not a kernel's time, and where there is no
    solution.
    """
    if not exercise.has_solution or any(len(case.steps) > 1 for case in exercise.all_cases(seed)):
        return None
    names = (f"your {exercise.name}", "the lab's")
    solution = kernel_cells.parse(exercise.solution)
    case, other = exercise.to_time(cell, seed), exercise.to_time(solution, seed)
    want = exercise.wanted(case)[case.outputs[0]]  # of both: they differ by the grid at most
    with (
        DeviceRun(case.plan(cell), case.arrays, modules) as mine,
        DeviceRun(other.plan(solution), other.arrays, modules) as ours,
    ):
        verdicts = _checked(exercise, case, mine, want), _checked(exercise, other, ours, want)
        compared = timing.compare(
            mine.launch, ours.launch, verdicts=verdicts, names=names, budget_s=BUDGET_S
        )
    return case, compared


def first_wrong(
    exercise: GradedExercise, cell: kernel_cells.KernelCell, seed: int, modules: Modules
) -> Case | None:
    """Return the first case of a seed that is wrong on the device."""
    for case in exercise.fitted(cell, seed):
        with DeviceRun(case.plan(cell), case.arrays, modules) as run:
            run.launch()
            if not exercise.is_right(case, run.read(*case.outputs)):
                return case
    return None


def _checked(
    exercise: GradedExercise, case: Case, run: DeviceRun, want: np.ndarray
) -> checking.Verdict:
    run.launch()
    (got,) = run.read(case.outputs[0]).values()
    real = map(real_pairs, (got, want))
    return checking.check(
        *real, rtol=exercise.rtol, atol=exercise.atol_of(case), name=exercise.name
    )
