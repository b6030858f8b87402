"""Answers to conv2d_constant, right and wrong."""

from tests.exercises.answers import right, wrong

INDEX = "* filter[((m * C + c) * K + p) * K + q];"

RIGHT = (
    right("an index from four numbers"),
    right(
        "a pointer to the map's weights",
        (INDEX, "* (filter + m * C * K * K)[c * K * K + p * K + q];"),
    ),
)

WRONG = (
    wrong("an index without the channel", (INDEX, "* filter[(m * K + p) * K + q];")),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("map 0 for all", (INDEX, "* filter[(c * K + p) * K + q];")),
    wrong("p and q exchanged", (INDEX, "* filter[((m * C + c) * K + q) * K + p];")),
    wrong("m and c exchanged", (INDEX, "* filter[((c * M + m) * K + p) * K + q];")),
    wrong("a symbol in global memory", ("__constant__ float", "__device__ float"), status="budget"),
    wrong(
        "another name",
        ("__constant__ float filter[", "__constant__ float weights["),
        (INDEX, INDEX.replace("filter", "weights")),
        status="refused",
    ),
    wrong("the filter turned", (INDEX, "* filter[((m * C + c + 1) * K - 1 - p) * K + K - 1 - q];")),
    wrong(
        "another map for each lane, and its sum thrown away",
        (
            INDEX,
            "* (filter[((m * C + c) * K + p) * K + q]"
            " + 0.0f * filter[threadIdx.x % min(2, M * C * K * K)]);",
        ),
        status="budget",
    ),
    wrong(
        "an index behind the symbol",
        (INDEX, "* filter[((m * C + c) * 64 + p) * 64 + q];"),
        status="finding",
    ),
    wrong(
        "cells loaded twice",
        ("sum += x[", "sum += 0.0f * ((volatile const float*)x)[c] + x["),
        status="budget",
    ),
)
