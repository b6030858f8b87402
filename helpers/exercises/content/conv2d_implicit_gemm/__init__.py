"""A product that looks the unrolled matrix up in the image: its indices."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit, layers
from helpers.exercises.content.implicit_counting import LOADS, TILE, layer
from helpers.exercises.judge import indices
from helpers.limits import ConvShape

SMALL = ConvShape(1, 1, 1, 4, 5, 2), ConvShape(2, 3, 2, 5, 7, 3)


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield one channel and several, one image and several, ragged sizes."""
    height, width = map(int, rng.integers(9, 14, 2))
    yield layer(rng, ConvShape(2, 3, 5, height, width + 3, 3))
    yield layer(rng, ConvShape(1, 1, 4, 12, 17, 7))
    yield layer(rng, ConvShape(1, 4, 17, 9, 10, 5))
    yield layer(rng, ConvShape(1, 2, 3, 5, 6, 2))
    yield kit.without_budgets(layer(rng, ConvShape(1, 1, 1, *kit.MANY_ROWS, 3)))


EXERCISE = kit.Exercise(
    name="conv2d_implicit_gemm",
    lab="202_conv2d_fusion",
    title="Look the unrolled matrix up in the image",
    points=5,
    timed=layer,
    cases=cases,
    small=lambda rng: (layer(rng, shape) for shape in SMALL),
    reference=layers.convolved,
    counts=layers.COUNTS,
    budgets=(
        LOADS,
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: TILE * TILE,
    mistakes=indices.WRONG_INDICES,
    hints=(
        "i_x counts filter cells: K * K of them in each channel, K in each row. Divide, and "
        "continue with the rest, as with seconds, minutes and hours.",
        "c = i_x / (K * K), p = i_x % (K * K) / K, q = i_x % K; h = col / out_w, w = col % out_w.",
        "The cell is in channel c, row h + p, column w + q: image[(c * H + h + p) * W + w + q].",
    ),
)
