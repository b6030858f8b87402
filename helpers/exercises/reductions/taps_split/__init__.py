"""A warp owns an output: its lanes share the taps, and add up by shuffles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from helpers import reference
from helpers.exercises import indices, kit, layers
from helpers.exercises.reductions import LAB
from helpers.limits import ConvShape

OUTPUTS = 8  # of a block: one a warp


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


def of_lanes(kept: Callable[[np.ndarray], Any]) -> Callable[[kit.Case], np.ndarray | None]:
    """Return a function of a case: what comes out of the taps of some lanes. kept: which of the
    lanes' numbers they are.
    """
    return layers.weighted(lambda case, weight: kept(weight.tap % 32))


def repeated_weights(case: kit.Case) -> np.ndarray:
    """Return what comes out if a lane has one weight for all its taps: that of tap `lane`."""
    filter = case["filter"].reshape(len(case["filter"]), -1)
    filter = filter[:, np.arange(filter.shape[1]) % 32]
    return reference.conv2d(case["x"], filter.reshape(case["filter"].shape))


def in_rows_of_image(s: ConvShape, b: Any, c: Any, h: Any, w: Any, p: Any, q: Any) -> Any:
    """Return the index of a cell if output i stands in row i / W and column i % W."""
    return ((b * s.C + c) * s.H + p) * s.W + q + h * s.out_w + w


EXERCISE = kit.Exercise(
    name="taps_split",
    lab=LAB,
    place=2,
    title="Add up a warp's sums by shuffles",
    timed=layer,
    cases=cases,
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
    mistakes=(
        kit.Mistake(
            "Only lane 0's own taps are in the sum: what the other lanes have is not added.",
            gives=of_lanes(lambda lane: lane == 0),
        ),
        kit.Mistake(
            "Lane 0 adds its own sum to itself: __shfl_up_sync() reads the lane `half` before, and "
            "lane 0 has no lane before it.",
            gives=of_lanes(lambda lane: 32 * (lane == 0)),
        ),
        kit.Mistake(
            "Half of the lanes are missing: the first shuffle reaches 16 lanes far.",
            gives=of_lanes(lambda lane: lane < 16),
        ),
        kit.Mistake(
            "Every second lane is missing: the last shuffle must read the next lane.",
            gives=of_lanes(lambda lane: lane % 2 == 0),
        ),
        kit.Mistake(
            "Each output is twice what it should be: __shfl_down_sync(.., 32) gives a lane its own "
            "sum. The first step reaches 16 lanes far.",
            gives=lambda case: 2 * layers.convolved(case),
        ),
        kit.Mistake(
            "Only the taps of lane 31 are in the sum: add what a shuffle brings, and do not put it "
            "in the place of `sum`.",
            gives=of_lanes(lambda lane: lane == 31),
        ),
        kit.Mistake(
            "The whole sum is in lane 0: after __shfl_down_sync() lane 31 has its own sum alone, "
            "many times.",
            gives=of_lanes(lambda lane: 32 * (lane == 31)),
        ),
        kit.Mistake(
            "Two lanes add the same tap: a warp has 32 lanes, so a lane's next tap is 32 further "
            "on.",
            gives=layers.weighted(lambda case, weight: 1 + (weight.tap >= 16)),
        ),
        kit.Mistake(
            "A lane multiplies all its taps by one weight: tap t has weight t of the map.",
            gives=repeated_weights,
        ),
        kit.Mistake(
            "Outputs are counted in rows of out_w, and not of W: output i is in row i / out_w and "
            "column i % out_w.",
            gives=indices.indexed(cell=in_rows_of_image),
        ),
        *indices.WRONG_INDICES,
    ),
    findings=(
        kit.FindingHint(
            "out-of-bounds",
            "That cell is not in x. How many taps has a channel, and how many has a row of the "
            "filter? And how many outputs are in a row?",
            when=lambda found: found.array == "x",
        ),
        kit.FindingHint(
            "shuffle",
            "A shuffle needs all lanes of its mask: call it outside of any branch that parts the "
            "warp.",
        ),
        kit.FindingHint(
            "mask",
            "A shuffle needs all lanes of its mask: call it outside of any branch that parts the "
            "warp.",
        ),
        kit.FindingHint(
            "race",
            "Several lanes store the same output, and which comes last is open: let one lane "
            "store, after the sum is whole.",
        ),
    ),
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
