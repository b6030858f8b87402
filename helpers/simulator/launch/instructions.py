"""Counts how often warps execute each instruction of a kernel, and how often its loops turn.

`Profile.instructions` has the instructions by their names in PTX. They show work that memory
traffic does not show: shuffles, divisions, products of tensor cores. `turns` counts the turns of
the loops as the source writes them, before the compiler unrolls any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from ..machine import library
from ..ptx.encode import Program


class NoSourceForm(RuntimeError):
    """No translation of a kernel keeps the loops of its source."""


def by_name(
    program: Program, executed: np.ndarray, at: Callable[[int], bool] | None = None
) -> dict[str, int]:
    """Return how many warps executed each operation. executed: by instruction, from LaunchReport;
    at: whether an instruction counts, by its index.
    """
    counts: Counter[str] = Counter()
    if not len(executed):  # the rehearsal stopped the launch, so it counted nothing
        return {}
    names = library.operation_names()
    for pc, (number, count) in enumerate(
        zip(program.instructions["operation"].tolist(), executed.tolist(), strict=True)
    ):
        if count and (at is None or at(pc)):
            counts[names[number]] += count
    return dict(sorted(counts.items()))


def backward_branches(program: Program, executed: np.ndarray) -> int:
    """Return how often warps executed a branch to an earlier instruction, taken or not."""
    code = program.instructions
    is_branch = code["operation"] == library.operation_ids()["bra"]
    back = is_branch & (code["target"] <= np.arange(len(code)))
    return int(executed[back].sum())
