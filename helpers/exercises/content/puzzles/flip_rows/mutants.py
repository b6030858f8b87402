"""The mistakes of flip_rows."""

from helpers.exercises.kit import mutant

STORE = "P[(height - 1 - y) * width + x]"

AXES_EXCHANGED = mutant(
    "The axes are exchanged: x, the column, comes from threadIdx.x and blockIdx.x, and y, the row, "
    "from their .y.",
    ("x = blockIdx.x * blockDim.x + threadIdx.x", "x = blockIdx.y * blockDim.y + threadIdx.y"),
    (
        "int y = blockIdx.y * blockDim.y + threadIdx.y",
        "int y = blockIdx.x * blockDim.x + threadIdx.x",
    ),
)

MUTANTS = (
    AXES_EXCHANGED,
    mutant("The image is copied: row y must become row height - 1 - y.", ("(height - 1 - y)", "y")),
    mutant(
        "Left and right are exchanged, not top and bottom: the row changes, the column stays.",
        (STORE, "P[y * width + width - 1 - x]"),
    ),
    mutant(
        "The image is rotated by 180 degrees: only the row changes, the column stays.",
        ("* width + x] =", "* width + width - 1 - x] ="),
    ),
    mutant(
        "A cell past the end of P is written: rows and columns count from 0, so the last ones are "
        "height - 1 and width - 1.",
        ("(height - 1 - y)", "(height - y)"),
    ),
    mutant(
        "Two guards are needed: threads beyond the last column are not stopped.",
        ("x < width && ", ""),
    ),
    mutant(
        "Two guards are needed: threads below the last row are not stopped.",
        (" && y < height", ""),
    ),
    mutant(
        "Two threads write one cell: a step to the next row of P is `width` cells long.",
        ("- y) * width", "- y) * height"),
    ),
    mutant(
        "A step to the next row of N is `width` cells long.",
        ("N[y * width + x];", "N[y * height + x];"),
    ),
)
