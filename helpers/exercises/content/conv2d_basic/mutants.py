"""The mistakes of conv2d_basic."""

from helpers.exercises.kit import mutant

ACROSS, DOWN = "blockIdx.x % across * blockDim.x", "blockIdx.x / across * blockDim.y"
COLUMN, ROW = f"{ACROSS} + threadIdx.x", f"{DOWN} + threadIdx.y"
GUARD = "h < out_h && w < out_w"
NO_SUM = ("sum += image", "sum += 0.0f * image")

ONE_OUTPUT = (
    "Only the first output of each map is written: all threads have the same h and w. That is "
    "gap 1."
)
NOT_GUARDED = (
    "A thread right of the map's last column, or below its last row, has no output, and is not "
    "stopped: its store lands on an output of another row or map. That is gap 2."
)
PAST_THE_FILTER = (
    "A filter has C * K * K weights for each map. The loops over p and q end at K, which is an "
    "argument."
)

MUTANTS = (
    mutant(ONE_OUTPUT, (COLUMN, "0"), (ROW, "0"), (GUARD, "true"), NO_SUM),  # the stub
    mutant(ONE_OUTPUT, (COLUMN, "0"), (ROW, "0")),
    mutant("Every output is 0: nothing is added to `sum` yet. That is gap 3.", NO_SUM),
    mutant(NOT_GUARDED, (GUARD, "true"), NO_SUM),
    mutant(NOT_GUARDED, (GUARD, "true")),
    mutant(
        "A thread below the map's last row has no output, and is not stopped: its store lands on "
        "an output of the next map. That is gap 2.",
        ("h < out_h && ", ""),
    ),
    mutant(
        "A thread right of the map's last column has no output, and is not stopped: its store "
        "lands on an output of the next row. That is gap 2.",
        (" && w < out_w", ""),
    ),
    mutant(
        "The guard compares with the size of the image. A map has fewer outputs, out_h rows and "
        "out_w columns. That is gap 2.",
        (GUARD, "h < H && w < W"),
    ),
    mutant(
        "blockIdx.x counts all tiles of a map, row by row, and blockIdx.y is the output map: the "
        "tile's row is blockIdx.x / across. That is gap 1.",
        (ACROSS, "blockIdx.x * blockDim.x"),
        (DOWN, "blockIdx.y * blockDim.y"),
    ),
    mutant(
        "The tile's row and column are exchanged: the column is blockIdx.x % across, and the row "
        "is blockIdx.x / across. That is gap 1.",
        (ACROSS, "blockIdx.x / across * blockDim.x"),
        (DOWN, "blockIdx.x % across * blockDim.y"),
    ),
    mutant(
        "It is right with blocks of 16 x 16 threads only: use blockDim.x and blockDim.y.",
        (ACROSS, "blockIdx.x % across * 16"),
        (DOWN, "blockIdx.x / across * 16"),
    ),
    mutant(
        "Only the first tile of each row of tiles is written: the tile's place belongs into w, "
        "too. That is gap 1.",
        (f"{ACROSS} + ", ""),
    ),
    mutant(
        "Only the first row of tiles is written: the tile's place belongs into h, too. That is "
        "gap 1.",
        (f"{DOWN} + ", ""),
    ),
    mutant(
        "Only the first tile of each map is written: the tile's place belongs into w and into h, "
        "too. That is gap 1.",
        (f"{ACROSS} + ", ""),
        (f"{DOWN} + ", ""),
    ),
    mutant(
        "A channel of the image has H rows of W cells: channel c begins with row c * H.",
        ("(c * H + h + p)", "(c * W + h + p)"),
    ),
    mutant(PAST_THE_FILTER, ("p < K", "p < 7"), ("q < K", "q < 7")),
    mutant("A filter has K rows: p goes from 0 to K - 1.", ("p < K", "p <= K")),
    mutant("A filter has K columns: q goes from 0 to K - 1.", ("q < K", "q <= K")),
)
