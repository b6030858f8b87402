"""The mistakes of copy_bulk."""

from helpers.exercises.content.background.mutants import NEIGHBOURS, NO_FIRST, NO_NEXT, OVERWRITTEN
from helpers.exercises.kit import mutant

BYTES = "16 * min(VECTORS, (n - start) / 4)"
IF_NEXT = "        if (threadIdx.x == 0 && start + stride < outputs) {\n"
START = "start_copy(tiles[current ^ 1], N, start + stride, n, &arrived[current ^ 1]);"
WAIT = "        wait(&arrived[current], turn / 2 % 2);\n"
PARITY = "turn / 2 % 2"
END = "        __syncthreads();\n    }\n}"

VECTORS = "A bulk copy takes whole vectors of 16 bytes; VECTORS and (n - start) / 4 count them."
OTHER_PARITY = (
    "The bulk copy of this tile may still be under way when a cell is read, because the wait is "
    "for another phase. Turns 0 and 1 are the first phases of both mbarriers, turns 2 and 3 the "
    "second ones: which parity has a phase?"
)

MUTANTS = (
    mutant(
        "Nothing was copied into the tile that is read: gap 1 says 0 bytes.",
        (BYTES, "0"),
        (START, ""),
        (WAIT, ""),
        (END, "    }\n}"),
    ),  # the stub
    mutant(NEIGHBOURS, ("N, start + stride, n, &arr", "N, start + TILE_WIDTH, n, &arr")),
    mutant(NO_FIRST, ("            start_copy(tiles[0], N, start, n, &arrived[0]);\n", "")),
    mutant(NO_NEXT, (START, "")),
    mutant(NO_NEXT, (START, ""), (WAIT, "")),
    mutant(VECTORS, (BYTES, BYTES.replace("16", "4"))),
    mutant(VECTORS, (BYTES, "4 * min(TILE_WIDTH + FILTER_WIDTH - 1, n - start)")),
    mutant(
        "A phase that does not end: the announced bytes are not those that come. The copy and its "
        "announcement take the same number.",
        ('"r"(bytes) : "memory");\n    asm', '"r"(bytes / 4) : "memory");\n    asm'),
    ),
    mutant(
        "The last tile may be shorter: it has (n - start) / 4 vectors, if these are fewer than "
        "VECTORS.",
        (BYTES, "16 * VECTORS"),
    ),
    mutant(
        "A buffer has room for VECTORS vectors, a tile and its halo: copy no more of them.",
        (BYTES, "4 * (n - start)"),
    ),
    mutant(
        "Nothing was copied to this place of the tile: a tile comes with its halo, VECTORS vectors "
        "in all.",
        (BYTES, "4 * min(TILE_WIDTH, n - start)"),
    ),
    mutant(
        "These are fewer than 0 bytes. There is no tile after the last one: start the next copy "
        "only if there is a next tile.",
        (IF_NEXT, "        if (threadIdx.x == 0) {\n"),
    ),
    mutant(
        "The bulk copy of this tile may still be under way when a cell is read: nothing waits for "
        "it, or the wait is for the parity of a phase that is over. Each buffer has an mbarrier, "
        "and its first phase has parity 0.",
        (WAIT, ""),
    ),
    mutant(OTHER_PARITY, (PARITY, "turn % 2")),
    mutant(OTHER_PARITY, (PARITY, "0")),
    mutant(
        "A phase that does not end: nobody has started a copy at this mbarrier. This turn's tile "
        "reports at the mbarrier of its own buffer.",
        ("wait(&arrived[current]", "wait(&arrived[current ^ 1]"),
    ),
    mutant(
        "Several threads start a copy at one mbarrier, and it expects one arrival: only one thread "
        "starts copies, one of them in each turn.",
        (IF_NEXT, "        if (start + stride < outputs) {\n"),
    ),
    mutant(
        "The copy of the next tile goes into the buffer of the tile in work: the other one is "
        "tiles[current ^ 1].",
        (START, START.replace("tiles[current ^ 1]", "tiles[current]")),
    ),
    mutant(
        "Thread 0 starts a copy at an mbarrier whose phase is not over yet: the next tile goes "
        "into the other buffer, and reports at that buffer's mbarrier.",
        (START, START.replace("current ^ 1", "current")),
    ),
    mutant(OVERWRITTEN, (END, "    }\n}")),
    mutant(
        "A phase that does not end: a warp is a turn behind the others, because no barrier of the "
        "block ends a turn.",
        (END, "        __syncwarp();\n    }\n}"),
    ),
)
