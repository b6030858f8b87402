"""Answers to copy_in_flight, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

LOAD = "value[k] = i < n ? in[i] : 0.0f;"

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
)
