"""Answers to conv2d_chunk, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("the sum starts from y"),
    right("the sum is added at the end", "right_added.cu"),
    right("pointers", "right_pointers.cu"),
)


WRONG = (
    wrong(
        "images of a chunk's channels",
        "x",
        ("b * C + first_channel", "b * channels + first_channel"),
    ),
    wrong("adds from channel 2 on", "overwrites", ("first_channel > 0", "first_channel > 1")),
    wrong(
        "the first channel in the index of a weight",
        "cells of the symbol are read",
        ("(m * channels + c)", "(m * channels + first_channel + c)"),
    ),
    wrong(
        "images one channel apart", "begins with channel b * c", ("(b * C + first", "(b + first")
    ),
    wrong("the stub", "never written", file="stub.cu", status="not_begun"),
    wrong("the first channel is left out", "first of its channels", ("int c = 0", "int c = 1")),
    wrong(
        "the last channel is left out",
        "last of its channels",
        ("c < channels", "c < channels - 1"),
    ),
    wrong("overwritten", "overwrites", ("first_channel > 0 ? *output : 0.0f", "0.0f")),
    wrong("x from channel 0 on", "channel first_channel + c", ("first_channel + c)", "c)")),
    wrong("maps from 0 on: 13 maps NaN", "first_map + blockidx.y", ("first_map + m", "m")),
    wrong("always added", "must set y", ("first_channel > 0 ? *output : 0.0f", "*output")),
    wrong("y is read for nothing", "reads of y", file="wrong_read.cu", status="budget"),
    wrong(
        "the symbol as if it held all channels",
        "channels` channels a map",
        ("m * channels + c", "m * C + c"),
    ),
    wrong(
        "the symbol as if it held the whole filter",
        "has not filled",
        ("m * channels + c", "(first_map + m) * C + first_channel + c"),
    ),
    wrong(
        "the first map in the index of a weight",
        "has not filled",
        ("(m * channels + c)", "((first_map + m) * channels + c)"),
    ),
    wrong("adds by first_map", "not on first_map", ("first_channel > 0 ?", "first_map > 0 ?")),
    wrong("begins at first_channel", "own channels", ("int c = 0", "int c = first_channel")),
    wrong(
        "an atomic addition",
        "must set y",
        ("*output = sum", "atomicAdd(output, sum)"),
        ("first_channel > 0 ? *output : 0.0f", "0.0f"),
    ),
)
