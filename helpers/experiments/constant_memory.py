"""Lab 102: weights in constant memory, where the text counts global memory over constant memory.

What the lab compares and counts stands in its notebook: three kernels at six widths. At the widths
of `ROLLED_WIDTHS`, nvcc keeps a loop of four weights, and the lab times straight code, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from helpers import plotting, tables
from helpers.bench import results
from helpers.bench.counts import Count, Counts
from helpers.bench.ratios import Ratio
from helpers.bench.times import Times
from helpers.experiments import ncu, sass
from helpers.problems import conv1d

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record

GLOBAL, CONSTANT, DIVERGENT = "conv1d_basic", "conv1d_constant", "conv1d_constant_divergent"
KERNELS = (GLOBAL, CONSTANT, DIVERGENT)
ROLLED_WIDTHS = (31, 63, 255)  # of which nvcc keeps a loop
COUNTED_CELLS = 10_007  # the n of the launches that data/measured/counters.json has
SEED = 3

ByWidth = Mapping[int, Times]  # by the number of weights


# --------------------------------------------------------------------------------------------------
# What the simulator and the compiler say


def words_in_a_request(one: Count) -> int:
    """Return the most different weights that one request of the watched warp asks for."""
    requests = one.profile.requests
    return max(len(set(r.offsets)) for r in requests if r.array == "filter")


def words_table(counts: Mapping[int, Counts]) -> str:
    """Return a table of the different weights in a request, by width and kernel."""
    body = [
        (str(width), *(str(words_in_a_request(one)) for one in each))
        for width, each in counts.items()
    ]
    (first, *_) = counts.values()
    return tables.text(("weights", *first.labels), body)


def code_table(widths: Sequence[int]) -> str:
    """Return what the machine code of conv1d_constant has, by width, as it is and unrolled."""
    plain, straight = conv1d.conv1d_named(CONSTANT), conv1d.unrolled(conv1d.conv1d_named(CONSTANT))
    forms = [(f"{width} weights", plain, width) for width in widths]
    forms += [
        (f"{width} weights, #pragma unroll", straight, width)
        for width in widths
        if width in ROLLED_WIDTHS
    ]
    codes = {}
    for name, spec, width in forms:
        (one,) = spec.plan(1, width)
        codes[name] = sass.assembled(one.name, one.options, source=one.source)
    return sass.table(codes, ("LDG", "LDC", "FFMA"))


def beside_ncu(counts: Mapping[int, Counts]) -> str:
    """Return a table of the look-ups in constant memory, ours beside Nsight Compute's.

    counts: by width, of `COUNTED_CELLS` cells. Ours: requests for weights, and those beyond the
    first of each request with several words. Nsight Compute's idc__requests has the look-ups of a
    kernel's arguments, too.
    """
    launches, _ = ncu.recorded()
    body = []
    for width, each in counts.items():
        for one in each:
            name, seen = one.kernel.name, one.profile
            there = launches[f"{name}, n = {one.outputs}, filter of {width}"]
            counted = (seen.constant_load_requests, seen.constant_load_replays)
            numbers = (*counted, sum(counted), there["idc__requests.sum"])
            body.append((name, str(width), *(f"{number:,}" for number in numbers)))
    head = ("", "weights", "requests for\nweights", "repeated for\nother words", "together")
    return tables.text((*head, "Nsight Compute,\narguments, too"), body)


# --------------------------------------------------------------------------------------------------
# What the times say


def straight(as_is: ByWidth, unrolled: ByWidth) -> Record:
    """Return the rows of kernels without a loop over the weights, of all widths."""
    whole = _record(as_is)
    rolled = set(unrolled)
    narrow = (m for m in whole.measurements if m.parameters["filter_width"] not in rolled)
    return replace(whole, measurements=(*narrow, *_record(unrolled).measurements))


def _record(times: ByWidth) -> Record:
    return list(times.values())[-1].record


def _cells(times: ByWidth) -> int:
    return int(next(iter(times.values())).problem.where["n"])


def slowdown(one: Times) -> float:
    """Return how many times as long lanes on different words take as lanes on one."""
    return one.ms(DIVERGENT) / one.ms(CONSTANT)


def said(ratio: Ratio) -> str:
    """Return in words what constant memory changed."""
    if not ratio.different:
        return ratio.words()
    return f"{ratio.speedup:.3f}x as fast as in global memory"


def floor_ms(one: Times) -> float:
    """Return the least time of a direct sum: its bytes or its operations, whichever take longer."""
    return one.problem.floor_ms(one.record.device)


def ratios_table(times: ByWidth) -> str:
    """Return a table of the ratios, and of the distance to the floor, by width."""
    body = []
    for width, one in times.items():
        ratio = one.ratio(CONSTANT)
        over, far = ratio.swapped, one.ms(CONSTANT) / floor_ms(one)
        known = "" if ratio.different else ratio.words()
        interval = f"{over.low:.3f} to {over.high:.3f}"
        body.append((str(width), f"{over.value:.3f}", interval, f"{far:.1f}", known))
    head = ("weights", "global over\nconstant", "95 % interval", f"{CONSTANT}\nover the floor", "")
    return tables.text(head, body, left=(0, 4))


def loops_table(as_is: ByWidth, unrolled: ByWidth) -> str:
    """Return a table of wide filters: what the loop that nvcc keeps costs, and what it hides."""
    body = []
    for width, one in unrolled.items():
        longer = as_is[width].ms(CONSTANT) / one.ms(CONSTANT)
        cells = (both.ratio(CONSTANT).swapped.row()[1] for both in (as_is[width], one))
        body.append((str(width), *cells, f"{longer:.2f}"))
    head = (
        "weights",
        "global over constant,\nwith nvcc's loop",
        "global over constant,\nunrolled",
        f"{CONSTANT}:\nloop over unrolled",
    )
    return tables.text(head, body, left=())


def slowdowns_table(times: ByWidth, counts: Mapping[int, Counts]) -> str:
    """Return a table of the words in a request and of the slowdown, by width."""
    body = [
        (str(width), str(words_in_a_request(counts[width][DIVERGENT])), f"{slowdown(one):.1f}")
        for width, one in times.items()
    ]
    return tables.text(("weights", "words in a\nrequest", "times as long\nas one word"), body)


def reported_table() -> str:
    """Return the published times without constant memory over those with it."""
    body = []
    one_d = {(row["kernel"], row["n"]): row["gpu_ms"] for row in results.reported("conv1d_report")}
    for (kernel, n), ms in one_d.items():
        if kernel == "constant memory":
            ratio = one_d["multi-block", n] / ms
            body.append(("D", f"1D, n = {n:,}, copies included", f"{ratio:.2f}", ""))
    rows = results.reported("course_reports")
    layers = {(row["report"], row["optimization"], row["batch"]): row for row in rows}
    for (report, name, batch), row in layers.items():
        if name == "constant memory":
            base = layers[report, row["builds_on"], batch]
            both = (f"{base[f'op{k}_ms'] / row[f'op{k}_ms']:.2f}" for k in (1, 2))
            body.append((report, f"{batch:,} images", *both))
    head = ("report", "", "without over with,\n1D or layer 1", "the same,\nlayer 2")
    return tables.text(head, body, left=(0, 1))


# --------------------------------------------------------------------------------------------------
# Figures


def times_figure(times: ByWidth) -> Figure:
    """Draw the times of the three kernels and the floor over the width."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    figure, ax = plt.subplots(figsize=(9, 4.5), layout="constrained")
    worst = max(map(slowdown, times.values()))
    plotting.scaling(
        ax,
        [row for one in times.values() for row in one.rows()],
        x="filter_width",
        floor=lambda width: 1e-3 * floor_ms(times[width]),
        xlabel=f"weights (n = {_cells(times):,}; both axes are logarithmic)",
        title=f"Lanes that read different words: up to {worst:.0f} times as slow as lanes on one",
    )
    ax.set_xticks(list(times), [str(width) for width in times])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_locator(FixedLocator([0.1, 0.3, 1, 3, 10, 30, 100]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_locator(NullLocator())
    plotting.caption(ax, _record(times))
    return figure


def ratio_figure(times: ByWidth) -> Figure:
    """Draw the time in global memory over that in constant memory, with intervals."""
    import matplotlib.pyplot as plt

    ratios = [one.ratio(CONSTANT).swapped for one in times.values()]
    middle, low, high = (
        np.array([getattr(ratio, part) for ratio in ratios]) for part in ("value", "low", "high")
    )
    figure, ax = plt.subplots(figsize=(9, 4), layout="constrained")
    counts = f"faster at {(low > 1).sum()} of {low.size} widths, slower at {(high < 1).sum()}"
    plotting.style(ax, f"Constant memory is measurably {counts}")
    names = [str(width) for width in times]
    ax.errorbar(names, middle, [middle - low, high - middle], fmt="o", capsize=5, color="black")
    ax.axhline(1, color="black", linestyle=":", label="no difference")
    ax.set_xlabel("weights")
    ax.set_ylabel("time in global memory over\ntime in constant memory")
    ax.legend(frameon=False)
    plotting.caption(ax, _record(times))
    return figure


def main() -> None:
    """Launch the three kernels on the selected device, for a profiler: 31 weights."""
    from helpers import device

    device.select()
    import pycuda.driver as cuda

    rng = np.random.default_rng(SEED)
    cells = rng.uniform(0.5, 1.5, COUNTED_CELLS).astype(np.float32)
    source, output = cuda.to_device(cells), cuda.mem_alloc(cells.nbytes)
    for name in KERNELS:
        launch = conv1d.conv1d_launch(
            conv1d.conv1d_named(name), cells.size, int(source), int(output), np.ones(31, np.float32)
        )
        launch(None)
        print(f"launched {name}: n = {cells.size:,}, 31 weights")


if __name__ == "__main__":
    main()
