"""What a wrong result tells about the mistake behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers.exercises.judge.cases import Case, is_unwritten
from helpers.simulator import Finding
from helpers.simulator.findings.words import Need

# Larger outputs, of dense products, would fill gigabytes: each of some twenty mistakes has its own.
MOST_KEPT = 2**18


@dataclass(frozen=True)
class Mistake:
    """What a wrong result tells. hint: a sentence; gives: what comes out of a case if it is made,
    None where it makes no difference that could be told.
    """

    hint: str
    gives: Callable[[Case], Any]

    def given(self, case: Case) -> Any:
        """Return what `gives` returns, computed once for a case with outputs of at most MOST_KEPT
        bytes: a class makes the same mistakes on the same cases.
        """
        if self.gives in case.mistaken:
            return case.mistaken[self.gives]
        made = self.gives(case)
        if sum(case.arrays[name].nbytes for name in case.outputs) <= MOST_KEPT:
            case.mistaken[self.gives] = made
        return made


def wrapped_index(finding: Finding) -> bool:
    """Return whether an index has left the range of its type, as the simulator's cause says. Then
    the cause says more than an exercise's hint about guards.
    """
    return finding.need is Need.WIDER_INDEX


def misplaced(case: Case, parameters: Mapping[str, str]) -> str:
    """Return what to say of parameters in another order, and of an input that was written to; ""
    for neither. parameters: Outcome.misplaced.
    """
    order = ", ".join(one for one in case.steps[0].arguments if isinstance(one, str))
    if exchanged := [f"{p} gets {a}" for a, p in parameters.items() if a != p in case.arrays]:
        return (
            f"The launch passes the arrays {order} in this order, so your kernel's parameter "
            f"{' and '.join(exchanged)}. Keep the parameters of the stub, in their order."
        )
    if not parameters:
        return ""
    array, parameter = next(iter(parameters.items()))
    own = f", the launch's {array}" if parameter != array else ""
    return (
        f"The kernel writes to {parameter}{own}, which is an input and must stay as it is. "
        f"What it computes belongs in {' and '.join(case.outputs)}. (The launch passes the "
        f"arrays {order} in this order.)"
    )


def unwritten(case: Case, name: str, got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Return which values of an output nobody wrote: they are those from before the launches. Of an
    output that began with numbers, and has other wrong values, nobody knows.
    """
    before, wrong = case.arrays[name], got != want
    if before.itemsize >= 4 and is_unwritten(before).all():
        return is_unwritten(got)
    return wrong & bool((got == before)[wrong].all())
