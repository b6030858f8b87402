"""The ladder: every kernel of the convolution layer above the floor of `limits`, with causes.

    python -m helpers.experiments.ladder [--record FILE] [--batch N]

The times come from a record, by default ``data/measured/benchmark_conv2d.json`` (`python -m
helpers.tools.benchmarks conv2d` writes a new one). The simulator counts requests and sectors for
one image of each layer; they do not depend on the device, and the tables give them per output. The
sentence of a step names the counters that changed most against the kernel that it builds on. The
program writes `results/ladder.png` and `results/ladder.md` and prints the table.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import checking, limits, plotting, results, tables
from helpers.experiments import layer_benchmark, traffic
from helpers.limits import ConvShape
from helpers.problems import conv2d, cudnn
from helpers.results import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from helpers.device import Device

NAME = "ladder"
LENET = ("layer 1", "layer 2")
BATCH = 10_000
YARDSTICK = "cuDNN, best FP32"
AGAIN = "make a whole one on a machine with a GPU: python -m helpers.tools.benchmarks conv2d"
SAME = "no measurable difference"
# The times of a record are measured minutes apart, so that a smaller ratio of two means nothing.
DRIFT = 1.01

FP32_LANES = 128  # multiply-adds a clock cycle of a multiprocessor, compute capability 9.0

# The kernel that each kernel builds on, and its lab.
BUILDS_ON = {
    "conv2d_uncoalesced": ("", "108"),
    "conv2d_basic": ("conv2d_uncoalesced", "107"),
    "conv2d_constant": ("conv2d_basic", "200"),
    "conv2d_tiled": ("conv2d_constant", "109"),
    "conv2d_tiled_maps": ("conv2d_tiled", "109"),
    "conv2d_restrict": ("conv2d_basic", "201"),
    "conv2d_unrolled": ("conv2d_restrict", "201"),
    "im2col_gemm": ("conv2d_basic", "202"),
    "conv2d_implicit_gemm": ("im2col_gemm", "203"),
    "conv2d_implicit_gemm_fast": ("conv2d_implicit_gemm", "203"),
    "conv2d_register": ("conv2d_unrolled", "110"),
    "conv2d_register_tiled": ("conv2d_register", "110"),
    "conv2d_channels_atomics": ("conv2d_basic", "401"),
    "conv2d_channels_tree": ("conv2d_basic", "401"),
    "conv2d_channels_shuffle": ("conv2d_basic", "401"),
}


class LadderError(ValueError):
    """A record without the rows of a ladder. The message says what is missing, and what to run."""


# --------------------------------------------------------------------------------------------------
# Steps


@dataclass(frozen=True)
class Step:
    """One kernel on one layer.

    row: its row of the record (median_ms, low_ms, high_ms, relative_error). before: the step that
    it builds on.
    """

    name: str
    which: str
    lab: str
    row: Mapping[str, Any]
    before: Step | None = None

    @property
    def counters(self) -> traffic.Counters:
        """Its counters, computed at the first access. Raises as `traffic.counted`."""
        return traffic.counted(self.name, self.which)

    @property
    def ms(self) -> float:
        return self.row["median_ms"]

    @property
    def gain(self) -> tuple[float, float, float] | None:
        """How many times faster than ``before`` the step is, and the ends of an interval.

        The interval comes from the 95 % intervals of both medians. None without ``before``.
        """
        if self.before is None:
            return None
        old, new = self.before.row, self.row
        return (
            old["median_ms"] / new["median_ms"],
            old["low_ms"] / new["high_ms"],
            old["high_ms"] / new["low_ms"],
        )

    @property
    def verdict(self) -> str:
        """The gain in words: "2.1x faster", "1.3x slower", "no measurable difference" (see DRIFT).

        It is "" for the kernel that builds on no other.
        """
        if self.gain is None:
            return ""
        ratio, low, high = self.gain
        faster = ratio if ratio > 1 else 1 / ratio
        if low <= 1 <= high or faster < DRIFT:
            return SAME
        shown = f"{faster:.2f}x" if faster < 1.095 else traffic.times(faster)
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


def build(record: Record, which: str, batch: int = BATCH) -> Ladder:
    """Return the ladder of a layer of `conv2d.LAYERS` for ``batch`` images.

    record: of `layer_benchmark`. Raises LadderError for another record, and for a record without a
    kernel, a time, or the layer and batch.
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
    steps = _steps(timed, which)
    yardstick = cudnn.best([row for row in rows if "median_ms" in row])
    shape = conv2d.shape_of(which, batch)
    order = tuple(sorted(steps, key=lambda step: -step.ms))
    return Ladder(which, shape, record.device, order, yardstick, copies[0], left_out)


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


# --------------------------------------------------------------------------------------------------
# Figures


def draw(ax: Axes, ladder: Ladder) -> Axes:
    """Draw the bars of a ladder, cuDNN's below them with a hatch, and the line of the floor.

    The text of a bar has the step's gain over the step that it builds on.
    """
    rows = [{**step.row, "series": step.name} for step in ladder.steps]
    if ladder.yardstick:
        rows.append({**ladder.yardstick, "series": YARDSTICK})
    yardstick = YARDSTICK if ladder.yardstick else ""
    plotting.ladder(ax, rows, floor_ms=ladder.floor_ms, yardstick=yardstick, title=ladder.title)
    beside = [f"{_ms(step.ms)}{_against(step)}" for step in ladder.steps]
    if ladder.yardstick:
        beside.append(_ms(ladder.yardstick["median_ms"]))
    for text, words in zip(ax.texts, beside, strict=True):
        text.set_text(words)
    return ax


def _against(step: Step) -> str:
    """A step's gain over the step before it, in short: "   1.2x faster than constant"."""
    if step.before is None:
        return ""
    other = step.before.name.removeprefix("conv2d_")
    return f"   as fast as {other}" if step.verdict == SAME else f"   {step.verdict} than {other}"


def _ms(value: float) -> str:
    return f"{value:.3g} ms"


def figure(ladders: Sequence[Ladder], record: Record) -> Figure:
    """Return a figure of the ladders, one below the other, with the record's caption."""
    from matplotlib.figure import Figure

    rows = max(len(ladder.steps) for ladder in ladders) + 1
    fig = Figure(figsize=(9, len(ladders) * (1.6 + 0.26 * rows)), layout="constrained")
    for ax, ladder in zip(np.atleast_1d(fig.subplots(len(ladders), 1)), ladders, strict=True):
        draw(ax, ladder)
    plotting.caption(ax, record)
    return fig


def l1_bandwidth(device: Device) -> float:
    """Return the most bytes/s of all L1 caches and shared memories.

    They move PASS_BYTES in a cycle, the time of FP32_LANES multiply-adds. Raises ValueError for a
    device without an FP32 peak.
    """
    if device.fp32_peak is None:
        raise ValueError(
            f"{device.name} has no FP32 peak: pass the device of a record "
            "that was measured on a GPU"
        )
    return device.fp32_peak / (2 * FP32_LANES) * traffic.PASS_BYTES


def l1_points(ladder: Ladder) -> list[tuple[str, float, float]]:
    """Return (kernel, flop per byte through L1 or shared memory, flop/s) of each step."""
    flops = 2 * traffic.WARP
    return [
        (step.name, flops / (step.counters.passes * traffic.PASS_BYTES), ladder.speed(step))
        for step in reversed(ladder.steps)
    ]


def draw_l1(ax: Axes, ladder: Ladder, title: str = "") -> Axes:
    """Draw a roofline whose slope is the bandwidth of L1 and shared memory, with every kernel."""
    roofs = dataclasses.replace(ladder.device, dram_bandwidth=l1_bandwidth(ladder.device))
    plotting.roofline(
        ax,
        l1_points(ladder),
        roofs,
        title=title or f"{ladder.which}: speed against what passes through L1",
    )
    for text in ax.texts:
        text.set_text(text.get_text().replace("DRAM", "L1 and shared memory"))
    ax.set_xlabel(
        "flop per byte through L1 and shared memory (128 bytes a pass)\n"
        "percent: of the roof above a point",
        fontsize="small",
    )
    return ax


# --------------------------------------------------------------------------------------------------
# Tables

_HEADS = (
    "kernel",
    "lab",
    "ms",
    "x basic",
    "% of floor",
    "error",
    "load sectors",
    "load requests",
    "store sectors",
    "shared wavefronts",
    "constant requests",
    "atomic sectors",
    "barriers",
    "threads",
    "idle lanes",
    "L1 passes",
)


def table(ladder: Ladder) -> str:
    """Return a Markdown table: times, share of the floor's speed, errors, counters per output."""
    basic = next((step.ms for step in ladder.steps if step.name == conv2d.PLAINEST), None)
    lines = [_cells(step, basic, ladder.floor_ms) for step in ladder.steps]
    spare = ("",) * (len(_HEADS) - 5)
    others = [(YARDSTICK, ladder.yardstick["median_ms"])] if ladder.yardstick else []
    others += [
        ("copy of as many bytes", ladder.copy_ms),
        (f"floor ({ladder.floor.bound})", ladder.floor_ms),
    ]
    for name, ms in others:
        faster = f"{basic / ms:.2f}" if basic else "-"
        lines.append(
            (f"*{name}*", "", f"{ms:.4g}", faster, f"{100 * ladder.floor_ms / ms:.0f}", *spare)
        )
    return tables.markdown(_HEADS, lines)


def _cells(step: Step, basic: float | None, floor_ms: float) -> tuple[str, ...]:
    c, error = step.counters, step.row.get("relative_error")
    counts = [
        c.load_sectors,
        c.load_requests,
        c.store_sectors,
        c.shared_wavefronts,
        c.constant_requests,
        c.atomic_sectors,
        c.barriers,
    ]
    cells = [
        "-" if error is None else f"{error:.1e}",
        *(traffic.short(count) if count else "" for count in counts),
    ]
    share, faster = f"{100 * floor_ms / step.ms:.0f}", f"{basic / step.ms:.2f}" if basic else "-"
    lanes = traffic.short(c.threads), f"{c.idle_lanes:.0f} %"
    return (
        step.name,
        step.lab,
        f"{step.ms:.4g}",
        faster,
        share,
        *cells,
        *lanes,
        traffic.short(c.passes),
    )


def sentences(ladder: Ladder) -> tuple[str, ...]:
    """Return a line for each step, in the order in which the kernels build on each other."""
    order = {name: number for number, name in enumerate(BUILDS_ON)}
    return tuple(
        step.sentence
        for step in sorted(ladder.steps, key=lambda step: order.get(step.name, len(order)))
    )


def accuracy_table(record: Record) -> str:
    """Return a Markdown table of the images that each network classifies right with each kernel.

    It is "" for a record without such rows.
    """
    rows = [row for row in record.rows() if row["series"] == layer_benchmark.ACCURACY]
    if not rows:
        return ""
    heads = dict.fromkeys((row["network"], row["images"]) for row in rows)
    right = {(row["with"], row["network"], row["images"]): row["right"] for row in rows}
    names = dict.fromkeys(row["with"] for row in rows)
    lines = [
        (
            name,
            *(
                f"{right.get((name, *head), '-'):,}" if (name, *head) in right else "-"
                for head in heads
            ),
        )
        for name in names
    ]
    return tables.markdown(
        ("kernel", *(f"{network}, {images:,} images" for network, images in heads)), lines
    )


def markdown(record: Record, ladders: Sequence[Ladder]) -> str:
    """Return the whole page: tables and sentences of the ladders, all times, the accuracies."""
    parts = [
        f"# The ladder\n\n{record.caption()}; op times, cold caches. Counters: the simulator's, "
        "per output; passes through L1 and shared memory: at least, per 32 multiply-adds."
    ]
    if changed := record.changed_sources():
        parts.append(
            "The counters are those of the present sources, but the times are older than these: "
            f"{', '.join(changed)}."
        )
    for ladder in ladders:
        parts += [f"## {ladder.which}: {ladder.shape}", ladder.title + ".", table(ladder)]
        parts += ["\n".join(f"- {sentence}" for sentence in sentences(ladder))]
        parts += [f"Not timed: {name}: {reason}." for name, reason in ladder.left_out.items()]
    parts += ["## All layers and batches, ms", _all_times(record)]
    if accuracies := accuracy_table(record):
        parts += ["## Images classified right, the kernel in both convolutions", accuracies]
    return "\n\n".join(parts) + "\n"


def _all_times(record: Record) -> str:
    rows = [row for row in record.rows() if "median_ms" in row]
    places = list(dict.fromkeys((row["layer"], row["batch"]) for row in rows))
    shortest: dict[tuple, float] = {}
    for row in rows:
        key = row["series"], row["layer"], row["batch"]
        shortest[key] = min(row["median_ms"], shortest.get(key, row["median_ms"]))
    names = dict.fromkeys(row["series"] for row in rows)
    lines = [
        (
            name,
            *(
                f"{shortest[name, *place]:.4g}" if (name, *place) in shortest else "-"
                for place in places
            ),
        )
        for name in names
    ]
    return tables.markdown(("kernel", *(f"{which}, {batch:,}" for which, batch in places)), lines)


# --------------------------------------------------------------------------------------------------
# Command line


def load(path: Path | str | None = None) -> Record:
    """Return the record of a file, by default the committed one. Raises results.RecordError."""
    return results.load(path or results.MEASURED / f"{layer_benchmark.NAME}.json")


def _ladders(record: Record, batch: int) -> Iterator[Ladder]:
    for which in LENET:
        yield build(record, which, batch)


def main(argv: Sequence[str] | None = None) -> int:
    """Build the ladders, write their figure and page, print the page; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.experiments.ladder", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--record", metavar="FILE", help="a record of the benchmark (default: the committed one)"
    )
    parser.add_argument(
        "--batch",
        type=int,
        default=BATCH,
        metavar="N",
        help="a batch of the record (default 10,000)",
    )
    options = parser.parse_args(argv)
    try:
        record = load(options.record)
        ladders = tuple(_ladders(record, options.batch))
        picture = results.save_figure(figure(ladders, record), NAME, record)
        page = markdown(record, ladders)
        picture.with_suffix(".md").write_text(page, encoding="utf-8")
    except (
        LadderError,
        checking.CheckError,
        results.RecordError,
        traffic.TrafficError,
        OSError,
    ) as error:
        print(f"no ladder: {error}")
        return 1
    print(f"{page}\n{picture} and {picture.with_suffix('.md').name} are written.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
