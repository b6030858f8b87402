"""Budgets that hold for every exercise: the blocks of a grid share its work, and so do the warps of
a block.

A kernel in which a few blocks or one warp do everything is right, and uses a small part of a GPU.
How the work lies is seen in all blocks: what the busiest of them stores, loads and executes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

from helpers.exercises.judge.budgets import Budget, spread, unused, warps
from helpers.exercises.judge.cases import Case
from helpers.exercises.judge.outcome import Outcome

BLOCKS = (
    "Each block must do its own part, and no other: blockIdx says which. A GPU runs blocks beside "
    "each other, so one that does the work of others, too, leaves them idle."
)
WARPS = (
    "Each thread must do its own part: threadIdx says which. The warps of a block run beside each "
    "other, so one that does the work of all leaves the others idle."
)
FEW, LEAST = 4, 0.02  # blocks; and the share of all others, whatever tiles a kernel has
UNEVEN = 8  # times the average of all blocks: tiles at the edges are small

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
    everywhere=True,
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
    """Yield the budget that makes the blocks share the work. most: values that one of them may
    write; None where that is the answer's choice.
    """
    if most is not None:
        what = "values that one block writes"
        yield Budget(what, _values_of_a_block, most, BLOCKS, quiet=True, everywhere=True)
    else:
        what = "of the values are written by one block"
        yield Budget(what, _share_of_a_block, _most_of_a_share, BLOCKS, quiet=True, everywhere=True)


def of_warps(most: MostOfABlock) -> Iterator[Budget]:
    """Yield the budgets that make the warps of a block share its work. most: values that the block
    may write.
    """
    for what, of, limit in (
        (
            "values that one warp writes",
            spread("of_warp"),
            lambda case: 1.5 * _of_a_warp(case, most),
        ),
        (
            "store requests per warp",
            lambda case, one: _stores(case, one) / warps(case),
            lambda case: 2 * -(-_of_a_warp(case, most) // 32),
        ),
        (
            "of the warps that have values to write write none",
            lambda case, one: _idle_share(case, one, most),
            lambda case: 0.5 / -(-prod(case.steps[0].block) // 32),
        ),
    ):
        yield Budget(what, of, limit, WARPS, quiet=True, everywhere=True)


def _values_of_a_block(case: Case, one: Outcome) -> float:
    """Return the values that the busiest block writes; 0 where atomics add to outputs, which many
    may do to one value: other budgets forbid that.
    """
    by_atomics = any(one.total("requests", "global", "atomic", name) for name in case.outputs)
    return 0 if by_atomics else round(one.spread.of_block)


def _share_of_a_block(case: Case, one: Outcome) -> float:
    """Return the busiest block's share of the values; 0 of a few blocks, which tell nothing."""
    return one.spread.of_block / max(one.spread.values, 1) if one.blocks >= FEW else 0


def _most_of_a_share(case: Case) -> float:
    """Return the most of `_share_of_a_block`: tiles at the edges have few values."""
    return min(1 - LEAST, max(UNEVEN / prod(case.steps[0].grid), 0.5))


def _stores(case: Case, one: Outcome) -> int:
    return sum(one.total("requests", "global", "store", name) for name in case.outputs)


def _of_a_warp(case: Case, most: MostOfABlock) -> int:
    """Return values of a warp whose block has shared its work evenly."""
    return max(-(-most(case) * 32 // prod(case.steps[0].block)), 1)


def _idle_share(case: Case, one: Outcome, most: MostOfABlock) -> float:
    """Return the share of the warps that store nothing, of as many as the values need where each
    thread has one; 0 where it has none.
    """
    each = _of_a_warp(case, most)
    return max(1 - one.spread.warps * each / max(one.spread.values, 1), 0) if each >= 32 else 0
