"""Answers to conv1d_symmetric, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("a tile of cells", "right_tile.cu"),
    right("pairs, then the middle"),
    right("counted by distance from the middle", "right_distance.cu"),
    right("three weights in registers, five products", "right_registers.cu"),
)


WRONG = (
    wrong("the next weight", "no pattern", ("pair * filter[j]", "pair * filter[j + 1]")),
    wrong(
        "the first weight in the middle",
        "the middle cell has the first weight",
        ("filter[RADIUS]", "filter[0]"),
    ),
    wrong("the middle as a pair, too", "three times", ("j < RADIUS;", "j <= RADIUS;")),
    wrong(
        "a difference of each pair",
        "right cell is subtracted",
        ("0.0f) + (right", "0.0f) - (right"),
    ),
    wrong("cell 0 as a ghost", "n[0] is left out", ("left >= 0", "left > 0")),
    wrong("the stub", "nothing is written", file="stub.cu", status="not_begun"),
    wrong(
        "a request for every weight",
        "constant requests per warp",
        file="wrong_every_weight.cu",
        status="budget",
    ),
    wrong(
        "the middle twice",
        "counted twice",
        ("N[i] * filter[RADIUS]", "2 * N[i] * filter[RADIUS]"),
    ),
    wrong("five weights, written out", "5 weights only", file="wrong_five.cu"),
    wrong(
        "a pair with a ghost is left out",
        "alone, if its partner is a ghost",
        ("left >= 0 ?", "left >= 0 && right < n ?"),
        ("right < n ? N[right]", "left >= 0 && right < n ? N[right]"),
    ),
    wrong("no middle", "left out", ("N[i] * filter[RADIUS]", "0")),
    wrong("only the left cells", "only the left", (" + (right < n ? N[right] : 0.0f)", "")),
    wrong(
        "weights written down, with a dummy constant read",
        "do not write them down",
        file="wrong_weights.cu",
    ),
    wrong(
        "weights exchanged",
        "each other's weights",
        ("pair * filter[j]", "pair * filter[RADIUS - 1 - j]"),
    ),
    wrong(
        "no test at the right end",
        "needs its own test",
        ("right < n ? N[right] : 0.0f", "N[right]"),
        status="finding",
    ),
    wrong(
        "weights passed by shuffles",
        "shuffles per output",
        file="wrong_shuffles.cu",
        status="budget",
    ),
    wrong("nothing is written", "nothing is written", ("P[i] = sum", "if (n < 0) P[i] = sum")),
    wrong("block 0 does everything", "own part", file="wrong_one_block.cu", status="budget"),
)
