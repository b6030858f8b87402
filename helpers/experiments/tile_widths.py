"""Which size is best: widths of conv2d_tiled's tiles, and the best configurations of the sweep.

`measure` makes the record "203_tiles". `lanes` counts what a width takes before anything runs, and
`counters` what the simulator sees. The sweep itself is in `sweep`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import limits, plotting, reference, tables
from helpers.bench import results, timing
from helpers.bench.ratios import Ratio
from helpers.experiments import sweep, sweep_replay
from helpers.plotting import styles
from helpers.problems import conv2d

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record
    from helpers.checking import Verdict
    from helpers.simulator import Profile

TILED, BEST, IMAGES = "conv2d_tiled", "conv2d_register_tiled", "conv2d_register_images"
LAYERS = ("layer 1", "layer 2")
WIDTHS = (8, 10, 12, 14, 16, 17, 18, 20, 24, 28, 32)  # of tiles and blocks of conv2d_tiled
BATCH, TOP = 10_000, 3
SEEDS, TRIES = range(20), 40  # of the replayed searches
NEAR = 1.05  # a time that is near enough to the best
WARP = limits.WARP


# --------------------------------------------------------------------------------------------------
# By hand


def lanes(out_h: int, out_w: int, width: int) -> int:
    """Return the lanes of all warps that square tiles of `width` take for one output map.

    A thread computes one output; a block is a tile.
    """
    tiles = math.ceil(out_h / width) * math.ceil(out_w / width)
    return tiles * WARP * math.ceil(width * width / WARP)


def lanes_per_output(layer: str, width: int) -> float:
    """Return the lanes that tiles of `width` take for each output of a layer."""
    shape = conv2d.shape_of(layer, 1)
    return lanes(shape.out_h, shape.out_w, width) / (shape.out_h * shape.out_w)


def layer_by_tiles(x: np.ndarray, filter: np.ndarray, width: int) -> np.ndarray:
    """Return y of a layer, computed tile by tile with the reference."""
    K = filter.shape[2]
    out_h, out_w = x.shape[2] - K + 1, x.shape[3] - K + 1
    y = np.full((x.shape[0], filter.shape[0], out_h, out_w), np.nan)
    for top in range(0, out_h, width):
        for left in range(0, out_w, width):
            cells = x[:, :, top : top + width + K - 1, left : left + width + K - 1]
            y[:, :, top : top + width, left : left + width] = reference.conv2d(cells, filter)
    return y


def lanes_table() -> str:
    """Return lanes for each output, and tiles of a map, by layer and width."""
    rows = []
    for layer in LAYERS:
        shape = conv2d.shape_of(layer, 1)
        tiles = [math.ceil(shape.out_h / w) * math.ceil(shape.out_w / w) for w in WIDTHS]
        rows.append((f"{layer}: tiles of a map", *map(str, tiles)))
        each = [f"{lanes_per_output(layer, width):.2f}" for width in WIDTHS]
        rows.append((f"{layer}: lanes for each output", *each))
    return tables.text(("width of the tiles", *map(str, WIDTHS)), rows)


# --------------------------------------------------------------------------------------------------
# Counting


@cache
def profile(layer: str, width: int) -> Profile:
    """Run conv2d_tiled with tiles of `width` on one image in the simulator."""
    spec = conv2d.conv2d_named(TILED).with_tile(width)
    _, (seen,) = conv2d.simulate(spec, *conv2d.inputs(layer, 1), checks=False)
    return seen


def counters_table() -> str:
    """Return counters of conv2d_tiled for 32 outputs, by layer and width."""
    columns = (
        ("loads of cells from x", "global_load_requests"),
        ("loads from the tile", "shared_load_requests"),
        ("wavefronts of these", "shared_load_wavefronts"),
        ("barriers", "barriers"),
    )
    rows = []
    for layer in LAYERS:
        warps = conv2d.shape_of(layer, 1).outputs / WARP
        for name, counter in columns:
            counts = (getattr(profile(layer, width), counter) / warps for width in WIDTHS)
            rows.append((f"{layer}: {name}", *(f"{count:.1f}" for count in counts)))
    return tables.text(("for 32 outputs; width:", *map(str, WIDTHS)), rows)


# --------------------------------------------------------------------------------------------------
# Measuring

Timed = tuple[dict[str, Any], Callable[..., None], "Verdict"]


def _timed(problem: conv2d.Problem, spec: conv2d.Conv2d, where: Mapping[str, Any]) -> Timed:
    """Check a kernel and time it; return its row, its launch and its verdict."""
    run, verdict = sweep.checked(problem, spec, spec.name)

    def launch(stream: Any = None) -> None:
        run.launch(problem.y, problem.x, problem.filter, stream)

    timed = timing.time_gpu(launch, verdict=verdict, name=spec.name, budget_s=0.15)
    return {**where, "timing": timed}, launch, verdict


def measure() -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the record "203_tiles", measured on the selected GPU.

    For each layer: the kernel that the labs take (rank 0), the sweep's best TOP with their ratio to
    it, and, for LAYERS, conv2d_tiled by tile_width.
    """
    for layer in sweep.SIZES:
        shape, chosen = conv2d.shape_of(layer, BATCH), conv2d.conv2d_named(BEST)
        top = best(layer)[:TOP]
        specs = [sweep.spec_of(one) for one, _ in top]
        tiled = conv2d.conv2d_named(TILED)
        tiles = [tiled.with_tile(width) for width in WIDTHS if layer in LAYERS]
        sweep.build((spec, shape) for spec in (chosen, *specs, *tiles))
        with conv2d.Problem(shape, *conv2d.inputs(layer, BATCH)) as problem:
            where: dict[str, Any] = {"series": BEST, "layer": layer}
            row, fitted, right = _timed(problem, chosen, where | {"rank": 0})
            yield row
            for rank, (spec, (one, ms)) in enumerate(zip(specs, top, strict=True), 1):
                noted = {"rank": rank, "configuration": sweep.label(one), "tuner_ms": ms}
                row, launch, verdict = _timed(problem, spec, where | noted)
                pair = timing.compare(
                    launch,
                    fitted,
                    verdicts=(verdict, right),
                    names=(f"rank {rank}", "chosen"),
                    budget_s=0.3,
                )
                yield {**row, "ratio": pair.ratio, "low": pair.low, "high": pair.high}
            for width_spec in tiles:
                where = {"series": TILED, "layer": layer, "tile_width": width_spec.tile[0]}
                yield _timed(problem, width_spec, where)[0]


# --------------------------------------------------------------------------------------------------
# Reading the records


def width_times(record: Record) -> dict[tuple[str, int], Mapping[str, Any]]:
    """Return the rows of conv2d_tiled by layer and width."""
    rows = (row for row in record.rows() if row["series"] == TILED)
    return {(row["layer"], row["tile_width"]): row for row in rows}


def fastest_width(record: Record, layer: str) -> int:
    """Return the width that is fastest on a layer."""
    timed = width_times(record)
    return min(WIDTHS, key=lambda width: timed[layer, width]["median_ms"])


def width_ratio(record: Record, layer: str, width: int, over: int) -> float:
    """Return the time of one width over that of another."""
    timed = width_times(record)
    return timed[layer, width]["median_ms"] / timed[layer, over]["median_ms"]


def reported_table(record: Record) -> str:
    """Return the time with tiles of 20 over that with 16: report C's and ours."""
    rows = {
        row["optimization"]: row
        for row in results.reported("course_reports")
        if row["batch"] == BATCH and row["report"] == "C"
    }
    swept, plain = rows["sweep (tile 20)"], rows["tiled shared memory"]
    theirs = [f"{swept[key] / plain[key]:.2f}" for key in ("op1_ms", "op2_ms")]
    ours = [f"{width_ratio(record, layer, 20, 16):.2f}" for layer in LAYERS]
    lines = [("report C", *theirs), (f"ours, {record.device.name}", *ours)]
    return tables.text(("time of tiles of 20 over tiles of 16", *LAYERS), lines)


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
    )  # fmt: skip
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


def sizes_in_space(layer: str) -> str:
    """Return the values of each size of a layer that has more than one, before restrictions."""
    words = (
        f"{name} {', '.join(map(str, values))}"
        for name, values in zip(sweep.PARAMETERS, sweep.SIZES[layer], strict=False)
        if len(values) > 1
    )
    return f"{layer}: " + "; ".join(words)


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
    )  # fmt: skip
    rows = []
    for layer in LAYERS:
        arrived = [sum(n is not None for n in tries) for tries, _ in searches(layer).values()]
        words = (f"{count} of {len(SEEDS)}" for count in arrived)
        rows.append((layer, *words, f"{expected_tries(layer):.0f}"))
    return tables.text(head, rows)


def top_table(record: Record) -> str:
    """Return the sweep's best configurations, timed again beside the kernel that the labs take.

    The configurations are those of the record, because a later sweep may have another order.
    """
    ranked = {(row["layer"], row["rank"]): row for row in record.rows() if row["series"] == BEST}
    noted = all("configuration" in row for (_, rank), row in ranked.items() if rank)
    rows = []
    for layer in sweep.SIZES:
        chosen = f"{ranked[layer, 0]['median_ms']:.4f}"
        rows.append((f"{layer}, the labs' choice", chosen, "", *[""] * (2 * noted)))
        for rank in range(1, TOP + 1):
            row = ranked[layer, rank]
            cells = [f"{row['median_ms']:.4f}", Ratio.of_row(row).words()]
            cells += [f"{row['tuner_ms']:.4f}", row["configuration"]] if noted else []
            rows.append((f"{layer}, rank {rank}", *cells))
    head = (f"{BATCH:,} images, ms", "timed again,\ncold", "beside the labs' choice")
    if noted:
        return tables.text((*head, "Kernel Tuner,\nwarm", "configuration"), rows, left=(0, 2, 4))
    return (
        f"{tables.text(head, rows, left=(0, 2))}\n"
        "This record does not note the configurations, nor Kernel Tuner's times of them."
    )


def images_table() -> str:
    """Return the recorded times and the blocks of two kernels on the layers of small images."""
    record = results.load(results.MEASURED / "benchmark_tensor.json")
    timed = {
        (row["series"], row["layer"], row["batch"]): row
        for row in record.rows()
        if row["series"] in (BEST, IMAGES) and row.get("median_ms")
    }
    rows = []
    for layer in ("layer E1", "layer E2"):
        for batch in (100, 1_000, 10_000):
            shape = conv2d.shape_of(layer, batch)
            cells = []
            for kernel in (BEST, IMAGES):
                blocks = math.prod(conv2d.conv2d_named(kernel).fitted(shape).grid(shape))
                cells += [f"{blocks:,}", f"{timed[kernel, layer, batch]['median_ms']:.4f}"]
            rows.append((layer, f"{batch:,}", *cells))
    head = ("", "images", f"{BEST}:\nblocks", "ms", f"{IMAGES}:\nblocks", "ms")
    return f"{tables.text(head, rows)}\n{record.caption()}"


# --------------------------------------------------------------------------------------------------
# Figures


def cover_figure(layer: str = LAYERS[1], widths: Sequence[int] = (16, 17, 20)) -> Figure:
    """Draw how square tiles cover an output map, with the threads that have no output."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import Patch, Rectangle

    shape = conv2d.shape_of(layer, 1)
    idle: styles.Look = {"facecolor": "#f3d2b3", "hatch": "////", "edgecolor": "#9a6b45"}
    busy: styles.Look = {"facecolor": "#bcd3ee", "edgecolor": styles.INK}
    figure, axes = plt.subplots(1, len(widths), figsize=(12, 4.6), layout="constrained")
    for ax, width in zip(axes, widths, strict=True):
        down, across = math.ceil(shape.out_h / width), math.ceil(shape.out_w / width)
        ax.add_patch(Rectangle((0, 0), across * width, down * width, linewidth=0, **idle))
        ax.add_patch(Rectangle((0, 0), shape.out_w, shape.out_h, linewidth=1, **busy))
        for row in range(down):
            for column in range(across):
                corner = column * width, row * width
                ax.add_patch(Rectangle(corner, width, width, fill=False, edgecolor=styles.INK))
        threads = down * across * width**2
        share = 1 - shape.out_h * shape.out_w / threads
        plotting.style(
            ax, f"{down * across} tiles of {width} x {width}: {share:.0%} of the threads idle"
        )
        ax.set(xlim=(-1, 50), ylim=(50, -1), aspect="equal", xlabel="column of the output map")
    axes[0].set_ylabel("row")
    handles = [Patch(label="threads with an output", **busy), Patch(label="without", **idle)]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
    return figure


def widths_figure(record: Record) -> Figure:
    """Draw conv2d_tiled's time by width, beside what it would be if only lanes counted."""
    import matplotlib.pyplot as plt

    timed, places = width_times(record), range(len(WIDTHS))
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
    for ax, layer in zip(axes, LAYERS, strict=True):
        rows = [timed[layer, width] for width in WIDTHS]
        middle = np.array([row["median_ms"] for row in rows])
        low, high = (np.array([row[key] for row in rows]) for key in ("low_ms", "high_ms"))
        look: styles.Look = {"color": styles.COLOURS[0], "marker": "o", "capsize": 3}
        ax.errorbar(places, middle, [middle - low, high - middle], label="measured", **look)
        waste = np.array([lanes_per_output(layer, width) for width in WIDTHS])
        at = WIDTHS.index(16)
        look = {"color": styles.COLOURS[1], "marker": "s", "markerfacecolor": "white"}
        label = "if only lanes counted (equal at 16)"
        ax.plot(places, waste * middle[at] / waste[at], linestyle=":", label=label, **look)
        ratio = width_ratio(record, layer, 20, 16)
        first = fastest_width(record, layer)
        plotting.style(ax, f"{layer}: {first} is fastest; 20 takes {ratio:.2f} times as long as 16")
        ax.set(xlabel="width of tile and block", ylabel=f"{TILED} (ms)", ylim=(0, None))
        ax.set_xticks(places, list(map(str, WIDTHS)))
    axes[0].legend(frameon=False, loc="lower right")
    plotting.caption(axes[0], record)
    return figure


def sums_figure() -> Figure:
    """Draw Kernel Tuner's times by the sums of a thread."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
    for ax, layer in zip(axes, LAYERS, strict=True):
        maps = sorted({one[2] for one, _ in best(layer)})
        for number, some in enumerate(maps):
            # Markers of different maps stand side by side.
            points = [
                (math.prod(one[:3]) + 1.2 * number, ms) for one, ms in best(layer) if one[2] == some
            ]
            look: styles.Look = {"color": styles.COLOURS[number], "linestyle": "none"}
            look |= {"marker": styles.MARKERS[number], "markerfacecolor": "white"}
            ax.plot(*zip(*points, strict=True), label=f"{some} maps a thread", **look)
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
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(12, 4.2), sharey=True, layout="constrained")
    for ax, layer in zip(axes, LAYERS, strict=True):
        for number, (strategy, (_, curve)) in enumerate(searches(layer).items()):
            look: styles.Look = {"color": styles.COLOURS[number]}
            look |= {"linestyle": styles.LINES[number], "label": strategy.replace("_", " ")}
            ax.step(range(1, TRIES + 1), curve, where="post", **look)
        ax.axhline(NEAR, color=styles.INK, linewidth=0.8, linestyle=":")
        ax.text(1, NEAR, "5 % above the best", va="bottom", fontsize="small")
        plotting.style(
            ax, f"{layer}: the median search is within 5 % after\n{_arrivals(layer)} tries"
        )
        ax.set_xlabel(f"configurations tried, of {len(best(layer))}")
    axes[0].set_ylim(bottom=1)
    axes[0].set_ylabel("best time so far, over the best of all")
    axes[1].legend(frameon=False)
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
