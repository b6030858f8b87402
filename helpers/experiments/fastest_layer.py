"""Lab 305: the layer on tensor cores, where its weights lie, what its steps are worth, its range.

    fastest_layer.window_figure(lane=13)      # the fragment of a lane, in the image
    fastest_layer.end_figure(times)           # times by layer, from bench, beside cuDNN's
    fastest_layer.range_table()

In each kernel of `TAKEN_BACK` one step is undone. `IN_TURN` is not among them: the compiler undoes
its change, as `distances` reads off the machine code. `benchmark` is the record of
benchmark_tensor: all layers and batches, with the kernels for an H100 or H200.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import kernels, limits, plotting, reference, tables
from helpers.bench import contenders, cudnn, figures, loop_code, plan_bounds, results
from helpers.bench.counts import NOT_YET
from helpers.plotting import boxes, styles
from helpers.problems import conv2d, tensor_product
from helpers.quantities import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.counts import Count
    from helpers.bench.results import Record
    from helpers.bench.times import Times
    from helpers.simulator.bounds import Bounds

LAYERS = conv2d.LENET
LARGE = 10_000
SPLIT, HALVES = "split halves", "halves"
QUADS, PAIRS = "conv2d_mma_quads", "conv2d_mma_pairs"
PORTABLE = "conv2d_register_tiled"
# Way -> layer -> the kernel that every GPU of compute capability 8.0 or later can run.
WAYS: dict[str, dict[str, conv2d.TensorLayer]] = {
    SPLIT: {"layer 1": conv2d.mma_quads(), "layer 2": conv2d.mma_pairs()},
    HALVES: {"layer 1": conv2d.mma_quads(1), "layer 2": conv2d.mma_halves()},
}

# --------------------------------------------------------------------------------------------------
# One step undone


@dataclass(frozen=True)
class TakenBack:
    """A kernel from which one step is taken back. layer, way: of the kernel; source: the text."""

    layer: str
    way: str
    source: str

    @property
    def spec(self) -> conv2d.TensorLayer:
        return WAYS[self.way][self.layer]

    @property
    def instead(self) -> dict[str, tuple[str, str]]:
        """For `launch.replaced`: the source in place of the kernel's own."""
        return {self.spec.name: (self.spec.name, self.source)}


def _products_in_turn() -> str:
    """Return windows.cuh, in which the products of one sum follow each other."""
    header = (kernels.FOLDER / "windows.cuh").read_text(encoding="utf-8")
    products = "int product = 0; product < PRODUCTS; ++product"
    shifts = "int shift = 0; shift < 2; ++shift"
    assert products in header and shifts in header, "the loops of windows.cuh have other names now"
    exchanged = header.replace(products, "@", 1).replace(shifts, products, 1).replace("@", shifts)
    return exchanged.replace("#pragma once\n", "")


# The sums leave the registers for y itself, and no bulk store follows.
AT_ONCE = (
    ("        store_bulk<", "        if (B < 0) store_bulk<"),
    (
        "store_pairs<OUT_H, OUT_W>(outputs",
        "store_pairs<OUT_H, OUT_W>(y + (size_t)b * 16 * OUT_H * OUT_W",
    ),
)
# 4 Pairs more in front of the outputs: they begin 16 bytes further on, and so in another place of
# their sectors than in y.
OFF = ("PARTS * PART + SPARE);", "PARTS * PART + SPARE + 4);")
# The tensor cores add up all channels, and no FP32 unit takes their sums back.
LONG = (
    """                PairSums sum[TILES] = {};
                multiply_two_channels<K, ROW, PLANE, PART, 32>(sum, fragments, windows);
                add(total, sum);
""",
    "                multiply_two_channels<K, ROW, PLANE, PART, 32>(total, fragments, windows);\n",
)
TAKEN_BACK = {
    "layer 2": TakenBack("layer 2", SPLIT, kernels.source(PAIRS)),
    "sums stored at once": TakenBack("layer 2", SPLIT, kernels.changed(PAIRS, *AT_ONCE)),
    "layer 1": TakenBack("layer 1", HALVES, kernels.source(QUADS)),
    "pieces 16 bytes off": TakenBack("layer 1", HALVES, kernels.changed(QUADS, OFF)),
}
LONG_SUMS = TakenBack("layer 2", SPLIT, kernels.changed(PAIRS, LONG))
IN_TURN = TakenBack(
    "layer 2", SPLIT, kernels.changed(PAIRS, ('#include "windows.cuh"\n', _products_in_turn()))
)


@functools.cache
def distances(one: TakenBack) -> Counter[int]:
    """Return how often a sum's next product is so many `mma` further on in the machine code.

    1: the two follow each other. The code is that of the installed ptxas, without a GPU.
    """
    x, filter = conv2d.inputs(one.layer, 1)
    _, (seen,) = conv2d.simulate(one.spec, x, filter, instead=one.instead, checks=False)
    last: dict[str, int] = {}  # register of the sums -> number of their last product
    found: Counter[int] = Counter()
    products = (
        instruction
        for block in loop_code.code_of(seen).blocks
        for instruction in block.instructions
        if instruction.root == "HMMA"
    )
    for number, product in enumerate(products):
        to, *_, added = re.findall(r"\bR(?:\d+|Z)\b", product.operands)
        if added in last:
            found[number - last[added]] += 1
        last[to] = number
    return found


def distances_table() -> str:
    """Return `distances` of the kernel of layer 2 and of IN_TURN as a table."""
    lines = []
    for order, one in (("as it is", TAKEN_BACK["layer 2"]), ("a sum's products in turn", IN_TURN)):
        found = distances(one)
        (often, _), shortest = found.most_common(1)[0], min(found)
        lines.append([order, f"{shortest}", f"{often}", f"{max(found)}"])
    head = ["order in the source", "shortest", "most often", "longest"]
    return tables.text(head, lines)


def errors(
    one: TakenBack, x: np.ndarray, filter: np.ndarray, exact: np.ndarray, size: np.ndarray
) -> tuple[float, float]:
    """Return the root mean square and the mean of a kernel's errors, in the simulator.

    exact: the sums in float64; size: the sums of the absolute products, by which an error is
    divided.
    """
    y, _ = conv2d.simulate(one.spec, x, filter, instead=one.instead)
    error = (y - exact) / size
    return float(np.sqrt(np.mean(error**2))), float(error.mean())


POWERS = (-20, -12, -8, -5, -3, 0, 8, 15, 17)  # of two, by which cells of 0 to 1 are multiplied
_NARROW = {  # small layers of one image
    "layer 1": limits.ConvShape(B=1, C=1, M=4, H=14, W=20, K=7),
    "layer 2": limits.ConvShape(B=1, C=4, M=16, H=14, W=20, K=7),
}


@functools.cache
def error_at(layer: str, power: int, kernel: str = "") -> float:
    """Return the largest error over the largest output of split halves, in the simulator.

    kernel: another kernel of the layer, such as PORTABLE, in their place. The cells are random
    numbers of 0 to 1, multiplied by 2 to the `power`. NaN for outputs of NaN.
    """
    shape, random = _NARROW[layer], np.random.default_rng(5)
    x = random.uniform(0, 1, shape.x_shape).astype(np.float32) * np.float32(2.0**power)
    filter = random.uniform(-1, 1, shape.filter_shape).astype(np.float32)
    y, _ = conv2d.simulate(kernel or WAYS[SPLIT][layer], x, filter, checks=False)
    exact = reference.conv2d(x, filter)
    return float(np.abs(y - exact).max() / np.abs(exact).max())


def range_table() -> str:
    """Return `error_at` of split halves and of the FP32 units for POWERS, both layers."""
    lines = []
    for power in POWERS:
        errors = (error_at(layer, power, kernel) for layer in LAYERS for kernel in ("", PORTABLE))
        cells = ("NaN" if np.isnan(error) else f"{error:.1e}" for error in errors)
        lines.append([f"{2.0**power:.2g}", *cells])
    errors_of = (f"{name},\n{way}" for name in LAYERS for way in (SPLIT, "FP32 units"))
    return tables.text(["error by\nlargest cell", *errors_of], lines)


# --------------------------------------------------------------------------------------------------
# Where a weight lies


def row_of_a(spec: conv2d.TensorLayer, step: int, row: int, shift: int = 0) -> list[str]:
    """Return which weight each of the 16 columns of a row of A holds; "-" for none.

    "25" is the weight of filter row 2 and column 5; one of the second channel is "25'".

    It is read from the halves that `arrange` makes of a filter whose weights are numbered. spec: of
    conv2d_mma_pairs or conv2d_mma_quads, with their filter of layer 2 or 1; shift: of the former.
    """
    shape = conv2d.shape_of("layer 2" if spec.name == PAIRS else "layer 1", 1)
    K = shape.K
    numbers = np.zeros((1, *shape.filter_shape), np.float16)
    numbers[:] = 1 + np.arange(shape.C * K * K).reshape(shape.C, K, K)
    made = spec.fragments(numbers)[0]
    lanes = (made[step, shift] if spec.name == PAIRS else made[step])[0]
    held = ["-"] * tensor_product.DEPTH
    for column in range(tensor_product.DEPTH):
        lane, register = tensor_product.holder_of_a(row, column)
        number = int(lanes[lane, register, column % 2])
        if number:
            channel, rest = divmod(number - 1, K * K)
            held[column] = f"{rest // K}{rest % K}" + "'" * channel
    return held


# --------------------------------------------------------------------------------------------------
# What the records say


def benchmark() -> Record:
    """Return the recorded benchmark of all layers and batches on tensor cores."""
    return results.recorded(contenders.RECORD)


def fastest(layer: str, batch: int = LARGE) -> Mapping[tuple[str, str], float]:
    """Return the shortest time (ms) of each (series, way) of the benchmark; cuDNN has way ""."""
    record = benchmark()
    found: dict[tuple[str, str], float] = results.Selection(record, {})
    for row in record.rows():
        if (row["layer"], row["batch"]) == (layer, batch) and row.get("median_ms") is not None:
            key = row["series"], row.get("way", "")
            found[key] = min(found.get(key, np.inf), row["median_ms"])
    return found


def vendor(layer: str, batch: int = LARGE) -> Mapping[str, float]:
    """Return the shortest time (ms) of each mode of cuDNN, the fastest first, by the benchmark."""
    found = fastest(layer, batch)
    modes = {mode: found[name, ""] for mode, name in cudnn.NAMES.items() if (name, "") in found}
    return results.Selection(benchmark(), dict(sorted(modes.items(), key=lambda one: one[1])))


def factors(record: Record) -> dict[tuple[str, int, str], float]:
    """Return how many times as fast as cuDNN's fastest way ours is, by layer, images and mode.

    record: of the benchmark, in which both were timed in turns. In each mode ours round as cuDNN
    does, or less (contenders.MODES).
    """
    found: dict[tuple[str, int, str], float] = {}
    for row in record.rows():
        if row["series"] != "ratio":
            continue
        mode = contenders.MODES[row["way"]]
        if row["of"].startswith(cudnn.NAMES[mode]):
            key = row["layer"], row["batch"], mode
            found[key] = max(found.get(key, 0.0), row["ratio"])
    return found


def factors_table(record: Record) -> str:
    """Return `factors` as a table: layers and numbers of images by modes of cuDNN."""
    found = factors(record)
    modes = list(dict.fromkeys(contenders.MODES.values()))
    rows = [
        (layer, f"{batch:,}", *(f"{found[layer, batch, mode]:.2f}" for mode in modes))
        for layer, batch in dict.fromkeys((layer, batch) for layer, batch, _ in found)
    ]
    return tables.text(("ours, times as fast as cuDNN", "images", *modes), rows, left=(0,))


def units(layer: str) -> conv2d.Conv2d:
    """Return the fastest form of PORTABLE for 10,000 images of a layer, by the benchmark."""
    return replace(conv2d.conv2d_named(PORTABLE), **conv2d.OCCUPANCY[layer])


def gain(times: Times) -> float:
    """Return how many times as fast split halves are as our best kernel on the FP32 units.

    The best of these times and of the benchmark; times: of a layer.
    """
    layer = times.problem.title
    found = fastest(layer).items()
    best = [ms for (series, way), ms in found if way == contenders.UNITS]
    return min(times.ms(PORTABLE), *best) / times.ms(WAYS[SPLIT][layer].name)


def reports_table(ours: Mapping[str, float], reported: Iterable[Mapping[str, Any]]) -> str:
    """Return the reports' fastest kernels of both layers beside ours, 10,000 images, as a table.

    ours: the ms of both layers by name.
    """
    lines = []
    rows_of = [r for r in reported if r["batch"] == LARGE and r["optimization"] != "streams"]
    for report in "ABC":
        of_report = [row for row in rows_of if row["report"] == report]
        best = min(of_report, key=lambda row: row["op1_ms"] + row["op2_ms"])
        total = best["op1_ms"] + best["op2_ms"]
        lines.append([f"report {report}, its fastest: {best['optimization']}", f"{total:.1f}"])
    lines += [[f"ours, {name} (another GPU)", f"{total:.2f}"] for name, total in ours.items()]
    return tables.text(["10,000 images", "op times of both layers, ms"], lines)


@functools.cache
def bounds(layer: str, way: str) -> Bounds:
    """Return the bounds of a kernel of WAYS for 10,000 images, counted in the simulator."""
    return plan_bounds.of_layer(WAYS[way][layer], conv2d.shape_of(layer, LARGE))


def products_ms(layer: str, way: str = SPLIT) -> float:
    """Return the least ms for the products of a kernel of WAYS, at the measured rate of mma.sync.

    10,000 images on an H200.
    """
    (share,) = (one for one in bounds(layer, way).shares if one.resource == "tensor_half")
    return share.microseconds / 1e3


def useful_flops(layer: str) -> float:
    """Return the operations of the formula for an image."""
    return limits.conv2d(conv2d.shape_of(layer, 1)).flops


def useful(seen: Count) -> float:
    """Return which part of a kernel's `mma` the formula needs, with three products of halves for
    one.
    """
    cells = tensor_product.ROWS * tensor_product.COLUMNS * tensor_product.DEPTH
    flops = 2 * cells * seen.executed("mma")
    return 3 * useful_flops(seen.problem) / flops


# --------------------------------------------------------------------------------------------------
# By hand


def pairs_table(make: Callable[[np.ndarray, np.ndarray], tuple[Any, Any]]) -> str:
    """Return the product of the two matrices that a student's function makes of a row of cells.

    make: of the cells and the weights, (A, B). Until they are right, the answer says what is not.
    """
    x, weights = np.array([1, 2, 0, 3, 1, 4]), np.array([1, 10, 100])
    made = make(x, weights)
    if any(one is None or one is ... for one in made):
        return NOT_YET
    A, B = (np.asarray(one) for one in made)
    right = np.array([[*weights, 0], [0, *weights]]), np.array([x[:4], x[2:6]]).T
    for name, got, want in (("A", A, right[0]), ("B", B, right[1])):
        if got.shape != want.shape:
            return f"not yet: {name} has the shape {got.shape}, and must have {want.shape}"
    for column in range(2):
        if not np.array_equal(B[:, column], right[1][:, column]):
            return (
                f"not yet: column {column} of B holds {B[:, column]}. Pair {column} is outputs "
                f"{2 * column} and {2 * column + 1}: which four cells do they need together?"
            )
    if not np.array_equal(A, right[0]):
        return f"not yet: A B = {(A @ B).tolist()}, and the outputs are 21, 302, 130, 413"
    rows = [["as they are", *map(str, (A @ B)[0])], ["shifted", *map(str, (A @ B)[1])]]
    return tables.text(["A B", "pair 0", "pair 1"], rows)


# --------------------------------------------------------------------------------------------------
# Figures


def window_figure(lane: int = 13) -> Figure:
    """Draw the cells of one column of B in the image, and in B, with the lanes that load them.

    Layer 2: the first tile of columns 32 to 39, step 0, rows h of outputs.
    """
    g, column, across = lane // 4, 32 + lane // 4, 17
    top, left = column // across * 2, column % across * 2
    figure, (image, matrix) = styles.subplots(12, 5.2, columns=2, width_ratios=(14, 8))
    for row in range(5):
        for cell in range(12):
            inside = row in (0, 1) and left <= cell < left + 8
            holder = 4 * g + (cell - left) // 2
            fill = "white" if not inside else styles.LIGHT[1] if holder == lane else styles.PALE
            boxes.box(image, cell, row, str(holder) if inside else "", facecolor=fill)
    image.set_xticks([0.5 + one for one in range(0, 12, 2)], [str(one) for one in range(0, 12, 2)])
    image.set_yticks([0.5 + row for row in range(5)], [str(top + row) for row in range(5)])
    image.set(xlim=(0, 12), ylim=(5, 0), aspect="equal", xlabel="column of x", ylabel="row of x")
    image.set_title(f"The window of column {column} of B, step 0", loc="left", fontsize="medium")
    for row in range(tensor_product.DEPTH):
        for other in range(tensor_product.COLUMNS):
            holder = 4 * other + row % 8 // 2
            mine = holder == lane
            fill = styles.LIGHT[1] if mine else styles.PALE if other == g else "white"
            boxes.box(matrix, other, row, str(holder), facecolor=fill)
    matrix.set(xlim=(0, 8), ylim=(16, 0), aspect="equal", xlabel="column of B, from 32 on")
    matrix.set_xticks([0.5 + one for one in range(8)], [str(one) for one in range(8)])
    matrix.set_yticks([4, 12], ["filter row 0", "filter row 1"])
    matrix.axhline(8, color=styles.INK, linewidth=2)
    matrix.set_title("B: the lane of each cell", loc="left", fontsize="medium")
    for ax in (image, matrix):
        ax.tick_params(length=0)
    figure.suptitle(
        f"Lane {lane} loads two Pairs, one of each row: they lie in the image as B wants them",
        x=0.01, ha="left", fontsize="medium",
    )
    return figure


def resources_figure(times: Mapping[str, Times]) -> Figure:
    """Draw the resources that split halves keep busy in both layers, and the recorded times.

    Bounds are of an H200, so the times are those of its record, whatever GPU is here. times: of a
    record, by layer.
    """
    figure, axes = styles.subplots(9.5, 6.4, 2, sharex=True)
    longest = max(measured.ms(WAYS[SPLIT][name].name) for name, measured in times.items())
    for ax, (name, measured) in zip(axes, times.items(), strict=True):
        found, ms = bounds(name, SPLIT), measured.ms(WAYS[SPLIT][name].name)
        title = (
            f"{name}: {found.largest.title} would be busy for "
            f"{percent(found.microseconds / (1e3 * ms))} of the time that {found.kernel} takes"
        )
        plotting.resource_bars(ax, found, most=6, title=title)
        ax.axvline(1e3 * ms, color=styles.INK, linestyle="--", linewidth=1.2)
        ax.annotate(
            f"measured: {1e3 * ms:.0f} µs", (1e3 * ms, 5), (-6, 0), textcoords="offset points",
            ha="right", va="center", fontsize="small",
        )
        ax.set_xlim(0, 1.15e3 * longest)
        plotting.caption(ax, measured.record)
    return figure


def end_figure(times: Mapping[str, Times]) -> Figure:
    """Draw the times of kernels by layer, cuDNN's from the benchmark, and both floors.

    The axis is logarithmic, because the libraries' times are many times ours.
    """
    counts = [len(one) + 2 for one in times.values()]
    figure, axes = styles.subplots(
        10, 0.42 * sum(counts) + 1.5 * len(times), len(times), height_ratios=counts, sharex=True
    )
    for ax, (name, measured) in zip(np.ravel(axes), times.items(), strict=True):
        bars = [
            (one.kernel.title if one.ms is not None else measured.without_bar(one), one.ms)
            for one in measured
        ]
        bounds_of = [measured.at_least(one) for one in measured]
        modes = vendor(name)
        mode = next(iter(modes))
        bars.append(("cuDNN, FP32", modes["FP32"]))
        bars.append((f"cuDNN, {mode}: its fastest", modes[mode]))
        for place, least in enumerate(bounds_of):
            if least is not None:
                figures.draw_at_least(ax, place, least, as_dot=True, digits=".2f")
        for place, (label, ms) in enumerate(bars):
            if ms is None:  # the axis says "yours: not yet", or that it is not timed here
                continue
            styles.dot(ax, place, ms, hollow=label.startswith(("cuDNN", "yours")))
            styles.beside(ax, ms, place, f"{ms:.2f}", points=9)
        ax.set_yticks(range(len(bars)), [label for label, _ in bars])
        ax.set_ylim(len(bars) - 0.5, -0.5)
        floor = limits.floor(limits.conv2d(conv2d.shape_of(name, LARGE)), measured.record.device)
        for seconds, line, words in (
            (floor.memory_s, ":", "DRAM, FP32 in and out"),
            (floor.compute_s, "--", "FP32 units, direct sums"),
        ):
            label = f"floor of {words}: {1e3 * seconds:.2f} ms"
            ax.axvline(1e3 * seconds, color=styles.INK, linestyle=line, label=label)
        ours = WAYS[SPLIT][name].name
        factor = gain(measured)
        plotting.style(ax, f"{name}: {ours} is {factor:.2f} times as fast as the best FP32 kernel")
        ax.set_xscale("log")
        styles.plain_ticks(ax.xaxis, (0.1, 0.2, 0.5, 1, 2, 5, 10, 20))
        axis = "time of 10,000 images (ms; logarithmic, left is faster)"
        ax.set_xlabel(".\n".join([axis, *figures.at_least_words(bounds_of, logarithmic=True)]))
        ax.margins(x=0.12)
        styles.legend_beside(ax)
        plotting.caption(ax, measured.record)
    return figure
