"""The lanes that square tiles take for an output map: whole warps of whole blocks."""

from __future__ import annotations

import numpy as np

from helpers.exercises.judge import numbers

FIXED = ((5, 5, 2), (5, 5, 3), (5, 5, 4), (5, 5, 5), (80, 80, 16), (34, 34, 17), (34, 20, 20))


def reference(out_h: int, out_w: int, width: int) -> int:
    """Return the lanes of all warps of all tiles."""
    tiles = -(-out_h // width) * -(-out_w // width)
    return tiles * 32 * -(-width * width // 32)


def cases(seed: int) -> list[numbers.Case]:
    """Return the fixed rows, and drawn ones; maps that are not square among them."""
    rng = np.random.default_rng(seed)
    drawn = [(*map(int, rng.integers(1, 100, 2)), int(rng.integers(1, 33))) for _ in range(40)]
    return [*FIXED, *drawn]


def _hint(case: numbers.Case, value: int, want: int) -> str:
    out_h, out_w, width = case
    tiles = -(-out_h // width) * -(-out_w // width)
    if value == tiles * width * width:
        return (
            "These are the threads. A block of 4 threads still is a whole warp, with 28 empty "
            "lanes: round the threads of each block up to whole warps."
        )
    if value == 32 * -(-tiles * width * width // 32):
        return "A warp belongs to one block: round up the threads of a block, not those of the map."
    if value * 32 == want:
        return "These are the warps. Each of them has 32 lanes."
    return "Warps of a block, times 32, times the blocks: a block is a tile, and idle ones count."


def _words(case: numbers.Case) -> str:
    out_h, out_w, width = case
    return f"a map of {out_h} x {out_w} and tiles of {width}"


EXERCISE = numbers.exercise(
    name="lanes",
    reference=reference,
    cases=cases,
    words=_words,
    hint=_hint,
    counted="maps",
    lab="203_conv2d_sweep",
    place=1,
    points=3,
    title="The lanes that tiles take",
    hints=(
        "A tile of 2 x 2 has 4 threads. How many warps is that, and how many lanes has a warp?",
        "The warps of a block are its threads over 32, rounded up. They are a property of one "
        "block.",
        "All blocks have the same number of warps, those at the edge of the map, too.",
    ),
)
