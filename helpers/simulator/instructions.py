"""How often warps execute each instruction of a kernel, by its name in PTX, and the turns of its
loops.

`Profile.instructions` has the former. It tells what a kernel does where its memory traffic does
not: shuffles, divisions, products of tensor cores. `turns` counts how often the loops of a kernel
turn as its source has them, before the compiler unrolls.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from . import library

if TYPE_CHECKING:
    from .encoded import Program


class NoSourceForm(RuntimeError):
    """There is no translation of a kernel that keeps the loops of its source."""


def by_name(program: Program, executed: np.ndarray) -> dict[str, int]:
    """Warps that executed each operation. executed: by instruction, as LaunchReport has it."""
    found: Counter[str] = Counter()
    if not len(executed):  # a launch that its rehearsal ended counted nothing
        return {}
    names = library.operation_names()
    for number, count in zip(
        program.instructions["operation"].tolist(), executed.tolist(), strict=True
    ):
        if count:
            found[names[number]] += count
    return dict(sorted(found.items()))


def backward_branches(program: Program, executed: np.ndarray) -> int:
    """How often warps executed a branch to an earlier instruction, taken or not."""
    code = program.instructions
    is_branch = code["operation"] == library.operation_ids()["bra"]
    back = is_branch & (code["target"] <= np.arange(len(code)))
    return int(executed[back].sum())
