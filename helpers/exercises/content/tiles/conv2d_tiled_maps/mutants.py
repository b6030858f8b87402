"""The mistakes of conv2d_tiled_maps."""

from helpers.exercises.content.tiles.conv2d_tiled.mutants import WINDOW, ZERO
from helpers.exercises.kit import mutant

MAP = "min(first + o, M - 1);"
SUMS, STORES = "o < MAPS; ++o) {", "o < MAPS; ++o)\n            if"
STORED_IF = "    if (h < out_h && w < out_w)\n        #pragma"

MUTANTS = (
    mutant(ZERO, ("sum[o] += cell", "sum[o] += 0.0f * cell")),
    *WINDOW,
    mutant(
        "All maps of a thread have the weights of its first one: map m changes with o.",
        (MAP, "first;"),
    ),
    mutant(
        "Every block has the weights of the first maps: its maps begin at `first`.",
        (MAP, "min(o, M - 1);"),
    ),
    mutant(
        "The maps of a block begin at `first`, which is blockIdx.y * MAPS, and not at blockIdx.y.",
        (MAP, "min((int)blockIdx.y + o, M - 1);"),
    ),
    mutant(
        "Map 3 is not the last one of every layer: there are M maps, so the last one is M - 1.",
        (MAP, "min(first + o, 3);"),
    ),
    mutant(
        "The last block may have fewer maps than MAPS: a weight of a map that does not exist lies "
        "behind the symbol. Take that of map min(first + o, M - 1).",
        (MAP, "first + o;"),
    ),
    mutant(
        "A thread has MAPS sums, and MAPS is not always 4: let the loops over o end there.",
        (SUMS, SUMS.replace("MAPS", "4")),
        (STORES, STORES.replace("MAPS", "4")),
    ),
    mutant(
        "The last block may have fewer maps than MAPS: store sum[o] only if first + o < M.",
        ("if (first + o < M)", ""),
    ),
    mutant(
        "Every block stores to the first maps: sum[o] belongs to map first + o.",
        ("b * M + first + o", "b * M + o"),
    ),
    mutant(
        "A thread stores only if it has an output: h < out_h and w < out_w.",
        (STORED_IF, "        #pragma"),
    ),
)
