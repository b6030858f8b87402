"""What the steps of the ladder have in common: counters, roofs, and the published numbers.

`helpers.experiments.ladder` builds the ladder of one layer. This module sets the ladders of both
layers of the network beside each other (`Steps`): which steps paid where, and whether the passes
through L1 and shared memory changed the same way as the time. `measure` times in turns the two best
kernels of each layer, and every step that is close to the one that it builds on (record
"500_best_two").
"""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import kernels, plotting, simulator, tables
from helpers.bench import layers, results
from helpers.experiments import ladder, ladder_report, layer_benchmark, tensor_benchmark, traffic
from helpers.experiments.ladder import BATCH, LENET, Ladder, Step
from helpers.limits import ConvShape
from helpers.plotting import styles
from helpers.problems import conv2d

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record
    from helpers.simulator import Profile

BEST = "conv2d_register_tiled"
TURNS = "500_best_two"  # the record of `measure`
NAMES = tuple(spec.name for spec in conv2d.CONV2D)
IN_ROOFS = (
    "conv2d_uncoalesced",
    "conv2d_basic",
    "conv2d_constant",
    "conv2d_tiled",
    "conv2d_tiled_maps",
    "im2col_gemm",
    "conv2d_register",
    BEST,
)
# Passes for 32 multiply-adds that take as long as these: a multiprocessor does 128 in a cycle.
BALANCE = traffic.WARP / ladder.FP32_LANES
WAYS = ("the same way", "opposite ways", "passes hardly changed")


def tree(before: str = "", depth: int = 0) -> str:
    """Return the kernels that build on `before`, and on those, a line each."""
    lines = []
    for kernel, (on, lab) in ladder.BUILDS_ON.items():
        if on == before:
            lines.append(f"{'    ' * depth}{kernel} (lab {lab})")
            lines.append(tree(kernel, depth + 1))
    return "\n".join(line for line in lines if line)


def left_out() -> str:
    """Return the names of the layer's kernels that are no rung, in a sentence."""
    others = [name for name in kernels.names() if name.startswith("conv2d_") and name not in NAMES]
    return _wrapped([f"not on the ladder, {len(others)} kernels: {', '.join(others)}"])


def inner_loop(head: str = "for (int s = 0; s < STAGED") -> tuple[int, int]:
    """Return the first and last line of the best kernel's inner loop, for kernels.show.

    head: how the loop begins. It ends at the brace that stands under the loop's first letter.
    """
    lines = kernels.source(BEST).splitlines()
    first = next((n for n, line in enumerate(lines) if line.lstrip().startswith(head)), None)
    if first is None:
        raise ValueError(f"{BEST}.cu has no line {head!r}: it has changed since")
    end = lines[first][: lines[first].index(head)] + "}"
    return first + 1, lines.index(end, first) + 1


def counter_table(which: str) -> str:
    """Return the counters of every kernel on one image of a layer, most passes first.

    Per output, but for idle lanes and for passes, which are per 32 multiply-adds. Raises
    traffic.TrafficError or checking.CheckError for a kernel that is not right.
    """
    head = (
        f"{which}, per output", "load\nsectors", "load\nrequests", "shared\nwavefronts",
        "constant\nrequests", "barriers", "idle\nlanes", "passes per 32\nmultiply-adds",
    )  # fmt: skip
    counted = {name: traffic.counted(name, which) for name in NAMES}
    rows = []
    for name in sorted(NAMES, key=lambda name: -counted[name].passes):
        c = counted[name]
        counts = (
            c.load_sectors,
            c.load_requests,
            c.shared_wavefronts,
            c.constant_requests,
            c.barriers,
        )
        cells = (f"{count:.3f}" for count in counts)
        rows.append((name, *cells, f"{c.idle_lanes:.0f} %", f"{c.passes:.2f}"))
    return tables.text(head, rows)


def profile(name: str, which: str) -> Profile:
    """Run one image of a layer by a kernel of one launch in the simulator; return its counters."""
    _, (seen,) = conv2d.simulate(name, *conv2d.inputs(which, 1), checks=False)
    return seen


def without(barrier: str, which: str, **settings: Any) -> str:
    """Return what the simulator finds in the best kernel without one of its barriers.

    barrier: text of the source that becomes a comment. which: a layer, of which one image runs.
    settings: fields of the kernel's record, such as staged=1.
    """
    source = kernels.source(BEST)
    if barrier not in source:
        raise ValueError(f"{BEST}.cu has no {barrier!r}: it has changed since")
    x, filter = random_arrays(conv2d.shape_of(which, 1), np.random.default_rng(16))
    broken = {BEST: (BEST, source.replace(barrier, "//", 1))}
    spec = dataclasses.replace(conv2d.conv2d_named(BEST), **settings)
    _, (found,) = conv2d.simulate(spec, x, filter, entry=simulator.check, instead=broken)
    return found[0].brief() if found else "no finding"


def random_arrays(shape: ConvShape, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return x and filter of a layer, float32 in [-1, 1)."""
    x, filter = (
        rng.uniform(-1, 1, size).astype(np.float32) for size in (shape.x_shape, shape.filter_shape)
    )
    return x, filter


# --------------------------------------------------------------------------------------------------
# The steps of both layers


@dataclass(frozen=True)
class Steps:
    """The ladders of both layers, from one record."""

    record: Record
    ladders: tuple[Ladder, Ladder]

    @classmethod
    def of(cls, record: Record, turns: Record | None = None) -> Steps:
        """Return the steps of a record of the benchmark. Raises ladder.LadderError as `build`.

        turns: the record of `measure`, by default the repository's.
        """
        turns = turns or results.load(results.MEASURED / f"{TURNS}.json")
        one, two = (ladder.build(record, which, pairs=gains(turns, which)) for which in LENET)
        return cls(record, (one, two))

    def pairs(self) -> list[tuple[Step, Step]]:
        """Return each step on layer 1 and on layer 2, in the order of the ladder of layer 1."""
        one, two = self.ladders
        return [(s, two.step(s.name)) for s in one.steps if s.gain and two.step(s.name).gain]

    def outcomes(self) -> dict[str, list[str]]:
        """Return the names of the steps by what they did on both layers."""
        kinds: dict[str, list[str]] = {
            "faster on both": [],
            "slower on both": [],
            "faster on layer 1, slower on layer 2": [],
            "slower on layer 1, faster on layer 2": [],
            "no measurable difference on a layer": [],
        }
        both, neither, first, second, same = kinds
        by_ends = {
            ("faster", "faster"): both,
            ("slower", "slower"): neither,
            ("faster", "slower"): first,
            ("slower", "faster"): second,
        }
        for pair in self.pairs():
            ends = tuple(step.verdict.rpartition(" ")[2] for step in pair)
            kinds[by_ends.get((ends[0], ends[1]), same)].append(pair[0].name)
        return kinds

    def agreement(self) -> dict[str, list[Step]]:
        """Return the steps by whether their passes changed the same way as their time (WAYS).

        Only steps with a measurable difference in time. Passes that change by less than
        traffic.NOTABLE count as unchanged.
        """
        ways: dict[str, list[Step]] = {way: [] for way in WAYS}
        for step in (step for pair in self.pairs() for step in pair):
            if step.verdict == ladder.SAME or step.before is None:
                continue
            passes = traffic.passes_changed(step.before.counters, step.counters)
            time = 1 if step.verdict.endswith("slower") else -1
            ways[WAYS[2] if not passes else WAYS[0] if passes == time else WAYS[1]].append(step)
        return ways

    def largest_gain(self, which: str) -> Step:
        """Return the step of a layer with the largest gain over the kernel that it builds on."""
        built = next(one for one in self.ladders if one.which == which)
        return max(built.steps, key=lambda step: step.gain[0] if step.gain else 0.0)

    def sums(self) -> dict[str, float]:
        """Return the sum of both layers' ms by kernel, for the kernels with both times."""
        one, two = self.ladders
        names = (name for name in NAMES if name not in {**one.left_out, **two.left_out})
        return {name: one.step(name).ms + two.step(name).ms for name in names}


def gains(turns: Record, which: str) -> dict[str, ladder.Gain]:
    """Return the gains of a record of `measure` over what each kernel builds on, by kernel."""
    return {
        row["kernel"]: (row["ratio"], row["low"], row["high"])
        for row in turns.rows()
        if row["layer"] == which and ladder.BUILDS_ON[row["kernel"]][0] == row["over"]
    }


def outcome_table(steps: Steps) -> str:
    """Return which steps were faster or slower than the kernel that they build on, by layer."""
    outcomes = steps.outcomes()
    return _wrapped(f"{what}: {', '.join(names) or 'none'}" for what, names in outcomes.items())


def agreement_table(steps: Steps) -> str:
    """Return how many steps changed passes and time the same way, and the names of the others."""
    rows = []
    for way, of_way in steps.agreement().items():
        names = [f"{step.name} ({step.which[-1]})" for step in of_way]
        rows.append(f"{way}: {len(of_way)}" + (f": {', '.join(names)}" if way != WAYS[0] else ""))
    return _wrapped(rows)


def sentences(built: Ladder) -> str:
    """Return the sentences of a ladder's steps, in lines that a page has room for."""
    return _wrapped(ladder_report.sentences(built))


def _wrapped(paragraphs: Iterable[str], width: int = 92) -> str:
    return "\n".join(textwrap.fill(one, width, subsequent_indent="    ") for one in paragraphs)


def agreement_figure(steps: Steps) -> Figure:
    """Draw the ratio of times over the ratio of passes, a dot for each step and layer."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    ways = steps.agreement()
    total = sum(map(len, ways.values()))
    figure, ax = plt.subplots(figsize=(9, 6), layout="constrained")
    for number, which in enumerate(LENET):
        drawn = [step for of_way in ways.values() for step in of_way if step.which == which]
        look: styles.Look = {
            "fmt": styles.MARKERS[number],
            "color": styles.COLOURS[0],
            "markerfacecolor": ("white", styles.COLOURS[0])[number],
            "markersize": 8,
            "capsize": 2,
            "label": which,
        }
        times = np.array([_time_ratio(step) for step in drawn]).T
        around = [times[0] - times[1], times[2] - times[0]]
        ax.errorbar([_passes_ratio(step) for step in drawn], times[0], around, **look)
    for step in ways[WAYS[1]]:
        place = _passes_ratio(step), _time_ratio(step)[0]
        right, above = place[0] > 1, place[1] > 1
        ax.annotate(
            f"{step.name} ({step.which})", place, (9 if right else -9, 9 if above else -14),
            textcoords="offset points", fontsize="small", ha="left" if right else "right",
        )  # fmt: skip
    ax.plot([0.1, 8], [0.1, 8], color="#888888", linestyle=":", label="time as the passes")
    ax.axhline(1, color=styles.INK, linewidth=0.8)
    ax.axvline(1, color=styles.INK, linewidth=0.8)
    ax.set(xscale="log", yscale="log", xlim=(0.08, 8), ylim=(0.2, 5))
    for axis, ticks in ((ax.xaxis, (0.1, 0.2, 0.5, 1, 2, 5)), (ax.yaxis, (0.2, 0.5, 1, 2, 5))):
        axis.set_major_locator(FixedLocator(ticks))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(styles.tick_text))
    corners = {"fewer passes, faster": (0.02, 0.03), "more passes, slower": (0.8, 0.95)}
    corners |= {"fewer passes, slower": (0.02, 0.95), "more passes, faster": (0.8, 0.03)}
    for words, (x, y) in corners.items():
        ax.text(x, y, words, transform=ax.transAxes, fontsize="small", style="italic")
    ax.set_xlabel("passes through L1 and shared memory, over those of the kernel before")
    ax.set_ylabel("time, over that of the kernel before")
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1))
    counts = ", ".join(f"{way} in {len(of_way)}" for way, of_way in ways.items())
    plotting.style(ax, f"Passes and time of {total} steps changed {counts}")
    plotting.caption(ax, steps.record)
    return figure


def _passes_ratio(step: Step) -> float:
    if step.before is None:
        raise ValueError(f"{step.name} builds on no other kernel")
    return step.counters.passes / step.before.counters.passes


def _time_ratio(step: Step) -> tuple[float, float, float]:
    """The time over that of the step before, and the ends of its interval."""
    if step.gain is None:
        raise ValueError(f"{step.name} builds on no other kernel")
    middle, low, high = step.gain
    return 1 / middle, 1 / high, 1 / low


def time_table(built: Ladder) -> str:
    """Return the times of a ladder, slowest first, with cuDNN, a copy and the floor below."""
    basic = built.step(conv2d.PLAINEST).ms
    rows = []
    for step in built.steps:
        error, threads = step.row.get("relative_error"), step.counters.threads
        cells = "-" if error is None else f"{error:.1e}", traffic.short(threads)
        rows.append((step.name, *_time_cells(step.ms, basic, built.floor_ms), *cells))
    others = {"a copy of as many bytes": built.copy_ms}
    if built.yardstick:
        others = {ladder.YARDSTICK: built.yardstick["median_ms"], **others}
    others[f"the floor ({built.floor.bound})"] = built.floor_ms
    for name, ms in others.items():
        rows.append((name, *_time_cells(ms, basic, built.floor_ms), "", ""))
    head = (built.which, "ms", "x basic", "% of the\nfloor's speed", "error", "threads")
    return tables.text(head, rows)


def _time_cells(ms: float, basic: float, floor_ms: float) -> tuple[str, str, str]:
    return f"{ms:.4g}", f"{basic / ms:.2f}", f"{100 * floor_ms / ms:.0f}"


def ladder_figure(steps: Steps) -> Figure:
    """Draw both ladders, with the record's caption."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 1, figsize=(11, 11), layout="constrained")
    for ax, built in zip(axes, steps.ladders, strict=True):
        ladder_report.draw(ax, built)
    plotting.caption(axes[1], steps.record)
    return figure


# --------------------------------------------------------------------------------------------------
# Roofs


def near_roof(built: Ladder) -> list[str]:
    """Return the kernels of IN_ROOFS that reach half of their roof by passes through L1."""
    peak = built.device.fp32_peak or 0.0
    bandwidth = ladder_report.l1_bandwidth(built.device)
    points = ladder_report.l1_points(_shown(built))
    return [name for name, flops, speed in points if speed >= 0.5 * min(peak, bandwidth * flops)]


def _shown(built: Ladder) -> Ladder:
    steps = tuple(step for step in built.steps if step.name in IN_ROOFS)
    return dataclasses.replace(built, steps=steps)


def roofs_figure(steps: Steps, which: str) -> Figure:
    """Draw two rooflines of a layer: by the bytes that must move, and by passes through L1.

    The points have numbers; the list beside them has the names and the shares of the roofs.
    """
    import matplotlib.pyplot as plt

    built = next(one for one in steps.ladders if one.which == which)
    few = _shown(built)
    order = list(reversed(few.steps))
    numbers = {step.name: str(number) for number, step in enumerate(order, 1)}
    figure, (*axes, beside) = plt.subplots(
        1, 3, figsize=(14, 5), layout="constrained", width_ratios=(1, 1, 0.62)
    )
    column = [(step.name, built.work.intensity, built.speed(step)) for step in order]
    plotting.roofline(
        axes[0], column, built.device, title=f"{which}: by DRAM bytes, one column under one roof"
    )
    near = len(near_roof(built))
    title = f"{which}: by L1 passes, {near} of these {len(order)} reach half of their roof"
    ladder_report.draw_l1(axes[1], few, title=title)
    shares: dict[str, list[str]] = {name: [] for name in numbers}
    for ax in axes:
        for text in ax.texts:
            name, _, share = text.get_text().partition("  ")
            if name in numbers:
                shares[name].append(share)
                text.set_text(numbers[name])
                text.set_fontweight("bold")
        ax.set_xlabel(ax.get_xlabel().partition("\n")[0], fontsize="small")
    lines = [f"{numbers[name]}  {name}: {' and '.join(shares[name])}" for name in numbers]
    words = "percent of the roof above a point,\nleft and right:\n\n" + "\n".join(lines)
    beside.set_axis_off()
    beside.text(0, 0.5, words, fontsize="small", va="center", linespacing=1.5)
    plotting.caption(axes[0], steps.record)
    return figure


def fastest_form(built: Ladder) -> float:
    """Return the shortest time (ms) of BEST on record for a layer, over all of its forms.

    `tensor_benchmark` times it with its weights in constant and in shared memory, too.
    """
    data = results.load(results.MEASURED / f"{tensor_benchmark.NAME}.json")
    wanted = {"series": BEST, "layer": built.which, "batch": built.shape.B}
    times = [
        row["median_ms"]
        for row in data.rows()
        if all(row.get(key) == value for key, value in wanted.items()) and "median_ms" in row
    ]
    return min(built.step(BEST).ms, *times)


def roof_words(built: Ladder) -> str:
    """Return the best kernel's share of the floor's speed, that of its fastest form, and what its
    passes would allow."""
    room, share = BALANCE / built.best.counters.passes, 100 * built.floor_ms / built.best.ms
    fastest = fastest_form(built)
    return (
        f"{built.which}: {built.best.name} has {share:.0f} % of the floor's speed "
        f"({built.floor.bound} bound); by its passes, L1 would allow {room:.1f} times the peak.\n"
        f"    Its fastest form on record: {fastest:.3f} ms, {100 * built.floor_ms / fastest:.0f} % "
        "of the floor's speed"
    )


# --------------------------------------------------------------------------------------------------
# Measuring, and the published numbers


def measure() -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the record TURNS, measured on the selected GPU.

    Series "ratio", for each layer the best kernel over the second best, and each step that is CLOSE
    over the one that it builds on: kernel, over, ratio (the time of `over` over that of `kernel`),
    low, high, and `told`, the comparison in words.
    """
    steps = Steps.of(ladder.load())
    for built in steps.ladders:
        wanted = {(built.steps[-1].name, built.steps[-2].name): 1.0}
        wanted |= {pair: 0.4 for pair in close_steps(built) if pair not in wanted}
        with layers.layer(built.which, built.shape.B).on_device() as there:
            for (kernel, over), budget_s in wanted.items():
                found = there.ready(over).beside(there.ready(kernel), budget_s)
                ratio = {"ratio": found.ratio, "low": found.low, "high": found.high}
                where = {"layer": built.which, "kernel": kernel, "over": over}
                yield {"series": "ratio", **where, **ratio, "told": str(found), "timing": None}


def close_steps(built: Ladder) -> list[tuple[str, str]]:
    """Return the steps whose time is close to that of the kernel that they build on, and these."""
    found = []
    for step in built.steps:
        if step.before and 1 / ladder.CLOSE < step.before.ms / step.ms < ladder.CLOSE:
            found.append((step.name, step.before.name))
    return found


def reported_table(steps: Steps) -> str:
    """Return the best sum of op times of the reports, and ours, with the gain over the start.

    Streams are left out: the clock of their op times did not wait for the work.
    """
    rows = [
        row
        for row in results.reported("course_reports")
        if row["batch"] == BATCH and row["report"] in "ABC" and row["optimization"] != "streams"
    ]
    sums = {(row["report"], row["optimization"]): row["op1_ms"] + row["op2_ms"] for row in rows}
    best = min(sums, key=lambda key: sums[key])
    start = sums[best[0], "baseline (uncoalesced)" if best[0] == "C" else "baseline"]
    ours = steps.sums()
    lines = [
        (f"report {best[0]}, its start", f"{start:.1f}", "1.0"),
        (f"report {best[0]}, {best[1]}", f"{sums[best]:.1f}", f"{start / sums[best]:.1f}"),
    ]
    for name in ("conv2d_uncoalesced", "conv2d_basic", min(ours, key=lambda name: ours[name])):
        gain = ours["conv2d_uncoalesced"] / ours[name]
        lines.append((f"ours, {name}", f"{ours[name]:.1f}", f"{gain:.1f}"))
    head = (f"both layers, {BATCH:,} images", "ms", "times as fast\nas its start")
    return tables.text(head, lines)


def accuracy_words(record: Record) -> str:
    """Return how many images each network classifies right, over all kernels."""
    right: dict[tuple[str, int], set[int]] = {}
    for row in record.rows():
        if row["series"] == layer_benchmark.ACCURACY:
            right.setdefault((row["network"], row["images"]), set()).add(row["right"])
    return "\n".join(
        f"{network}: {' or '.join(map(str, sorted(counts)))} of {images:,} images right, with any "
        "of the kernels"
        for (network, images), counts in right.items()
    )
