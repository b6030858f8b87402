"""The mistakes of overlap_add."""

from helpers.exercises.kit import mutant

POINTS = "i < SIZE; i += blockDim.x) {\n"
TO_LOAD, TO_MULTIPLY = f"{POINTS}        const bool", f"{POINTS}        const float2 a"
TO_ADD = f"{POINTS}        const int out"
LOADED = "cells[i] = make_float2(is_cell ? N[start + i] : 0.0f, 0.0f);"
IS_CELL = "i < segment && start + i < n"
REAL, IMAGINARY = "a.x * b.x - a.y * b.y", "a.x * b.y + a.y * b.x"
MULTIPLIED = f"cells[i] = make_float2({REAL}, {IMAGINARY});"
PLACE = "start + i - width / 2;"
ADDED = "atomicAdd(&P[out], cells[i].x)"

MIDDLE = (
    "the middle weight of output 0 lies on cell 0, so sum i belongs to output start + i - width / "
    "2."
)
HALF_OF_THREADS = "a block has SIZE / 2 threads, so each has two of them."
CONJUGATE = (
    "One spectrum is multiplied by the conjugate of the other: the real part is ac - bd, and the "
    "imaginary part ad + bc."
)
SIGN = "The sign in the imaginary part is wrong: it is ad + bc."
ZEROS = (
    "A transform reads all SIZE points: those after the segment's cells must hold 0, and the "
    "imaginary parts, too."
)

MUTANTS = (
    mutant(ZEROS, (LOADED, ""), (MULTIPLIED, ""), (ADDED, "")),  # the stub
    mutant(ZEROS, (LOADED, "if (is_cell) cells[i] = make_float2(N[start + i], 0.0f);")),
    mutant(ZEROS, (LOADED, "cells[i].x = is_cell ? N[start + i] : 0.0f;")),
    mutant(
        "All outputs are 0: nothing is added to P yet, or the cells that are loaded are all 0, or "
        "the imaginary parts are added, which are 0 but for rounding.",
        (ADDED, ""),
    ),
    mutant(f"The sums are width / 2 places too late: {MIDDLE}", (PLACE, "start + i;")),
    mutant(
        f"The sums are width - 1 places too late: {MIDDLE}", (PLACE, "start + i + width / 2;")
    ),
    mutant(
        "The sums are too early: the middle weight of output 0 lies on cell 0, and not the last "
        "one, so sum i belongs to output start + i - width / 2.",
        (PLACE, "start + i - width + 1;"),
    ),
    mutant(
        "The outputs are half as large as they should be: add the whole real part.",
        (ADDED, ADDED.replace(".x", ".x / 2")),
    ),
    mutant(
        "The outputs are divided by SIZE once more: the host has divided the spectrum.",
        (ADDED, ADDED.replace(".x", ".x / SIZE")),
    ),
    mutant(
        f"Only the first half of the sums is added: {HALF_OF_THREADS}",
        (TO_ADD, TO_ADD.replace("SIZE", "SIZE / 2")),
    ),
    mutant(
        f"Only the first half of the cells is multiplied: {HALF_OF_THREADS}",
        (TO_MULTIPLY, TO_MULTIPLY.replace("SIZE", "SIZE / 2")),
    ),
    mutant(
        "Only the first SIZE / 2 cells of a segment are loaded: a block has SIZE / 2 threads, so "
        "each loads two points.",
        (IS_CELL, f"i < SIZE / 2 && {IS_CELL}"),
    ),
    mutant(
        "The tails are missing: add all SIZE sums, not only those of the segment's own cells.",
        (TO_ADD, TO_ADD.replace("SIZE", "segment")),
    ),
    mutant(
        "Only the first half of the tails is added: width - 1 sums lie after the segment's own "
        "cells. Add all SIZE sums.",
        (TO_ADD, TO_ADD.replace("SIZE", "segment + width / 2")),
    ),
    mutant(
        "The result is the signal: the spectra are not multiplied. That is gap 2.",
        (MULTIPLIED, ""),
    ),
    mutant(
        "The parts are multiplied one by one. The product of two complex numbers has the real part "
        "ac - bd and the imaginary part ad + bc.",
        (MULTIPLIED, "cells[i] = make_float2(a.x * b.x, a.y * b.y);"),
    ),
    mutant(
        "The sign in the real part is wrong: i times i is -1.",
        (REAL, "a.x * b.x + a.y * b.y"),
    ),
    mutant(SIGN, (IMAGINARY, "a.x * b.y - a.y * b.x")),
    mutant(SIGN, (IMAGINARY, "a.y * b.x - a.x * b.y")),
    mutant(
        "The imaginary part is as it was: it becomes ad + bc.",
        (MULTIPLIED, f"cells[i].x = {REAL};"),
    ),
    mutant(
        "The new real part is used in the imaginary part: keep the old one in a variable, until "
        "both parts are made.",
        (MULTIPLIED, f"cells[i].x = {REAL}; cells[i].y = cells[i].x * b.y + a.y * b.x;"),
    ),
    mutant(CONJUGATE, (REAL, "a.x * b.x + a.y * b.y"), (IMAGINARY, "a.x * b.y - a.y * b.x")),
    mutant(CONJUGATE, (REAL, "a.x * b.x + a.y * b.y"), (IMAGINARY, "a.y * b.x - a.x * b.y")),
    mutant(
        "Cells of the next segment are transformed, too, and counted twice: cells[i] is a cell of "
        "N for i below `segment`, and 0 from there on.",
        (IS_CELL, "start + i < n"),
    ),
    mutant(
        "A segment has one cell too many, which the next one has, too: cells[i] is a cell of N for "
        "i below `segment`, and 0 from there on.",
        (IS_CELL, IS_CELL.replace("<", "<=", 1)),
    ),
    mutant(
        "One segment is right, several are not: each block begins at its own `start`.",
        ("? N[start + i]", "? N[i]"),
        (PLACE, "i - width / 2;"),
    ),
    mutant(
        "Every block has the cells of the first one: each begins at its own `start`.",
        ("? N[start + i]", "? N[i]"),
    ),
    mutant(
        "The blocks all add to the outputs of the first one: each begins at its own `start`.",
        (PLACE, "i - width / 2;"),
    ),
    mutant(
        "Two blocks write the same output: the tail of one and the head of the next. Each must add "
        "its part by atomicAdd(&P[out], value).",
        (ADDED, "P[out] = cells[i].x"),
    ),
    mutant(
        "Two blocks write the same output: the tail of one and the head of the next. Each must add "
        "its part by atomicAdd(&P[out], value).",
        (ADDED, "P[out] += cells[i].x"),
    ),
    mutant(
        "The last segment may be longer than what is left of N: after cell n - 1 come zeros.",
        (IS_CELL, "i < segment"),
    ),
    mutant(
        "The first width / 2 sums lie before P[0]: these are no outputs.",
        ("if (0 <= out && out < n)", "if (out < n)"),
    ),
    mutant(
        "The last sums of the last segment lie after P[n - 1]: these are no outputs.",
        ("if (0 <= out && out < n)", "if (0 <= out)"),
    ),
)
