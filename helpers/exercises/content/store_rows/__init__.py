"""Stage a warp's outputs in shared memory, and store whole sectors."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from helpers.exercises import kit

MAPS, COLUMNS, TILES = 8, 34, 3
FLOATS = TILES * 32 * 4  # of the sums


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield three sets of drawn sums. They are only moved, so every bit must be right."""
    for k in range(3):
        sums = rng.uniform(-1, 1, (TILES, 32, 4)).astype(np.float32)
        arrays = {"y": kit.unwritten((MAPS, COLUMNS)), "sums": sums}
        yield kit.one_launch(f"sums {k + 1}", arrays, (1,), (32,), kinds={"set of sums": k})


def rows(case: kit.Case, columns: int = COLUMNS) -> np.ndarray:
    """Return y: lane 4 g + q of tile n holds columns 16 n + 4 q to 16 n + 4 q + 3 of map g."""
    return (
        case["sums"].reshape(TILES, MAPS, 4, 4).transpose(1, 0, 2, 3).reshape(MAPS, 48)[:, :COLUMNS]
    )


EXERCISE = kit.Exercise(
    name="store_rows",
    lab="305_fastest_layer",
    title="Store whole sectors from a staged tile",
    place=2,
    cases=cases,
    small=lambda rng: islice(cases(rng), 1),
    reference=rows,
    counts={"set of sums": "sets of sums"},
    budgets=(
        kit.Budget(
            "sectors written",
            kit.all_of("sectors", "global", "store"),
            40,
            "Neighbouring lanes should store neighbouring floats of y, whose 272 floats follow "
            "each other without gaps.",
        ),
        kit.Budget(
            "bytes of sums loaded",
            kit.all_of("bytes_used", "global", "load"),
            4 * FLOATS,
            "A lane holds its four floats in registers: load each once, and let the others have "
            "them through shared memory.",
        ),
        kit.Budget(
            "load requests",
            kit.all_of("requests", "global", "load"),
            TILES,
            "A lane has the sums of its own place alone: one float4 for each of the three tiles. "
            "Other lanes get them through shared memory.",
            quiet=True,
        ),
        kit.Budget(
            "floats stored in shared memory",
            lambda case, one: one.total("bytes_used", "shared", "store") / 4,
            FLOATS,
            "Each float is staged once.",
            quiet=True,
        ),
        kit.Budget(
            "shared load requests", kit.all_of("requests", "shared", "load"), 12, quiet=True
        ),
        kit.ONE_STORE,
        kit.none_of("local", what="accesses to local memory"),
        kit.NO_ATOMICS,
        kit.NO_ACTIVEMASK,
        kit.shuffles(
            0,
            hint="Shuffles move the floats, too, but each of them costs as much as an access to "
            "shared memory.",
        ),
    ),
    hints=(
        "Suppose that each lane stores its own four floats, one after the other. Which floats of "
        "y do lanes 0, 1 and 2 store in one request? How far apart are they?",
        "Put the 8 x 48 floats into shared memory first, each lane its own, one float4 a tile.",
        "After __syncwarp(), lane i stores y[i], y[i + 32] ...: element i comes from row i / 34, "
        "column i % 34.",
    ),
)
