"""A warp owns an output: its lanes share the taps, and add up by shuffles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from helpers.exercises import kit, layers
from helpers.exercises.content.reductions import LAB
from helpers.exercises.judge import indices
from helpers.limits import ConvShape

OUTPUTS = 8  # of a block: one a warp
SMALL = ConvShape(1, 1, 1, 3, 4, 2), ConvShape(1, 5, 2, 5, 6, 3), ConvShape(2, 2, 1, 8, 9, 7)


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield one channel and several; taps that are no multiple of 32; ragged numbers of outputs."""
    drawn = ConvShape(2, 5, 3, 8 + int(rng.integers(0, 4)), 11 + int(rng.integers(0, 5)), 3)
    for shape in (
        drawn,
        ConvShape(1, 1, 2, 11, 11, 7),
        ConvShape(1, 1, 1, 3, 3, 1),
        ConvShape(1, 8, 2, 5, 5, 2),
        ConvShape(2, 3, 1, 6, 7, 5),
        ConvShape(1, 11, 1, 9, 8, 7),
    ):
        yield layer(rng, shape)
    # In floats 188 times 1.0f / 188 is less than 1: a row of 188 outputs rejects an index that is
    # such a product.
    yield kit.without_budgets(layer(rng, ConvShape(1, 1, 1, 201, 189, 2)))


def layer(rng: np.random.Generator, shape: ConvShape = layers.LARGE) -> kit.Case:
    """Return a layer whose outputs begin at 0, for those who add to them; a warp has one output."""
    grid = (kit.ceil_div(shape.out_h * shape.out_w, OUTPUTS), shape.M, shape.B)
    case = layers.layer_case(rng, shape, grid, (32, OUTPUTS))
    return replace(case, arrays={**case.arrays, "y": np.zeros(shape.y_shape, np.float32)})


EXERCISE = kit.Exercise(
    name="taps_split",
    lab=LAB,
    place=2,
    title="Add up a warp's sums by shuffles",
    timed=layer,
    cases=cases,
    small=lambda rng: (layer(rng, shape) for shape in SMALL),
    reference=layers.convolved,
    counts=layers.COUNTS,
    budgets=(
        kit.NO_ACTIVEMASK,
        kit.none_of(
            "global",
            "atomic",
            what="atomics",
            hint="32 lanes that add to one output take turns: add within the warp first.",
        ),
        kit.none_of(
            "shared",
            hint="Lanes of one warp exchange registers by __shfl_down_sync() or __shfl_xor_sync().",
        ),
        kit.Budget(
            "stores per output",
            kit.per_output("global", "store"),
            1,
            "Only one lane of the warp stores.",
        ),
        kit.Budget(
            "load requests per output and 32 taps",
            lambda case, one: (
                one.total("requests", "global", "load")
                / case.count
                / kit.ceil_div(case["shape"].terms, 32)
            ),
            2,
            "The lanes share the taps: each loads its own part of them.",
        ),
        layers.loads_per_product(
            2,
            "The lanes share the taps: each tap is loaded by one lane, once.",
            what="loads per output and tap",
        ),
        kit.Budget(
            "shuffles per warp",
            kit.executed("shfl", "redux", per="warp"),
            6,
            "Five are enough: each halves the number of lanes whose sums are still apart.",
        ),
        kit.none_of("constant"),
        kit.none_of("local", what="accesses to local memory"),
    ),
    most_of_a_block=lambda case: OUTPUTS,
    mistakes=indices.WRONG_INDICES,
    hints=(
        "Tap t belongs to channel t / (K * K), row t / K % K and column t % K of the filter. "
        "Output i stands in row i / out_w and column i % out_w.",
        "After the loop each lane has a part of the sum. __shfl_down_sync(0xffffffff, sum, 16) "
        "gives lane l the sum of lane l + 16. If each lane adds what it got, whose sums are whole "
        "pairs, and how far apart are the next two to add?",
        "Halve the distance in each step: 16, 8, 4, 2, 1, in all lanes. Then lane 0 has the whole "
        "sum, and the others have parts: if (lane == 0), store.",
    ),
)
