"""The fused product without a division by a variable in its loop."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit, layers
from helpers.exercises.content.implicit_counting import LOADS, TILE, layer
from helpers.exercises.judge import indices
from helpers.limits import ConvShape

WIDTH = 7  # of most filters: the stub's FILTER_WIDTH
DIVISIONS = 8  # per warp, before the loop
SMALL = (
    ConvShape(1, 1, 1, 8, 9, WIDTH),
    ConvShape(2, 2, 2, 7, 10, WIDTH),
    ConvShape(1, 2, 1, 6, 7, 5),
)


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield one channel and several, one image and several, ragged sizes; filters of 7 x 7, and of
    5 x 5 for the option that says so.
    """
    height, width = map(int, rng.integers(9, 14, 2))
    yield known(rng, ConvShape(2, 3, 5, height, width + 3, WIDTH))
    yield known(rng, ConvShape(5, 1, 4, 12, 17, WIDTH))
    yield known(rng, ConvShape(1, 11, 17, 9, 10, WIDTH))
    yield known(rng, ConvShape(1, 2, 3, 8, 11, 5))
    rows, columns = kit.MANY_ROWS  # of the outputs
    large = ConvShape(1, 1, 1, rows + WIDTH - 1, columns + WIDTH - 1, WIDTH)
    yield kit.without_budgets(known(rng, large))


def known(rng: np.random.Generator, shape: ConvShape = layers.LARGE) -> kit.Case:
    """Return a layer for a kernel that is compiled for its filter width, so that K is no argument.
    """
    case = layer(rng, shape)
    (step,) = case.steps
    return dataclasses.replace(
        case,
        steps=(dataclasses.replace(step, arguments=step.arguments[:-1]),),
        options=(f"-DFILTER_WIDTH={shape.K}",),
    )


EXERCISE = kit.Exercise(
    name="conv2d_implicit_gemm_fast",
    lab="202_conv2d_fusion",
    title="Take the divisions out of the loop",
    points=5,
    place=2,
    timed=known,
    cases=cases,
    small=lambda rng: (known(rng, shape) for shape in SMALL),
    reference=layers.convolved,
    counts={"layer": "layers"},
    budgets=(
        kit.Budget(
            "divisions per warp",
            kit.executed("div.", "rem.", "rcp.", per="warp"),
            DIVISIONS,
            "col does not change in the loop, so neither do col / out_w and col % out_w: divide "
            "before the loop. (A division by K costs none here, because the compiler knows K.)",
        ),
        LOADS,
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: TILE * TILE,
    mistakes=indices.WRONG_INDICES,
    hints=(
        "Which of c, p, q, h and w change from step to step, and which do not?",
        "The first cell under the filter at your output is image + col / out_w * W + col % out_w. "
        "Compute this address before the loop.",
        "In the loop: corner[(c * H + p) * W + q], with c, p and q from i_x, K and K * K.",
    ),
)
