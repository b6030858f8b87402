"""The mistakes of im2col_basic."""

from helpers.exercises.kit import mutant

PLACE = "(p * K + q) * out_h * out_w + pixel"
CELL = "(h + p) * W + w + q"
OUTPUT = "h = pixel / out_w, w = pixel % out_w"

MATRIX_ROW = (
    "A row of the matrix has out_h * out_w numbers: so far lies row p * K + q + 1 after row "
    "p * K + q."
)
TAPS = "The filter has rows p and columns q from 0 to K - 1."

MUTANTS = (
    mutant(
        "The numbers are right, and are in other places: an output is a column of the matrix, "
        "and a row has out_h * out_w numbers.",
        (PLACE, "pixel * K * K + p * K + q"),
    ),
    mutant(
        "The outputs of a map are numbered as if a row of it had W of them: it has out_w, so "
        "output number pixel is in row pixel / out_w, column pixel % out_w.",
        (OUTPUT, "h = pixel / W, w = pixel % W"),
    ),
    mutant(
        "The row and the column of the output are exchanged: pixel counts the outputs row by row.",
        (OUTPUT, "h = pixel % out_w, w = pixel / out_w"),
    ),
    mutant(
        "The last row of the filter is left out: p goes from 0 to K - 1.", ("p < K", "p < K - 1")
    ),
    mutant(
        "The last column of the filter is left out: q goes from 0 to K - 1.", ("q < K", "q < K - 1")
    ),
    mutant(
        "All K * K rows of a channel are the same: the cell depends on p and q, too.",
        (CELL, "h * W + w"),
    ),
    mutant(
        "Only first outputs of rows are wrong. A product with 1.0f / out_w is rounded, and may lie "
        "below the whole number that it should be: divide whole numbers, pixel / out_w.",
        (OUTPUT, "h = pixel * (1.0f / out_w), w = pixel - h * out_w"),
    ),
    mutant(TAPS, ("p < K", "p <= K")),
    mutant(TAPS, ("q < K", "q <= K")),
    mutant(MATRIX_ROW, (PLACE, "(p * K + q) * H * W + pixel")),
    mutant(MATRIX_ROW, (PLACE, "(p * K + q) * out_w + pixel")),
    mutant(
        "Two threads write one cell of the matrix: column pixel belongs to this thread alone.",
        (PLACE, "(p * K + q) * out_h * out_w"),
    ),
)
