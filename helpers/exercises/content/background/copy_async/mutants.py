"""The mistakes of copy_async."""

from helpers.exercises.content.background.mutants import (
    NEIGHBOURS,
    NO_FIRST,
    NO_NEXT,
    OVERWRITTEN,
    SAME_BUFFER,
)
from helpers.exercises.kit import mutant

FIRST = "        start_copy(tiles[0], N, start, n);\n    }\n    COMMIT();\n"
START = "            start_copy(tiles[current ^ 1], N, start + stride, n);\n"
COMMIT = "        COMMIT();       // after the last tile the group is empty\n"
WAIT, BARRIER = "        WAIT_BUT(1);\n", "        __syncthreads();\n"
END = f"{BARRIER}    }}\n}}"

STILL_COPIED = (
    "The copy of this tile may still be under way when a cell is read, because nothing waits for "
    "its group: behind the newest group, that of the next tile, all must be done."
)
OWN_ALONE = (
    "A thread waits for its own copies alone. It reads cells that other threads copy: first wait "
    "for the groups of this thread, then for the other threads, in this order."
)

MUTANTS = (
    mutant(
        "Nothing was copied into the tile that is read. Gap 1 starts the copy of the first tile.",
        (FIRST, "    }\n"),
        (START + "        }\n" + COMMIT + WAIT + BARRIER, "        }\n"),
        (END, "    }\n}"),
    ),  # the stub
    mutant(NEIGHBOURS, ("start + stride, n)", "start + TILE_WIDTH, n)")),
    mutant(NO_FIRST, (FIRST, "    }\n    COMMIT();\n")),
    mutant(NO_NEXT, (START, "")),
    mutant(STILL_COPIED, (WAIT, "")),
    mutant(OWN_ALONE, (WAIT + BARRIER, BARRIER + WAIT)),
    mutant(
        "WAIT_BUT(1) leaves the newest group alone. In the last turn there is no next tile, so the "
        "newest group is the one of this tile: is a group committed in every turn?",
        ("        }\n" + COMMIT, "            COMMIT();\n        }\n"),
    ),
    mutant(
        "The copies of the first tile and of the next one are in one group, and WAIT_BUT(1) does "
        "not wait for it: the first tile needs its own group, committed before the loop.",
        (FIRST, FIRST.replace("    COMMIT();\n", "")),
    ),
    mutant(OVERWRITTEN, (END, "    }\n}")),
    mutant(
        SAME_BUFFER,
        ("tiles[current ^ 1]", "tiles[current]"),
        ("start += stride, current ^= 1", "start += stride"),
    ),
    mutant(SAME_BUFFER, ("tiles[current ^ 1]", "tiles[current]")),
    mutant(SAME_BUFFER, ("start += stride, current ^= 1", "start += stride")),
)
