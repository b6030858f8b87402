"""Occupancy: how many warps of a kernel a multiprocessor holds, from what each block takes."""

from __future__ import annotations

import numpy as np

from helpers import limits
from helpers.exercises.judge import numbers
from helpers.quantities import quantity

DRAWN = 60

# Threads, registers, shared bytes: each row meets one limit that the others do not.
FIXED = (
    (256, 32, 0),  # nothing but the number of warps
    (32, 16, 0),  # blocks
    (256, 64, 0),  # registers
    (128, 33, 0),  # registers, rounded up to 40
    (1024, 40, 0),  # registers for 48 warps, but only whole blocks of 32
    (64, 32, 16 * 1024),  # shared memory, with the kilobyte that each block takes besides
    (96, 40, 0),  # registers: 48 warps in quarters, 51 without
    (33, 32, 0),  # the second warp of each block has one thread
    (512, 16, 0),  # the number of warps, for which the registers are enough twice over
    (64, 16, 10_000),  # shared memory: a kilobyte has 1,024 bytes
    (1024, 255, 0),  # no block fits
    (256, 32, 228 * 1024),  # no block fits
)


def cases(seed: int) -> list[numbers.Case]:
    """Return the fixed rows, and drawn ones."""
    rng = np.random.default_rng(seed)
    drawn = [
        (
            int(rng.integers(1, 1025)),
            int(rng.integers(16, 256)),
            int(rng.choice((0, 1, 4, 12, 24, 48, 96))) * 1024,
        )
        for _ in range(DRAWN)
    ]
    return [*FIXED, *drawn]


def _hint(case: numbers.Case, value: int, want: int) -> str:
    threads, registers, shared_bytes = case
    warps = -(-threads // limits.WARP)
    if want == 0:
        return "Not even one block fits here. Then there is no warp."
    if value == want // warps and threads % limits.WARP == 0:
        return "That is the number of blocks: each of them has several warps."
    if value * limits.MOST_WARPS == want:
        return "That is the occupancy, a share of 64 warps: return the warps."
    if threads % limits.WARP and (value % warps or 2 * value == want):
        return "A warp belongs to one block: round the threads of a block up to whole warps first."
    if value % warps:
        return "A block is resident whole or not at all: count blocks, then their warps."
    if value > want and want == warps * limits.MOST_BLOCKS:
        return "A multiprocessor holds 32 blocks, however small they are."
    if value > limits.MOST_WARPS:
        return "A multiprocessor holds 64 warps, however little they take."
    of_block = shared_bytes + limits.RESERVED_SHARED_BYTES
    if shared_bytes and value == warps * (228 * 1_000 // of_block):
        return "A kilobyte has 1,024 bytes here: 228 * 1024 in all."
    if want == warps * (limits.MULTIPROCESSOR_SHARED_BYTES // of_block):
        return "Each block takes its shared memory and 1,024 bytes besides."
    if value > want and registers % limits.REGISTER_UNIT:
        return "The registers of a thread are rounded up to a multiple of 8."
    if value > want:
        return "Each quarter of the multiprocessor has 16,384 registers, and a warp lives in one."
    if value < want and value % (4 * warps) == 0:
        return "A block need not fit into one quarter: its warps are spread over all four."
    return "The smallest of the limits decides. Is one of them counted twice, or per thread?"


def _words(case: numbers.Case) -> str:
    threads, registers, shared_bytes = case
    return (
        f"{quantity(threads, 'thread')} a block, {quantity(registers, 'register')} a thread, "
        f"{shared_bytes:,} shared bytes"
    )


EXERCISE = numbers.exercise(
    name="resident_warps",
    reference=limits.resident_warps,
    cases=cases,
    words=_words,
    hint=_hint,
    counted="kernels",
    lab="106_hiding_latency",
    title="How many warps of a kernel a multiprocessor holds",
    place=2,
    hints=(
        "Count blocks first: how many does each resource allow? The smallest number decides. Only "
        "then count their warps.",
        "Registers: round a thread's up to a multiple of 8, times 32 lanes for a warp. How many "
        "such warps fit into the 16,384 registers of one quarter? There are four quarters.",
        "Shared memory: 228 * 1024 bytes over (what a block asks for + 1024). Blocks: 32 at most.",
    ),
)
