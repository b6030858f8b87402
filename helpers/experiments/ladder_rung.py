"""The reader's own rung of the ladder: its check, its time, and its place among the kernels.

`kernel` is the function that a %%kernel cell binds to its name. It has a `name`, its `source` and
its `options`.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import device
from helpers.bench import layers
from helpers.bench.counts import NOT_YET
from helpers.checking import CheckError
from helpers.experiments import ladder, traffic
from helpers.experiments.ladder import BATCH
from helpers.limits import ConvShape
from helpers.problems import conv2d

if TYPE_CHECKING:
    pass
from helpers.experiments.ladder_steps import Steps, random_arrays


def rung(kernel: Any) -> conv2d.Conv2d:
    """Return how a reader's kernel is launched: 16 x 16 outputs of MAPS maps for each block."""
    option = next((one for one in kernel.options if one.startswith("-DMAPS=")), "-DMAPS=1")
    return dataclasses.replace(
        conv2d.conv2d_named("conv2d_basic"), tile=(16, 16, int(option.removeprefix("-DMAPS=")))
    )


def run_rung(kernel: Any, shape: ConvShape, rng: np.random.Generator) -> traffic.Counters:
    """Check one launch on random cells in the simulator; return its counters.

    Raises checking.CheckError for wrong outputs, and traffic.TrafficError for a finding.
    """
    x, filter = random_arrays(shape, rng)
    mine = {"conv2d_basic": (kernel.name, kernel.source)}
    y, launches = conv2d.simulate(rung(kernel), x, filter, instead=mine, options=kernel.options)
    if launches[0].findings:
        raise traffic.TrafficError(f"{kernel.name} has a finding: {launches[0].findings[0]}")
    conv2d.check(y, x, filter, name=f"{kernel.name} on {shape}")
    return traffic.counters_of(launches, shape)


def _time_rung(kernel: Any, which: str) -> float:
    """The median ms of a reader's kernel on the whole batch, after a check of every output."""
    layer = layers.layer(which, BATCH)
    mine = layer.kernel(kernel, like="conv2d_basic", tile=rung(kernel).tile)
    with layer.on_device() as there:
        return there.ready(mine).time(0.3).median


def estimate_words(steps: Steps) -> str:
    """Return how many pairs of kernels the estimate of cost puts in the order of their times.

    Pairs without a measurable difference in time do not count.
    """
    lines = []
    for built in steps.ladders:
        pairs = [
            (one.ms < two.ms) == (one.counters.cost < two.counters.cost)
            for one, two in itertools.combinations(built.steps, 2)
            if max(one.ms, two.ms) >= ladder.DRIFT * min(one.ms, two.ms)
        ]
        lines.append(
            f"{built.which}: the estimate orders {sum(pairs)} of {len(pairs)} pairs of kernels as "
            "their times do"
        )
    return "\n".join(lines)


def place(kernel: Any, steps: Steps) -> str:
    """Return a reader's place on both ladders: by time on a GPU, and by an estimate of cost.

    A kernel that is not right yet has none.
    """
    lines = []
    for built in steps.ladders:
        one = conv2d.shape_of(built.which, 1)
        try:
            cost = run_rung(kernel, one, np.random.default_rng(0)).cost
        except (CheckError, traffic.TrafficError):
            return NOT_YET
        rank = 1 + sum(step.counters.cost < cost for step in built.steps)
        words = (
            f"place {rank} of {len(built.steps) + 1} by estimate, {cost:.1f} cycles per 32 "
            "multiply-adds"
        )
        if device.select().kind == "gpu":
            ms = _time_rung(kernel, built.which)
            faster = sum(step.ms < ms for step in built.steps)
            words = f"place {1 + faster} by time, {ms:.2f} ms; {words}"
        lines.append(f"{kernel.name}, {built.which}: {words}")
    return "\n".join(lines)
