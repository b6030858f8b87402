"""The layer as a product of matrices: its times, and those of one image a launch.

`measure` yields the rows of the record "200_im2col_gemm"; the functions below it read and draw
them. What is counted is in `im2col_gemm`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from helpers import checking, plotting, tables
from helpers.bench import results, timing
from helpers.experiments import layer_bounds
from helpers.experiments.im2col_gemm import (
    GEMM,
    IM2COL,
    LAYERS,
    LENET,
    OTHERS,
    PLAIN,
    SPEC,
    TILE,
    TILES,
    WHOLE,
    blocks,
    matrix_gigabytes,
    steps,
    useful_share,
)
from helpers.limits import ConvShape
from helpers.plotting import styles
from helpers.problems import conv2d
from helpers.problems.conv2d.im2col import Im2colGemm

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from helpers.bench.results import Record
    from helpers.simulator.bounds import Bounds

RECORD = "200_im2col_gemm"
CUBLAS = "cuBLAS through PyTorch"
BOTH = "im2col and GEMM"  # the series of the two launches together
WITH_LAUNCHES, GPU_ALONE = "with its launches", "GPU alone"
BATCHES = (100, 1_000, WHOLE)
CUT = 1_000  # images that are cut into pairs of launches
PER_LAUNCH = (1, 10, 100, 1_000)

Row = Mapping[str, Any]


def fitting(shape: ConvShape) -> int:
    """Return how many images' matrices fit half of the device memory that is free."""
    import pycuda.driver as cuda

    return min(shape.B, max(1, cuda.mem_get_info()[0] // 2 // SPEC.scratch(replace(shape, B=1))))


def measure() -> Iterator[Row]:
    """Yield the rows of the record "200_im2col_gemm", measured on the selected GPU.

    Times of kernels have layer, batch and tile; series "ratio" is both launches over the plain
    kernel. "with its launches" and "GPU alone" have layer and images: those of a pair of launches.
    """
    for layer in LAYERS:
        x, filter = conv2d.inputs(layer, WHOLE)
        for batch in BATCHES if layer in LENET else (CUT, WHOLE):
            with conv2d.Problem(conv2d.shape_of(layer, batch), x[:batch], filter) as problem:
                for tile in TILES if batch == WHOLE else (TILE,) if layer in LENET else ():
                    yield from _time_layer(problem, layer, batch, tile)
                for images in () if batch != CUT else PER_LAUNCH if layer in OTHERS else (1, CUT):
                    yield from _time_launches(problem, layer, images)


def _time_layer(
    problem: conv2d.Problem, layer: str, batch: int, tile: int
) -> Iterator[dict[str, Any]]:
    """Time the plain kernel; both launches, together and apart; cuBLAS on the same matrices."""
    where = {"layer": layer, "batch": batch}
    arrays, shape = (problem.y, problem.x, problem.filter), problem.shape
    spec = replace(cast(Im2colGemm, SPEC.with_tile(tile)), images=fitting(shape))
    plain, run = conv2d.compile(PLAIN, shape), conv2d.compile(spec, shape)
    if tile == TILE:
        yield _time_one(problem, PLAIN, lambda stream: plain.launch(*arrays, stream), where)
    right = _checked(problem, BOTH, lambda stream: run.launch(*arrays, stream))
    whole = partial(run.launch, *arrays)
    yield _time_one(problem, BOTH, whole, where | {"tile": tile}, right)
    if batch == WHOLE and tile == TILE:
        yield _compare(problem, run, plain, right, where | {"tile": tile})
    if spec.images == batch == WHOLE:  # the buffer holds all matrices: the steps can be timed apart
        gemm = partial(run.launch, *arrays, only=[GEMM])
        yield _time_one(problem, GEMM, gemm, where | {"tile": tile}, right)
    if spec.images == batch == WHOLE and tile == TILE:
        if multiply := cublas(problem, run):
            yield _time_one(problem, CUBLAS, multiply, where)
        im2col = partial(run.launch, *arrays, only=[IM2COL])
        yield _time_one(problem, IM2COL, im2col, where, right)
    run.free()


def _checked(
    problem: conv2d.Problem, series: str, launch: Callable[[Any], Any]
) -> checking.Verdict:
    problem.poison()
    launch(None)
    return problem.check(series)


def _time_one(
    problem: conv2d.Problem,
    series: str,
    launch: Callable[[Any], Any],
    where: Mapping[str, Any],
    verdict: checking.Verdict | None = None,
    cache: str = "cold",
) -> dict[str, Any]:
    right = verdict or _checked(problem, series, launch)
    timed = timing.time_gpu(launch, verdict=right, name=series, cache=cache, budget_s=0.1)
    return {"series": series, **where, "timing": timed}


def _compare(
    problem: conv2d.Problem,
    run: conv2d.Compiled,
    plain: conv2d.Compiled,
    right: checking.Verdict,
    where: Mapping[str, Any],
) -> dict[str, Any]:
    """Time both launches over the plain kernel, samples interleaved."""
    one, other = (
        partial(each.launch, problem.y, problem.x, problem.filter) for each in (run, plain)
    )
    pair = timing.compare(one, other, verdicts=(right, right), names=(BOTH, PLAIN), budget_s=0.4)
    ratio = {"ratio": pair.ratio, "low": pair.low, "high": pair.high}
    return {"series": "ratio", **where, **ratio, "timing": None}


def cublas(problem: conv2d.Problem, run: conv2d.Compiled) -> Callable[[Any], None] | None:
    """Return a launch of the same product by cuBLAS, into y; None where there is no PyTorch.

    It multiplies the matrices that `run` has stored.
    """
    try:
        import torch
    except ImportError:
        return None
    torch.backends.cuda.matmul.allow_tf32 = False  # TF32 would keep 10 bits of each factor

    def tensor(address: Any, *shape: int) -> Any:
        view = {"shape": shape, "typestr": "<f4", "data": (int(address), False), "version": 3}
        return torch.as_tensor(SimpleNamespace(__cuda_array_interface__=view), device="cuda")

    shape, columns = problem.shape, problem.shape.out_h * problem.shape.out_w
    unrolled = tensor(run.program.scratch("unrolled"), shape.B, shape.terms, columns)
    filters = tensor(problem.filter, shape.M, shape.terms).expand(shape.B, -1, -1)
    y = tensor(problem.y, shape.B, shape.M, columns)

    def launch(stream: Any) -> None:
        ours = torch.cuda.ExternalStream(stream.handle) if stream else torch.cuda.default_stream()
        with torch.cuda.stream(ours):
            torch.bmm(filters, unrolled, out=y)

    return launch


class PairsOfLaunches:
    """The layer in pairs of launches, each for `images` images, on a problem's arrays.

    The functions are prepared, so that little of a launch's cost is Python's.
    """

    def __init__(self, problem: conv2d.Problem, images: int):
        self.problem, self.images = problem, images
        self.part = replace(problem.shape, B=images)
        self.run = conv2d.compile(SPEC, self.part)
        self._im2col, self._gemm = (
            self.run.program.kernel(name).function.prepare(types)
            for name, types in ((IM2COL, "PPiiiii"), (GEMM, "PPPiii"))
        )
        self._unrolled = int(self.run.program.scratch("unrolled"))

    def launch(self, stream: Any, batch: int) -> None:
        """Enqueue the pairs of the first `batch` images, a multiple of `images`."""
        part, problem = self.part, self.problem
        columns = part.out_h * part.out_w
        im2col_grid, gemm_grid = SPEC.im2col_grid(part), SPEC.grid(part)
        im2col_block, gemm_block = (SPEC.columns, 1, 1), (TILE, TILE, 1)
        sizes = self.images, part.C, part.H, part.W, part.K
        for first in range(0, batch, self.images):
            x = problem.x + 4 * first * part.C * part.H * part.W
            y = problem.y + 4 * first * part.M * columns
            self._im2col.prepared_async_call(
                im2col_grid, im2col_block, stream, self._unrolled, x, *sizes
            )
            self._gemm.prepared_async_call(
                gemm_grid, gemm_block, stream, y, problem.filter, self._unrolled,
                part.M, columns, part.terms,
            )  # fmt: skip

    def free(self) -> None:
        """Free the matrices."""
        self.run.free()


def _time_launches(problem: conv2d.Problem, layer: str, images: int) -> Iterator[dict[str, Any]]:
    pairs, batch = PairsOfLaunches(problem, images), problem.shape.B
    where = {"layer": layer, "images": images}
    right = _checked(problem, "launches", lambda stream: pairs.launch(stream, batch))
    by_host = timing.time_end_to_end(
        lambda: pairs.launch(None, batch), verdict=right, name="all launches", budget_s=0.2
    )
    yield {"series": WITH_LAUNCHES, **where, "timing": by_host}
    one = partial(pairs.launch, batch=images)
    yield _time_one(problem, GPU_ALONE, one, where, right, cache="hot")
    pairs.free()


# --------------------------------------------------------------------------------------------------
# Reading the record


def times_of(record: Record) -> dict[tuple[str, str, int, int | None], Row]:
    """Return the rows by series, layer, number of images and tile.

    The images are those of a batch, or of a pair of launches.
    """
    found: dict[tuple[str, str, int, int | None], Row] = {}
    for row in record.rows():
        images = row["batch"] if "batch" in row else row["images"]
        found[row["series"], row["layer"], images, row.get("tile")] = row
    return found


def ratio(record: Record, layer: str) -> float:
    """Return the time of both launches over that of the plain kernel, tiles of 16."""
    return times_of(record)["ratio", layer, WHOLE, TILE]["ratio"]


def ratio_words(record: Record, layer: str) -> str:
    """Return both launches' time in words: "3.30 times the time of conv2d_basic".

    Where the interval of the ratio contains 1: "no measurable difference to conv2d_basic".
    """
    row = times_of(record)["ratio", layer, WHOLE, TILE]
    if row["low"] <= 1 <= row["high"]:
        return f"no measurable difference to {PLAIN}"
    return f"{row['ratio']:.2f} times the time of {PLAIN}"


def rate_table(record: Record) -> str:
    """Return the multiply-adds a second of gemm_tiled, padding included, beside the peak."""
    ms, peak = times_of(record), record.device.fp32_peak
    head = (
        f"{GEMM}, {WHOLE:,} images", "M", "multiply-adds\na second", "of the\npeak", "useful",
    )  # fmt: skip
    rows = []
    for layer in LAYERS:
        for tile in TILES:
            if (row := ms.get((GEMM, layer, WHOLE, tile))) is None:
                continue
            shape, share = conv2d.shape_of(layer, WHOLE), useful_share(layer, tile)
            rate = shape.outputs * shape.terms / share / row["median_ms"] * 1e3
            of_peak = f"{2 * rate / peak:.0%}" if peak else "?"
            cells = f"{shape.M}", f"{rate / 1e12:.1f}e12", of_peak, f"{share:.0%}"
            rows.append((f"{layer}, tiles of {tile}", *cells))
    return tables.text(head, rows)


@cache
def bounds_of(kernel: str, layer: str, batch: int = WHOLE) -> Bounds:
    """Return the simulator's bounds of a kernel on a batch, for an H200 with cold caches."""
    counted = {}
    for images in (1, 2):
        inputs = conv2d.inputs(layer, images)
        _, counted[images] = conv2d.simulate(kernel, *inputs, checks=False)
    return layer_bounds.of_batch(conv2d.conv2d_named(kernel), layer, counted, batch)


def traffic_lines(record: Record) -> str:
    """Return the least time of storing and loading the matrices beside the plain kernel's time."""
    ms, lines = times_of(record), []
    for layer in LENET:
        moved = 2 * matrix_gigabytes(layer)
        bandwidth = record.device.dram_bandwidth
        least = f", {1e12 * moved / bandwidth:.1f} ms or more" if bandwidth else ""
        plain = ms[PLAIN, layer, WHOLE, None]["median_ms"]
        lines.append(f"{layer}, {WHOLE:,} images: {moved:.1f} GB{least}; {PLAIN}: {plain:.1f} ms")
    return "\n".join(lines)


def batch_table(record: Record) -> str:
    """Return the time of an image for three sizes of the batch, in microseconds."""
    ms, rows = times_of(record), []
    for layer in LENET:
        for series, tile in ((PLAIN, None), (BOTH, TILE)):
            each = (f"{1e3 * ms[series, layer, n, tile]['median_ms'] / n:.2f}" for n in BATCHES)
            rows.append((f"{layer}, {series}", *each))
    head = ("microseconds an image", *(f"{n:,} images" for n in BATCHES))
    return tables.text(head, rows)


def with_launches_us(record: Record, layer: str, images: int) -> float:
    """Return the time of an image by the host's clock, in pairs of launches for so many images."""
    return 1e3 * times_of(record)[WITH_LAUNCHES, layer, images, None]["median_ms"] / CUT


def gpu_alone_us(record: Record, layer: str, images: int) -> float:
    """Return the time of one pair of launches for so many images, on the GPU alone."""
    return 1e3 * times_of(record)[GPU_ALONE, layer, images, None]["median_ms"]


def one_over_many(record: Record, layer: str) -> float:
    """Return the time of an image that has launches of its own over that of one among 1,000."""
    return with_launches_us(record, layer, 1) / with_launches_us(record, layer, CUT)


def step_us(record: Record) -> float:
    """Return how much longer one image takes for each further step of gemm_tiled, in microseconds.

    It is the slope between layers E1 and E2, one image a launch.
    """
    first, second = OTHERS
    longer = gpu_alone_us(record, second, 1) - gpu_alone_us(record, first, 1)
    return longer / (steps(second) - steps(first))


def one_image_table(record: Record) -> str:
    """Return what one image takes that has a pair of launches of its own, on each layer."""
    head = (
        "one image a launch", "blocks", "steps", "with its\nlaunches, us", "GPU\nalone, us",
        "of it steps,\nestimated",
    )  # fmt: skip
    slope, rows = step_us(record), []
    for layer in LAYERS:
        alone = gpu_alone_us(record, layer, 1)
        cells = (
            str(blocks(layer)),
            str(steps(layer)),
            f"{with_launches_us(record, layer, 1):.1f}",
            f"{alone:.1f}",
            f"{slope * steps(layer):.1f}",
        )
        rows.append((layer, *cells))
    nothing = bounds_of(SPEC.name, "layer E1", 1).share("launches").microseconds
    return (
        f"{tables.text(head, rows)}\n\n"
        f"each further step: {slope:.2f} us; two launches of nothing: {nothing:.1f} us on an H200"
    )


def reported_table(record: Record) -> str:
    """Return report E's times of its two layers beside ours, and the second over the first."""
    ms, lines = times_of(record), dict[str, list[float]]()
    for row in results.reported("course_reports"):
        if row["report"] == "E" and "tiled GEMM" in row["optimization"]:
            lines[f"reported: {row['optimization']}"] = [row["op1_ms"], row["op2_ms"]]
    for tile in reversed(TILES):
        lines[f"ours, tiles of {tile}, one pair of launches"] = [
            ms[BOTH, layer, WHOLE, tile]["median_ms"] for layer in OTHERS
        ]
    each = [1e-3 * WHOLE * with_launches_us(record, layer, 1) for layer in OTHERS]
    lines[f"ours, tiles of {TILE}, one image a launch ({CUT:,} x {WHOLE // CUT})"] = each
    rows = [
        (words, f"{first:.1f}", f"{second:.1f}", f"{second / first:.2f}")
        for words, (first, second) in lines.items()
    ]
    head = (f"{WHOLE:,} images, ms", "E1: 1 -> 12,\n28 x 28", "E2: 12 -> 24,\n11 x 11", "E2 / E1")
    return tables.text(head, rows)


# --------------------------------------------------------------------------------------------------
# Figures


def times_figure(record: Record) -> Figure:
    """Draw the times of the plain kernel, of both launches and of cuBLAS, in bars of two parts."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import Patch

    ms = times_of(record)
    figure, axes = plt.subplots(2, 1, figsize=(9, 5.6), layout="constrained")
    looks: Mapping[str, styles.Look] = {
        "in one piece": styles.pair_look(1),
        IM2COL: {"facecolor": styles.COLOURS[0], "edgecolor": styles.INK},
        "the product": styles.pair_look(0),
    }
    whole, unrolling, product = looks.values()
    for ax, layer in zip(axes, LENET, strict=True):
        unrolled = ms.get((IM2COL, layer, WHOLE, None))
        bars: list[tuple[str, list[tuple[Row, styles.Look]], Row | None]] = []
        plain = ms[PLAIN, layer, WHOLE, None]
        bars.append((PLAIN, [(plain, whole)], plain))
        for tile in TILES:
            both = ms[BOTH, layer, WHOLE, tile]
            gemm = ms.get((GEMM, layer, WHOLE, tile))
            parts = [(unrolled, unrolling), (gemm, product)] if unrolled and gemm else []
            bars.append((f"{IM2COL} + {GEMM}, tiles of {tile}", parts or [(both, whole)], both))
        library = ms.get((CUBLAS, layer, WHOLE, None))
        if unrolled and library:
            name = f"{IM2COL} + cuBLAS (added)"
            bars.append((name, [(unrolled, unrolling), (library, product)], None))
        for place, (_, parts, measured) in enumerate(bars):
            _draw_parts(ax, place, parts, measured)
        styles.name_bars(ax, [name for name, _, _ in bars])
        ax.set_xlim(0, 1.15 * ax.get_xlim()[1])
        ax.set_xlabel(f"time of {WHOLE:,} images (ms)")
        plotting.style(
            ax, f"{layer}, two launches with tiles of {TILE}: {ratio_words(record, layer)}"
        )
    handles = [Patch(label=label, **look) for label, look in looks.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    plotting.caption(axes[1], record)
    return figure


def _draw_parts(
    ax: Axes, place: int, parts: list[tuple[Row, styles.Look]], measured: Row | None
) -> None:
    """Draw a bar of parts, and the interval of the whole where it was measured."""
    at = 0.0
    for row, look in parts:
        ax.barh(place, row["median_ms"], left=at, height=0.6, **look)
        at += row["median_ms"]
    total = measured["median_ms"] if measured else at
    if measured:
        around = [[total - measured["low_ms"]], [measured["high_ms"] - total]]
        ax.errorbar(total, place, xerr=around, color=styles.INK, capsize=4, linewidth=1.2)
    styles.beside(ax, max(at, total), place, styles.duration_text(total))


def launches_figure(record: Record) -> Figure:
    """Draw the time of an image over the images that a pair of launches handles."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator

    ms, lines = times_of(record), []
    for layer in OTHERS:
        for series in (WITH_LAUNCHES, GPU_ALONE):
            for images in PER_LAUNCH:
                row = ms[series, layer, images, None]
                count = CUT if series == WITH_LAUNCHES else images
                each = {key: 1e3 * row[key] / count for key in ("median_ms", "low_ms", "high_ms")}
                lines.append({"line": f"{layer}, {series}", "images": images, **each})
    figure, ax = plt.subplots(figsize=(9, 4.5), layout="constrained")
    first, second = (one_over_many(record, layer) for layer in OTHERS)
    title = (
        f"One image a launch takes {first:.0f} times (E1) and {second:.0f} times (E2) as long as "
        f"one among {CUT:,}"
    )
    plotting.scaling(ax, lines, x="images", by="line", title=title)
    ax.set(xticks=PER_LAUNCH, xticklabels=[f"{images:,}" for images in PER_LAUNCH])
    ax.set(xlabel="images of a pair of launches", ylabel="time of an image (µs)")
    ax.xaxis.set_minor_locator(plt.NullLocator())
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(FuncFormatter(styles.tick_text))
    ax.yaxis.set_minor_locator(plt.NullLocator())
    plotting.caption(ax, record)
    return figure


def steps_figure(record: Record) -> Figure:
    """Draw the time of one image on the GPU over the steps of its product."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(9, 4), layout="constrained")
    ms = times_of(record)
    for number, layer in enumerate(LAYERS):
        row = ms[GPU_ALONE, layer, 1, None]
        middle, low, high = (1e3 * row[key] for key in ("median_ms", "low_ms", "high_ms"))
        look: styles.Look = {"marker": styles.MARKERS[number], "color": styles.COLOURS[number]}
        ax.errorbar(
            steps(layer), middle, [[middle - low], [high - middle]], markersize=8, capsize=4,
            linestyle="none", label=f"{layer}: {blocks(layer)} blocks", **look,
        )  # fmt: skip
    slope = step_us(record)
    first, second = OTHERS
    ends = np.array([0, steps(second)])
    line = gpu_alone_us(record, first, 1) + slope * (ends - steps(first))
    label = f"through E1 and E2: {slope:.2f} µs a step"
    ax.plot(ends, line, color=styles.INK, linestyle=":", label=label, zorder=0)
    ax.set(xlim=(0, None), ylim=(0, None), xlabel=f"steps of {GEMM} along the inner axis")
    ax.set_ylabel("one image, GPU alone (µs)")
    ax.legend(loc="lower right", frameon=False)
    more = steps(second) - steps(first)
    plotting.style(
        ax, f"One image a launch: {more} more steps take "
        f"{gpu_alone_us(record, second, 1) - gpu_alone_us(record, first, 1):.0f} µs more",
    )  # fmt: skip
    plotting.caption(ax, record)
    return figure
