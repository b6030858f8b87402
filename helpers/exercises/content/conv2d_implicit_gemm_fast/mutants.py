"""The mistakes of conv2d_implicit_gemm_fast."""

from helpers.exercises.kit import mutant

CHANNEL, ROW = "(i_x / (K * K) * H", "i_x % (K * K) / K"

MUTANTS = (
    mutant("All sums are 0: load the cell of the image.", ("= corner[", "= 0 * corner[")),
    mutant(
        "p continues in the next channel: it is the row within the channel, from 0 to K - 1.",
        (ROW, "i_x / K"),
    ),
    mutant(
        "A channel has K * K filter cells: c rises by 1 after so many.", (CHANNEL, "(i_x / K * H")
    ),
    mutant(
        "Rows of the image lie W apart. Yours lie out_w apart, as rows of outputs do.",
        (f"{ROW}) * W", f"{ROW}) * out_w"),
    ),
    mutant(
        "The window of output `col` begins at cell `col` in yours. Rows of the image lie W apart, "
        "and rows of outputs out_w.",
        ("col / out_w * W + col % out_w", "col"),
    ),
    mutant(
        "Filters of 7 x 7 are right, and others are not: the width is FILTER_WIDTH, which the "
        "first line of the cell sets, and not always 7.",
        ("K = FILTER_WIDTH;", "K = 7;"),
    ),
)
