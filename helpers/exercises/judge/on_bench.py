"""An exercise as the bench sees it: a student's kernel is counted beside the lab's.

    rows = exercises.find("store_rows").on_bench()
    print(rows.count(*rows.ours, bench.yours("store_rows")).table("requests", "stores"))

What is counted is the largest case of the check that has budgets. Times are no matter of this: on a
GPU the check itself times a kernel beside the lab's.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import checking, kernel_cells, limits
from helpers.bench.counts import Count, Counts
from helpers.bench.sources import Kernel, KernelError
from helpers.bench.task import Task, Watch
from helpers.exercises.judge.base import NOTEBOOK_SEED
from helpers.exercises.judge.cases import Case, real_pairs
from helpers.kernel_cells import KernelCell
from helpers.launch import Plan
from helpers.quantities import quantity

if TYPE_CHECKING:
    from helpers.exercises.judge.graded import GradedExercise


@dataclass(frozen=True)
class OwnLaunch:
    """The launch of an exercise, whose only kernel has its name."""

    name: str


@dataclass(frozen=True)
class OnBench(Task):
    """The largest budgeted case of an exercise."""

    name: str
    exercise: GradedExercise = field(compare=False, repr=False)

    @property
    def ours(self) -> tuple[Kernel, ...]:
        """The lab's solution; none in a package for students, which leaves it out."""
        exercise = self.exercise
        return (self._of(exercise.solution, "ours"),) if exercise.has_solution else ()

    def given(self, label: str) -> Kernel:
        """Return the kernel of the notebook's cell as it is given, where that one is whole."""
        return self._of(self.exercise.stub, label)

    def _of(self, text: str, label: str) -> Kernel:
        cell = kernel_cells.parse(text)
        spec = OwnLaunch(self.name)
        return Kernel(label, spec, (), cell.source, cell.kernel, tuple(cell.options))

    @cached_property
    def place(self) -> int:
        """The place of the case among all of the check."""
        cases = self.exercise.all_cases(NOTEBOOK_SEED)
        budgeted = [place for place, case in enumerate(cases) if case.budgeted]
        return max(budgeted, key=lambda place: cases[place].count)

    @cached_property
    def case(self) -> Case:
        """The case, before the options of a cell choose its launch."""
        return self.exercise.all_cases(NOTEBOOK_SEED)[self.place]

    def case_of(self, kernel: Kernel) -> Case:
        """Return the case, launched as the options of a kernel ask for."""
        return self.exercise.fitted(_cell(kernel), NOTEBOOK_SEED)[self.place]

    def count(self, *kernels: Any, watch: Watch | None = None) -> Counts:
        """Count kernels. A student's is "yours: not yet" until the exercise accepts it."""
        return Counts([self._judged(one) for one in super().count(*kernels, watch=watch)])

    def _judged(self, one: Count) -> Count:
        is_right = one.passed
        if is_right and one.kernel.yours:
            is_right = self.exercise.accepts(_cell(one.kernel))
        return dataclasses.replace(one, passed=is_right)

    @property
    def title(self) -> str:
        return self.case.title

    @property
    def where(self) -> Mapping[str, Any]:
        return {"exercise": self.name}

    @property
    def few(self) -> OnBench:
        return self

    @property
    def one(self) -> OnBench:
        return self

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: array.copy() for name, array in self.case.arrays.items()}

    def named(self, name: str) -> OwnLaunch:
        if name != self.name:
            raise KernelError(f"the only kernel of this exercise is {self.name!r}, got {name!r}")
        return OwnLaunch(name)

    def sized(self, spec: OwnLaunch, constants: Mapping[str, Any]) -> tuple[OwnLaunch, dict]:
        raise KernelError(f"an exercise has its own sizes, so leave out {', '.join(constants)}")

    def macros(self, spec: OwnLaunch) -> frozenset[str]:
        return frozenset()

    def plan(self, kernel: Kernel) -> Plan:
        return self.case_of(kernel).plan(_cell(kernel))

    def verdict(
        self, arrays: Mapping[str, np.ndarray], kernel: Kernel, name: str
    ) -> checking.Verdict:
        case = self.case
        atol = self.exercise.atol_of(case)
        verdicts = [
            checking.check(
                real_pairs(arrays[output]),
                real_pairs(want),
                rtol=self.exercise.rtol,
                atol=atol,
                name=name,
            )
            for output, want in self.exercise.wanted(case).items()
        ]
        return verdicts[0]

    def passed(self, verdict: checking.Verdict) -> str:
        return f"PASS {verdict.name}: {quantity(verdict.count, 'value')}"

    @property
    def outputs(self) -> int:
        return self.case.count

    def covered(self, kernel: Kernel) -> int:
        return sum(math.prod((*one.grid, *one.block)) for one in self.plan(kernel))

    @property
    def work(self) -> limits.Work:
        """The bytes of all arrays, each moved once. Operations are not known."""
        return limits.Work(sum(array.nbytes for array in self.case.arrays.values()), 0)


def _cell(kernel: Kernel) -> KernelCell:
    return KernelCell(kernel.function, kernel.function, kernel.options, kernel.source)
