"""Stage a warp's outputs in shared memory, and store whole sectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from helpers.exercises import kit
from helpers.exercises.cases import is_unwritten

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


def by_places(case: kit.Case, places: Callable[..., Any]) -> np.ndarray | None:
    """Return what comes out if float i of lane 4 g + q of tile n stands elsewhere.

    places: of n, g, q, i, the row and the column; None where a float of y is left open.
    """
    y = np.full((MAPS, TILES * 16), np.nan, np.float32)
    n, g, q, i = np.ogrid[:TILES, :MAPS, :4, :4]
    row, column = np.broadcast_arrays(*places(n, g, q, i), np.empty((TILES, MAPS, 4, 4)))[:2]
    y[row, column] = case["sums"].reshape(TILES, MAPS, 4, 4)
    return None if np.isnan(y[:, :COLUMNS]).any() else y[:, :COLUMNS]


def last_unwritten(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether the last 16 floats alone are never written."""
    missing = is_unwritten(got).ravel()
    return bool(missing[-16:].all() and not missing[:-16].any())


EXERCISE = kit.Exercise(
    name="store_rows",
    lab="305_fastest_layer",
    title="Store whole sectors from a staged tile",
    place=2,
    cases=cases,
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
    mistakes=(
        kit.Mistake(
            "The rows of the staged tile have 48 columns, and the rows of y 34: they must be "
            "counted apart.",
            gives=lambda case: (
                case["sums"]
                .reshape(TILES, MAPS, 4, 4)
                .transpose(1, 0, 2, 3)
                .reshape(-1)[: MAPS * COLUMNS]
                .reshape(MAPS, COLUMNS)
            ),
        ),
        kit.Mistake(
            "The sums are stored in the order of the lanes: lane 4 g + q of tile n holds columns "
            "16 n + 4 q and on of map g.",
            gives=lambda case: case["sums"].reshape(-1)[: MAPS * COLUMNS].reshape(MAPS, COLUMNS),
        ),
        kit.Mistake(
            "The four floats of a lane stand the wrong way round: .x is the first column.",
            gives=lambda case: by_places(case, lambda n, g, q, i: (g, 16 * n + 4 * q + 3 - i)),
        ),
        kit.Mistake(
            "The places of a group lie 12 columns apart, and its tiles 4: lane 4 g + q of tile n "
            "holds columns 16 n + 4 q and on.",
            gives=lambda case: by_places(case, lambda n, g, q, i: (g, 4 * n + 12 * q + i)),
        ),
        kit.Mistake(
            "g and q are mixed up: lane 4 g + q holds columns of row g, so g is lane / 4 and q is "
            "lane % 4.",
            gives=lambda case: by_places(
                case, lambda n, g, q, i: ((4 * g + q) % 8, 16 * n + (4 * g + q) // 8 * 4 + i)
            ),
        ),
        kit.Mistake(
            "The last 16 floats are never written: 32 lanes store 272 floats, eight each and then "
            "16 more.",
            when=last_unwritten,
        ),
    ),
    findings=(
        kit.FindingHint(
            "race",
            "Two lanes stage different floats in one place: columns from 34 on do not exist, and "
            "belong to no row; or rows of 48 columns lie in the staged tile.",
            when=lambda found: " writes " in found.message and " wrote " in found.message,
        ),
        kit.FindingHint(
            "race",
            "Lanes read what other lanes have staged: a __syncwarp() must lie between staging "
            "and reading.",
        ),
        kit.FindingHint(
            "uninitialised",
            "Nobody has staged this place. All 34 columns come from the three tiles, and the rows "
            "lie as far apart where they are read as where they were staged.",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "Columns from 34 on do not exist: leave them out, or give the staged tile 8 rows of 48 "
            "columns. y has 8 x 34 = 272 floats.",
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
