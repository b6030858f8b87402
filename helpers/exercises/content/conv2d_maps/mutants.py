"""The mistakes of conv2d_maps."""

from helpers.exercises.kit import mutant

MAPS, COLUMNS = "blockIdx.y % ((M + 15) / 16) * 16", "blockIdx.x * 16"

MUTANTS = (
    mutant(
        "Two threads write the same output, 16 in fact, and most outputs have none: m and w depend "
        "on the same threadIdx. One of the two must use threadIdx.x, the other one threadIdx.y.",
        (f"{COLUMNS} + threadIdx.x", f"{COLUMNS} + threadIdx.y"),
    ),
    mutant(
        "Maps from 16 on are never written: blockIdx.y holds rows and groups of 16 maps.",
        (MAPS, "0"),
    ),
    mutant(
        "Columns from 16 on are never written: blockIdx.x counts groups of 16 columns.",
        (f"{COLUMNS} + ", ""),
    ),
    mutant(
        "The grid's axes are exchanged: blockIdx.x counts groups of 16 columns, and blockIdx.y "
        "holds rows and groups of 16 maps.",
        (f"m = {MAPS}", f"m = {COLUMNS}"),
        (f"w = {COLUMNS}", f"w = {MAPS}"),
    ),
    mutant(
        "The outputs of the maps stand side by side. In y each map has its rows and columns "
        "together: keep the index of the store.",
        ("y[((b * M + m) * out_h + h) * out_w + w]", "y[((b * out_h + h) * out_w + w) * M + m]"),
    ),
    mutant(
        "A thread right of the last column has no output, and is not stopped: its store lands on "
        "an output of the next row.",
        ("w >= out_w || ", ""),
    ),
    mutant(
        "A thread behind the last map has no output, and is not stopped: it reads and stores "
        "outside of the arrays, or in the next image.",
        (" || m >= M", ""),
    ),
)
