"""`__restrict__` and unrolling in the layer: machine code and times.

`measure_code` yields the rows of the record "110_sass", `measure` those of "110_unrolling".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import device, plotting, simulator, tables
from helpers.bench import results, timing
from helpers.experiments import sass
from helpers.experiments.row_too_many import (
    BY_GPU,
    COUNTS,
    COURSE,
    EIGHT,
    MANY,
    PLAIN,
    RESTRICT,
    SEVEN,
    UNROLLED,
    answers_of,
    networks_at_hand,
    right_answers,
)
from helpers.limits import ConvShape
from helpers.plotting import styles
from helpers.problems import conv2d
from helpers.problems.lenet import network

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record
    from helpers.checking import Verdict
    from helpers.simulator import Profile

# The kernel that sums in y, without the promise and with it: nvcc's option for each.
PROMISES = {"sum in y": "-DPROMISE=", "sum in y, restrict": "-DPROMISE=__restrict__"}
SUM_IN_Y = "sum_in_y"
SERIES = (PLAIN, RESTRICT, UNROLLED, *PROMISES)
LAYERS = ("layer 1", "layer 2")
WIDTHS = (1, 3, 5, 7, 9, 11, 13, 15)
FILTER_WIDTH = 7
TILE = 16
SECTOR_BYTES = 32
EXCERPT_LINES, EXCERPT_AFTER = 8, 6  # of the machine code, and from which instruction on


# --------------------------------------------------------------------------------------------------
# The machine code


def measure_code(sum_in_y: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the record "110_sass": counts of instructions in each kernel's code.

    sum_in_y: the source of the kernel that sums in y.
    """
    yield _compiled(PLAIN)
    yield _compiled(RESTRICT)
    for width in WIDTHS:
        options = [f"-DFILTER_WIDTH={width}"]
        yield _compiled(UNROLLED, options=options, filter_width=width)
    for series, promise in PROMISES.items():
        yield _compiled(series, SUM_IN_Y, [promise], sum_in_y)


def _compiled(
    series: str,
    name: str | None = None,
    options: list[str] | None = None,
    source: str | None = None,
    **parameters: Any,
) -> dict[str, Any]:
    arch = sass.arch_of(device.select())
    code = sass.of(name or series, options or [], arch=arch, source=source)
    excerpt = code.excerpt("LDG", EXCERPT_LINES, after=EXCERPT_AFTER)
    own = {"series": series, "filter_width": FILTER_WIDTH, "excerpt": excerpt}
    return code.row() | own | parameters


def codes_of(record: Record) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the rows of "110_sass" by series and width of the filter."""
    return {(row["series"], row["filter_width"]): row for row in record.rows()}


def per_multiply_add(row: Mapping[str, Any], kind: str) -> float:
    """Return how many instructions of a kind the code has for each multiply-add."""
    return row[kind] / row["multiply_adds"]


def code_table(record: Record) -> str:
    """Return registers and instructions of each kernel's code, for filters of 7."""
    columns = {
        "registers": "registers",
        "spilled\nbytes": "spill_bytes",
        "instruc-\ntions": "instructions",
        "multiply-\nadds": "multiply_adds",
        "loads": "global_loads",
        "of them\nread-only": "read_only_loads",
        "stores": "global_stores",
        "branches": "branches",
    }
    codes = codes_of(record)
    rows = [
        (name, *(f"{codes[name, FILTER_WIDTH][kind]:,}" for kind in columns.values()))
        for name in SERIES
    ]
    return tables.text(("in the code", *columns), rows)


def excerpts(record: Record) -> str:
    """Return a few instructions of the plain and of the unrolled kernel."""
    codes = codes_of(record)
    return "\n\n".join(
        f"{name}, a few lines:\n{codes[name, FILTER_WIDTH]['excerpt']}"
        for name in (PLAIN, UNROLLED)
    )


# --------------------------------------------------------------------------------------------------
# What the simulator counts


def profile(kernel: str, layer: str) -> Profile:
    """Return the simulator's counters of one image of a layer."""
    _, (seen,) = conv2d.simulate(kernel, *conv2d.inputs(layer, 1), checks=False)
    return seen


def loads_per_output(kernel: str, layer: str) -> float:
    """Return how many global loads a thread executes for one output."""
    outputs = conv2d.shape_of(layer, 1).outputs
    return profile(kernel, layer).total("lanes", "global", "load") / outputs


def stores_per_output(sum_in_y: str, series: str, layer: str) -> tuple[float, float]:
    """Return the stores of an output of the kernel that sums in y, and the bytes of their sectors.

    The simulator counts them on one image and one output map: all maps do the same.
    """
    shape = conv2d.shape_of(layer, 1)
    one_map = ConvShape(1, shape.C, 1, shape.H, shape.W, shape.K)
    random = np.random.default_rng(10)
    x, filter = (random.random(s, np.float32) for s in (one_map.x_shape, one_map.filter_shape))
    y = np.full(one_map.y_shape, np.nan, np.float32)
    seen = simulator.profile(
        sum_in_y, SUM_IN_Y, y, x, filter,
        *map(np.int32, (1, shape.C, 1, shape.H, shape.W)),
        grid=conv2d.conv2d_named(UNROLLED).grid(one_map), block=(TILE, TILE),
        options=[PROMISES[series]],
    )  # fmt: skip
    stored = SECTOR_BYTES * seen.global_store_sectors
    return seen.total("lanes", "global", "store") / y.size, stored / y.size


def stores_table(sum_in_y: str, record: Record) -> str:
    """Return the stores of the kernel that sums in y: of an output, of 10,000 images, in a second.

    A store touches whole sectors of 32 bytes, of which it need not write each byte.

    record: "110_unrolling", for the times.
    """
    ms = times_of(record)
    rows = []
    for layer in LAYERS:
        for series in PROMISES:
            stores, touched = stores_per_output(sum_in_y, series, layer)
            outputs = conv2d.shape_of(layer, MANY).outputs
            gigabytes = [each * outputs / 1e9 for each in (4 * stores, touched)]
            took = ms[series, layer, MANY]["median_ms"]
            cells = (*(f"{one:.0f}" for one in gigabytes), f"{took:.1f}")
            rows.append(
                (f"{layer}, {series}", f"{stores:.0f}", *cells, f"{gigabytes[0] / took:.2f}")
            )
    head = ("", "stores of\nan output", "stored\nGB", "GB of sectors\ntouched", "ms",
            "stored\nTB/s")  # fmt: skip
    return tables.text(head, rows)


# --------------------------------------------------------------------------------------------------
# Beside the reports


def reported_table(times: Record, counted: Record) -> str:
    """Return report B's accuracies beside ours, and its times beside ours, over the baseline's."""
    reported = {
        (row["optimization"], row["batch"]): row
        for row in results.reported("course_reports")
        if row["report"] == "B"
    }
    kinds = {SEVEN: "baseline", EIGHT: "restrict and unrolling"}
    right = answers_of(counted)
    rows = []
    for count in COUNTS:
        theirs = [f"{reported[kind, count]['accuracy']:.4f}" for kind in kinds.values()]
        ours = [f"{right[COURSE, which, count] / count:.4f}" for which in kinds]
        rows.append((f"{count:,}", *theirs, *ours))
    head = (
        "images", "report B:\nbaseline", "unrolled", "ours, the course's network:\nseven rows",
        "eight rows",
    )  # fmt: skip
    ms = times_of(times)
    lines = [tables.text(head, rows), ""]
    for number, layer in enumerate(LAYERS, 1):
        slow, fast = (reported[kind, MANY][f"op{number}_ms"] for kind in kinds.values())
        theirs = fast / slow
        ours = ms[UNROLLED, layer, MANY]["median_ms"] / ms[PLAIN, layer, MANY]["median_ms"]
        lines.append(
            f"{layer}, time over the baseline's: report B {theirs:.3f} with eight rows, "
            f"ours {ours:.3f} with seven"
        )
    return "\n".join(lines)


# --------------------------------------------------------------------------------------------------
# Times


def measure(own: Mapping[str, Any], by_hand: network.Convolution) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the record "110_unrolling", measured on the selected GPU.

    own: the compiled functions of the kernel that sums in y, by the series of PROMISES. by_hand:
    the convolution with a row too many, as the GPU computes it.
    """
    weights = networks_at_hand()[-1]
    for layer in LAYERS:
        x, filter = conv2d.inputs(layer, MANY, weights)
        for batch in COUNTS:
            yield from _time_layer(own, layer, x[:batch], filter)
        with conv2d.Problem(conv2d.shape_of(layer, 1_000), x[:1_000], filter) as problem:
            for kernel in (RESTRICT, UNROLLED):
                yield _compare(own, kernel, PLAIN, problem, layer=layer, kernel=kernel)
    random = np.random.default_rng(10)
    for width in WIDTHS:
        shape = ConvShape(1_000, C=1, M=4, H=86, W=86, K=width)
        arrays = [random.random(size, np.float32) for size in (shape.x_shape, shape.filter_shape)]
        with conv2d.Problem(shape, *arrays) as problem:
            yield _compare(own, UNROLLED, PLAIN, problem, filter_width=width)
    right, wrong = BY_GPU
    convolutions = {
        right: lambda x, filter: conv2d.convolve(UNROLLED, x, filter),
        wrong: by_hand,
    }
    for one in networks_at_hand():
        for name, good in right_answers(one, MANY, convolutions).items():
            where = {"with": name, "network": one.name}
            yield from network.right_rows(good, COUNTS, **where)


def _time_layer(
    own: Mapping[str, Any], layer: str, x: np.ndarray, filter: np.ndarray
) -> Iterator[dict[str, Any]]:
    with conv2d.Problem(conv2d.shape_of(layer, len(x)), x, filter) as problem:
        for series in SERIES if len(x) == MANY else (PLAIN, RESTRICT, UNROLLED):
            run, verdict = _ready(own, series, problem)
            timed = timing.time_gpu(run, verdict=verdict, name=series, budget_s=0.3)
            yield {"series": series, "layer": layer, "batch": len(x), "timing": timed}


def _ready(
    own: Mapping[str, Any], name: str, problem: conv2d.Problem
) -> tuple[Callable[[Any], None], Verdict]:
    """Return the launch of a kernel that has passed its check, and its verdict."""
    run = _launcher(own, name, problem)
    problem.poison()
    run(None)
    return run, problem.check(name)


def _launcher(own: Mapping[str, Any], name: str, problem: conv2d.Problem) -> Callable[[Any], None]:
    arrays = (problem.y, problem.x, problem.filter)
    if name not in own:
        ready = conv2d.compile(name, problem.shape)
        return lambda stream: ready.launch(*arrays, stream)
    spec = conv2d.conv2d_named(UNROLLED)
    y, x, filter = map(np.uintp, arrays)
    arguments = spec.arguments(y, x, filter, problem.shape)
    grid = spec.grid(problem.shape)
    return lambda stream: own[name](*arguments, block=(TILE, TILE, 1), grid=grid, stream=stream)


def _compare(
    own: Mapping[str, Any], a: str, b: str, problem: conv2d.Problem, **parameters: Any
) -> dict[str, Any]:
    (first, first_verdict), (second, second_verdict) = (_ready(own, n, problem) for n in (a, b))
    verdicts = first_verdict, second_verdict
    pair = timing.compare(first, second, verdicts=verdicts, names=(a, b), budget_s=0.5)
    ratio = {"ratio": pair.ratio, "low": pair.low, "high": pair.high}
    return {"series": f"{a} over {b}", **parameters, **ratio, "timing": None}


def times_of(record: Record) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Return the timed rows of "110_unrolling" by series, layer and number of images."""
    return {
        (row["series"], row["layer"], row["batch"]): row
        for row in record.rows()
        if "median_ms" in row
    }


def ratio_row(record: Record, kernel: str, layer: str) -> dict[str, Any]:
    """Return the row of a kernel's time over that of conv2d_basic, taken in turns."""
    rows = (row for row in record.rows() if row.get("kernel") == kernel and "ratio" in row)
    return next(row for row in rows if row["layer"] == layer)


def faster(record: Record, kernel: str, layer: str) -> float:
    """Return how many times as fast as conv2d_basic a kernel is."""
    return 1 / ratio_row(record, kernel, layer)["ratio"]


def ratio_lines(record: Record) -> str:
    """Return a line for each layer and kernel: how it compares with conv2d_basic."""
    lines = []
    for layer in LAYERS:
        for kernel in (RESTRICT, UNROLLED):
            row = ratio_row(record, kernel, layer)
            low, high = 1 / row["high"], 1 / row["low"]
            says = f"{1 / row['ratio']:.3f} times as fast"
            if low <= 1 <= high:
                says = "no measurable difference"
            lines.append(f"{layer}: {kernel} {says} (95 % interval {low:.4f} to {high:.4f})")
    return "\n".join(lines)


# --------------------------------------------------------------------------------------------------
# Figures


def instructions_figure(record: Record) -> Figure:
    """Draw the instructions of each kernel's code for each multiply-add, by kind."""
    import matplotlib.pyplot as plt

    codes = codes_of(record)
    figure, ax = plt.subplots(figsize=(9, 3.8), layout="constrained")
    kinds = {
        "global_loads": (styles.COLOURS[5], ""),
        "multiply_adds": ("white", "////"),
        "global_stores": (styles.INK, ""),
    }
    left = np.zeros(len(SERIES))
    for kind, (colour, hatch) in kinds.items():
        wide = np.array([per_multiply_add(codes[name, FILTER_WIDTH], kind) for name in SERIES])
        look: styles.Look = {"color": colour, "hatch": hatch, "edgecolor": styles.INK}
        ax.barh(SERIES, wide, 0.6, left=left, label=kind.replace("_", " "), **look)
        left += wide
    whole = [per_multiply_add(codes[name, FILTER_WIDTH], "instructions") for name in SERIES]
    look = {"color": "#d0d0d0", "edgecolor": styles.INK}
    ax.barh(SERIES, np.array(whole) - left, 0.6, left=left, label="everything else", **look)
    for place, value in enumerate(whole):
        styles.beside(ax, value, place, f"{value:.1f}")
    ax.invert_yaxis()
    ax.set_xlim(0, 1.08 * max(whole))
    ax.set_xlabel("instructions in the code for each multiply-add in the code")
    ax.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.28), frameon=False)
    plain, unrolled = (whole[SERIES.index(name)] for name in (PLAIN, UNROLLED))
    loads = per_multiply_add(codes[UNROLLED, FILTER_WIDTH], "global_loads")
    title = (
        f"Unrolling takes the code from {plain:.1f} to {unrolled:.1f} instructions for each "
        f"multiply-add; {loads:.0f} of them are still loads"
    )
    plotting.style(ax, title)
    plotting.caption(ax, record)
    return figure


def speedup_figure(record: Record) -> Figure:
    """Draw how many times as fast as conv2d_basic each kernel is, for 10,000 images."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 1, figsize=(9, 6.5), layout="constrained")
    ms = times_of(record)
    timed = list(ms.values())
    for ax, layer in zip(axes, LAYERS, strict=True):
        unrolled, plain, slow, kept = (
            ms[name, layer, MANY]["median_ms"] for name in (UNROLLED, PLAIN, *PROMISES)
        )
        title = (
            f"{layer}, 10,000 images: unrolled {plain / unrolled:.2f} times as fast; "
            f"the sum in y {slow / kept:.1f} times as fast with __restrict__"
        )
        where = {"layer": layer, "batch": MANY}
        plotting.speedup(ax, timed, baseline=PLAIN, where=where, title=title)
    plotting.caption(axes[1], record)
    return figure


def widths_figure(record: Record, codes: Record) -> Figure:
    """Draw the speed of the unrolled kernel over conv2d_basic, over the width of the filter."""
    import matplotlib.pyplot as plt

    rows = {row["filter_width"]: row for row in record.rows() if row.get("filter_width")}
    middle, low, high = (
        np.array([1 / rows[width][end] for width in WIDTHS])
        for end in ("ratio", "high", "low")
    )
    figure, ax = plt.subplots(figsize=(9, 4.2), layout="constrained")
    look: styles.Look = {"marker": "o", "color": styles.INK, "capsize": 3}
    ax.errorbar(WIDTHS, middle, [middle - low, high - middle], **look)
    ax.axhline(1, color=styles.INK, linestyle=":")
    code = codes_of(codes)
    for width in WIDTHS:
        length = f"{code[UNROLLED, width]['code_bytes'] / 1024:.1f} KB"
        ax.annotate(length, (width, 0.05), ha="center")
    ax.set_xticks(WIDTHS)
    ax.set_xlabel(
        "width K of the filter; above it the length of the unrolled code "
        "(1 -> 4 maps, 86 x 86, 1,000 images)"
    )
    ax.set_ylabel(f"times as fast as {PLAIN}")
    ax.set_ylim(0, 1.15 * high.max())
    best, least = WIDTHS[int(middle.argmax())], WIDTHS[int(middle.argmin())]
    title = (
        f"Unrolling gains most at K = {best} ({middle.max():.2f} times as fast), "
        f"least at K = {least} ({middle.min():.2f})"
    )
    plotting.style(ax, title)
    plotting.caption(ax, record)
    return figure
