"""Says how ptxas translates atomics: to one instruction, a loop, or one lane's update for a whole
warp.

    atomic                                     machine code
    shared memory: f32, f64, f16x2, bf16x2     a loop; each round loads and tries
        (add), 64 bits (all but exch, cas)
    16 bits, in any memory                     a loop; each round loads the word and
                                               compares and swaps
    shared memory: additions of one            lanes with the same word act as one
    one address for the whole warp             the lanes' values are reduced, one lane updates

The first two follow from the type of an atomic. The machine code of the kernel says the others; so
far as there is none, each lane updates for itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from . import sass
from .columns import Columns
from .opcodes import GENERIC, SHARED_SPACE, TYPES
from .rows import Operations

# Instruction.join of an atomic: machine/program.h.
JOINED, SPIN, WORD, ONE_LANE, WHOLE_WARP = 1, 2, 4, 8, 16

_FLOATS = frozenset(TYPES[name] for name in ("f32", "f64", "f16x2", "bf16x2"))
# Instructions beside an atomic in machine code by which one lane collects the others' updates.
_FOR_ALL = ("VOTE", "VOTEU", "REDUX", "POPC", "UPOPC")


class Update(NamedTuple):
    """An atomic that is not one instruction of all its lanes. how: bits, the constants above."""

    row: int
    how: int
    certain: bool


def updates(
    rows: Columns,
    operations: Operations,
    line_of: Callable[[int], int],
    machine_code: sass.Lines | None,
) -> list[Update]:
    """Return the translations of a function's atomics. line_of: the PTX line of a row."""
    operation = rows.field("operation")
    found = []
    for row in np.flatnonzero(np.isin(operation, operations.beginning("atom."))).tolist():
        how = _expanded(rows, row, operations.names[operation[row]])
        lines = machine_code.get(line_of(row), ()) if machine_code is not None else ()
        atoms = [one.opcode for one in lines if one.root.startswith(("ATOM", "RED"))]
        how |= JOINED if any("POPC" in opcode for opcode in atoms) else 0
        if atoms and any(one.root in _FOR_ALL for one in lines):
            shuffles = sum(one.root == "SHFL" for one in lines)
            how |= WHOLE_WARP if shuffles > 2 else ONE_LANE
        found.append(Update(row, how, bool(atoms)))
    return found


def _expanded(rows: Columns, row: int, name: str) -> int:
    """Return the translation of an atomic that follows from its type alone."""
    width, type = int(rows.field("bytes")[row]), int(rows.field("type")[row])
    if width == 2 and rows.field("elements")[row] == 1:
        return WORD
    if rows.field("space")[row] not in (SHARED_SPACE, GENERIC):
        return 0
    swaps = name.startswith(("atom.cas", "atom.exch"))
    is_sum = name.startswith("atom.add") and type in _FLOATS
    return SPIN if not swaps and (is_sum or width == 8) else 0
