"""Tiles of a 1D convolution: how long they take, and pictures of it.

    as_is, changed = tiles.records(gpu, lab)     # on the GPU, or the recorded runs
    record = tiles.straight_times(as_is, changed)
    tiles.widths_figure(record)                  # the times over the width of the filter
    print(tiles.ratios_table(record))            # every tile over the kernel without one

The record is "104_tiles". All kernels run at the largest size, and the plain and the best one at
the others. "104_unrolled" has two changes of their loops at the largest size, and the tiles beside
the kernel without one with all loops written out. Each kernel is checked before it is timed; caches
are cold. `tile_counts` has what the simulator counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import limits, plotting, tables
from helpers.bench import results, timing
from helpers.bench.results import Measurement
from helpers.device import Device
from helpers.experiments import sass
from helpers.experiments.tile_counts import COUNTED_CELLS, instructions
from helpers.plotting import COLOURS
from helpers.plotting.styles import INK, LINES, MARKERS, Look
from helpers.problems import conv1d

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record
    from helpers.checking import Verdict

NAME, UNROLLED = "104_tiles", "104_unrolled"
PLAIN, BEST, COPY = "conv1d_constant", conv1d.BEST, conv1d.COPY
TILED = ("conv1d_tiled_steps", "conv1d_tiled_cached_halo", "conv1d_tiled_input")
KERNELS = (PLAIN, *TILED, "conv1d_outputs", BEST)
WIDTHS = (3, 7, 15, 31)
STEPS, CACHED, INPUT = TILED
STEPS_IF, UNROLL = f"{STEPS}, if", ", unrolled"  # changed kernels in the record "104_unrolled"
# The widths at which nvcc keeps a loop over the weights, by kernel.
ROLLED_WIDTHS = {PLAIN: (31,), CACHED: (15, 31)}
# The loop that fills the tile: all threads go once, and the first ones a second time.
_FILLING = (
    """    for (int s = threadIdx.x; s < TILE_WIDTH + 2 * RADIUS; s += TILE_WIDTH) {
        const int cell = first + s;
        tile[s] = cell >= 0 && cell < n ? N[cell] : 0.0f;
    }
""",
    """    const int cell = first + threadIdx.x;
    tile[threadIdx.x] = cell >= 0 && cell < n ? N[cell] : 0.0f;
    if (threadIdx.x < 2 * RADIUS) {
        const int more = cell + TILE_WIDTH;
        tile[threadIdx.x + TILE_WIDTH] = more >= 0 && more < n ? N[more] : 0.0f;
    }
""",
)
LARGE = 10**8
RAGGED = 10**7 + 1
SIZES = (10**6, 10**7, RAGGED, LARGE)
SEED = 4


def filters(widths: Sequence[int] = WIDTHS) -> dict[int, np.ndarray]:
    """Return a random filter of each width, float32."""
    rng = np.random.default_rng(SEED)
    return {width: rng.uniform(0.1, 1, width).astype(np.float32) for width in widths}


# --------------------------------------------------------------------------------------------------
# Instructions beside the time


def instructions_table(
    names: Sequence[str], cells: np.ndarray, weights: Mapping[int, np.ndarray], data: Record
) -> str:
    """Return a table of the instructions and the times of kernels, both over those of PLAIN."""
    times = medians(data)
    body = []
    for width, filter in weights.items():
        base = instructions(straight(PLAIN, width), cells, filter)
        for name in names:
            count = instructions(straight(name, width), cells, filter)
            taken = times[name, LARGE, width] / times[PLAIN, LARGE, width]
            ratio = f"{count / base:.2f}"
            body.append((name, str(width), f"{count:.1f}", ratio, f"{taken:.2f}"))
    head = (
        "",
        "width",
        "instructions\nper 32 outputs",
        f"over\n{PLAIN}'s",
        "its time over\nthat one's",
    )
    return tables.text(head, body)


# --------------------------------------------------------------------------------------------------
# What a GPU measures


def measure() -> Iterator[dict[str, Any]]:
    """Yield the rows of the record: times of the copy and the kernels, ratios of the tiles."""
    import pycuda.driver as cuda

    memory = [cuda.mem_alloc(4 * LARGE) for _ in range(3)]  # held until the last row
    source, output, want = map(int, memory)
    for n in SIZES:
        data = conv1d.PeriodicData(n)
        data.upload(cuda, source)
        checker = conv1d.Checker(cuda, data, want)
        yield _copy(cuda, n, source, output, checker)
        for filter in filters().values():
            yield from _kernels(filter, n, source, output, checker)


def _kernels(
    filter: np.ndarray, n: int, source: int, output: int, checker: conv1d.Checker
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one filter: PLAIN first, because the others are checked against it."""
    ready: dict[str, tuple[Any, Verdict]] = {}
    common = {"n": n, "filter_width": filter.size}
    for name in KERNELS if n == LARGE else (PLAIN, BEST):
        target = checker.want if name == PLAIN else output
        launch = conv1d.conv1d_launch(conv1d.conv1d_named(name), n, source, target, filter)
        checker.poison(target)
        launch(None)
        label = f"{name}, n = {n:,}, filter of {filter.size}"
        ready[name] = launch, checker.everywhere(target, filter, label)
        yield {"series": name, **common, "timing": _timing(name, *ready[name])}
        if name in TILED:
            launches, verdicts = zip(ready[name], ready[PLAIN], strict=True)
            found = timing.compare(*launches, verdicts=verdicts, names=(name, PLAIN), budget_s=1.0)
            ratio = {"ratio": found.ratio, "low": found.low, "high": found.high}
            series = f"{name} over {PLAIN}"
            yield {"series": series, "kernel": name, **common, **ratio, "timing": None}


def _copy(cuda: Any, n: int, source: int, output: int, checker: conv1d.Checker) -> dict[str, Any]:
    """Return the row of the driver's copy of n cells."""

    def copy(stream: Any) -> None:
        cuda.memcpy_dtod_async(output, source, 4 * n, stream)

    checker.poison(output)
    copy(None)
    assert checker.wrong(output, source, 0.0) == 0, "the copy did not copy"
    verdict = checker.windows(output, np.ones(1, np.float32), COPY)
    return {"series": COPY, "n": n, "timing": _timing(COPY, copy, verdict)}


def _timing(name: str, launch: Any, verdict: Verdict) -> timing.Timing:
    return timing.time_gpu(launch, verdict=verdict, name=name, cache="cold", budget_s=0.3)


def straight(name: str, width: int) -> conv1d.Conv1d:
    """Return a kernel of the lab without a loop over the weights in its machine code.

    name: of KERNELS, or STEPS_IF.
    """
    if name == STEPS_IF:
        return filled_by_if()
    spec = conv1d.conv1d_named(name)
    return conv1d.unrolled(spec) if width in ROLLED_WIDTHS.get(name, ()) else spec


def filled_by_if() -> conv1d.Conv1d:
    """Return conv1d_tiled_steps with an `if` in place of the loop that fills the tile.

    It is for filters of at most TILE_WIDTH + 1 weights, whose tile needs no third step.
    """
    return replace(conv1d.conv1d_named(STEPS), changes=(_FILLING,))


def measure_unrolled() -> Iterator[dict[str, Any]]:
    """Yield the rows of the record "104_unrolled", measured on the selected GPU.

    "series": the changed kernel, as "conv1d_constant, unrolled". The rows "A over B" have the ratio
    of two kernels that were measured in turns.
    """
    import pycuda.driver as cuda

    memory = [cuda.mem_alloc(4 * LARGE) for _ in range(3)]  # held until the last row
    source, output, want = map(int, memory)
    data = conv1d.PeriodicData(LARGE)
    data.upload(cuda, source)
    checker = conv1d.Checker(cuda, data, want)
    for width, filter in filters().items():
        named = {name: conv1d.conv1d_named(name) for name in (PLAIN, *TILED)}
        named[STEPS_IF] = filled_by_if()
        for name, widths in ROLLED_WIDTHS.items():
            if width in widths:
                named[name + UNROLL] = straight(name, width)
        ready = {}
        for name, spec in named.items():
            # The plainest kernel comes first: the others are compared with its outputs.
            target = want if name == PLAIN else output
            launch = conv1d.conv1d_launch(spec, LARGE, source, target, filter)
            checker.poison(target)
            launch(None)
            label = f"{name}, n = {LARGE:,}, filter of {width}"
            ready[name] = launch, checker.everywhere(target, filter, label)
        plain, cached = (
            name + UNROLL if name + UNROLL in named else name for name in (PLAIN, CACHED)
        )
        pairs = [(STEPS, plain), (cached, plain), (INPUT, plain), (STEPS_IF, plain)]
        pairs += [(STEPS_IF, STEPS)]
        pairs += [(n, n.removesuffix(UNROLL)) for n in (plain, cached) if n.endswith(UNROLL)]
        for pair in pairs:
            launches, verdicts = zip(*(ready[name] for name in pair), strict=True)
            found = timing.compare(*launches, verdicts=verdicts, names=pair, budget_s=0.6)
            common = {"n": LARGE, "filter_width": width}
            for name, timed in zip(pair, (found.a, found.b), strict=True):
                yield {"series": name, "beside": " over ".join(pair), **common, "timing": timed}
            ratio = {"ratio": found.ratio, "low": found.low, "high": found.high}
            yield {"series": " over ".join(pair), **common, **ratio, "timing": None}


def records(gpu: Device, lab: str) -> tuple[Record, Record]:
    """Measure on the GPU, or return the recorded runs: the kernels as they are, and changed."""
    return (
        results.record(NAME, measure, device=gpu, lab=lab),
        results.record(UNROLLED, measure_unrolled, device=gpu, lab=lab),
    )


def straight_times(as_is: Record, changed: Record) -> Record:
    """Return the rows of kernels without a loop over the weights, and those of STEPS_IF.

    At the largest size these are the rows of `as_is`, but where nvcc keeps a loop, and all ratios,
    which are those of `changed`.
    """
    rolled = {(name, width) for name, widths in ROLLED_WIDTHS.items() for width in widths}
    rows: dict[tuple[str, int, Any], Measurement] = {}
    for m in as_is.measurements:
        width, n = m.parameters.get("filter_width"), m.parameters["n"]
        if "ratio" not in m.parameters and not (n == LARGE and (m.series, width) in rolled):
            rows[m.series, n, width] = m
    for m in changed.measurements:
        first, _, second = (part.removesuffix(UNROLL) for part in m.series.partition(" over "))
        key, width = (first, LARGE, m.parameters["filter_width"]), m.parameters["filter_width"]
        if second == PLAIN and first != PLAIN:
            name = f"{first} over {PLAIN}"
            parameters = {**m.parameters, "kernel": first}
            rows[name, LARGE, width] = replace(m, series=name, parameters=parameters)
        elif not second and (first == STEPS_IF or m.series.endswith(UNROLL)):
            rows.setdefault(key, replace(m, series=first))
    return replace(as_is, measurements=tuple(rows.values()))


# --------------------------------------------------------------------------------------------------
# What a record says


def rows_of(data: Record) -> dict[tuple[str, int, int | None], dict[str, Any]]:
    """Return the rows with a time, by series, n and filter width (None for the copy)."""
    rows = [row for row in data.rows() if "median_ms" in row]
    return {(row["series"], row["n"], row.get("filter_width")): row for row in rows}


def medians(data: Record) -> dict[tuple[str, int, int | None], float]:
    """Return the median times in ms by series, n and filter width (None for the copy)."""
    return {key: row["median_ms"] for key, row in rows_of(data).items()}


def copy_share(data: Record, name: str, width: int, n: int = LARGE, of: str = "median_ms") -> float:
    """Return the speed of a kernel in percent of the copy's: both move as many bytes."""
    rows = rows_of(data)
    return 100 * rows[COPY, n, None]["median_ms"] / rows[name, n, width][of]


def ratio_of(data: Record, name: str, width: int) -> tuple[float, float, float]:
    """Return the time of a tile over that of PLAIN: the ratio and its 95 % interval."""
    (row,) = (
        row for row in data.rows() if row.get("kernel") == name and row.get("filter_width") == width
    )
    return row["ratio"], row["low"], row["high"]


def verdict(low: float, high: float) -> str:
    """Return in words whether a kernel with this interval of its ratio is faster."""
    if low <= 1 <= high:
        return "no measurable difference"
    return "faster than no tile" if high < 1 else "slower than no tile"


def fastest(data: Record, width: int, names: Sequence[str] = TILED) -> str:
    """Return the kernel of `names` with the shortest median time at n = LARGE."""
    times = medians(data)
    return min(names, key=lambda name: times[name, LARGE, width])


def ratios_table(data: Record) -> str:
    """Return the table of the tiles' times over PLAIN's, with intervals."""
    body = []
    for width in WIDTHS:
        for name in TILED:
            middle, low, high = ratio_of(data, name, width)
            numbers = (f"{middle:.3f}", f"{low:.3f} to {high:.3f}")
            body.append((name, str(width), *numbers, verdict(low, high)))
    head = ("", "width", f"time over\n{PLAIN}'s", "95 % interval", "")
    return tables.text(head, body, left=(0, 4))


def changes_table(changed: Record) -> str:
    """Return the times of the changed kernels over those of the kernels as they are."""
    rows = {(row["series"], row["filter_width"]): row for row in changed.rows() if "ratio" in row}
    body = []
    for new, old in ((PLAIN + UNROLL, PLAIN), (CACHED + UNROLL, CACHED), (STEPS_IF, STEPS)):
        for width in WIDTHS:
            if row := rows.get((f"{new} over {old}", width)):
                interval = f"{row['low']:.3f} to {row['high']:.3f}"
                body.append((new, str(width), f"{row['ratio']:.3f}", interval))
    return tables.text(("", "width", "time over the\nkernel's as it is", "95 % interval"), body)


def code_table() -> str:
    """Return what the machine code of the kernels has, as they are and changed."""
    forms = [(PLAIN, conv1d.conv1d_named(PLAIN), width) for width in (3, 15, 31)]
    forms += [(PLAIN + UNROLL, straight(PLAIN, 31), 31)]
    forms += [(name, conv1d.conv1d_named(name), 31) for name in TILED]
    forms += [(STEPS, conv1d.conv1d_named(STEPS), 3), (STEPS_IF, filled_by_if(), 3)]
    codes = {}
    for name, spec, width in forms:
        (one,) = spec.plan(1, width)
        code = sass.assembled(one.name, one.options, source=one.source)
        codes[f"{name}, width {width}"] = code
    return sass.table(codes, ("LDG", "LDS", "STS", "FFMA"))


def reported_table() -> str:
    """Return the published times of a tile over those without one, by n."""
    published = {
        (row["kernel"], row["n"]): row["gpu_ms"] for row in results.reported("conv1d_report")
    }
    body = [
        (f"{n:,}", f"{ms / published['constant memory', n]:.3f}")
        for (kernel, n), ms in published.items()
        if kernel == "tiled strategy 2"
    ]
    return tables.text(("n", "time with a tile over\ntime without"), body)


def ragged_table(data: Record) -> str:
    """Return a table of the times at n = 10^7 + 1 over those at n = 10^7, with rough intervals.

    The two were not timed in turns: an interval goes from the shortest quotient of the two
    intervals' ends to the longest.
    """
    rows, body = rows_of(data), []
    for name, width in ((COPY, None), *((name, w) for name in (PLAIN, BEST) for w in WIDTHS)):
        even, ragged = rows[name, 10**7, width], rows[name, RAGGED, width]
        low, high = ragged["low_ms"] / even["high_ms"], ragged["high_ms"] / even["low_ms"]
        middle = ragged["median_ms"] / even["median_ms"]
        known = "no measurable difference" if low <= 1 <= high else ""
        label = "" if width is None else str(width)
        body.append((name, label, f"{middle:.3f}", f"{low:.3f} to {high:.3f}", known))
    head = ("", "width", "10^7 + 1\nover 10^7", "interval", "")
    return tables.text(head, body, left=(0, 4))


# --------------------------------------------------------------------------------------------------
# Figures


def widths_figure(data: Record) -> Figure:
    """Draw the times of all kernels over the width of the filter, beside that of the copy."""
    import matplotlib.pyplot as plt

    rows = rows_of(data)
    figure, ax = plt.subplots(figsize=(9, 4.8), layout="constrained")
    copy = rows[COPY, LARGE, None]["median_ms"]
    ax.axhline(copy, color="#9aa5b1", linewidth=6, label=COPY, zorder=1)
    for number, name in enumerate(KERNELS):
        points = [rows[name, LARGE, width] for width in WIDTHS]
        low = [row["median_ms"] - row["low_ms"] for row in points]
        high = [row["high_ms"] - row["median_ms"] for row in points]
        ax.errorbar(
            WIDTHS, [row["median_ms"] for row in points], yerr=[low, high], label=name,
            color=COLOURS[number], marker=MARKERS[number], linestyle=LINES[number], capsize=3,
            markersize=6 if name != BEST else 8,
        )  # fmt: skip
    longer = {
        name: rows[name, LARGE, 31]["median_ms"] / rows[name, LARGE, 3]["median_ms"]
        for name in (PLAIN, BEST)
    }
    plotting.style(
        ax,
        f"From a filter of 3 to one of 31, {PLAIN} takes {longer[PLAIN]:.2f} times "
        f"as long, {BEST} {longer[BEST]:.2f} times",
    )
    ax.set(
        xlabel=f"filter width (n = {LARGE:,})", ylabel="time (ms)", xticks=WIDTHS, ylim=(0, None)
    )
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize="small")
    plotting.caption(ax, data)
    return figure


def shares_figure(data: Record, widths: tuple[int, int] = (3, 31)) -> Figure:
    """Draw the kernels' speeds in percent of the copy's, for two filters."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(9, 5), layout="constrained")
    looks: tuple[Look, Look] = ({"color": "white", "hatch": "////"}, {"color": COLOURS[5]})
    for k, (width, look) in enumerate(zip(widths, looks, strict=True)):
        speeds = [copy_share(data, name, width) for name in KERNELS]
        slow = [copy_share(data, name, width, of="high_ms") for name in KERNELS]
        fast = [copy_share(data, name, width, of="low_ms") for name in KERNELS]
        whiskers = [np.subtract(speeds, slow), np.subtract(fast, speeds)]
        ax.barh(
            np.arange(len(KERNELS)) + 0.4 * k, speeds, 0.38, xerr=whiskers, capsize=3,
            edgecolor=INK, label=f"filter of {width}", **look,
        )  # fmt: skip
    ax.axvline(100, color=INK, linestyle=":")
    ax.set(
        yticks=np.arange(len(KERNELS)) + 0.2, yticklabels=KERNELS, xlim=(0, 115),
        xlabel=f"percent of the copy's speed (n = {LARGE:,})",
    )  # fmt: skip
    ax.invert_yaxis()
    ax.legend(
        loc="upper right", bbox_to_anchor=(1, -0.11), ncols=2, frameon=False, fontsize="small"
    )
    plotting.style(ax, f"{BEST} reaches, of the copy's speed, {best_shares(data, widths)}")
    plotting.caption(ax, data)
    return figure


def best_shares(data: Record, widths: Sequence[int] = (3, 31)) -> str:
    """Return BEST's shares of the copy's speed in words."""
    return " and ".join(f"{copy_share(data, BEST, w):.0f} % with a filter of {w}" for w in widths)


def sizes_figure(data: Record) -> Figure:
    """Draw the shares of the memory's bandwidth that the copy and two kernels use, over n."""
    import matplotlib.pyplot as plt

    bandwidth = data.device.dram_bandwidth
    if bandwidth is None:
        raise ValueError(f"the record of {data.device.name} has no bandwidth of its memory")
    rows, sizes = rows_of(data), (10**6, 10**7, LARGE)

    def used(name: str, n: int, width: int | None, of: str = "median_ms") -> float:
        return 100 * limits.conv1d(n, 3).bytes / (rows[name, n, width][of] * 1e-3) / bandwidth

    figure, ax = plt.subplots(figsize=(9, 4.5), layout="constrained")
    series = ((COPY, None), *((name, width) for name in (PLAIN, BEST) for width in (3, 31)))
    for number, (name, width) in enumerate(series):
        shares = [used(name, n, width) for n in sizes]
        low = np.subtract(shares, [used(name, n, width, "high_ms") for n in sizes])
        high = np.subtract([used(name, n, width, "low_ms") for n in sizes], shares)
        ax.errorbar(
            sizes, shares, yerr=[low, high], capsize=3, color=COLOURS[number],
            marker=MARKERS[number], linestyle=LINES[number],
            label=name if width is None else f"{name}, filter of {width}",
        )  # fmt: skip
    small = max(used(name, sizes[0], width) for name, width in series)
    large = used(BEST, LARGE, 3)
    plotting.style(
        ax,
        f"n = 1,000,000 leaves most of the bandwidth unused (the best: {small:.0f} %); "
        f"n = {LARGE:,} lets {BEST} use {large:.0f} %",
    )
    ax.set(xscale="log", xlabel="n (cells of 4 bytes)", ylabel="percent of the memory's bandwidth")
    ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
    ax.xaxis.set_minor_locator(plt.NullLocator())
    ax.set_ylim(0, 100)
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize="small")
    plotting.caption(ax, data)
    return figure


def main() -> None:
    """Launch every kernel once on the selected device, for a profiler: 31 weights."""
    from helpers import device

    device.select()
    import pycuda.driver as cuda

    cells = np.random.default_rng(SEED).uniform(0.5, 1.5, COUNTED_CELLS).astype(np.float32)
    source, output = cuda.to_device(cells), cuda.mem_alloc(cells.nbytes)
    filter = filters()[WIDTHS[-1]]
    for name in KERNELS:
        spec = conv1d.conv1d_named(name)
        conv1d.conv1d_launch(spec, cells.size, int(source), int(output), filter)(None)
        print(f"launched {name}: n = {cells.size:,}, filter of {filter.size}")


if __name__ == "__main__":
    main()
