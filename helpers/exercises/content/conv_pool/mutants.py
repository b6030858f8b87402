"""The mistakes of conv_pool."""

from helpers.exercises.kit import mutant

FIRST = "row * pool + r, w = column * pool + s"
GUARD = "if (h >= out_h || w >= out_w) continue;"
NEW_SUM = "            float sum = 0.0f;\n"
KEPT = "largest = max(largest, sum);"
CHANNELS = "for (int c = 0; c < C; ++c)"

CUT = (
    "Whole windows are right, cut ones are not: leave out an output in row out_h or more, or "
    "column out_w or more."
)

MUTANTS = (
    mutant("All outputs are 0: compute the sum of each output, and keep the larger.", (KEPT, "")),
    mutant(
        "Only the first output of each window counts: the loops over r and s must change h and w.",
        (FIRST, "row * pool, w = column * pool"),
    ),
    mutant(
        "Windows do not overlap: the first output of a window is in row row * pool, column "
        "column * pool.",
        (FIRST, "row + r, w = column + s"),
    ),
    mutant(
        "Windows of 4 x 4 are right, others are not: `pool` is an argument, and windows begin "
        "`pool` outputs apart.",
        (FIRST, "row * 4 + r, w = column * 4 + s"),
    ),
    mutant(
        "Negative outputs are there: the largest begins with 0, and only grows.",
        ("largest = 0.0f", "largest = -3e38f"),
    ),
    mutant(
        "The last output of each window replaces the others: keep the larger of both.",
        (KEPT, "largest = max(sum, 0.0f);"),
    ),
    mutant(
        "The last output of each window replaces the others: keep the larger of it and `largest`.",
        (KEPT, "largest = sum;"),
    ),
    mutant(
        "A sum continues that of the output before: each output begins with sum = 0.",
        ("float largest = 0.0f;", "float largest = 0.0f, sum = 0.0f;"),
        (NEW_SUM, ""),
    ),
    mutant(
        "A sum continues that of the output before, in each row of a window: each output begins "
        "with sum = 0, within the loop over s.",
        ("r < pool; ++r) {", "r < pool; ++r) {\n        float sum = 0.0f;"),
        (NEW_SUM, ""),
    ),
    mutant(
        "The outputs of a window are added: keep the larger of two, max(largest, sum).",
        (KEPT, "largest += max(0.0f, sum);"),
    ),
    mutant(
        "The outputs of a window are averaged: keep the larger of two, max(largest, sum).",
        (KEPT, "largest += max(0.0f, sum) / (pool * pool);"),
    ),
    mutant(
        "The smallest output of each window is kept: the larger one of `largest` and the sum goes "
        "on.",
        (KEPT, "largest = min(largest, sum);"),
    ),
    mutant(
        "The sign of the outputs is dropped: a ReLU makes 0 of what is below 0.",
        (KEPT, "largest = max(largest, fabsf(sum));"),
    ),
    mutant(
        "Each channel counts as a separate output: an output is the sum over all channels. Set "
        "sum to 0 before the loop over c, and compare after it.",
        (CHANNELS, CHANNELS.replace("++c", "largest = max(largest, sum), sum = 0.0f, ++c")),
    ),
    mutant(
        "Cut windows are never stored: leave out the output that is not there, by an `if` or by "
        "`continue`. A `return` ends the thread before its store.",
        (GUARD, GUARD.replace("continue", "return")),
    ),
    mutant(CUT, (GUARD, "if (h >= out_h) continue;")),
    mutant(CUT, (GUARD, "if (w >= out_w) continue;")),
    mutant(
        "An output beyond the last row or column has no cells: the last windows are cut, so leave "
        "out what is not below out_h and out_w.",
        (GUARD, ""),
    ),
)
