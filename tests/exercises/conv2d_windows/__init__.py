"""Answers to conv2d_windows, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

WINDOW = "column / ACROSS * 2 * ROW + column % ACROSS + q;"
LOW, HIGH = "n / K * PLANE + (n % K + row) * ROW;", "(n + 1) / K * PLANE + ((n + 1) % K + row)"
PAIR, MAP = "first + 2 * q + i % 2;", "g + i / 2 * 8;"

RIGHT = (
    right("ours"),
    right(
        "row and column named",
        "solution.cu",
        (f"const int window = {WINDOW}",
         "const int r = column / ACROSS, c = column - r * ACROSS, window = (2 * r) * ROW + c + q;"),
        ("const int n = 2 * step;", "const int n = step + step, c = n / K;"),
        (LOW, "c * PLANE + (n - c * K + row) * ROW;"),
    ),
    right("registers by shifts", "solution.cu", (PAIR, "first + (q << 1 | i & 1);"),
          (MAP, "g | (i & 2) << 2;")),
)  # fmt: skip

WRONG = (
    wrong(
        "g and q exchanged in the store",
        "g and q are exchanged in gap 3",
        ("first + 2 * q + i % 2", "first + g"),
        ("map = g + i / 2 * 8", "map = 2 * q + i % 2 + i / 2 * 8"),
    ),
    wrong(
        "registers 1 and 2 exchanged",
        "registers 1 and 2 are exchanged",
        ("first + 2 * q + i % 2", "first + 2 * q + i / 2"),
        ("map = g + i / 2 * 8", "map = g + i % 2 * 8"),
    ),
    wrong(
        "g in place of q in the window",
        "g has chosen the column",
        ("column % ACROSS + q", "column % ACROSS + g"),
        status="finding",
    ),
    wrong(
        "columns of a lane apart",
        "yours are q and q + 4",
        ("2 * q + i % 2", "q + i % 2 * 4"),
    ),
    wrong(
        "maps of a lane side by side",
        "yours are 2 g and 2 g + 1",
        ("g + i / 2 * 8", "2 * g + i / 2"),
    ),
    wrong("the stub", "nothing is written", file="stub.cu", status="not_begun"),
    wrong("one row of outputs", "2 * ROW Pairs", (WINDOW, WINDOW.replace(" * 2 * ROW", " * ROW"))),
    wrong("without q", "q Pairs further", (WINDOW, "column / ACROSS * 2 * ROW + column % ACROSS;")),
    wrong("both rows alike", "one row lower", (LOW, LOW.replace(" + row", "")),
          (HIGH, HIGH.replace(" + row", ""))),
    wrong("the first channel", "n / K * PLANE", (LOW, LOW.replace("n / K * PLANE + ", "")),
          (HIGH, HIGH.replace("(n + 1) / K * PLANE + ", ""))),
    wrong("rows of all channels below each other", "n rows below the window",
          (LOW, "(n + row) * ROW;"), (HIGH, "(n + 1 + row)")),
    wrong("low and high exchanged", "are exchanged: b_low", ("const int low", "const int other"),
          ("const int high", "const int low"), ("const int other", "const int high")),
    wrong("rows not by channel", "leaves the image", (LOW, LOW.replace("n % K", "n")),
          (HIGH, HIGH.replace("(n + 1) % K", "n + 1")), status="finding"),
    wrong("the column of the load", "Several lanes store", (PAIR, "first + g;"), status="finding"),
    wrong("maps exchanged", "maps are exchanged", (MAP, "g + (1 - i / 2) * 8;")),
    wrong("plain halves", "FP16 where FP32",
          ("multiply(sum[row][shift], a[0], lo[low], lo[high]);", "")),
    wrong(
        "rows of OUT_W columns",
        "has across columns of b",
        (
            "column / ACROSS * 2 * ROW + column % ACROSS",
            "column / OUT_W * 2 * ROW + column % OUT_W",
        ),
    ),
    wrong(
        "the row below for `high`",
        "lies one row below",
        ("window + (n + 1) / K * PLANE + ((n + 1) % K + row) * ROW", "low + ROW"),
    ),
    wrong(
        "one row of the filter a step",
        "its first one is 2 * step",
        ("const int n = 2 * step;", "const int n = step;"),
    ),
    wrong(
        "`low` in channel 0",
        "always taken from channel 0",
        ("window + n / K * PLANE + (n % K", "window + (n % K"),
    ),
)  # fmt: skip
