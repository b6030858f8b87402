"""A filter in constant memory and in global memory: counters, times, and pictures of both.

    as_is, unrolled = constant_memory.records(gpu, lab)      # on the GPU, or the recorded runs
    record = constant_memory.straight(as_is, unrolled)       # without loops over the weights
    constant_memory.ratio_figure(record)                     # with constant memory beside without

The record "102_constant" has three kernels at six widths, and the ratio of the first two, measured
in turns. "102_unrolled" has the same for the widths at which nvcc keeps a loop of four weights; its
kernels have `#pragma unroll`, so that they are straight code like those of narrow filters. Every
output is checked before anything is timed; caches are cold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import checking, limits, plotting, reference, tables
from helpers.bench import results, timing
from helpers.checking import diagnosis
from helpers.device import Device
from helpers.experiments import ncu, sass
from helpers.problems import conv1d

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record
    from helpers.simulator.profile import Profile

NAME, UNROLLED = "102_constant", "102_unrolled"
GLOBAL, CONSTANT, DIVERGENT = "conv1d_basic", "conv1d_constant", "conv1d_constant_divergent"
KERNELS = (GLOBAL, CONSTANT, DIVERGENT)
WIDTHS = (3, 7, 15, 31, 63, 255)
ROLLED_WIDTHS = (31, 63, 255)  # of which nvcc keeps a loop
LARGE = 10**8
# The input repeats after so many cells. It is a multiple of 32, because the order in which the
# divergent kernel sums depends on the lane: so the outputs repeat, too, to the last bit.
PERIOD = 800
NAN_BITS = 0x7FC00000
RTOL = 1e-5
SEED = 3


# --------------------------------------------------------------------------------------------------
# What the simulator counts


def profile(name: str, cells: np.ndarray, filter: np.ndarray) -> Profile:
    """Return the counters of one launch over `cells`; warp 0 of block 1 is watched."""
    return conv1d.conv1d_profile(conv1d.conv1d_named(name), cells, filter)


def words_in_a_request(name: str, cells: np.ndarray, width: int) -> int:
    """Return the most different weights that one request of the watched warp asks for."""
    requests = profile(name, cells, np.ones(width, np.float32)).requests
    return max(len(set(r.offsets)) for r in requests if r.array == "filter")


def words_table(cells: np.ndarray) -> str:
    """Return a table of the different weights in a request, by width."""
    body = [
        (str(width), *(str(words_in_a_request(name, cells, width)) for name in KERNELS[1:]))
        for width in WIDTHS
    ]
    return tables.text(("weights", *KERNELS[1:]), body)


def code_table(widths: Sequence[int]) -> str:
    """Return what the machine code of conv1d_constant has, by width, as it is and unrolled."""
    plain, straight = conv1d.conv1d_named(CONSTANT), unrolled()[CONSTANT]
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


COUNTED_CELLS = 10_007  # the n of the launches that data/measured/counters.json has


def beside_ncu(cells: np.ndarray) -> str:
    """Return a table of the look-ups in constant memory, ours beside Nsight Compute's.

    cells: `COUNTED_CELLS` of them. Ours: requests for weights, and those beyond the first of each
    request with several words. Nsight Compute's idc__requests has the look-ups of a kernel's
    arguments, too.
    """
    launches, _ = ncu.recorded()
    body = []
    for width in (3, 31):
        for name in KERNELS:
            seen = profile(name, cells, np.ones(width, np.float32))
            there = launches[f"{name}, n = {cells.size}, filter of {width}"]
            counted = (seen.constant_load_requests, seen.constant_load_replays)
            numbers = (*counted, sum(counted), there["idc__requests.sum"])
            body.append((name, str(width), *(f"{number:,}" for number in numbers)))
    head = ("", "weights", "requests for\nweights", "repeated for\nother words", "together")
    return tables.text((*head, "Nsight Compute,\narguments, too"), body)


# --------------------------------------------------------------------------------------------------
# What a GPU measures


def measure() -> Iterator[dict[str, Any]]:
    """Yield the rows of the record "102_constant", measured on the selected GPU."""
    yield from _measure({name: conv1d.conv1d_named(name) for name in KERNELS}, WIDTHS)


def measure_unrolled() -> Iterator[dict[str, Any]]:
    """Yield the rows of the record "102_unrolled", measured on the selected GPU."""
    yield from _measure(unrolled(), ROLLED_WIDTHS)


def unrolled() -> dict[str, conv1d.Conv1d]:
    """Return the three kernels with their loop over the weights written out, by name."""
    return {name: conv1d.unrolled(conv1d.conv1d_named(name)) for name in KERNELS}


def _measure(
    specs: Mapping[str, conv1d.Conv1d], widths: Sequence[int]
) -> Iterator[dict[str, Any]]:
    import pycuda.driver as cuda

    rng = np.random.default_rng(SEED)
    period = rng.uniform(0.5, 1.5, PERIOD).astype(np.float32)
    cells, output = cuda.to_device(np.tile(period, LARGE // PERIOD)), cuda.mem_alloc(4 * LARGE)
    for width in widths:
        filter = (rng.uniform(0.5, 1.5, width) / width).astype(np.float32)
        launches = {
            name: conv1d.conv1d_launch(spec, LARGE, int(cells), int(output), filter)
            for name, spec in specs.items()
        }
        verdicts = {
            name: _checked(cuda, launch, output, period, filter, name)
            for name, launch in launches.items()
        }
        for name in KERNELS:
            timed = timing.time_gpu(launches[name], verdict=verdicts[name], name=name, budget_s=0.3)
            yield {"series": name, "filter_width": width, "n": LARGE, "timing": timed}
        found = timing.compare(
            launches[GLOBAL],
            launches[CONSTANT],
            verdicts=(verdicts[GLOBAL], verdicts[CONSTANT]),
            names=(GLOBAL, CONSTANT),
            budget_s=1.5,
            precision=0.002,
        )
        ratio = {"ratio": found.ratio, "ratio_low": found.low, "ratio_high": found.high}
        yield {"series": "ratio", "filter_width": width, "n": LARGE, **ratio, "timing": None}


def _checked(
    cuda: Any, launch: Any, output: Any, period: np.ndarray, filter: np.ndarray, name: str
) -> checking.Verdict:
    """Launch once, and check all outputs: the first, second and last period, and the rest alike."""
    cuda.memset_d32(output, NAN_BITS, LARGE)
    launch(None)
    rows = cuda.from_device(output, (LARGE // PERIOD, PERIOD), np.float32)
    label = f"{name}, filter of {filter.size}"
    alike = rows[1:-1] == rows[1]
    if not alike.all():
        text = f"the input repeats after {PERIOD} cells, and the output does not"
        raise checking.CheckError(
            f"FAIL {label}: {text}",
            name=label,
            wrong=int(alike.size - alike.sum()),
            diagnosis=diagnosis.Diagnosis("repeated rows", text),
        )
    want = reference.conv1d(np.tile(period, 3), filter)
    return checking.check(rows[[0, 1, -1]].ravel(), want, rtol=RTOL, name=label)


def records(gpu: Device, lab: str) -> tuple[Record, Record]:
    """Measure on the GPU, or return the recorded runs: the kernels as they are, and unrolled."""
    return (
        results.record(NAME, measure, device=gpu, lab=lab),
        results.record(UNROLLED, measure_unrolled, device=gpu, lab=lab),
    )


def straight(as_is: Record, unrolled: Record) -> Record:
    """Return the rows of kernels without a loop over the weights, of all widths."""
    narrow = (m for m in as_is.measurements if m.parameters["filter_width"] not in ROLLED_WIDTHS)
    return replace(as_is, measurements=(*narrow, *unrolled.measurements))


# --------------------------------------------------------------------------------------------------
# What a record says


def medians(data: Record) -> dict[tuple[str, int], float]:
    """Return the median times in ms by kernel and width."""
    rows = [row for row in data.rows() if row["series"] in KERNELS]
    return {(row["series"], row["filter_width"]): row["median_ms"] for row in rows}


def slowdown(data: Record, width: int) -> float:
    """Return how many times as long lanes on different words take as lanes on one."""
    times = medians(data)
    return times[DIVERGENT, width] / times[CONSTANT, width]


def ratio_of(data: Record, width: int) -> tuple[float, float, float]:
    """Return the time in global memory over that in constant memory, and its 95 % interval."""
    rows = [row for row in data.rows() if row["series"] == "ratio"]
    (row,) = (row for row in rows if row["filter_width"] == width)
    return row["ratio"], row["ratio_low"], row["ratio_high"]


def said(ratio: float, low: float, high: float) -> str:
    """Return in words what constant memory changed."""
    if low <= 1 <= high:
        return "no measurable difference"
    return f"{ratio:.3f}x as fast as in global memory"


def floor_ms(data: Record, width: int) -> float:
    """Return the least time of a direct sum: its bytes or its operations, whichever take longer."""
    return 1e3 * limits.floor(limits.conv1d(LARGE, width), data.device).seconds


def ratios_table(data: Record) -> str:
    """Return a table of the ratios, and of the distance to the floor, by width."""
    times, body = medians(data), []
    for width in WIDTHS:
        ratio, low, high = ratio_of(data, width)
        far = times[CONSTANT, width] / floor_ms(data, width)
        interval = f"{low:.3f} to {high:.3f}"
        known = "no measurable difference" if low <= 1 <= high else ""
        body.append((str(width), f"{ratio:.3f}", interval, f"{far:.1f}", known))
    head = ("weights", "global over\nconstant", "95 % interval", f"{CONSTANT}\nover the floor", "")
    return tables.text(head, body, left=(0, 4))


def loops_table(as_is: Record, unrolled: Record) -> str:
    """Return a table of wide filters: what the loop that nvcc keeps costs, and what it hides."""
    body = []
    for width in ROLLED_WIDTHS:
        longer = medians(as_is)[CONSTANT, width] / medians(unrolled)[CONSTANT, width]
        ratios = (ratio_of(data, width) for data in (as_is, unrolled))
        cells = (f"{ratio:.3f} ({low:.3f} to {high:.3f})" for ratio, low, high in ratios)
        body.append((str(width), *cells, f"{longer:.2f}"))
    head = (
        "weights",
        "global over constant,\nwith nvcc's loop",
        "global over constant,\nunrolled",
        f"{CONSTANT}:\nloop over unrolled",
    )
    return tables.text(head, body, left=())


def slowdowns_table(data: Record, cells: np.ndarray) -> str:
    """Return a table of the words in a request and of the slowdown, by width."""
    body = [
        (
            str(width),
            str(words_in_a_request(DIVERGENT, cells, width)),
            f"{slowdown(data, width):.1f}",
        )
        for width in WIDTHS
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


def requests_figure(cells: np.ndarray, width: int = 31) -> Figure:
    """Draw the first three requests for weights of one warp, in both kernels."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 1, figsize=(9, 6.5), sharex=True, layout="constrained")
    titles = (
        f"{CONSTANT}: a request is a column, 32 lanes on one word",
        f"{DIVERGENT}: a request is a staircase, each lane on the next word",
    )
    for ax, name, title in zip(axes, KERNELS[1:], titles, strict=True):
        wide = profile(name, cells, np.ones(width, np.float32))
        narrow = replace(wide, requests=wide.requests.of(array="filter")[:3])
        plotting.access_map(ax, narrow, array="filter", space="constant", title=title)
        ax.tick_params(labelbottom=True)
    return figure


def times_figure(data: Record) -> Figure:
    """Draw the times of the three kernels and the floor over the width."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    figure, ax = plt.subplots(figsize=(9, 4.5), layout="constrained")
    rows = [row for row in data.rows() if row["series"] in KERNELS]
    worst = max(slowdown(data, width) for width in WIDTHS)
    plotting.scaling(
        ax,
        rows,
        x="filter_width",
        floor=lambda width: 1e-3 * floor_ms(data, width),
        xlabel=f"weights (n = {LARGE:,}; both axes are logarithmic)",
        title=f"Lanes that read different words: up to {worst:.0f} times as slow as lanes on one",
    )
    ax.set_xticks(WIDTHS, [str(width) for width in WIDTHS])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_locator(FixedLocator([0.1, 0.3, 1, 3, 10, 30, 100]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_locator(NullLocator())
    plotting.caption(ax, data)
    return figure


def ratio_figure(data: Record) -> Figure:
    """Draw the time in global memory over that in constant memory, with intervals."""
    import matplotlib.pyplot as plt

    ratios = [ratio_of(data, width) for width in WIDTHS]
    middle, low, high = (np.array(column) for column in zip(*ratios, strict=True))
    figure, ax = plt.subplots(figsize=(9, 4), layout="constrained")
    counts = f"faster at {(low > 1).sum()} of {low.size} widths, slower at {(high < 1).sum()}"
    plotting.style(ax, f"Constant memory is measurably {counts}")
    names = [str(width) for width in WIDTHS]
    ax.errorbar(names, middle, [middle - low, high - middle], fmt="o", capsize=5, color="black")
    ax.axhline(1, color="black", linestyle=":", label="no difference")
    ax.set_xlabel("weights")
    ax.set_ylabel("time in global memory over\ntime in constant memory")
    ax.legend(frameon=False)
    plotting.caption(ax, data)
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
