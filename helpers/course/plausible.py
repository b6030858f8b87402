"""What can be checked of the times in a figure without the GPU that they claim: the steps of its
clock, the facts of the device, the ratios beside the times, and the bound of each launch.

Each function returns sentences about what does not hold. A sentence is something to look at: a
record can be written by hand so that all of this holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from helpers import device, limits
from helpers.problems import conv2d

STEP_MS = 3.2e-5  # of the clock behind CUDA's events: all of the course's samples are whole steps
LEAST_MS = 1e-6  # of any sample: no clock shows less, and a ratio to it is a number
EXACT_MS = 10.0  # below it the seven digits of a sample are finer than a step
MOST_OFF = 0.02  # of the samples: what may lie between two steps
RATIO = 1.10  # of a ratio over the ratio of the medians: the pairs of samples give another one
MHZ = 1e6
FEW_SAMPLES = 5  # of fewer samples a factor says nothing
SAME = 1e-5  # what rounding to seven digits leaves between two factors

# Compute capability and multiprocessors of GPUs, from NVIDIA's data sheets.
_KNOWN = {
    "B200": ((10, 0), (148,)),
    "H200": ((9, 0), (132,)),
    "H100": ((9, 0), (114, 132)),
    "A100": ((8, 0), (108,)),
    "V100": ((7, 0), (80,)),
    "L40S": ((8, 9), (142,)),
    "L4": ((8, 9), (58,)),
    "A10": ((8, 6), (72,)),
    "A10G": ((8, 6), (80,)),
    "T4": ((7, 5), (40,)),
    "RTX 4090": ((8, 9), (128,)),
    "RTX 3090": ((8, 6), (82,)),
}


def timings(record: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yield the rows that have the time of a kernel on a GPU, each with its timing."""
    for row in record["measurements"][:500]:
        timing = row.get("timing") if isinstance(row, dict) else None
        if isinstance(timing, dict) and timing.get("what") == "kernel" and samples_of(timing):
            yield row, timing


def samples_of(timing: Mapping[str, Any]) -> list[float]:
    """Return the samples of a timing; none where they are no list of positive numbers."""
    samples = timing.get("samples")
    if not isinstance(samples, list):
        return []
    return samples if all(_is_number(one) and LEAST_MS <= one < 1e9 for one in samples) else []


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def clock_steps(record: Mapping[str, Any], ours: Sequence[Mapping[str, Any]]) -> list[str]:
    """Tell samples that lie between the steps of the clock. ours: the course's rows, of the same
    GPU. A product of all times with a number leaves few of them on a step.
    """
    if _off_step({"measurements": list(ours)})[0]:
        return []
    off, every = _off_step(record)
    if off <= MOST_OFF * every:
        return []
    return [
        f"{off} of {every} samples lie between the steps of this GPU's clock "
        f"({1e6 * STEP_MS:.0f} ns): they were not read from it"
    ]


def _off_step(record: Mapping[str, Any]) -> tuple[int, int]:
    """Return how many samples are no whole number of steps, of how many that could tell."""
    off = every = 0
    for _, timing in timings(record):
        for sample in samples_of(timing):
            if sample < EXACT_MS and timing.get("launches", 1) == 1:
                steps = sample / STEP_MS
                every += 1
                off += abs(steps - round(steps)) > 0.05
    return off, every


def copied(record: Mapping[str, Any], ours: Sequence[Mapping[str, Any]]) -> list[str]:
    """Tell timings whose samples are the course's own, as a lab shows them without a GPU, or these
    times one number.
    """
    known = [samples_of(timing) for _, timing in timings({"measurements": list(ours)})]
    counts: dict[float, int] = {}
    every = 0
    for _, timing in timings(record):
        mine = samples_of(timing)
        if len(mine) < FEW_SAMPLES:
            continue
        every += 1
        for other in known:
            if len(mine) != len(other) or len(set(other)) == 1:
                continue
            factors = [a / b for a, b in zip(mine, other, strict=True)]
            if max(factors) < min(factors) * (1 + SAME):
                factor = round(median(factors), 4)
                counts[factor] = counts.get(factor, 0) + 1
                break
    return [
        f"{count} of {every} timings "
        + (
            "are the course's own, which a lab shows where there is no GPU"
            if factor == 1
            else f"have the samples that the course recorded, times {factor:g}"
        )
        for factor, count in counts.items()
    ]


def facts(record: Mapping[str, Any]) -> list[str]:
    """Tell facts of the device that do not fit each other."""
    claimed = record.get("device")
    if not isinstance(claimed, dict) or claimed.get("kind") != "gpu":
        return []
    name, found = str(claimed.get("name", ""))[:100], []
    others = {str(timing.get("device"))[:100] for _, timing in timings(record)} - {name}
    if others:
        found.append(f"the record is of {name}, and times in it are of {', '.join(sorted(others))}")
    capability = claimed.get("compute_capability")
    number = claimed.get("multiprocessors")
    known = _known(name)
    if known and (capability != list(known[0]) or number not in known[1]):
        found.append(
            f"{name} has compute capability {known[0][0]}.{known[0][1]} and "
            f"{' or '.join(map(str, known[1]))} multiprocessors; the record says "
            f"{capability} and {number}"
        )
    clocks = _most_clock(record)
    per_clock = device._FP32_PER_CLOCK.get(_pair(capability))
    peak = claimed.get("fp32_peak")
    if clocks and per_clock and _is_number(number) and _is_number(peak):
        most = 2 * per_clock * number * clocks * MHZ  # type: ignore[operator]
        if not math.isclose(peak, most, rel_tol=0.02):  # type: ignore[arg-type]
            found.append(
                f"the record says {peak:.3g} flop/s; the clock in its timings gives {most:.3g}"
            )
    return found


def _known(name: str) -> tuple[tuple[int, int], tuple[int, ...]] | None:
    words = name.replace("-", " ").split()
    for model, about in _KNOWN.items():
        if any(words[k : k + len(model.split())] == model.split() for k in range(len(words))):
            return about
    return None


def _pair(value: Any) -> tuple[int, int]:
    good = isinstance(value, list) and len(value) == 2 and all(isinstance(n, int) for n in value)
    return (value[0], value[1]) if good else (0, 0)


def _most_clock(record: Mapping[str, Any]) -> float | None:
    """Return the highest clock of the multiprocessors in MHz, where all timings say the same."""
    clocks = set()
    for _, timing in timings(record):
        clocks_of = timing.get("clocks")
        before = clocks_of.get("before") if isinstance(clocks_of, dict) else None
        if isinstance(before, dict) and _is_number(before.get("clocks.max.sm")):
            clocks.add(float(before["clocks.max.sm"]))
    return clocks.pop() if len(clocks) == 1 else None


def ratios(record: Mapping[str, Any]) -> list[str]:
    """Tell ratios that are not those of the times beside them."""
    rows = list(timings(record))
    found = []
    for row, timing in rows:
        parameters = row.get("parameters")
        if not isinstance(parameters, dict) or not _is_number(parameters.get("ratio")):
            continue
        where = {key: parameters.get(key) for key in ("layer", "batch", "n", "filter_width")}
        bases = [
            other
            for base, other in rows
            if base.get("series") == parameters.get("over")
            and isinstance(base.get("parameters"), dict)
            and all(base["parameters"].get(key) == value for key, value in where.items())
        ]
        if len(bases) != 1:
            continue
        of_times = median(samples_of(timing)) / median(samples_of(bases[0]))
        if not 1 / RATIO <= parameters["ratio"] / of_times <= RATIO:
            found.append(
                f"{str(row.get('series'))[:100]}: the ratio {parameters['ratio']:.3g} stands "
                f"beside times whose ratio is {of_times:.3g}"
            )
    return found


def bounds(record: Mapping[str, Any]) -> list[str]:
    """Tell times in which the claimed device cannot move the arrays of the launch."""
    found = []
    for row, timing in timings(record):
        least = bound_ms(record, row)
        said = median(samples_of(timing))
        if said < least:
            found.append(
                f"{str(row.get('series'))[:100]}: {said:.3g} ms, but to move its "
                f"{least_bytes(row):,} bytes takes at least {least:.3g} ms on "
                f"{str(record['device'].get('name'))[:100]}"
            )
    return found


def bound_ms(record: Mapping[str, Any], row: Mapping[str, Any]) -> float:
    """Return the least time of a launch on the claimed device, in ms; 0 where nothing is known.
    What the device's L2 cache holds need not be moved.
    """
    device = record.get("device")
    bandwidth = device.get("dram_bandwidth") if isinstance(device, dict) else None
    l2 = device.get("l2_bytes") if isinstance(device, dict) else None
    if not _is_number(bandwidth) or not _is_number(l2) or bandwidth <= 0:  # type: ignore[operator]
        return 0.0
    return 1e3 * max(0.0, least_bytes(row) - l2) / bandwidth  # type: ignore[operator]


def least_bytes(row: Mapping[str, Any]) -> int:
    """Return the bytes that a launch must move, whatever its kernel does; 0 where a row does not
    say its sizes, or is of a part of the work.
    """
    parameters = row.get("parameters")
    parameters = parameters if isinstance(parameters, dict) else {}
    kernel = str(parameters.get("kernel") or row.get("series"))
    itemsize = 2 if any(word in kernel for word in ("half", "mma", "wmma", "split")) else 4
    try:
        if kernel.startswith("conv1d_") and "filter_width" in parameters:
            return limits.conv1d(parameters["n"], parameters["filter_width"], itemsize).bytes
        if kernel.startswith("conv2d_") and "batch" in parameters:
            shape = conv2d.shape_of(parameters["layer"], parameters["batch"])
            return limits.conv2d(shape, itemsize).bytes
    except (KeyError, TypeError, ValueError):
        return 0
    return 0
