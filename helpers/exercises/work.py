"""Budgets that hold for every exercise: the blocks of a grid share its work, and so do the warps of
a block.

A kernel whose block 0, last block or first warp does everything is right, and uses a small part of
a GPU. How the work lies is seen in memory: in one more run, blocks 0, 2, 4 ... alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import prod

from helpers.exercises.budgets import Budget, spread, unused, warps
from helpers.exercises.cases import Case
from helpers.exercises.outcome import Outcome

BLOCKS = (
    "Each block must do its own part: blockIdx says which. A GPU runs blocks beside each other, so "
    "one that does the work of all leaves the others idle."
)
WARPS = (
    "Each thread must do its own part: threadIdx says which. The warps of a block run beside each "
    "other, so one that does the work of all leaves the others idle."
)
FEW, LEAST = 4, 0.02  # blocks; and the share of each half of them, whatever tiles a kernel has

MostOfABlock = Callable[[Case], int]


# A kernel that asks these could tell who checks it, or depend on chance.
NO_CLOCK = unused(
    "reads of a clock or of the number of a multiprocessor",
    "What a kernel computes must not depend on when it runs, or where.",
    "mov.clock",
    "special.",
)

# `const` can be cast away, and the outputs are right all the same.
NO_STORE_TO_INPUTS = Budget(
    "requests that write to an input",
    lambda case, one: sum(
        one.total("requests", "global", access, name)
        for name in case.arrays
        if name not in case.outputs
        for access in ("store", "atomic")
    ),
    0,
    "An input stays as it is: another thread may still read it, and so may whoever launches the "
    "kernel. Keep what you compute in a variable, and store it in the output.",
    quiet=True,
    status="wrong",
)

# A float in place of an index is right up to 2**24 elements, and no case is as large as that.
NO_FLOAT_INDEX = unused(
    "whole numbers that come from floats, by warps",
    "Why does a float become a whole number? A cell, a weight or a sum loses its fraction, so keep "
    "it a float. An index belongs in an int (or long long): a float holds whole numbers only up to "
    "16,777,216 = 2^24, and two neighbouring elements behind that get one index. For a division "
    "that rounds up, write (a + b - 1) / b. (powf converts, too: for a square write x * x.)",
    *(f"cvt.{kind}{bits}.f32" for kind in "su" for bits in (16, 32, 64)),
)


def of_blocks(most: MostOfABlock | None) -> Iterator[Budget]:
    """Yield the budgets that make the blocks share the work. most: values that one of them may
    write; None where that is the answer's choice.
    """
    for half, which in enumerate(("0, 2, 4", "1, 3, 5")):
        what = f"of the values are written by blocks {which} ..."
        if most is not None:
            what = f"values that a block of {which} ... writes on average"
        limit = 1 - LEAST if most is None else most
        yield Budget(what, partial(_of_half, half, most is None), limit, BLOCKS, quiet=True)


def of_warps(most: MostOfABlock) -> Iterator[Budget]:
    """Yield the budgets that make the warps of a block share its work. most: values that the block
    may write.
    """
    for what, of, limit in (
        (
            "values that one warp of block 0 writes",
            spread("busiest_warp"),
            lambda case: 1.5 * _of_a_warp(case, most),
        ),
        (
            "store requests per warp",
            lambda case, one: _stores(case, one) / warps(case),
            lambda case: 2 * -(-_of_a_warp(case, most) // 32),
        ),
        (
            "idle warps at the start of block 0",
            lambda case, one: _is_idle(case, one, most),
            0,
        ),
    ):
        yield Budget(what, of, limit, WARPS, quiet=True)


def _of_half(half: int, is_share: bool, case: Case, one: Outcome) -> float:
    """Return what each second block writes, from block `half` on: values of a block on average, or
    the share of all values, which tells nothing of few blocks.
    """
    if one.spread is None:
        return 0
    blocks, values = one.counts[0].blocks, (one.spread.even, one.spread.odd)
    if is_share:
        return values[half] / max(sum(values), 1) if blocks >= FEW else 0
    return values[half] / ((blocks + 1 - half) // 2)


def _stores(case: Case, one: Outcome) -> int:
    return sum(one.total("requests", "global", "store", name) for name in case.outputs)


def _of_a_warp(case: Case, most: MostOfABlock) -> int:
    """Return values of a warp whose block has shared its work evenly."""
    return max(-(-most(case) * 32 // prod(case.steps[0].block)), 1)


def _is_idle(case: Case, one: Outcome, most: MostOfABlock) -> int:
    """Return whether warp 0 of block 0 stores nothing, where each of its threads has an output."""
    if one.spread is None or one.spread.first_warp != 0:
        return 0
    full = one.spread.even + one.spread.odd >= 2 * most(case)
    return int(full and _of_a_warp(case, most) >= 32)
