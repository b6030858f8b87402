"""The mistakes of conv2d_implicit_gemm."""

from helpers.exercises.kit import mutant

CHANNEL, ROW = "i_x / (K * K)", "i_x % (K * K) / K"

MUTANTS = (
    mutant("All sums are 0: load the cell of the image.", ("= image[(c", "= 0 * image[(c")),
    mutant(
        "p continues in the next channel: it is the row within the channel, from 0 to K - 1.",
        (ROW, "i_x / K"),
    ),
    mutant(
        "A channel has K * K filter cells: c rises by 1 after so many. (i_x / K * K divides by K, "
        "and then multiplies.)",
        (CHANNEL, "i_x / K * K"),
    ),
    mutant("A channel has K * K filter cells: c rises by 1 after so many.", (CHANNEL, "i_x / K")),
    mutant(
        "Outputs are counted in rows of out_w, and not of W.",
        ("col / out_w", "col / W"),
        ("col % out_w", "col % W"),
    ),
    mutant(
        "The row and the column of the output are exchanged.",
        ("col / out_w", "col % out_w "),
        ("col % out_w;", "col / out_w;"),
    ),
)
