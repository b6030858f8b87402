"""Answers to conv2d_constant, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

INDEX = "* filter[((m * C + c) * K + p) * K + q];"

RIGHT = (
    right("an index from four numbers"),
    right(
        "a pointer to the map's weights",
        "solution.cu",
        (INDEX, "* (filter + m * C * K * K)[c * K * K + p * K + q];"),
    ),
)

WRONG = (
    wrong(
        "an index without the channel",
        "yours at m * K * K",
        (INDEX, "* filter[(m * K + p) * K + q];"),
    ),
    wrong("the stub", "no constant 'filter'", file="stub.cu", status="not_begun"),
    wrong("map 0 for all", "weights of map 0", (INDEX, "* filter[(c * K + p) * K + q];")),
    wrong("p and q exchanged", "exchanged", (INDEX, "* filter[((m * C + c) * K + q) * K + p];")),
    wrong(
        "m and c exchanged", "m * C * K * K", (INDEX, "* filter[((c * M + m) * K + p) * K + q];")
    ),
    wrong(
        "a symbol in global memory",
        "__device__ variable lies in global memory",
        ("__constant__ float", "__device__ float"),
        status="budget",
    ),
    wrong(
        "another name",
        "this name",
        ("__constant__ float filter[", "__constant__ float weights["),
        (INDEX, INDEX.replace("filter", "weights")),
        status="refused",
    ),
    wrong(
        "the filter turned",
        "half a turn",
        (INDEX, "* filter[((m * C + c + 1) * K - 1 - p) * K + K - 1 - q];"),
    ),
    wrong(
        "another map for each lane, and its sum thrown away",
        "leave threadIdx out",
        (
            INDEX,
            "* (filter[((m * C + c) * K + p) * K + q]"
            " + 0.0f * filter[threadIdx.x % min(2, M * C * K * K)]);",
        ),
        status="budget",
    ),
    wrong(
        "an index behind the symbol",
        "filter has 3,136 elements",
        (INDEX, "* filter[((m * C + c) * 64 + p) * 64 + q];"),
        status="finding",
    ),
    wrong(
        "cells loaded twice",
        "Only the cells come from global memory",
        ("sum += x[", "sum += 0.0f * ((volatile const float*)x)[c] + x["),
        status="budget",
    ),
)
