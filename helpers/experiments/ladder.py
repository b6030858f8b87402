"""The ladder: every kernel of the convolution layer above the floor of `limits`, with causes.

The times come from a record, by default ``data/measured/benchmark_conv2d.json`` (`python -m
helpers.tools.benchmarks conv2d` writes a new one). The simulator counts requests and sectors for
one image of each layer; they do not depend on the device. The sentence of a step names the counters
that changed most against the kernel that it builds on. `ladder_report` draws and prints a ladder.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helpers import limits
from helpers.bench import cudnn, results
from helpers.bench.results import Record
from helpers.experiments import layer_benchmark, traffic
from helpers.limits import ConvShape
from helpers.problems import conv2d

if TYPE_CHECKING:
    from helpers.device import Device

NAME = "ladder"
LENET = ("layer 1", "layer 2")
BATCH = 10_000
YARDSTICK = "cuDNN, best FP32"
AGAIN = "make a whole one on a machine with a GPU: python -m helpers.tools.benchmarks conv2d"
SAME = "no measurable difference"
# The times of a record are measured minutes apart, and a kernel's time in two records differs by up
# to a few percent. So a smaller ratio of two says nothing, unless both were timed in turns.
DRIFT = 1.05
CLOSE = 1.1  # steps that are nearer than this to the one that they build on are timed in turns

FP32_LANES = 128  # multiply-adds a clock cycle of a multiprocessor, compute capability 9.0

# The kernel that each kernel builds on, and its lab.
BUILDS_ON = {
    "conv2d_uncoalesced": ("", "108"),
    "conv2d_basic": ("conv2d_uncoalesced", "107"),
    "conv2d_constant": ("conv2d_basic", "109"),
    "conv2d_tiled": ("conv2d_constant", "111"),
    "conv2d_tiled_maps": ("conv2d_tiled", "111"),
    "conv2d_restrict": ("conv2d_basic", "110"),
    "conv2d_unrolled": ("conv2d_restrict", "110"),
    "im2col_gemm": ("conv2d_basic", "200"),
    "conv2d_implicit_gemm": ("im2col_gemm", "202"),
    "conv2d_implicit_gemm_fast": ("conv2d_implicit_gemm", "202"),
    "conv2d_register": ("conv2d_unrolled", "112"),
    "conv2d_register_tiled": ("conv2d_register", "112"),
    "conv2d_channels_atomics": ("conv2d_basic", "401"),
    "conv2d_channels_tree": ("conv2d_basic", "401"),
    "conv2d_channels_shuffle": ("conv2d_basic", "401"),
}


Gain = tuple[float, float, float]  # how many times as fast, and the ends of the interval


class LadderError(ValueError):
    """A record without the rows of a ladder. The message says what is missing, and what to run."""


# --------------------------------------------------------------------------------------------------
# Steps


@dataclass(frozen=True)
class Step:
    """One kernel on one layer.

    row: its row of the record (median_ms, low_ms, high_ms, relative_error). before: the step that
    it builds on. paired: the gain over it with its interval, if both were timed in turns.
    """

    name: str
    which: str
    lab: str
    row: Mapping[str, Any]
    before: Step | None = None
    paired: Gain | None = None

    @property
    def counters(self) -> traffic.Counters:
        """Its counters, computed at the first access. Raises as `traffic.counted`."""
        return traffic.counted(self.name, self.which)

    @property
    def ms(self) -> float:
        return self.row["median_ms"]

    @property
    def gain(self) -> Gain | None:
        """How many times faster than ``before`` the step is, and the ends of an interval.

        It is `paired` where the two were timed in turns. Else the interval comes from the 95 %
        intervals of both medians. None without ``before``.
        """
        if self.before is None:
            return None
        if self.paired is not None:
            return self.paired
        old, new = self.before.row, self.row
        return (
            old["median_ms"] / new["median_ms"],
            old["low_ms"] / new["high_ms"],
            old["high_ms"] / new["low_ms"],
        )

    @property
    def verdict(self) -> str:
        """The gain in words: "2.1x faster", "1.3x slower", "no measurable difference".

        The interval decides where the kernels were timed in turns; else it must be above DRIFT,
        too. It is "" for the kernel that builds on no other.
        """
        if self.gain is None:
            return ""
        ratio, low, high = self.gain
        faster = ratio if ratio > 1 else 1 / ratio
        if low <= 1 <= high or (self.paired is None and faster < DRIFT):
            return SAME
        digits = 3 if faster < 1.01 else 2
        shown = f"{faster:.{digits}f}x" if faster < 1.095 else traffic.times(faster)
        return f"{shown} {'faster' if ratio > 1 else 'slower'}"

    @property
    def why(self) -> str:
        """The largest changes of the counters in words; "" for a kernel that builds on no other."""
        return traffic.changes(self.before.counters, self.counters) if self.before else ""

    @property
    def sentence(self) -> str:
        """One line on the step: the step before it, its verdict, and the counters."""
        if self.before is None:
            return f"{self.name}: it builds on no other kernel that was timed."
        why = f"{self.why[0].upper()}{self.why[1:]}"
        if why.lower() == traffic.NO_COUNTER:
            why += (
                ", either"
                if self.verdict == SAME
                else ": these counters do not show the reason"
            )
        return f"{self.name} after {self.before.name}: {self.verdict}. {why}."


@dataclass(frozen=True)
class Ladder:
    """All steps of one layer and batch, the slowest first.

    yardstick: cuDNN's best row, or None. left_out: the reason for each kernel without a time.
    """

    which: str
    shape: ConvShape
    device: Device
    steps: tuple[Step, ...]
    yardstick: Mapping[str, Any] | None
    copy_ms: float
    left_out: Mapping[str, str]

    @property
    def work(self) -> limits.Work:
        return limits.conv2d(self.shape)

    @property
    def floor(self) -> limits.Floor:
        return limits.floor(self.work, self.device)

    @property
    def floor_ms(self) -> float:
        return 1e3 * self.floor.seconds

    @property
    def best(self) -> Step:
        return self.steps[-1]

    def step(self, name: str) -> Step:
        """Return the step of a kernel. Raises KeyError for a kernel without one."""
        named = {step.name: step for step in self.steps}
        if name not in named:
            raise KeyError(f"the ladder of {self.which} has no {name!r}; it has {', '.join(named)}")
        return named[name]

    def speed(self, step: Step) -> float:
        """Return the flop/s of a step."""
        return self.work.flops / (1e-3 * step.ms)

    @property
    def against_yardstick(self) -> str:
        """The speed of the best kernel against cuDNN's in words; "" if cuDNN was not measured."""
        if not self.yardstick:
            return ""
        ratio = self.yardstick["median_ms"] / self.best.ms
        return (
            f"{traffic.times(ratio)} the speed of cuDNN"
            if ratio >= 1
            else f"{100 * ratio:.0f} % of cuDNN's speed"
        )

    @property
    def title(self) -> str:
        reached = (
            f"{self.best.name} has {100 * self.floor_ms / self.best.ms:.0f} % of the floor's speed"
        )
        return f"{self.which}, {self.shape.B:,} images: {reached}" + (
            f", {self.against_yardstick}" if self.yardstick else ""
        )


def build(
    record: Record, which: str, batch: int = BATCH, pairs: Mapping[str, Gain] | None = None
) -> Ladder:
    """Return the ladder of a layer of `conv2d.LAYERS` for ``batch`` images.

    record: of `layer_benchmark`. pairs: for kernels that were timed in turns with the one that they
    build on, the gain. It counts where the times of the record are CLOSE. Raises LadderError for
    another record, and for a record without a kernel, a time, or the layer and batch.
    """
    if record.name != layer_benchmark.NAME:
        raise LadderError(
            f"the record is {record.name!r}; the ladder is built from {layer_benchmark.NAME!r}: "
            f"{AGAIN}"
        )
    if record.device.dram_bandwidth is None or record.device.fp32_peak is None:
        raise LadderError(
            f"the record's device, {record.device.name}, has no bandwidth and "
            f"peak to make a floor from: {AGAIN}"
        )
    rows = [row for row in record.rows() if (row.get("layer"), row.get("batch")) == (which, batch)]
    if not rows:
        there = dict.fromkeys(
            f"{row['layer']} with {row['batch']:,}" for row in record.rows() if "layer" in row
        )
        raise LadderError(
            f"the record has no {which} with {batch:,} images; it has "
            f"{', '.join(there) or 'no layer'}: {AGAIN}"
        )
    timed, left_out = _kernels(rows, f"{which} with {batch:,} images")
    copies = [
        row["median_ms"]
        for row in rows
        if row["series"] == layer_benchmark.COPY and "median_ms" in row
    ]
    if len(copies) != 1:
        raise LadderError(
            f"the record has {len(copies)} times of the {layer_benchmark.COPY} for {which}, "
            f"not one: {AGAIN}"
        )
    steps = [_paired(step, pairs or {}) for step in _steps(timed, which)]
    yardstick = cudnn.best([row for row in rows if "median_ms" in row])
    shape = conv2d.shape_of(which, batch)
    order = tuple(sorted(steps, key=lambda step: -step.ms))
    return Ladder(which, shape, record.device, order, yardstick, copies[0], left_out)


def _paired(step: Step, pairs: Mapping[str, Gain]) -> Step:
    close = step.gain is not None and 1 / CLOSE < step.gain[0] < CLOSE
    return dataclasses.replace(step, paired=pairs.get(step.name)) if close else step


def _kernels(
    rows: Sequence[Mapping[str, Any]], place: str
) -> tuple[dict[str, Mapping[str, Any]], dict[str, str]]:
    """The timed rows by kernel, in the order of conv2d.CONV2D, and the reasons of the others."""
    others = {layer_benchmark.COPY, cudnn.NAME}
    of_kernel: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if row["series"] in of_kernel:
            raise LadderError(f"the record has {row['series']} twice for {place}: {AGAIN}")
        if row["series"] not in others:
            of_kernel[row["series"]] = row
    known = [spec.name for spec in conv2d.CONV2D]
    if strange := [name for name in of_kernel if name not in known]:
        raise LadderError(
            f"the record has {', '.join(strange)}, which conv2d.CONV2D does not have: {AGAIN}"
        )
    if missing := [name for name in known if name not in of_kernel]:
        raise LadderError(
            f"the record is partial, it lacks {', '.join(missing)} for {place}: {AGAIN}"
        )
    timed = {name: of_kernel[name] for name in known if "median_ms" in of_kernel[name]}
    left_out = {
        name: str(of_kernel[name].get("left_out") or "") for name in known if name not in timed
    }
    if silent := [name for name, reason in left_out.items() if not reason]:
        raise LadderError(
            f"the record has no time of {silent[0]} for {place}, and does not say why: {AGAIN}"
        )
    if not timed:
        raise LadderError(f"the record has no time of any kernel for {place}: {AGAIN}")
    return timed, left_out


def _steps(timed: Mapping[str, Mapping[str, Any]], which: str) -> list[Step]:
    """A step for each row, with a link to the step that it builds on."""
    steps: dict[str, Step] = {}

    def step(name: str) -> Step:
        if name not in steps:
            # The link needs the step before, so that step is built first.
            before, lab = BUILDS_ON.get(name, (conv2d.PLAINEST, "-"))
            steps[name] = Step(
                name, which, lab, timed[name], step(before) if before in timed else None
            )
        return steps[name]

    return [step(name) for name in timed]


def load(path: Path | str | None = None) -> Record:
    """Return the record of a file, by default the committed one. Raises results.RecordError."""
    return results.load(path or results.MEASURED / f"{layer_benchmark.NAME}.json")
