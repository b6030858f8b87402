"""The mistakes of turned_tiles."""

from helpers.exercises.content.background.mutants import NO_FIRST, NO_NEXT, OVERWRITTEN, SAME_BUFFER
from helpers.exercises.kit import mutant

FIRST = "    if (start < n) {\n        start_copy(tiles[0], N, start);\n    }\n"
START = """        if (start + stride < n) {
            start_copy(tiles[current ^ 1], N, start + stride);
        }
"""
COMMIT = '        asm volatile("cp.async.commit_group;");\n'
WAIT = '        asm volatile("cp.async.wait_group 1;" ::: "memory");\n'
BARRIER = "        __syncthreads();\n"
VECTOR = "reinterpret_cast<const float4*>(N + start)"
CELL = "cells[255 - o]"

STILL_COPIED = (
    "The copy of this tile is still under way when a cell is read: nothing waits for its group. "
    "wait_group 1 waits for all groups but the newest."
)
OWN_ALONE = (
    "A thread waits for its own copies alone, and reads cells that others copy. Wait for this "
    "tile's group (wait_group) first, then for the other threads (__syncthreads()), in this order."
)
NO_TILE = (
    "There is no tile after the last one: start the next copy only if there is a next tile, and "
    "the first one only if the block has a tile."
)

MUTANTS = (
    mutant(
        "The tiles are copied, but not turned around: cell 255 - o of the tile goes to output o.",
        (CELL, "cells[o]"),
    ),
    mutant(
        "The vectors of a tile change places, and the four cells of each stay as they were: cell "
        "255 - o of the tile goes to output o.",
        (CELL, "cells[252 - o / 4 * 4 + o % 4]"),
    ),
    mutant(
        "The four cells of each vector change places, and the vectors stay as they were: cell 255 "
        "- o of the tile goes to output o.",
        (CELL, "cells[o / 4 * 4 + 3 - o % 4]"),
    ),
    mutant(
        "A block copies the tile beside its own as the next one: its next tile begins 256 * "
        "gridDim.x cells further on.",
        ("tiles[current ^ 1], N, start + stride", "tiles[current ^ 1], N, start + 256"),
    ),
    mutant(
        "Whole N is turned around: only the cells within each tile change places.",
        ("P[start + o]", "P[n - 256 - start + o]"),
    ),
    mutant(
        "Each block writes its first tile alone: a block has more tiles, `stride` cells apart.",
        ("    for (; start < n; start += stride, current ^= 1) {", "    if (start < n) {"),
    ),
    mutant(NO_FIRST, (FIRST, "")),
    mutant(NO_NEXT, (START, "")),
    mutant(STILL_COPIED, (WAIT, "")),
    mutant(
        OWN_ALONE,
        (f"{WAIT}{BARRIER}", f"{BARRIER}{WAIT}"),
    ),
    mutant(
        "wait_group 1 leaves the newest group alone. In the last turn there is no next tile, so "
        "the newest group is the one of this tile: commit a group in every turn.",
        (f"        }}\n{COMMIT}", f"    {COMMIT}        }}\n"),
    ),
    mutant(
        OVERWRITTEN,
        (f"{CELL};\n        }}\n{BARRIER}", f"{CELL};\n        }}\n"),
    ),
    mutant(
        SAME_BUFFER,
        ("tiles[current ^ 1]", "tiles[current]"),
        ("start += stride, current ^= 1", "start += stride"),
    ),
    mutant(SAME_BUFFER, ("tiles[current ^ 1]", "tiles[current]")),
    mutant(SAME_BUFFER, ("start += stride, current ^= 1", "start += stride")),
    mutant(NO_TILE, ("        if (start + stride < n) {\n", "        {\n")),
    mutant(NO_TILE, ("    if (start < n) {\n", "    {\n")),
    mutant(
        "Nothing was copied to this place: does the index stay in the tile? 255 - o is its last "
        "cell for o = 0.",
        (CELL, "cells[256 - o]"),
    ),
    mutant(
        "cp.async of 16 bytes takes addresses that are multiples of 16 on both sides.",
        (f"{VECTOR} + threadIdx.x", f"{VECTOR.replace('N + start', 'N + start + threadIdx.x')}"),
    ),
)
