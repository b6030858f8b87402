"""The candidates of a sweep: which combinations of sizes are possible, and which are worth a trial.

The rules are those by which helpers.experiments.sweep made its records for images of one channel
block; a test holds them to each other.
"""

from __future__ import annotations

import numpy as np

from helpers.exercises.judge import numbers
from helpers.quantities import quantity

LAYERS = {"layer 1": (80, 80, 4), "layer 2": (34, 34, 16)}  # columns, rows and number of maps
# Each row breaks one rule, or just keeps it.
FIXED = (
    (4, 2, 4, 80, 16, 80, 80, 4),  # all is well
    (4, 2, 8, 36, 34, 34, 34, 16),  # all is well: 153 threads are 160
    (8, 1, 4, 36, 34, 34, 34, 16),  # columns do not divide the tile
    (4, 4, 4, 36, 34, 34, 34, 16),  # rows do not
    (4, 2, 6, 36, 34, 34, 34, 16),  # maps do not divide M
    (2, 1, 8, 40, 16, 80, 80, 4),  # more maps than there are
    (4, 4, 4, 40, 8, 80, 80, 4),  # 20 threads are one warp
    (4, 2, 4, 20, 22, 40, 44, 4),  # 55 threads are 64
    (2, 2, 4, 80, 16, 80, 80, 4),  # 320 threads
    (5, 1, 4, 42 * 5, 6, 210, 6, 4),  # 252 threads are 256
    (2, 1, 4, 40, 8, 80, 80, 4),  # 8 sums
    (4, 1, 4, 40, 16, 80, 80, 4),  # 16 sums
    (8, 3, 4, 80, 24, 80, 96, 4),  # 96 sums
    (6, 3, 4, 72, 18, 72, 72, 4),  # 72 sums
    (4, 2, 8, 20, 34, 34, 34, 16),  # 85 % useful
    (4, 2, 8, 64, 34, 34, 34, 16),  # half of the columns are not there
    (4, 2, 4, 80, 20, 64, 20, 4),  # 80 % useful, no more
    (4, 2, 4, 80, 16, 80, 66, 4),  # rows: 66 of 80
    (4, 2, 4, 80, 16, 80, 50, 4),  # rows: 50 of 64
)


def reference(*case: int) -> bool:
    """Return whether a configuration is a candidate."""
    columns, rows, maps, tile_columns, tile_rows, out_w, out_h, M = case
    if tile_columns % columns or tile_rows % rows or M % maps:
        return False
    threads = 32 * -(-(tile_columns // columns) * (tile_rows // rows) // 32)
    computed = -(-out_w // tile_columns) * tile_columns * -(-out_h // tile_rows) * tile_rows
    is_sized = 64 <= threads <= 256 and 16 <= columns * rows * maps <= 72
    return is_sized and out_w * out_h >= 0.8 * computed


def cases(seed: int) -> list[numbers.Case]:
    """Return the fixed rows, and drawn ones."""
    rng = np.random.default_rng(seed)
    sizes = ((1, 2, 4, 5, 8), (1, 2, 4), (2, 4, 8, 16), (20, 34, 35, 36, 40, 80), (8, 16, 17, 34))
    layers = list(LAYERS.values())
    drawn = [
        (*(int(rng.choice(some)) for some in sizes), *layers[int(rng.integers(2))])
        for _ in range(80)
    ]
    return [*FIXED, *drawn]


def _hint(case: numbers.Case, value: int, want: int) -> str:
    columns, rows, maps, tile_columns, tile_rows, out_w, out_h, M = case
    if want:
        return f"It keeps all five rules: {_kept(case)}."
    if tile_columns % columns or tile_rows % rows:
        return "Rule 1: a tile is made of whole patches, in columns and in rows."
    if M % maps:
        return "Rule 2: the maps of a thread divide M."
    threads = tile_columns // columns * (tile_rows // rows)
    if not 64 <= 32 * -(-threads // 32) <= 256:
        return (
            f"Rule 3: {quantity(threads, 'thread')} have patches, and a block has whole warps: "
            "round up to a "
            "multiple of 32, then compare with 64 and 256."
        )
    sums = columns * rows * maps
    if not 16 <= sums <= 72:
        return f"Rule 4: a thread has {quantity(sums, 'sum')}; 16 and 72 are allowed."
    across, down = -(-out_w // tile_columns), -(-out_h // tile_rows)
    return (
        f"Rule 5: {across} x {quantity(down, 'tile')} of {tile_columns} x {tile_rows} cover the "
        "map of "
        f"{out_w} x {out_h}: at least 80 % of the outputs that they compute must exist."
    )


def _kept(case: numbers.Case) -> str:
    """Return what the five rules are about, of a configuration that keeps them."""
    columns, rows, maps, tile_columns, tile_rows, out_w, out_h, M = case
    threads = (tile_columns // columns) * (tile_rows // rows)
    computed = -(-out_w // tile_columns) * tile_columns * -(-out_h // tile_rows) * tile_rows
    return (
        f"{tile_columns // columns} x {tile_rows // rows} patches make a tile, {maps} divides {M}, "
        f"{quantity(threads, 'thread')} are {-(-threads // 32)} whole warps, a thread has "
        f"{columns * rows * maps} sums, and of {quantity(computed, 'output')} {out_w * out_h:,} "
        "exist"
    )


def _words(case: numbers.Case) -> str:
    columns, rows, maps, tile_columns, tile_rows, out_w, out_h, M = case
    return (
        f"patch {columns}x{rows}x{maps}, tile {tile_columns}x{tile_rows}, {quantity(M, 'map')} of "
        f"{quantity(out_w, 'column')} and {quantity(out_h, 'row')}"
    )


EXERCISE = numbers.exercise(
    name="fits",
    reference=reference,
    cases=cases,
    words=_words,
    hint=_hint,
    counted="configurations",
    lab="203_conv2d_sweep",
    place=3,
    points=4,
    title="The candidates of a sweep",
    hints=(
        "Take the rules one by one, and return False at the first that is broken.",
        "tile_columns % columns is 0 where whole patches make a row of the tile.",
        "Tiles that overhang compute outputs that do not exist. Count the outputs of all tiles, "
        "rounded up along each axis by itself.",
    ),
)
