"""A kernel on the GPU: right on the cases there, too, and timed beside the lab's solution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from helpers import checking, kernel_cells
from helpers.bench import timing
from helpers.exercises.cases import Case
from helpers.exercises.verdict import ExerciseError, Verdict
from helpers.programs import Modules, Program, launcher

BUDGET_S = 0.5  # of the two timings together


class Exercise(Protocol):
    """What timing needs of an exercise."""

    @property
    def name(self) -> str: ...

    @property
    def rtol(self) -> float: ...

    @property
    def solution(self) -> str: ...

    @property
    def has_solution(self) -> bool: ...

    def all_cases(self, seed: int) -> tuple[Case, ...]: ...

    def to_time(self, cell: kernel_cells.KernelCell, seed: int) -> Case: ...

    def wanted(self, case: Case) -> dict[str, np.ndarray]: ...

    def is_right(self, case: Case, got: Mapping[str, np.ndarray]) -> bool: ...

    def atol_of(self, case: Case) -> float: ...

    def fitted(self, cell: kernel_cells.KernelCell, seed: int) -> tuple[Case, ...]: ...


class Prepared:
    """A case on the device: its arrays, and a cell's kernel that launches all its steps."""

    def __init__(self, cell: kernel_cells.KernelCell, case: Case, modules: Modules | None = None):
        import pycuda.driver as cuda

        self.case, self._cuda = case, cuda
        self._program = Program(case.plan(cell), modules)
        self._there = {name: cuda.to_device(array) for name, array in case.arrays.items()}
        self.launch = launcher(self._program, self._there)

    def outputs(self) -> dict[str, np.ndarray]:
        """Return the outputs after one run."""
        self.launch()
        found = {name: np.empty_like(self.case.arrays[name]) for name in self.case.outputs}
        for name, array in found.items():
            self._cuda.memcpy_dtoh(array, self._there[name])
        return found

    def free(self) -> None:
        """Give the device's memory back."""
        self._program.free()
        for array in self._there.values():
            array.free()


def compiled(exercise: Exercise, cell: kernel_cells.KernelCell, seed: int) -> Modules:
    """Return the kernel of a cell, compiled for the device with the options of all cases."""
    modules = Modules()
    for case in exercise.fitted(cell, seed):
        for one in case.plan(cell):
            modules.load(one)
    return modules


def timed(exercise: Exercise, kernel: Any, verdict: Verdict, seed: int) -> Verdict:
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
    exercise: Exercise, cell: kernel_cells.KernelCell, seed: int, modules: Modules
) -> tuple[Case, timing.Comparison] | None:
    """Return a kernel timed beside the lab's solution, on one large case.

    None for launches with copies between them, which are not a kernel's time, and where there is no
    solution.
    """
    if not exercise.has_solution or any(len(case.steps) > 1 for case in exercise.all_cases(seed)):
        return None
    prepared, verdicts, want = [], [], None
    for text in (cell, kernel_cells.parse(exercise.solution)):
        prepared.append(Prepared(text, exercise.to_time(text, seed), modules))
        if want is None:  # of both: their cases differ by the grid at most
            want = exercise.wanted(prepared[-1].case)[prepared[-1].case.outputs[0]]
        verdicts.append(_checked(exercise, prepared[-1], want))
    calls: list[Callable[[Any], None]] = [one.launch for one in prepared]
    names = (f"your {exercise.name}", "the lab's")
    try:
        compared = timing.compare(
            calls[0], calls[1], verdicts=(verdicts[0], verdicts[1]), names=names, budget_s=BUDGET_S
        )
    finally:
        for one in prepared:
            one.free()
    return prepared[0].case, compared


def first_wrong(
    exercise: Exercise, cell: kernel_cells.KernelCell, seed: int, modules: Modules
) -> Case | None:
    """Return the first case of a seed that is wrong on the device."""
    for case in exercise.fitted(cell, seed):
        prepared = Prepared(cell, case, modules)
        try:
            got = prepared.outputs()
        finally:
            prepared.free()
        if not exercise.is_right(case, got):
            return case
    return None


def _checked(exercise: Exercise, prepared: Prepared, want: np.ndarray) -> checking.Verdict:
    case = prepared.case
    got = prepared.outputs()[case.outputs[0]]
    real = (np.ascontiguousarray(a).view(a.real.dtype) for a in (got, want))
    return checking.check(
        *real, rtol=exercise.rtol, atol=exercise.atol_of(case), name=exercise.name
    )
