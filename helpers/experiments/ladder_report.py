"""The ladder in figures and tables.

    python -m helpers.experiments.ladder_report [--record FILE] [--batch N]

The tables give the counters per output. The program writes `results/ladder.png` and
`results/ladder.md` and prints the table.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from helpers import checking, plotting, tables
from helpers.bench import results
from helpers.bench.results import Record
from helpers.experiments import layer_benchmark, traffic
from helpers.experiments.ladder import (
    BATCH,
    BUILDS_ON,
    FP32_LANES,
    LENET,
    NAME,
    SAME,
    YARDSTICK,
    Ladder,
    LadderError,
    Step,
    build,
    load,
)
from helpers.problems import conv2d

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from helpers.device import Device


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


def _ladders(record: Record, batch: int) -> Iterator[Ladder]:
    for which in LENET:
        yield build(record, which, batch)


def main(argv: Sequence[str] | None = None) -> int:
    """Build the ladders, write their figure and page, print the page; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.experiments.ladder_report", description=__doc__.splitlines()[0]
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
