"""The mistakes of conv2d_tensor."""

from helpers.exercises.kit import mutant

OFFSET = "(c * HEIGHT + p) * WIDTH + q;"
CELL = "cells[i] = term < TERMS ? corner[offset] : __half(0.0f);"
BEFORE = "            __syncwarp();   // a fragment has columns that other lanes gathered\n"
LOAD_A = "            wmma::load_matrix_sync(a, weights + 16 * step, F_PITCH);\n"
LOAD_B = "wmma::load_matrix_sync(b, columns[warp] + part * COLUMNS * PITCH, PITCH);"
PARTS = "            for (int part = 0; part < 32 / COLUMNS; ++part) {\n                wmma::load"
ADD = "wmma::mma_sync(sum[part], a, b, sum[part]);"
BEHIND = "            __syncwarp();   // before the next step overwrites the columns\n"

NOT_SET = "Nothing has set these cells: gap 1 gathers them."
PART_1 = (
    "Of the 32 outputs of a warp the second 16 are wrong. Does your loop come to part 1? It begins "
    "COLUMNS columns further, at columns[warp] + COLUMNS * PITCH."
)

MUTANTS = (
    mutant(NOT_SET, (CELL, ""), (LOAD_A, ""), (LOAD_B, ""), (ADD, "")),  # the stub
    mutant(NOT_SET, (CELL, "")),
    mutant("All outputs are 0: gap 2 adds nothing to `sum`.", (ADD, "")),
    mutant(
        "Only the last 16 terms count: mma_sync(sum, a, b, sum) adds to the sums that it gets, so "
        "give it sum[part] as the last argument, too.",
        (ADD, f"wmma::fill_fragment(sum[part], 0.0f); {ADD}"),
    ),
    mutant(
        "The terms of the last, padded step are missing: are the cells of terms below TERMS "
        "gathered there?",
        ("step < STEPS;", "step < TERMS / 16;"),
    ),
    mutant(
        "Every step multiplies by the first 16 weights: in step `step`, a begins 16 * step halves "
        "further.",
        ("weights + 16 * step", "weights"),
    ),
    mutant(
        "A row of the image has WIDTH cells, and a row of outputs has OUT_W.",
        (OFFSET, "(c * HEIGHT + p) * OUT_W + q;"),
    ),
    mutant(
        "Every output has the cells of output 0: the cell lies after `corner`, and not after "
        "`image`.",
        ("corner[offset]", "image[offset]"),
    ),
    mutant(
        "The last term is left out: cells are zeros from term TERMS on, and term TERMS - 1 is "
        "still one.",
        ("term < TERMS ?", "term < TERMS - 1 ?"),
    ),
    mutant(
        "Both parts of the 32 columns are added to one sum: part `part` belongs to sum[part].",
        (ADD, "wmma::mma_sync(sum[0], a, b, sum[0]);"),
    ),
    mutant(
        "b is taken by rows. Each lane stored a column side by side: `col_major`.",
        ("__half, wmma::col_major> b", "__half, wmma::row_major> b"),
    ),
    mutant(PART_1, (" + part * COLUMNS * PITCH, PITCH", ", PITCH")),
    mutant(PART_1, (PARTS, PARTS.replace("32 / COLUMNS", "1"))),
    mutant(
        "Each lane gathers a column, and a fragment has those of other lanes. All must have stored "
        "before a fragment is loaded: __syncwarp().",
        (BEFORE, ""),
    ),
    mutant(
        "Each lane gathers a column, and a fragment has those of other lanes. All must have loaded "
        "before the next step stores: __syncwarp().",
        (BEHIND, ""),
    ),
    mutant(
        "The warps of a block take different numbers of turns, so not all come to a "
        "__syncthreads() here. Only the lanes of one warp wait: __syncwarp().",
        ("__syncwarp();   // a frag", "__syncthreads();   // a frag"),
    ),
    mutant(
        "p continues from channel to channel, and the image ends before this cell: p is below K in "
        "every channel.",
        ("term % (K * K) / K", "term / K"),
    ),
    mutant(
        "The image ends before this cell: nothing is gathered from term TERMS on.",
        (CELL, "cells[i] = corner[offset];"),
    ),
    mutant(
        "The rows of F lie F_PITCH halves apart. With another distance a fragment reads what is "
        "behind a row.",
        (LOAD_A, LOAD_A.replace("F_PITCH", "16 * STEPS")),
    ),
)
