"""Tells barriers at one place of the source apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from .encode import Program
from .rows import operations

_NO_COLUMN = 1 << 20  # no line is so long


def told_apart(program: Program, operation_ids: Mapping[str, int]) -> Program:
    """Return the program of a careful translation with a place for each barrier.

    This compilation copies no code. So two barriers at one place are two in the source, such as
    those of a macro with a barrier in each of two branches. All but the first get a column that no
    line has.
    """
    barriers = operations(operation_ids).beginning("bar.")
    instructions, places = program.instructions.copy(), list(program.places)
    seen: set[int] = set()
    for pc in np.flatnonzero(np.isin(instructions["operation"], barriers)).tolist():
        number = int(instructions["place"][pc])
        if number in seen:
            instructions["place"][pc] = len(places)
            places.append(places[number]._replace(column=_NO_COLUMN + len(places)))
        seen.add(number)
    return replace(program, instructions=instructions, places=places)
