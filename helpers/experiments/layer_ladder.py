"""Lab 500: every kernel of the convolution layer on one ladder, and what orders it.

`rungs` are all kernels that compute a layer, on FP32 units and on tensor cores. A share of a floor
counts the fastest form of a kernel. `steps_table` sets each kernel beside the one that it was made
from, and `order_table` says which counter puts the kernels in the order of their times.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import limits, tables
from helpers.bench import cost, figures, predictions
from helpers.bench.counts import Count, Counts
from helpers.bench.layers import Layer
from helpers.bench.sources import Kernel, Missing
from helpers.bench.times import Time, Times
from helpers.kernel_cells import CellError, sizes
from helpers.problems import conv2d, fft_conv2d
from helpers.problems.conv2d import PLAINEST
from helpers.problems.fft import FftError
from helpers.quantities import percent, quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Split halves are as accurate as FP32 for the cells of lab 305's range.
UNITS, SPLIT, HALVES = "FP32 units", "split halves (largest cell 1/8 to 65,504)", "halves"
YOURS = "yours"
BEST_FORM = "conv2d_register_tiled, best form"
HALF_FORM = ", halves"
# How many products of halves a kind makes for one of the layer, and how many times as many of them
# tensor cores make per second as the FP32 units, by NVIDIA's data sheet of the H200.
HALF_PRODUCTS = {SPLIT: 3, HALVES: 1}
TENSOR_SPEED = 989 / 67
# Single times of one record are measured minutes apart. A smaller ratio of two says nothing.
DRIFT = 1.05
SECTORS_A_PASS = 4  # an L1 cache or shared memory moves 128 bytes in a clock cycle

# The kernel that each kernel was made from, and the lab that shows it.
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
    "conv2d_register_2d": ("conv2d_register", "112"),
    "conv2d_register_tiled": ("conv2d_register_2d", "112"),
    BEST_FORM: ("conv2d_register_tiled", "112"),
    "conv2d_register_images": ("conv2d_register_tiled", "203"),
    "conv2d_channels_atomics": ("conv2d_basic", "401"),
    "conv2d_channels_tree": ("conv2d_basic", "401"),
    "conv2d_channels_shuffle": ("conv2d_basic", "401"),
    "conv2d_half_inside": ("conv2d_basic", "300"),
    "conv2d_half": ("conv2d_half_inside", "300"),
    "conv2d_half2": ("conv2d_half", "300"),
    "conv2d_wmma": ("conv2d_half2", "303"),
    "conv2d_mma_halves": ("conv2d_wmma", "305"),
    "conv2d_mma_pairs": ("conv2d_mma_halves", "305"),
    "conv2d_mma_quads": ("conv2d_mma_pairs", "305"),
    f"conv2d_mma_quads{HALF_FORM}": ("conv2d_mma_quads", "305"),
    "conv2d_wgmma": ("conv2d_mma_pairs", "306"),
    f"conv2d_wgmma{HALF_FORM}": ("conv2d_wgmma", "306"),
    "conv2d_implicit_mma": ("conv2d_implicit_gemm_fast", "305"),
    "conv2d_implicit_mma_async": ("conv2d_implicit_mma", "305"),
    "conv2d_implicit_mma_split": ("conv2d_implicit_mma_async", "305"),
    "conv2d_implicit_wgmma": ("conv2d_implicit_mma_async", "306"),
    "conv2d_channels_last": ("conv2d_implicit_wgmma", "503"),
    "conv2d_channels_last_halo": ("conv2d_channels_last", "503"),
    fft_conv2d.TILES: ("conv2d_basic", "402"),
}


# The exercises of earlier labs whose kernels are rungs.
EARLIER = (
    "conv2d_basic",
    "conv2d_constant",
    "conv2d_tiled",
    "conv2d_tiled_maps",
    "conv2d_register_2d",
    "conv2d_implicit_gemm",
    "conv2d_implicit_gemm_fast",
)


def rungs(layer: Layer) -> list[Kernel]:
    """Return all kernels that take the shape of a layer, each in its forms."""
    forms = {name: _spec(name) for name in BUILDS_ON}
    forms["conv2d_register_2d"] = conv2d.register_2d(**conv2d.REGISTER_2D.get(layer.name, {}))
    tiled = conv2d.conv2d_named("conv2d_register_tiled")
    forms[BEST_FORM] = dataclasses.replace(tiled, **conv2d.OCCUPANCY.get(layer.name, {}))
    forms[f"conv2d_mma_quads{HALF_FORM}"] = conv2d.mma_quads(1)
    forms[f"conv2d_wgmma{HALF_FORM}"] = conv2d.mma_wgmma(1)
    return [layer.kernel(spec, label=name) for name, spec in forms.items() if _takes(spec, layer)]


def _spec(name: str) -> Any:
    if name == fft_conv2d.TILES:
        return fft_conv2d.LAYER
    return conv2d.conv2d_named(name.partition(",")[0])


def _takes(spec: Any, layer: Layer) -> bool:
    try:
        spec.require(layer.shape)
    except (conv2d.LayerError, FftError):
        return False
    return True


def kind(kernel: Kernel) -> str:
    """Return what computes the products: UNITS, SPLIT, HALVES, or YOURS for a student's kernel."""
    if kernel.yours:
        return YOURS
    if kernel.spec.precision.inputs == "half":
        return HALVES
    return SPLIT if "mma" in kernel.name else UNITS


def entered(layer: Layer, cell: Any, maps: int | None = None) -> Kernel:
    """Return a reader's rung: what its %%kernel cell binds, launched as its -D options say.

    A block has TILE_WIDTH x TILE_WIDTH threads (16 without the option), each with COLUMNS outputs
    of MAPS maps (1). maps: in place of the cell's. A cell with sizes that CUDA does not allow is
    "yours: not yet".
    """
    try:
        chosen = sizes(cell.options, {"TILE_WIDTH": 16, "COLUMNS": 1, "MAPS": 1})
    except CellError:
        return entered(layer, Missing(cell.name))
    width, columns, own = chosen.values()
    tile = (width * columns, width, maps or own)
    label = f"yours: {cell.name}" + (f", {quantity(maps, 'map')}" if maps else "")
    return layer.kernel(
        cell, like=PLAINEST, block=(width, width), tile=tile, label=label
    )


def of_maps(layer: Layer, cell: Any, numbers: Sequence[int]) -> list[Kernel]:
    """Return a reader's rung with several numbers of maps; once, as long as it is missing."""
    every = [entered(layer, cell, maps) for maps in numbers]
    return every[:1] if every[0].is_missing else every


def tree(names: Sequence[str], before: str = "", depth: int = 0) -> str:
    """Return the kernels of these names that were made from `before`, and from those, a line each.

    A kernel stands behind the nearest one of `names` that it was made from.
    """
    lines = []
    for name in names:
        if _made_from(name, names) == before:
            lines.append(f"{'    ' * depth}{name} ({BUILDS_ON[name][1]})")
            lines.append(tree(names, name, depth + 1))
    return "\n".join(line for line in lines if line)


def _made_from(name: str, names: Sequence[str]) -> str:
    before = BUILDS_ON[name][0]
    while before and before not in names:
        before = BUILDS_ON[before][0]
    return before


# --------------------------------------------------------------------------------------------------
# Floors and shares


def floors_ms(times: Times) -> tuple[float, float] | None:
    """Return the least ms for a layer's bytes and for its multiply-adds on the FP32 units.

    None where the peaks of the record's device are not known.
    """
    device = times.record.device
    if not (device.dram_bandwidth and device.fp32_peak):
        return None
    floor = limits.floor(times.problem.work, device)
    return 1e3 * floor.memory_s, 1e3 * floor.compute_s


def best_by_kind(times: Times) -> dict[str, Time]:
    """Return the fastest kernel of each kind that has a time."""
    best: dict[str, Time] = {}
    for one in times:
        what = kind(one.kernel)
        if one.ms is not None and (what not in best or one.ms < (best[what].ms or 0)):
            best[what] = one
    return best


def most_accurate(times: Times) -> Time:
    """Return the fastest kernel whose outputs are as accurate as FP32's.

    Raises ValueError where no such kernel has a time.
    """
    best = best_by_kind(times)
    able = [best[what] for what in (UNITS, SPLIT) if what in best]
    if not able:
        raise ValueError("no kernel with FP32's accuracy has a time")
    return min(able, key=lambda one: one.ms or 0)


def span(times: Times) -> float:
    """Return how many times as fast the fastest kernel with FP32's accuracy is as the slowest
    kernel of all. Raises ValueError as `most_accurate` does.
    """
    slowest = max(one.ms for one in times if one.ms is not None)
    return slowest / (most_accurate(times).ms or 0)


def share(times: Times, one: Time) -> float:
    """Return the part of its floor's speed that a kernel reaches, 0 to 1.

    Raises ValueError for a kernel without a time, and where the peaks of the device are not known.
    """
    floor = floor_of(times, kind(one.kernel))
    if floor is None or one.ms is None:
        raise ValueError(f"{one.kernel.title} has no time on a device whose peaks are known")
    return floor[0] / one.ms


def floor_of(times: Times, what: str) -> tuple[float, str] | None:
    """Return the least ms of a kernel of a kind, and whether its "bytes" or its "products" demand
    them. None where the peaks of the record's device are not known.
    """
    floors = floors_ms(times)
    if floors is None:
        return None
    bytes_ms, products_ms = floors
    if what in HALF_PRODUCTS:
        products_ms *= HALF_PRODUCTS[what] / TENSOR_SPEED
    return max((bytes_ms, "bytes"), (products_ms, "products"))


def floors_beside(products_ms: float | None, bytes_ms: float | None, layer: Layer) -> str:
    """Return a reader's two floors of an H200 beside ours."""
    peaks = {
        "products": (products_ms, 1e3 * layer.work.flops / 67e12),
        "bytes": (bytes_ms, 1e3 * layer.work.bytes / 4.8e12),
    }
    return predictions.computed(f"{layer.title}, ms for its", peaks)


def best_table(times: Mapping[str, Times]) -> str:
    """Return the fastest kernel of each kind, for each batch."""
    kinds = list(dict.fromkeys(what for one in times.values() for what in best_by_kind(one)))
    rows = []
    for what in kinds:
        bests = (best_by_kind(one).get(what) for one in times.values())
        rows.append((what, *(f"{b.kernel.title} ({b.ms:.3g} ms)" if b else "-" for b in bests)))
    return tables.text(("products by", *times), rows, left=range(len(times) + 1))


def share_table(times: Mapping[str, Times]) -> str:
    """Return the fastest kernel of each kind, and the part of its floor's speed that it reaches."""
    rows = []
    for name, one in times.items():
        for what, best in best_by_kind(one).items():
            floor = floor_of(one, what)
            cells = "-", "-"
            if floor:
                cells = f"{floor[0]:.3g} ({floor[1]})", percent(share(one, best))
            rows.append((name, what, best.kernel.title, f"{best.ms:.3g}", *cells))
    head = ("layer", "products by", "fastest", "ms", "floor, ms", "of the floor's speed")
    return tables.text(head, rows, left=(0, 1, 2))


def below_floor(times: Times) -> list[str]:
    """Return the kernels that are faster than the FP32 units can make the multiply-adds."""
    floors = floors_ms(times)
    least = floors[1] if floors else 0.0
    return [one.kernel.title for one in times if one.ms is not None and one.ms < least]


# --------------------------------------------------------------------------------------------------
# The figure


def figure(times: Mapping[str, Times]) -> Figure:
    """Draw both ladders beside each other, slowest above, with the lines of both floors."""
    from helpers import plotting
    from helpers.plotting import styles

    most = max(map(len, times.values()))
    count = len(times)
    fig, axes = styles.subplots(6.6 * count, 0.27 * most + 2.6, columns=count, sharex=True)
    for ax, (name, one) in zip(np.ravel(axes), times.items(), strict=True):
        _draw(ax, one)
        plotting.style(ax, _claim(name, one))
    styles.legend_below(fig, *fig.axes, columns=4)
    plotting.caption(fig.axes[0], next(iter(times.values())).record)
    return fig


def _draw(ax: Axes, times: Times) -> None:
    from helpers.plotting import styles

    timed = sorted((one for one in times if one.ms is not None), key=lambda one: -(one.ms or 0))
    for y, one in enumerate(timed):
        number = (UNITS, SPLIT, HALVES, YOURS).index(kind(one.kernel))
        look = styles.series(number)
        ms = one.ms or 0.0
        if number == 3:
            look |= {"markerfacecolor": "white", "color": styles.INK}
        ax.axhline(y, color="#dddddd", linewidth=0.7, zorder=0)
        ax.plot(ms, y, linestyle="none", markersize=7, label=kind(one.kernel), **look)
        styles.beside(ax, ms, y, f"{ms:.3g}")
    missing = [one for one in times if one.ms is None]
    bounds = [times.at_least(one) for one in missing]
    for y, least in enumerate(bounds, len(timed)):
        ax.axhline(y, color="#dddddd", linewidth=0.7, zorder=0)
        if least is not None:
            figures.draw_at_least(ax, y, least, as_dot=True, digits=".3g")
    names = [*(one.kernel.title for one in timed), *map(times.without_bar, missing)]
    ax.set_yticks(range(len(names)), [name.removeprefix("conv2d_") for name in names])
    ax.set_ylim(len(names) - 0.4, -0.9)
    ax.set_xscale("log")
    styles.plain_ticks(ax.xaxis, (0.1, 0.3, 1, 3, 10, 30, 100))
    axis = f"{times.problem.title}: time (ms; logarithmic, left is faster)"
    ax.set_xlabel(".\n".join([axis, *figures.at_least_words(bounds, logarithmic=True)]))
    ax.margins(x=0.15)
    if floors := floors_ms(times):
        for ms, words, style in ((floors[0], "bytes", ":"), (floors[1], "FP32 products", "--")):
            ax.axvline(ms, color=styles.INK, linestyle=style, linewidth=1, label=f"floor: {words}")


def _claim(name: str, times: Times) -> str:
    timed = [one.ms for one in times if one.ms is not None]
    if not timed:
        return f"{name}: nothing is timed yet"
    under = len(below_floor(times))
    words = f"{name}: with FP32's accuracy up to {span(times):.0f} times as fast as the slowest"
    return f"{words};\n{quantity(under, 'kernel')} below the FP32 floor" if under else words


# --------------------------------------------------------------------------------------------------
# Steps, and the counters


def steps(times: Times) -> dict[str, float]:
    """Return, for each kernel on FP32 units, its time over that of the one it was made from."""
    ms = {
        one.kernel.label: one.ms
        for one in times
        if one.ms is not None and kind(one.kernel) == UNITS
    }
    pairs = {name: _made_from(name, list(ms)) for name in ms}
    return {name: ms[name] / ms[before] for name, before in pairs.items() if before}


def verdict(ratio: float) -> str:
    """Return a ratio of times in words: "1.6 x as fast", "about the same"."""
    if max(ratio, 1 / ratio) < DRIFT:
        return "about the same"
    return f"{1 / ratio:.2f} x as fast" if ratio < 1 else f"{ratio:.2f} x the time"


def turned(times: Mapping[str, Times]) -> list[str]:
    """Return the steps that are faster on one layer and slower on another one."""
    every = [steps(one) for one in times.values()]
    names = [name for name in every[0] if all(name in one for one in every)]
    return [
        name
        for name in names
        if min(one[name] for one in every) < 1 / DRIFT
        and max(one[name] for one in every) > DRIFT
    ]


def steps_table(times: Mapping[str, Times]) -> str:
    """Return what each step gained, on every layer."""
    every = {name: steps(one) for name, one in times.items()}
    names = [name for name in BUILDS_ON if any(name in one for one in every.values())]
    rows = []
    for name in names:
        cells = [verdict(one[name]) if name in one else "-" for one in every.values()]
        rows.append((name, BUILDS_ON[name][0], *cells))
    return tables.text(("kernel", "made from", *every), rows, left=(0, 1))


def passes(one: Count) -> float:
    """Return the passes through L1 and shared memory, at least: 128 bytes move in each."""
    lines = [line for profile in one.profiles for line in profile.lines]
    shared = sum(line.wavefronts for line in lines if line.space == "shared")
    rest = (line for line in lines if line.space == "global")
    return shared + sum(max(line.requests, line.sectors / SECTORS_A_PASS) for line in rest)


def _cycles(one: Count) -> float:
    return sum(cost.cycles(profile.lines, profile.instructions) for profile in one.profiles)


COUNTERS: Mapping[str, Callable[[Count], float]] = {
    "global sectors": lambda one: one.total("sectors", "global", "load"),
    "global requests": lambda one: one.total("requests", "global", "load"),
    "passes": passes,
    "instructions": lambda one: one.executed(""),
    "all of it (cost)": _cycles,
}


def ordered(times: Times, counts: Counts, counter: str) -> tuple[int, int]:
    """Return how many pairs of kernels a counter orders as their times do, and of how many.

    Pairs whose times differ by less than DRIFT do not count.
    """
    value = COUNTERS[counter]
    known = {one.kernel.label: value(one) for one in counts if one.profiles}
    timed = {
        one.kernel.label: one.ms
        for one in times
        if one.ms is not None and one.kernel.label in known
    }
    same = [
        (timed[a] < timed[b]) == (known[a] < known[b])
        for a, b in itertools.combinations(timed, 2)
        if max(timed[a], timed[b]) >= DRIFT * min(timed[a], timed[b])
    ]
    return sum(same), len(same)


def order_table(times: Mapping[str, Times], counts: Mapping[str, Counts]) -> str:
    """Return for each counter how many pairs of kernels it puts in the order of their times."""
    rows = []
    for counter in COUNTERS:
        pairs = (ordered(one, counts[name], counter) for name, one in times.items())
        rows.append((counter, *(f"{same} of {every}" for same, every in pairs)))
    return tables.text(("orders as the times do", *times), rows)


def best_counter(times: Mapping[str, Times], counts: Mapping[str, Counts]) -> str:
    """Return the counter, of those that count one thing, that orders the most pairs."""
    single = [counter for counter in COUNTERS if "cost" not in counter]

    def right(counter: str) -> int:
        return sum(ordered(one, counts[name], counter)[0] for name, one in times.items())

    return max(single, key=right)


def count_table(counts: Counts) -> str:
    """Return the counters for 32 outputs, most passes first."""
    rows = []
    for one in sorted(counts, key=lambda one: -passes(one) if one.profiles else 0):
        values = (limits.WARP * value(one) / one.outputs for value in COUNTERS.values())
        cells = [f"{value:,.0f}" if value >= 10 else f"{value:.1f}" for value in values]
        is_shown = one.profiles and one.passed
        rows.append((one.kernel.title, *(cells if is_shown else ["-"] * len(COUNTERS))))
    return tables.text(("per 32 outputs", *COUNTERS), rows)
