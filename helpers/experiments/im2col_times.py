"""The layer as a product of matrices: the times of one image a launch.

`measure` yields the rows of the record "200_deeper"; the functions below it read and draw them.
What is counted is in `im2col_gemm`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import plotting, tables
from helpers.bench import plan_bounds, timing
from helpers.experiments.im2col_gemm import (
    GEMM,
    IM2COL,
    LAYERS,
    OTHERS,
    SPEC,
    TILE,
    WHOLE,
    blocks,
    steps,
)
from helpers.plotting import styles
from helpers.problems import conv2d
from helpers.quantities import quantity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record
    from helpers.simulator.bounds import Bounds

WITH_LAUNCHES, GPU_ALONE = "with its launches", "GPU alone"
CUT = 1_000  # images that are cut into pairs of launches
PER_LAUNCH = (1, 10, 100, 1_000)

Row = Mapping[str, Any]


def measure() -> Iterator[Row]:
    """Yield the rows of the record "200_deeper", measured on the selected GPU.

    Series "with its launches" and "GPU alone" have layer and images: those of a pair of launches.
    """
    for layer in LAYERS:
        x, filter = conv2d.inputs(layer, CUT)
        with conv2d.Problem(conv2d.shape_of(layer, CUT), x, filter) as problem:
            for images in PER_LAUNCH if layer in OTHERS else (1, CUT):
                yield from _time_launches(problem, layer, images)


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
            )

    def free(self) -> None:
        """Free the matrices."""
        self.run.free()


def _time_launches(problem: conv2d.Problem, layer: str, images: int) -> Iterator[dict[str, Any]]:
    pairs, batch = PairsOfLaunches(problem, images), problem.shape.B
    where = {"layer": layer, "images": images}
    problem.poison()
    pairs.launch(None, batch)
    right = problem.check("launches")
    by_host = timing.time_end_to_end(
        lambda: pairs.launch(None, batch), verdict=right, name="all launches", budget_s=0.2
    )
    yield {"series": WITH_LAUNCHES, **where, "timing": by_host}
    one = partial(pairs.launch, batch=images)
    alone = timing.time_gpu(one, verdict=right, name=GPU_ALONE, cache="hot", budget_s=0.1)
    yield {"series": GPU_ALONE, **where, "timing": alone}
    pairs.free()


# --------------------------------------------------------------------------------------------------
# Reading the record


@cache
def bounds_of(kernel: str, layer: str, batch: int = WHOLE) -> Bounds:
    """Return the simulator's bounds of a kernel on a batch, for an H200 with cold caches."""
    return plan_bounds.of_layer(conv2d.conv2d_named(kernel), conv2d.shape_of(layer, batch))


def with_launches_us(record: Record, layer: str, images: int) -> float:
    """Return the time of an image by the host's clock, in pairs of launches for so many images."""
    row = record.one(series=WITH_LAUNCHES, layer=layer, images=images)
    return 1e3 * row["median_ms"] / CUT


def gpu_alone_us(record: Record, layer: str) -> float:
    """Return the time of one pair of launches for one image, on the GPU alone."""
    return 1e3 * record.one(series=GPU_ALONE, layer=layer, images=1)["median_ms"]


def one_over_many(record: Record, layer: str) -> float:
    """Return the time of an image that has launches of its own over that of one among 1,000."""
    return with_launches_us(record, layer, 1) / with_launches_us(record, layer, CUT)


def step_us(record: Record) -> float:
    """Return how much longer one image takes for each further step of gemm_tiled, in microseconds.

    It is the slope between layers E1 and E2, one image a launch.
    """
    first, second = OTHERS
    longer = gpu_alone_us(record, second) - gpu_alone_us(record, first)
    return longer / (steps(second) - steps(first))


def one_image_table(record: Record) -> str:
    """Return what one image takes that has a pair of launches of its own, on each layer."""
    head = (
        "one image a launch", "blocks", "steps", "with its\nlaunches, us", "GPU\nalone, us",
        "of it steps,\nestimated",
    )
    slope, rows = step_us(record), []
    for layer in LAYERS:
        alone = gpu_alone_us(record, layer)
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


def launches_figure(record: Record) -> Figure:
    """Draw the time of an image over the images that a pair of launches handles."""
    from matplotlib.ticker import LogLocator

    lines = []
    for layer in OTHERS:
        for series in (WITH_LAUNCHES, GPU_ALONE):
            for images in PER_LAUNCH:
                row = record.one(series=series, layer=layer, images=images)
                count = CUT if series == WITH_LAUNCHES else images
                each = {key: 1e3 * row[key] / count for key in ("median_ms", "low_ms", "high_ms")}
                lines.append({"line": f"{layer}, {series}", "images": images, **each})
    figure, ax = styles.subplots(9, 4.5)
    first, second = (one_over_many(record, layer) for layer in OTHERS)
    title = (
        f"One image a launch takes {first:.0f} times (E1) and {second:.0f} times (E2) as long as "
        f"one among {CUT:,}"
    )
    plotting.scaling(ax, lines, x="images", by="line", title=title)
    ax.set(xlabel="images of a pair of launches", ylabel="time of an image (µs)")
    styles.plain_ticks(ax.xaxis, PER_LAUNCH)
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    styles.plain_ticks(ax.yaxis)
    plotting.caption(ax, record)
    return figure


def steps_figure(record: Record) -> Figure:
    """Draw the time of one image on the GPU over the steps of its product."""
    _, ax = styles.subplots(9, 4)
    for number, layer in enumerate(LAYERS):
        row = record.one(series=GPU_ALONE, layer=layer, images=1)
        middle, around = styles.spread([styles.interval(row)])
        ax.errorbar(
            steps(layer), 1e3 * middle, 1e3 * around, markersize=8, capsize=4,
            linestyle="none", label=f"{layer}: {quantity(blocks(layer), 'block')}",
            **styles.series(number),
        )
    slope = step_us(record)
    first, second = OTHERS
    ends = np.array([0, steps(second)])
    line = gpu_alone_us(record, first) + slope * (ends - steps(first))
    label = f"through E1 and E2: {slope:.2f} µs a step"
    ax.plot(ends, line, color=styles.INK, linestyle=":", label=label, zorder=0)
    ax.set(xlim=(0, None), ylim=(0, None), xlabel=f"steps of {GEMM} along the inner axis")
    ax.set_ylabel("one image, GPU alone (µs)")
    ax.legend(loc="lower right", frameon=False)
    more = steps(second) - steps(first)
    title = (
        f"One image a launch: {more} more steps take "
        f"{gpu_alone_us(record, second) - gpu_alone_us(record, first):.0f} µs more"
    )
    return plotting.finish(ax, title, record)
