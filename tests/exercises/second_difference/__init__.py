"""Answers to second_difference, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("one thread fills each end"),
    right("filled in two steps", "right_steps.cu"),
)


WRONG = (
    wrong(
        "bulk copies by each thread",
        "load each of them once",
        file="wrong_bulk_copies.cu",
        status="budget",
    ),
    wrong(
        "thread 0 loads the tile",
        "others have nothing to do",
        file="wrong_one_thread.cu",
        status="budget",
    ),
    wrong("no barrier", "between filling", ("    __syncthreads();\n", ""), status="finding"),
    wrong(
        "the left halo is not filled",
        "was never filled",
        ("    if (t == 0) tile[0] = first > 0 ? N[first - 1] : 0.0f;\n", ""),
        status="finding",
    ),
    wrong(
        "the halo is 0",
        "needs a halo",
        ("first > 0 ? N[first - 1]", "first < 0 ? N[0]"),
        ("i + 1 < n ? N[i + 1]", "n < 0 ? N[0]"),
    ),
    wrong(
        "N[-1] is read",
        "ask before you load",
        ("first > 0 ? N[first - 1] : 0.0f", "N[first - 1]"),
        status="finding",
    ),
    wrong("tile of 128", "130, with the numbers", ("tile[130]", "tile[128]"), status="finding"),
    wrong(
        "the edge is repeated",
        "outside n count as 0",
        ("N[first - 1] : 0.0f", "N[first - 1] : N[0]"),
        ("i < n ? N[i] : 0.0f", "N[min(i, n - 1)]"),
        ("i + 1 < n ? N[i + 1] : 0.0f", "N[min(i + 1, n - 1)]"),
    ),
    wrong(
        "signs",
        "sign is turned",
        ("tile[t] - 2 * tile[t + 1] + tile[t + 2]", "2 * tile[t + 1] - tile[t] - tile[t + 2]"),
    ),
    wrong("the middle once", "must be n[i - 1] - 2 * n[i]", ("- 2 * tile", "- tile")),
    wrong("no tile", "load each of them once", file="wrong_direct.cu", status="budget"),
    wrong("no guard at the store", "if (i < n)", ("if (i < n) P[i]", "P[i]"), status="finding"),
    wrong(
        "a thread without an output leaves before the barrier",
        "no thread may return before it",
        ("i = first + t;\n", "i = first + t;\n    if (i >= n) return;\n"),
        status="finding",
    ),
)
