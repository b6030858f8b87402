"""Bounds of a kernel on a whole batch of a layer, from the counts of a few images.

A launch of 10,000 images is not run in the simulator. Each image asks for what the one before asked
for, so the counts of two small batches give those of any batch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from helpers.problems import conv2d
from helpers.simulator import Profile, bounds
from helpers.simulator.bounds import Bounds

BATCH = 10_000


def of_batch(
    spec: conv2d.Conv2d,
    which: str,
    counted: Mapping[int, Sequence[Profile]],
    batch: int = BATCH,
    device: str = "H200",
) -> Bounds:
    """The bounds of a kernel for `batch` images of a layer of `conv2d.LAYERS`, cold caches.

    counted: the profiles of its launches for two small batches, by their images. Raises ValueError
    where these are not launches of one kernel whose grid grows with the images.
    """
    small, large = (counted[images] for images in sorted(counted))
    wanted = spec.plan(conv2d.shape_of(which, batch))
    # im2col_gemm has a pair of launches for each part of a batch.
    repeats = max(1, len(wanted) // len(small))
    found = []
    for number, (one, other) in enumerate(zip(small, large, strict=True)):
        if one.counts is None or other.counts is None:
            raise ValueError(f"{one.kernel} was stopped at a finding: it has no bounds")
        blocks = sum(math.prod(part.grid) for part in wanted[number :: len(small)])
        grid = wanted[number].grid if repeats == 1 else (blocks, 1, 1)
        cache = "cold" if number == 0 else "hot"
        found.append(bounds.bounds(one.counts.at(other.counts, grid), device, cache))
    return bounds.in_a_row(found, spec.name)
