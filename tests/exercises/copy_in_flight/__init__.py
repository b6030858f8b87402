"""Answers to copy_in_flight, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import Edit, right, wrong

LOAD = "value[k] = i < n ? in[i] : 0.0f;"


def placed(cell: str, end: str = "LOADS") -> tuple[Edit, ...]:
    """Another cell of a thread in both loops, or another end of them."""

    def loop(cell: str, end: str, line: str) -> str:
        return f"k < {end}; ++k) {{\n            const int i = {cell};\n            {line}"

    return tuple(
        (loop("first + k * THREADS", "LOADS", line), loop(cell, end, line))
        for line in ("value[k]", "if (i < n)")
    )


RIGHT = (
    right("the last cell again behind the end", "right_clamped.cu"),
    right("loads, then stores"),
    right(
        "a load under an if", "solution.cu", (LOAD, "value[k] = 0; if (i < n) value[k] = in[i];")
    ),
    right("the next round is loaded before this one is stored", "right_ahead.cu"),
    right("stores from the last to the first", "right_backwards.cu"),
)

WRONG = (
    wrong("the stub", "nothing is written", file="stub.cu", status="not_begun"),
    wrong("one loop", "waits of a warp", file="wrong_one_loop.cu", status="budget"),
    wrong("each is stored at once", "waits of a warp", file="wrong_pairs.cu", status="budget"),
    wrong("no guard at the load", "load only if", (LOAD, "value[k] = in[i];"), status="finding"),
    wrong(
        "no guard at the store",
        "store only if",
        ("if (i < n) out[i]", "out[i]"),
        status="finding",
    ),
    wrong("64 threads", "64 threads only", file="wrong_64.cu"),
    wrong(
        "four loads",
        "let the loops end there",
        file="wrong_four.cu",
        status="finding",
    ),
    wrong("one register for all", "one value for all", file="wrong_register.cu"),
    wrong("nothing is loaded", "zeros are stored", (LOAD, "value[k] = 0.0f;")),
    wrong("only the first cell", "only the first cell", file="wrong_first.cu"),
    wrong(
        "neighbours in one thread",
        "neighbouring lanes",
        file="wrong_neighbours.cu",
        status="budget",
    ),
    wrong("loaded from one place, stored to another", "wrong places", file="wrong_places.cu"),
    wrong(
        "each cell is loaded twice", "load each cell once", file="wrong_twice.cu", status="budget"
    ),
    wrong("`first` left out", "all threads copy the same cells", *placed("k * THREADS")),
    wrong(
        "the block's start in place of `first`",
        "cells of the first round",
        *placed("start + k * THREADS"),
    ),
    wrong(
        "a round between the cells of a thread",
        "only the first cell of each thread is copied: cell k",
        *placed("first + k * round"),
    ),
    wrong(
        "a load too few",
        "the last cell of each thread is not copied",
        *placed("first + k * THREADS", "LOADS - 1"),
    ),
    wrong(
        "cells side by side, and loaded twice", "side by side in yours", *placed("first + k")
    ),
)
