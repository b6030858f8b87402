"""The mistakes of fft_back."""

from helpers.exercises.kit import mutant

SPANS = "int span = 1; span < POINTS; span *= 2"
TWIDDLE = "place * (POINTS / 2 / span)"
FIRST = "first = 2 * (t - place) + place"
REAL, IMAGINARY = "c.x * w.x + c.y * w.y", "c.y * w.x - c.x * w.y"
OF_B = [part.replace("c.", "b.") for part in (REAL, IMAGINARY)]
PRODUCT = f"        const float2 b = make_float2({REAL}, {IMAGINARY});"
SUM, DIFFERENCE = "make_float2(a.x + b.x, a.y + b.y)", "make_float2(a.x - b.x, a.y - b.y)"
STORE = "x[blockIdx.x * POINTS + i] = cells[i]"

SIGN = (
    "One sign of the product is wrong. (c.x + i c.y) times the conjugate of w, (w.x - i w.y), has "
    "the real part c.x * w.x + c.y * w.y and the imaginary part c.y * w.x - c.x * w.y."
)
BY_THEMSELVES = "the stages give the signal times n by themselves, and that is asked for."
TWIDDLES = (
    "There are POINTS / 2 twiddles, and the pair at `place` takes number place * (POINTS / 2 / "
    "span)."
)

MUTANTS = (
    mutant(
        "The output is the spectrum as it came: no stage is done.",
        (SPANS, SPANS.replace("1", "POINTS")),
    ),  # the stub
    mutant(
        "The stages are undone with the first one first. The way back begins with the last one: "
        "spans 1, 2, 4 ... POINTS / 2.",
        (SPANS, "int span = POINTS / 2; span > 0; span /= 2"),
    ),
    mutant(
        "The last stage is missing: the widest span is n / 2.",
        ("span < POINTS", "span < POINTS / 2"),
    ),
    mutant(
        "The stage with span 1 is missing: it is the first one on the way back.",
        ("span = 1;", "span = 2;"),
    ),
    mutant(
        "The result is divided by n: here the signal times n is asked for, as the stages give it "
        "by themselves.",
        (STORE, STORE.replace("cells[i]", "make_float2(cells[i].x / POINTS, cells[i].y / POINTS)")),
    ),
    mutant(
        "Real and imaginary part are exchanged.",
        (STORE, STORE.replace("cells[i]", "make_float2(cells[i].y, cells[i].x)")),
    ),
    mutant(
        "The pairs turn forward: the way back multiplies by the conjugate of the twiddle, exp(+2 "
        "pi i k / n).",
        (REAL, "c.x * w.x - c.y * w.y"),
        (IMAGINARY, "c.y * w.x + c.x * w.y"),
    ),
    mutant(SIGN, (IMAGINARY, "c.x * w.y - c.y * w.x")),
    mutant(SIGN, (REAL, "c.x * w.x - c.y * w.y")),
    mutant(SIGN, (IMAGINARY, "c.y * w.x + c.x * w.y")),
    mutant(
        "The parts are multiplied one by one: both parts of a product need both parts of both "
        "factors.",
        (REAL, "c.x * w.x"),
        (IMAGINARY, "c.y * w.y"),
    ),
    mutant(
        "Only the real part of the second cell is turned: its imaginary part becomes c.y * w.x - "
        "c.x * w.y.",
        (IMAGINARY, "c.y"),
    ),
    mutant(
        "Only the imaginary part of the second cell is turned: its real part becomes c.x * w.x + "
        "c.y * w.y.",
        (REAL, "c.x"),
    ),
    mutant(
        "The new real part is used in the imaginary part: keep the old one in a variable, until "
        "both parts are made.",
        (PRODUCT, f"float2 b = c; b.x = {OF_B[0]}; b.y = {OF_B[1]};"),
    ),
    mutant(
        "No cell is turned: the second cell of a pair is multiplied by the conjugate of its "
        "twiddle.",
        (REAL, "c.x"),
        (IMAGINARY, "c.y"),
    ),
    mutant(
        "The first cell of a pair is turned: it must be the second one.",
        ("a = cells[first], c = cells[first + span]", "c = cells[first], a = cells[first + span]"),
    ),
    mutant(
        "The difference is turned, as on the way there. On the way back the second cell is turned "
        "first, and then sum and difference are made.",
        (PRODUCT, ""),
        (SUM, "make_float2(a.x + c.x, a.y + c.y)"),
        (
            DIFFERENCE,
            f"make_float2({REAL}, {IMAGINARY})".replace("c.x", "(a.x - c.x)").replace(
                "c.y", "(a.y - c.y)"
            ),
        ),
    ),
    mutant(
        f"The sum of a pair is halved: {BY_THEMSELVES}",
        (SUM, "make_float2((a.x + b.x) / 2, (a.y + b.y) / 2)"),
    ),
    mutant(
        f"The difference of a pair is halved: {BY_THEMSELVES}",
        (DIFFERENCE, "make_float2((a.x - b.x) / 2, (a.y - b.y) / 2)"),
    ),
    mutant(
        "The difference has the wrong sign: it is the first cell minus the turned second one.",
        (DIFFERENCE, "make_float2(b.x - a.x, b.y - a.y)"),
    ),
    mutant(
        "Sum and difference have changed places: the sum belongs to the first cell of a pair.",
        ("cells[first] =", "cells[first + 1 * span] ="),
        ("cells[first + span] =", "cells[first] ="),
    ),
    mutant(
        "Each stage has its own turns: the pair at `place` takes number place * (POINTS / 2 / "
        "span) of the twiddles.",
        (TWIDDLE, "place"),
    ),
    mutant(
        "A stage reads cells that the stage before has written: a barrier must lie between them.",
        ("        __syncthreads();\n", ""),
    ),
    mutant(
        "The pairs of two threads share a cell: `first` is 2 * (t - place) + place.",
        (FIRST, "first = t"),
    ),
    mutant(TWIDDLES, (TWIDDLE, "place * (POINTS / span)")),
    mutant(TWIDDLES, (TWIDDLE, "place * (32 / span)")),
)
