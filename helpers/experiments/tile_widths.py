"""Which size is best: widths of conv2d_tiled's tiles, and the best configurations of the sweep.

The widths are timed by the bench, and a student's models are shown beside. The search of Kernel
Tuner is in `sweep`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import plotting, tables
from helpers.bench import results
from helpers.experiments import sweep, sweep_replay
from helpers.plotting import boxes, styles
from helpers.problems import conv2d
from helpers.problems.conv2d.tile_counters import WIDTHS, counted
from helpers.quantities import percent, quantity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record
    from helpers.bench.times import Times

TILED, BEST, IMAGES = "conv2d_tiled", "conv2d_register_tiled", "conv2d_register_images"
LAYERS, SMALL = conv2d.LENET, ("layer E1", "layer E2")
BATCH = 10_000
SEEDS, TRIES = range(20), 40  # of the replayed searches
NEAR = 1.05  # a time that is near enough to the best


Lanes = Callable[[int, int, int], float]  # of an output map's rows and columns, and a width


def number(model: Callable[..., float], *given: Any) -> float:
    """Return what a student's function returns, NaN where it fails or returns no number."""
    try:
        return float(model(*given))
    except Exception:  # the check says what is wrong with it
        return math.nan


def lanes_per_output(lanes: Lanes, layer: str, width: int) -> float:
    """Return the lanes that tiles of `width` take for each output of a layer."""
    shape = conv2d.shape_of(layer, 1)
    return number(lanes, shape.out_h, shape.out_w, width) / (shape.out_h * shape.out_w)


def lanes_table(lanes: Lanes) -> str:
    """Return tiles of a map, and lanes for each output, by layer and width."""
    rows = []
    for layer in LAYERS:
        shape = conv2d.shape_of(layer, 1)
        tiles = [math.ceil(shape.out_h / w) * math.ceil(shape.out_w / w) for w in WIDTHS]
        rows.append((f"{layer}: tiles of a map", *map(str, tiles)))
        each = [f"{lanes_per_output(lanes, layer, width):.2f}" for width in WIDTHS]
        rows.append((f"{layer}: lanes for each output", *each))
    return tables.text(("width of the tiles", *map(str, WIDTHS)), rows)


def choices_table(cost: Callable[..., float], lanes: Lanes, times: Mapping[str, Times]) -> str:
    """Return the width that each of two models chooses, and what it loses against the fastest."""
    rows = []
    for layer, timed in times.items():
        shape, ms = conv2d.shape_of(layer, 1), by_width(timed)
        fastest = min(ms, key=ms.__getitem__)
        chosen = {
            "fewest lanes": min(ms, key=lambda w: number(lanes, shape.out_h, shape.out_w, w)),
            "least cost": chosen_width(cost, layer),
            "fastest": fastest,
        }
        for how, width in chosen.items():
            lost = f"{ms[width] / ms[fastest] - 1:.0%}"
            rows.append((f"{layer}: {how}", str(width), f"{ms[width]:.3f}", lost))
    return tables.text(("", "width", "ms", "lost"), rows)


def chosen_width(cost: Callable[..., float], layer: str) -> int:
    """Return the width of least cost on a layer."""
    shape, seen = conv2d.shape_of(layer, 1), counted()
    return min(WIDTHS, key=lambda width: number(cost, shape, width, seen[layer, width]))


def by_width(times: Times) -> dict[int, float]:
    """Return the ms of conv2d_tiled by the width of its tiles.

    Raises KeyError where no width was timed.
    """
    found = {dict(one.kernel.settings)["tile_width"]: one.ms for one in times if one.ms}
    if not found:
        raise KeyError(f"record {times.record.name} has no time of {TILED} by its width")
    return found


# --------------------------------------------------------------------------------------------------
# Reading the records


@cache
def best(layer: str) -> tuple[tuple[sweep.Configuration, float], ...]:
    """Return the sweep's configurations of a layer with Kernel Tuner's times, fastest first."""
    return tuple(sweep.ranking(sweep.recorded(layer)))


def median_over_best(layer: str) -> float:
    """Return the time of the median configuration over that of the best."""
    times = [ms for _, ms in best(layer)]
    return float(np.median(times)) / times[0]


def near_best(layer: str) -> int:
    """Return how many configurations are within 5 % of the best."""
    times = [ms for _, ms in best(layer)]
    return sum(ms <= NEAR * times[0] for ms in times)


def space_table() -> str:
    """Return how large each layer's space is, and what Kernel Tuner found in it."""
    head = (
        "", "products\nof sizes", "possible", "rejected by\nthe check", "best\n(ms)",
        "median over\nbest", "worst over\nbest", "within 5 %\nof the best",
    )
    rows = []
    for layer, sizes in sweep.SIZES.items():
        record, times = sweep.recorded(layer), [ms for _, ms in best(layer)]
        rejected = sum(row["rejected"] is not None for row in record.rows())
        rows.append(
            (
                layer,
                str(math.prod(map(len, sizes))),
                str(len(record.rows())),
                str(rejected),
                f"{times[0]:.3f}",
                f"{median_over_best(layer):.1f}",
                f"{times[-1] / times[0]:.1f}",
                str(near_best(layer)),
            )
        )
    return f"{tables.text(head, rows)}\n{sweep.recorded(LAYERS[0]).caption()}"


def expected_tries(layer: str) -> float:
    """Return the tries that random draws need on average until one is within 5 % of the best.

    Of n configurations in a random order, of which k are good, the first good one is at place
    (n + 1) / (k + 1) on average.
    """
    return (len(best(layer)) + 1) / (near_best(layer) + 1)


@cache
def searches(layer: str) -> dict[str, tuple[tuple[int | None, ...], np.ndarray]]:
    """Replay Kernel Tuner's strategies on a layer's record, from each of SEEDS.

    Return by strategy: after how many tries each search was within 5 % of the best (None: not in
    TRIES), and the median, over the searches, of the best time so far over the best of all.
    """
    record, fastest = sweep.recorded(layer), best(layer)[0][1]
    found = {}
    for strategy in sweep_replay.STRATEGIES[1:]:
        curves = []
        for seed in SEEDS:
            trials = sweep_replay.replay(record, strategy, evaluations=TRIES, seed=seed)
            run = np.array(sweep_replay.best_so_far(trials)) / fastest
            curves.append(np.pad(run, (0, TRIES - len(run)), mode="edge"))
        tries = tuple(
            next((n for n, ratio in enumerate(curve, 1) if ratio <= NEAR), None) for curve in curves
        )
        found[strategy] = tries, np.median(curves, axis=0)
    return found


def searches_table() -> str:
    """Return how many searches came within 5 % of the best.

    The last column is `expected_tries`.
    """
    head = (
        f"searches within 5 %\nafter {TRIES} tries", "random\nsample", "greedy\nmls",
        "genetic\nalgorithm", "tries of a random search,\non average",
    )
    rows = []
    for layer in LAYERS:
        arrived = [sum(n is not None for n in tries) for tries, _ in searches(layer).values()]
        words = (f"{count} of {len(SEEDS)}" for count in arrived)
        rows.append((layer, *words, f"{expected_tries(layer):.0f}"))
    return tables.text(head, rows)


def _small_images() -> tuple[Record, Mapping[tuple[str, str, int], float]]:
    """Return the record of the layers of small images, and its ms by kernel, layer and images."""
    record = results.recorded("benchmark_tensor")
    return record, record.ms("series", "layer", "batch", series=(BEST, IMAGES), layer=SMALL)


def images_win() -> str:
    """Return on which layers conv2d_register_images is the faster one, with BATCH images."""
    _, ms = _small_images()
    won = [layer for layer in SMALL if ms[IMAGES, layer, BATCH] < ms[BEST, layer, BATCH]]
    if len(won) == 1:
        return f"{won[0]} only"
    return "both" if won else "neither"


def images_table() -> str:
    """Return the recorded times and the blocks of two kernels on the layers of small images."""
    record, ms = _small_images()
    rows = []
    for layer in SMALL:
        for batch in (100, 1_000, 10_000):
            shape = conv2d.shape_of(layer, batch)
            cells = []
            for kernel in (BEST, IMAGES):
                blocks = math.prod(conv2d.conv2d_named(kernel).fitted(shape).grid(shape))
                cells += [f"{blocks:,}", f"{ms[kernel, layer, batch]:.4f}"]
            rows.append((layer, f"{batch:,}", *cells))
    head = ("", "images", f"{BEST}:\nblocks", "ms", f"{IMAGES}:\nblocks", "ms")
    return f"{tables.text(head, rows)}\n{record.caption()}"


# --------------------------------------------------------------------------------------------------
# Figures


def cover_figure() -> Figure:
    """Draw how square tiles cover a map of layer 2, with the threads that have no output."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    shape, widths = conv2d.shape_of(LAYERS[1], 1), (16, 17, 20)
    last: styles.Look = {"color": styles.INK, "marker": "o", "markersize": 6, "linestyle": "none"}
    figure, axes = styles.subplots(12, 4.6, columns=len(widths))
    for ax, width in zip(axes, widths, strict=True):
        tiles, idle = boxes.cover(ax, shape.out_h, shape.out_w, width)
        end = (conv2d.ceil_div(size, width) * width - 0.5 for size in (shape.out_w, shape.out_h))
        ax.plot(*end, **last)
        share = percent(idle)
        of = f"{quantity(tiles, 'tile')} of {width} x {width}"
        plotting.style(ax, f"{of}: {share} of the threads idle")
        ax.set(xlim=(-1, 50), ylim=(50, -1), xlabel="column of the output map")
    axes[0].set_ylabel("row")
    handles = [
        Patch(label="threads with an output", **boxes.OWN),
        Patch(label="without", **boxes.IDLE),
        Line2D([], [], label="the last thread of the last block", **last),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return figure


def widths_figure(times: Mapping[str, Times], lanes: Lanes) -> Figure:
    """Draw conv2d_tiled's time by width, beside what it would be if only lanes counted.

    times: of a sweep over WIDTHS, by layer.
    """
    figure, axes = styles.subplots(12, 4.2, columns=2)
    for ax, layer in zip(axes, LAYERS, strict=True):
        rows, ms = times[layer].rows(), by_width(times[layer])
        middle, around = styles.spread(map(styles.interval, rows))
        # There is nothing to read off between two widths, so no lines join them.
        look = {**styles.series(0), "linestyle": "none"}
        ax.errorbar(WIDTHS, middle, around, capsize=3, label="measured", **look)
        waste = np.array([lanes_per_output(lanes, layer, width) for width in WIDTHS])
        at = WIDTHS.index(16)
        look |= {**styles.series(1), "markerfacecolor": "none"}
        label = "if only your lanes counted (equal at 16)"
        ax.plot(WIDTHS, waste * middle[at] / waste[at], label=label, **look)
        first, ratio = min(ms, key=ms.__getitem__), ms[20] / ms[16]
        plotting.style(ax, f"{layer}: {first} is fastest; 20 takes {ratio:.2f} times as long as 16")
        ax.set(xlabel="width of tile and block", ylabel=f"{TILED} (ms)", ylim=(0, None))
        ax.set_xticks(WIDTHS, list(map(str, WIDTHS)), fontsize="small")
        ax.legend(frameon=False, loc="lower right")
    plotting.caption(axes[0], times[LAYERS[0]].record)
    return figure


def sums_figure() -> Figure:
    """Draw Kernel Tuner's times by the sums of a thread."""
    figure, axes = styles.subplots(12, 4.2, columns=2)
    for ax, layer in zip(axes, LAYERS, strict=True):
        maps = sorted({one[2] for one, _ in best(layer)})
        for number, some in enumerate(maps):
            # Markers of different maps stand side by side.
            points = [
                (math.prod(one[:3]) + 1.2 * number, ms) for one, ms in best(layer) if one[2] == some
            ]
            look = {**styles.series(number), "linestyle": "none", "markerfacecolor": "white"}
            ax.plot(*zip(*points, strict=True), label=f"{quantity(some, 'map')} a thread", **look)
        spread = best(layer)[-1][1] / best(layer)[0][1]
        plotting.style(ax, f"{layer}: the slowest takes {spread:.1f} times as long as the fastest")
        sums = sorted({math.prod(one[:3]) for one, _ in best(layer)})
        ax.set(xlabel="sums of a thread: columns x rows x maps", xticks=sums, ylim=(0, None))
        ax.set_ylabel("Kernel Tuner's time (ms)")
        ax.legend(frameon=False, loc="lower left")
    plotting.caption(axes[0], sweep.recorded(LAYERS[0]))
    return figure


def searches_figure() -> Figure:
    """Draw how near the searches are to the best, by tries; the median of all searches."""
    figure, axes = styles.subplots(12, 4.2, columns=2, sharey=True)
    for ax, layer in zip(axes, LAYERS, strict=True):
        for number, (strategy, (_, curve)) in enumerate(searches(layer).items()):
            look: styles.Look = {"color": styles.COLOURS[number]}
            look |= {"linestyle": styles.LINES[number], "label": strategy.replace("_", " ")}
            ax.step(range(1, TRIES + 1), curve, where="post", **look)
        near: styles.Look = {"color": styles.INK, "linewidth": 1.2, "linestyle": ":"}
        ax.axhline(NEAR, label="5 % above the best", **near)
        plotting.style(
            ax, f"{layer}: the median search is within 5 % after\n{_arrivals(layer)} tries"
        )
        ax.set_xlabel("configurations tried")
    axes[0].set_ylim(bottom=1)
    axes[0].set_ylabel("best time so far, over the best of all")
    styles.legend_below(figure, axes[1], columns=4)
    plotting.caption(axes[0], sweep.recorded(LAYERS[0]))
    return figure


def _arrivals(layer: str) -> str:
    """Return after how many tries the median of each strategy's searches is near enough."""
    words = []
    for strategy, (_, curve) in searches(layer).items():
        near = np.flatnonzero(curve <= NEAR)
        tries = str(near[0] + 1) if len(near) else f"more than {TRIES}"
        words.append(f"{tries} ({strategy.partition('_')[0]})")
    return ", ".join(words)
