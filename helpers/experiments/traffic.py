"""The memory traffic of a kernel of the convolution layer, per output, by the simulator."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from helpers.bench import cost
from helpers.limits import ConvShape
from helpers.problems import conv2d

if TYPE_CHECKING:
    from helpers.simulator import Profile

NO_COUNTER = "no counter differs"
MOST_CHANGES = 3  # the most counters in the sentence of a step
LEAST_CHANGE = 0.01  # smallest change worth reporting, as a share of all events of a kernel
IDLE_POINTS = 5.0  # smallest change in idle lanes worth reporting, in percentage points
NOTABLE = 1.05  # smallest ratio of passes or threads worth reporting

# An L1 cache or shared memory moves 128 bytes a clock cycle: 32 banks of 4 bytes (CUDA C++
# Programming Guide, "Shared Memory").
PASS_BYTES = 128
WARP = 32
SECTORS_A_PASS = PASS_BYTES // 32


class TrafficError(ValueError):
    """A kernel whose counters would mean nothing; the message says why."""


@dataclass(frozen=True)
class Counters:
    """The counters of a kernel per output; they count events of warps, unless said otherwise here.

    idle_lanes: the percentage of lanes that are masked off in requests. passes: a lower bound of
    the passes through L1 and shared memory, per 32 multiply-adds. A request of global memory takes
    one pass for each 128 bytes of its sectors, a request of shared memory one for each wavefront.
    Constant memory has a cache of its own and does not count. threads: launched threads, in whole
    warps, per output. cost: estimated cycles of a multiprocessor per 32 multiply-adds, see `cost`.
    """

    load_sectors: float
    load_requests: float
    store_sectors: float
    shared_wavefronts: float
    constant_requests: float
    atomic_sectors: float
    barriers: float
    idle_lanes: float
    passes: float
    threads: float = 1.0
    cost: float = 0.0

    @property
    def events(self) -> dict[str, float]:
        """The counts that `changes` compares, by name in words."""
        return {name.replace("_", " "): getattr(self, name) for name in _EVENTS}


_EVENTS = tuple(
    f.name
    for f in dataclasses.fields(Counters)
    if f.name not in ("idle_lanes", "passes", "threads", "cost")
)


def counters_of(launches: Sequence[Profile], shape: ConvShape) -> Counters:
    """Sum the profiles of all launches of a kernel on ``shape``."""

    def total(name: str) -> float:
        return sum(getattr(launch, name) for launch in launches) / shape.outputs

    requests = sum(row.requests for launch in launches for row in launch.lines)
    lanes = sum(row.lanes for launch in launches for row in launch.lines)
    return Counters(
        load_sectors=total("global_load_sectors"),
        load_requests=total("global_load_requests"),
        store_sectors=total("global_store_sectors"),
        shared_wavefronts=total("shared_load_wavefronts") + total("shared_store_wavefronts"),
        constant_requests=total("constant_load_requests"),
        atomic_sectors=total("global_atomic_sectors"),
        barriers=total("barriers"),
        idle_lanes=100 * (1 - lanes / (WARP * requests)) if requests else 0.0,
        passes=WARP * sum(map(_passes, launches)) / (shape.outputs * shape.terms),
        threads=WARP
        * sum(launch.blocks * -(-math.prod(launch.block) // WARP) for launch in launches)
        / shape.outputs,
        cost=WARP
        * sum(cost.cycles(launch.lines, launch.instructions) for launch in launches)
        / (shape.outputs * shape.terms),
    )


def _passes(launch: Profile) -> float:
    global_rows = (row for row in launch.lines if row.space == "global")
    shared = sum(row.wavefronts for row in launch.lines if row.space == "shared")
    return shared + sum(max(row.requests, row.sectors / SECTORS_A_PASS) for row in global_rows)


@functools.cache
def counted(name: str, which: str) -> Counters:
    """Return the simulator's counters of a kernel of `conv2d.CONV2D` for one image of a layer.

    which: a layer of `conv2d.LAYERS`. The cells are random, because the accesses do not depend on
    their values. Raises TrafficError if the simulator finds an error, checking.CheckError for wrong
    outputs, and conv2d.LayerError if the kernel refuses the layer.
    """
    shape = conv2d.shape_of(which, 1)
    rng = np.random.default_rng(conv2d.SEED)
    x, filter = (
        rng.uniform(-1, 1, size).astype(np.float32) for size in (shape.x_shape, shape.filter_shape)
    )
    y, launches = conv2d.simulate(name, x, filter)
    for launch in launches:
        if launch.findings:
            raise TrafficError(
                f"{name} on {which} has a finding, so its counters mean nothing: "
                f"{launch.findings[0]}"
            )
    conv2d.check(y, x, filter, name=f"{name} on {which}")
    return counters_of(launches, shape)


def changes(before: Counters, after: Counters) -> str:
    """Return the largest changes from ``before`` to ``after``, per output, in words.

    The largest change comes first; idle lanes, threads and L1 passes come last.
    """
    old, new = before.events, after.events
    least = LEAST_CHANGE * max(sum(old.values()), sum(new.values()))
    apart = {name: abs(new[name] - old[name]) for name in old if new[name] != old[name]}
    changed = sorted(
        (name for name, d in apart.items() if d > least or not old[name] * new[name]),
        key=lambda name: -apart[name],
    )
    words = [_change(name, old[name], new[name]) for name in changed[:MOST_CHANGES]]
    if abs(after.idle_lanes - before.idle_lanes) >= IDLE_POINTS:
        words.append(
            f"{after.idle_lanes:.0f} % of the lanes idle in place of {before.idle_lanes:.0f} %"
        )
    if max(after.threads / before.threads, before.threads / after.threads) >= NOTABLE:
        words.append(_change("threads", before.threads, after.threads))
    if passes_changed(before, after):
        words.append(f"in all {_change('L1 passes', before.passes, after.passes)}")
    return "; ".join(words) or NO_COUNTER


def passes_changed(before: Counters, after: Counters) -> int:
    """Return 1 for more passes through L1 and shared memory, -1 for fewer, 0 for about as many."""
    if max(before.passes, after.passes) < NOTABLE * min(before.passes, after.passes):
        return 0
    return 1 if after.passes > before.passes else -1


def _change(name: str, before: float, after: float) -> str:
    if not before:
        return f"{short(after)} {name} per output, none before"
    if not after:
        return f"no {name} any more ({short(before)} per output before)"
    ratio, word = (before / after, "fewer") if after < before else (after / before, "more")
    return (
        f"{times(ratio)} {word} {name}"
        if ratio >= 1.095
        else f"{100 * (ratio - 1):.0f} % {word} {name}"
    )


def short(value: float) -> str:
    """Return three digits, without an exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def times(ratio: float) -> str:
    """Return a ratio with a times sign: "1.2x", "12x"."""
    return f"{ratio:.0f}x" if ratio >= 9.95 else f"{ratio:.1f}x"
