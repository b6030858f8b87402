"""Tiles of a 1D convolution: what they count, how long they take, and pictures of both.

    record = tiles.record(gpu, lab)       # on the GPU, or the recorded run
    tiles.widths_figure(record)           # the times over the width of the filter
    print(tiles.ratios_table(record))     # every tile over the kernel without one

The record is "104_tiles". All kernels run at the largest size, and the plain and the best one at
the others. Each is checked before it is timed; caches are cold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import limits, plotting, results, simulator, tables, timing
from helpers.device import Device
from helpers.experiments import ncu
from helpers.plotting import COLOURS
from helpers.plotting.styles import INK, LINES, MARKERS, Look
from helpers.problems import conv1d

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.checking import Verdict
    from helpers.results import Record
    from helpers.simulator.profile import Profile

NAME = "104_tiles"
PLAIN, BEST, COPY = "conv1d_constant", conv1d.BEST, conv1d.COPY
TILED = ("conv1d_tiled_steps", "conv1d_tiled_cached_halo", "conv1d_tiled_input")
KERNELS = (PLAIN, *TILED, "conv1d_outputs", BEST)
WIDTHS = (3, 7, 15, 31)
LARGE = 10**8
RAGGED = 10**7 + 1
SIZES = (10**6, 10**7, RAGGED, LARGE)
WARP = 32
SEED = 4


def filters(widths: Sequence[int] = WIDTHS) -> dict[int, np.ndarray]:
    """Return a random filter of each width, float32."""
    rng = np.random.default_rng(SEED)
    return {width: rng.uniform(0.1, 1, width).astype(np.float32) for width in widths}


# --------------------------------------------------------------------------------------------------
# What the simulator counts


def profile(spec: conv1d.Conv1d, cells: np.ndarray, filter: np.ndarray) -> Profile:
    """Return the counters of one launch over `cells`; warp 0 of block 1 is watched."""
    (step,) = spec.plan(cells.size, filter.size)
    return simulator.profile(
        step.source,
        step.name,
        np.full_like(cells, np.nan),
        cells,
        np.int32(cells.size),
        grid=step.grid,
        block=step.block,
        options=step.options,
        constants={"filter": filter},
        watch=((1, 0, 0), 0),
    )


def counts(spec: conv1d.Conv1d, profile: Profile, n: int) -> dict[str, float]:
    """Return the counters for 32 outputs, the work of a warp with one output in each lane.

    idle: the percentage of outputs that the threads of the launch could make and do not.
    """
    warps = n / WARP
    waves = profile.shared_load_wavefronts + profile.shared_store_wavefronts
    made = profile.blocks * spec.threads * (spec.outputs or 1)
    return {
        "load requests": profile.global_load_requests / warps,
        "load sectors": profile.global_load_sectors / warps,
        "shared waves": waves / warps,
        "barriers": profile.barriers / warps,
        "idle %": 100 * (1 - n / made),
    }


def table(
    specs: Sequence[conv1d.Conv1d], cells: np.ndarray, weights: Mapping[int, np.ndarray]
) -> str:
    """Return a table of `counts` for each kernel and each filter, by width."""
    body, head = [], []
    for spec in specs:
        for width, filter in weights.items():
            counted = counts(spec, profile(spec, cells, filter), cells.size)
            name = f"{spec.name}, {spec.outputs} outputs" if spec.outputs else spec.name
            body.append((name, str(width), *(f"{value:.2f}" for value in counted.values())))
            head = list(counted)
    return tables.text(("per 32 outputs", "width", *head), body)


def instructions(spec: conv1d.Conv1d, cells: np.ndarray, filter: np.ndarray) -> float:
    """Return the instructions that warps execute for 32 outputs.

    They are counted in PTX, before ptxas makes machine code of it.
    """
    return sum(profile(spec, cells, filter).instructions.values()) / (cells.size / WARP)


def instructions_table(
    names: Sequence[str], cells: np.ndarray, weights: Mapping[int, np.ndarray], data: Record
) -> str:
    """Return a table of the instructions and the times of kernels, both over those of PLAIN."""
    times = medians(data)
    body = []
    for width, filter in weights.items():
        base = instructions(conv1d.conv1d_named(PLAIN), cells, filter)
        for name in names:
            count = instructions(conv1d.conv1d_named(name), cells, filter)
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


# Counter of a Profile -> what the column is called.
_BESIDE = {
    "global_load_requests": "load requests",
    "global_load_sectors": "load sectors",
    "shared_load_wavefronts": "shared load waves",
    "shared_store_wavefronts": "shared store waves",
}
COUNTED_CELLS = 10_007  # the n of the launches that data/measured/counters.json has


def beside_ncu(names: Sequence[str], cells: np.ndarray, filter: np.ndarray) -> str:
    """Return a table of counters, "simulator / Nsight Compute", for the kernels `names`.

    cells: `COUNTED_CELLS` of them. Nsight Compute's numbers are those of
    data/measured/counters.json; "-" stands for a kernel that has changed since they were read.
    Raises KeyError for launches of which none is in it.
    """
    launches, _ = ncu.recorded()
    sizes = f"n = {cells.size}, filter of {filter.size}"
    if not any(f"{name}, {sizes}" in launches for name in names):
        raise KeyError(f"no launch of these kernels with {sizes} is in the record")
    body = []
    for name in names:
        label = f"{name}, {sizes}"
        seen = profile(conv1d.conv1d_named(name), cells, filter).counters()
        there = launches.get(label)
        counted = {key: f"{there[key]:,}" if there else "-" for key in _BESIDE}
        body.append((name, *(f"{seen[key]:,} / {counted[key]}" for key in _BESIDE)))
    return tables.text((f"filter of {filter.size}", *_BESIDE.values()), body)


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
            ratio = {"ratio": found.ratio, "ratio_low": found.low, "ratio_high": found.high}
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


def record(gpu: Device, lab: str) -> Record:
    """Measure on the GPU, or return the recorded run where there is none."""
    return results.record(NAME, measure, device=gpu, lab=lab)


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
    return row["ratio"], row["ratio_low"], row["ratio_high"]


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


def ways_figure() -> Figure:
    """Draw the three ways to fill a tile, for 12 cells, a filter of 3 and blocks of 5 threads."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 1, figsize=(9, 8), layout="constrained")
    plotting.halo(
        axes[0], 12, 5, 1, block=1,
        title="In steps: 5 threads make 5 outputs and stage 7 cells, so they load twice",
    )  # fmt: skip
    plotting.halo(axes[1], 12, 5, 0, block=1)
    for cell, x, align in ((4, 3.9, "right"), (10, 11.1, "left")):
        axes[1].add_patch(
            plt.Rectangle((cell, 2), 1, 1, facecolor="#fff4c2", edgecolor=INK, hatch="...")
        )
        behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        axes[1].text(
            cell + 0.5, 2.5, str(cell), ha="center", va="center", fontsize="x-small", bbox=behind
        )
        axes[1].annotate(
            "read from\nglobal memory", (cell + 0.5, 2), (x, 0.5), ha=align, va="center",
            fontsize="small", arrowprops={"arrowstyle": "<-", "color": INK},
        )  # fmt: skip
    plotting.style(
        axes[1],
        "Cached halo: 5 threads make 5 outputs and stage 5 cells, but not the cells 4 and 10",
    )
    plotting.halo(
        axes[2], 12, 3, 1, block=1,
        title="Input tile: 5 threads stage 5 cells and make 3 outputs; two threads make none",
    )  # fmt: skip
    for ax in axes:
        ax.set_xlim(-1.3, 13.3)
    return figure


def access_figure(plain: Profile, tiled: Profile) -> Figure:
    """Draw which cells a warp asks for without a tile and with one, on one axis."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 1, figsize=(9, 7), layout="constrained", sharex=True)
    many = len([r for r in plain.requests if (r.array, r.kind) == ("N", "load")])
    plotting.access_map(
        axes[0], plain, array="N", title=f"No tile: {many} requests, and nearly every cell in each"
    )
    plotting.access_map(
        axes[1], tiled, array="N", requests=[1], title="Tile, first loading step: each cell once"
    )
    axes[0].set_xlabel("")
    axes[0].tick_params(labelbottom=True)
    return figure


def banks_figure(profiles: Mapping[str, Profile]) -> Figure:
    """Draw the banks of a load of the tile for two kernels, by name, and compare their counters."""
    import matplotlib.pyplot as plt

    (one, before), (two, after) = profiles.items()
    figure, axes = plt.subplot_mosaic(
        [[one, two], ["counts"] * 2], figsize=(9, 7.4), height_ratios=(3, 1), layout="constrained"
    )
    for name, seen in profiles.items():
        plotting.bank_conflicts(axes[name], seen, array="tile", title=name)
    counters = ("shared_load_requests", "shared_load_wavefronts", "shared_load_conflicts")
    many, few = before.shared_load_conflicts, after.shared_load_conflicts
    title = f"{two}: {few:,} conflicts in place of {many:,}"
    plotting.compare(
        axes["counts"], before, after, counters=counters, names=(one, two), title=title
    )
    return figure


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
