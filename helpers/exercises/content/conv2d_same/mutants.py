"""The mistakes of conv2d_same."""

from helpers.exercises.content.conv2d_basic.mutants import PAST_THE_FILTER
from helpers.exercises.kit import mutant

ROW, COLUMN = "h - K / 2 + p", "w - K / 2 + q"
TEST = "if (row < 0 || row >= H || column < 0 || column >= W) continue;"
CORNER = (ROW, "h + p"), (COLUMN, "w + q")
GUARD = "h >= H || w >= W"
NARROW_TILES, SMALL_GUARD = ("(W + 15)", "(W - K + 16)"), (GUARD, "h > H - K || w > W - K")
SMALL_STORE = ("* H + h) * W + w] = sum", "* (H - K + 1) + h) * (W - K + 1) + w] = sum")

NOT_LOADED = "A cell outside of the image counts as 0 and must not be loaded:"
NOT_STOPPED = "have no output, and are not stopped:"

MUTANTS = (
    mutant(
        "The filter hangs by its corner: output (h, w) reads rows from h on. It must be centred, "
        "rows h - K / 2 to h + K / 2.",
        *CORNER,
    ),
    mutant(
        "The filter hangs by its corner, as in conv2d_basic, and cells outside of the image are "
        "loaded. It must be centred, and a cell outside counts as 0.",
        *CORNER,
        (TEST, ""),
    ),
    mutant(
        "The filter's centre is one cell off: its middle tap is p = K / 2, counted from 0.",
        (ROW, f"{ROW} + 1"),
        (COLUMN, f"{COLUMN} + 1"),
    ),
    mutant(
        "The filter's centre is one cell off: K is odd, and K / 2, which is rounded down, is the "
        "number of cells on each side.",
        (ROW, "h - (K + 1) / 2 + p"),
        (COLUMN, "w - (K + 1) / 2 + q"),
    ),
    mutant(
        "The edge cells are repeated outside of the image; here cells outside count as 0.",
        (ROW, f"min(max({ROW}, 0), H - 1)"),
        (COLUMN, f"min(max({COLUMN}, 0), W - 1)"),
    ),
    mutant(
        "The image goes on at its other side, like a ring; here cells outside count as 0.",
        (ROW, f"({ROW} + H) % H"),
        (COLUMN, f"({COLUMN} + W) % W"),
    ),
    mutant(f"{NOT_LOADED} test its row and its column.", (TEST, "")),
    mutant(f"{NOT_LOADED} its column is not tested.", (" || column < 0 || column >= W", "")),
    mutant(f"{NOT_LOADED} its row is not tested.", ("row < 0 || row >= H || ", "")),
    mutant(
        f"{NOT_LOADED} only those above the image and left of it are left out.",
        (" || row >= H", ""),
        (" || column >= W", ""),
    ),
    mutant(
        "The tiles, the guard and the store are those of conv2d_basic, whose maps are smaller. "
        "Here a map has H rows and W columns.",
        NARROW_TILES,
        SMALL_GUARD,
        SMALL_STORE,
    ),
    mutant(
        "The last tiles are not written: the map has H rows and W columns now, and the tiles side "
        "by side must cover W columns.",
        NARROW_TILES,
    ),
    mutant(
        "The guard is that of conv2d_basic, whose maps are smaller. Here a map has H rows and W "
        "columns.",
        SMALL_GUARD,
    ),
    mutant(
        "The store's index is that of conv2d_basic, whose maps are smaller: two threads write the "
        "same output. Here a map has H rows and W columns.",
        SMALL_STORE,
    ),
    mutant(
        f"Threads below the last row and right of the last column {NOT_STOPPED} a map has H rows "
        "and W columns.",
        (f"if ({GUARD}) return;", ""),
    ),
    mutant(f"Threads below the last row {NOT_STOPPED} a map has H rows.", ("h >= H || ", "")),
    mutant(
        f"Threads right of the last column {NOT_STOPPED} a map has W columns.",
        ("|| w >= W) return", ") return"),
    ),
    mutant(PAST_THE_FILTER, ("p < K", "p < 7"), ("q < K", "q < 7")),
)
