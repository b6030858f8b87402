"""Lab 305: the layer on tensor cores, what its steps are worth, and what the records say.

    record = fastest_layer.record(gpu, lab)         # on the GPU, or the recorded run
    fastest_layer.layers_figure(record)
    fastest_layer.batches_figure(fastest_layer.benchmark())

`record` times the kernels of `WAYS`, cuDNN and copies for layers 1 and 2, and the kernels of
`TAKEN_BACK`, in each of which one step is undone. `IN_TURN` is not among them: the compiler undoes
its change, as `distances` reads off the machine code. `benchmark` is the record of
tensor_benchmark: all layers and batches, with the kernels for an H100 or H200.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import (
    checking,
    device,
    kernels,
    launch,
    limits,
    plotting,
    reference,
    simulator,
    tables,
)
from helpers.bench import cudnn, lenet_times, results, timing
from helpers.experiments import bound_ratios, loop_code, tensor_benchmark
from helpers.plotting import styles
from helpers.problems import conv2d, datasets, tensor_product
from helpers.problems.lenet import trained_weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record
    from helpers.device import Device
    from helpers.simulator.bounds import Bounds

NAME = "305_fastest"
LAYERS = ("layer 1", "layer 2")
BATCHES = (100, 1_000, 10_000)
LARGE = BATCHES[-1]
BUDGET_S = 0.1  # of one timing
UNITS = "FP32 units"
SPLIT, HALVES, HALF_IO = "split halves", "halves", "FP16 in and out"
QUADS, PAIRS, WGMMA = "conv2d_mma_quads", "conv2d_mma_pairs", "conv2d_wgmma"
PORTABLE = "conv2d_register_tiled"
COPY = tensor_benchmark.COPY[False]
TAKEN = "taken back"
# Way -> layer -> the kernel that every GPU of compute capability 8.0 or later can run.
WAYS: dict[str, dict[str, conv2d.TensorLayer]] = {
    SPLIT: {"layer 1": conv2d.mma_quads(), "layer 2": conv2d.mma_pairs()},
    HALVES: {"layer 1": conv2d.mma_quads(1), "layer 2": conv2d.mma_halves()},
    HALF_IO: {"layer 1": conv2d.mma_quads(1, True), "layer 2": conv2d.mma_halves(True)},
}
# The same of layer 2 by warpgroups, on compute capability 9.0 only.
WARPGROUPS = {
    f"{SPLIT}, warpgroups": conv2d.mma_wgmma(),
    f"{HALVES}, warpgroups": conv2d.mma_wgmma(1),
    f"{HALF_IO}, warpgroups": conv2d.mma_wgmma(1, True),
}

Row = dict[str, Any]
Rows = Mapping[tuple[str, str, int], Row]  # by (way, layer, batch)


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
    """mma.cuh, in which the products of one sum follow each other."""
    header = (kernels.FOLDER / "mma.cuh").read_text(encoding="utf-8")
    products = "int product = 0; product < PRODUCTS; ++product"
    shifts = "int shift = 0; shift < 2; ++shift"
    assert products in header and shifts in header, "the loops of mma.cuh have other names now"
    exchanged = header.replace(products, "@", 1).replace(shifts, products, 1).replace("@", shifts)
    return exchanged.replace("#pragma once\n", "")


# The sums leave the registers for y itself, and no bulk store follows.
_AT_ONCE = (
    ("        store_bulk<", "        if (B < 0) store_bulk<"),
    (
        "store_pairs<OUT_H, OUT_W>(outputs",
        "store_pairs<OUT_H, OUT_W>(y + (size_t)b * 16 * OUT_H * OUT_W",
    ),
)
# 4 Pairs more in front of the outputs: they begin 16 bytes further on, and so in another place of
# their sectors than in y.
_OFF = ("PARTS * PART + SPARE);", "PARTS * PART + SPARE + 4);")
# The tensor cores add up all channels, and no FP32 unit takes their sums back.
_LONG = (
    """                PairSums sum[TILES] = {};
                multiply_two_channels<K, ROW, PLANE, PART, 32>(sum, fragments, windows);
                add(total, sum);
""",
    "                multiply_two_channels<K, ROW, PLANE, PART, 32>(total, fragments, windows);\n",
)
TAKEN_BACK = {
    "layer 2": TakenBack("layer 2", SPLIT, kernels.source(PAIRS)),
    "sums stored at once": TakenBack("layer 2", SPLIT, kernels.changed(PAIRS, *_AT_ONCE)),
    "layer 1": TakenBack("layer 1", HALVES, kernels.source(QUADS)),
    "pieces 16 bytes off": TakenBack("layer 1", HALVES, kernels.changed(QUADS, _OFF)),
}
LONG_SUMS = TakenBack("layer 2", SPLIT, kernels.changed(PAIRS, _LONG))
IN_TURN = TakenBack(
    "layer 2", SPLIT, kernels.changed(PAIRS, ('#include "mma.cuh"\n', _products_in_turn()))
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


def _titled(what: str, one: TakenBack) -> str:
    """Return the name of a step, and of a kernel as it is with what it multiplies."""
    return f"{what}, {one.way}" if what == one.layer else what


def stores_table(data: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> tuple[str, float]:
    """Count the stores of the kernels of TAKEN_BACK on one image; return them as a table.

    data: (x, filter) by layer. The second value: how often each sector of y is written where the
    sums are stored at once. Raises checking.CheckError for a wrong output.
    """
    lines, often = [], 0.0
    for what, one in TAKEN_BACK.items():
        x, filter = data[one.layer]
        y, (seen,) = conv2d.simulate(one.spec, x[:1], filter, instead=one.instead)
        conv2d.check(y, x[:1], filter, what, precision=one.spec.precision)
        times = seen.global_store_sectors / (y.nbytes / 32)
        often = max(often, times)
        counts = seen.global_store_requests, seen.global_store_sectors
        lines.append([_titled(what, one), *(f"{n:,}" for n in counts), f"{times:.1f}"])
    head = ["one image", "store requests", "sectors", "times each sector of y"]
    return tables.text(head, lines), often


class Broken:
    """Run conv2d_mma_pairs with a piece of its source exchanged, on a small layer in the simulator.

    broken("One", old, new) returns what the simulator finds, or what the check of the values says.
    """

    def __init__(self, x: np.ndarray, filter: np.ndarray):
        self._x, self._filter = x, filter
        self._spec = replace(conv2d.mma_pairs(), warps=2)

    def __call__(self, name: str, old: str, new: str) -> str:
        instead = {PAIRS: (PAIRS, kernels.changed(PAIRS, (old, new)))}
        y, (findings,) = conv2d.simulate(
            self._spec, self._x, self._filter, entry=simulator.check, instead=instead
        )
        if findings:
            return f"--- {name}\n{findings[0].brief()}\n"
        try:
            conv2d.check(y, self._x, self._filter, name)
        except checking.CheckError as error:
            kind = error.diagnosis.kind if error.diagnosis else "wrong"
            return f"--- {name}: no finding; the check of the values says: {kind}\n"
        return f"--- {name}: no finding, and the values are right\n"


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
def error_at(layer: str, power: int) -> float:
    """Return the largest error over the largest output of split halves, in the simulator.

    The cells are random numbers of 0 to 1, multiplied by 2 to the `power`. NaN for outputs of NaN.
    """
    shape, random = _NARROW[layer], np.random.default_rng(5)
    x = random.uniform(0, 1, shape.x_shape).astype(np.float32) * np.float32(2.0**power)
    filter = random.uniform(-1, 1, shape.filter_shape).astype(np.float32)
    y, _ = conv2d.simulate(WAYS[SPLIT][layer], x, filter, checks=False)
    exact = reference.conv2d(x, filter)
    return float(np.abs(y - exact).max() / np.abs(exact).max())


def range_table() -> str:
    """Return `error_at` for POWERS, both layers."""
    lines = []
    for power in POWERS:
        errors = (error_at(layer, power) for layer in LAYERS)
        cells = ("NaN" if np.isnan(error) else f"{error:.0e}" for error in errors)
        lines.append([f"{2.0**power:.2g}", *cells])
    errors_of = (f"largest error /\nlargest output, {name}" for name in LAYERS)
    return tables.text(["largest cell,\nabout", *errors_of], lines)


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
# Measuring


def measure() -> Iterator[Row]:
    """Yield the rows of the record: times with their errors, steps taken back, right answers."""
    bench = tensor_benchmark.TensorBenchmark(budget_s=BUDGET_S)
    for name in LAYERS:
        for batch in BATCHES:
            yield from _layer(bench, name, batch)
    images, weights = datasets.images_at_hand(LARGE), trained_weights.lenet_weights()
    for way in (SPLIT, HALVES):
        layers = tuple(WAYS[way].values())
        yield from lenet_times.right_answers(weights, images, way, layers, BATCHES, NAME)


def _layer(bench: tensor_benchmark.TensorBenchmark, name: str, batch: int) -> Iterator[Row]:
    shape, (x, filter) = conv2d.shape_of(name, batch), conv2d.inputs(name, batch)
    told = {"layer": name, "batch": batch}
    with conv2d.Problem(shape, x, filter) as problem:
        for way, spec in specs(name, device.select()).items():
            ours = bench.contender(way, spec, problem, x)
            yield bench.timed(ours) | told
            ours.free()
        copy = bench.copy(shape, False)
        yield bench.timed(copy) | told
        copy.free()
        if batch < LARGE:
            return
        for what, one in TAKEN_BACK.items():
            if one.layer == name:
                yield _taken_back(problem, what, one) | told
        for mode in cudnn.MODES if not cudnn.why_not() else ():
            found = cudnn.measure(
                shape, problem.x, problem.filter, problem.want, problem.atol, mode=mode,
                budget_s=BUDGET_S,
            )  # fmt: skip
            yield from (row | told | {"way": mode} for row in found)


def units(layer: str) -> conv2d.Conv2d:
    """Return the fastest form of PORTABLE for 10,000 images of a layer, by the benchmark."""
    return replace(conv2d.conv2d_named(PORTABLE), **conv2d.OCCUPANCY[layer])


def specs(layer: str, gpu: Device) -> dict[str, conv2d.Conv2d]:
    """Return the kernels of a layer that this GPU can run, by way."""
    found: dict[str, conv2d.Conv2d] = {UNITS: units(layer)}
    found |= {way: by_layer[layer] for way, by_layer in WAYS.items()}
    if layer == "layer 2" and gpu.kind == "gpu" and gpu.compute_capability == (9, 0):
        found |= WARPGROUPS
    return found


def _taken_back(problem: conv2d.Problem, what: str, one: TakenBack) -> Row:
    plan = launch.replaced(one.spec.plan(problem.shape), one.instead)
    run = conv2d.compile(one.spec, problem.shape, plan)

    def start(stream: Any = None) -> None:
        run.launch(problem.y, problem.x, problem.filter, stream)

    problem.poison()
    start()
    verdict = problem.check(what, one.spec.precision)
    timed = timing.time_gpu(start, verdict=verdict, name=what, budget_s=BUDGET_S)
    run.free()
    return {"series": TAKEN, "step": what, "timing": timed}


def record(gpu: Device, lab: str) -> Record:
    """Measure on the GPU, or return the recorded run where there is none."""
    return results.record(NAME, measure, device=gpu, lab=lab)


def benchmark() -> Record:
    """Return the recorded benchmark of all layers and batches (`tensor_benchmark`)."""
    return results.load(results.MEASURED / f"{tensor_benchmark.NAME}.json")


# --------------------------------------------------------------------------------------------------
# What the records say


def times(data: Record) -> dict[tuple[str, str, int], Row]:
    """Return the timed rows by (way, layer, batch): "cuDNN, FP32" and so on, of its layouts the
    faster; COPY for the copies."""
    found: dict[tuple[str, str, int], Row] = {}
    for row in data.rows():
        if row["series"] == COPY or "way" in row:
            way = row.get("way", COPY)
            key = f"cuDNN, {way}" if way in cudnn.MODES else way, row["layer"], row["batch"]
            found[key] = min(row, found.get(key, row), key=lambda r: r["median_ms"])
    return found


def times_table(data: Record) -> str:
    """Return the times (ms) of all ways, and below them the largest errors, as two tables."""
    rows = times(data)
    ways = list(dict.fromkeys(way for way, _, _ in rows))
    lines, errors = [], []
    for way in ways:
        cells = [rows.get((way, name, batch)) for name in LAYERS for batch in BATCHES]
        lines.append([way, *("-" if row is None else f"{row['median_ms']:.4f}" for row in cells)])
        of_way = [rows.get((way, name, LARGE), {}).get("relative_error") for name in LAYERS]
        if any(error is not None for error in of_way):
            errors.append([way, *("-" if error is None else f"{error:.1e}" for error in of_way)])
    head = ["ms", *(f"{name},\n{batch:,}" for name in LAYERS for batch in BATCHES)]
    relative = ["largest error /\nlargest output", *(f"\n{name}" for name in LAYERS)]
    return f"{tables.text(head, lines)}\n\n{tables.text(relative, errors)}"


def taken_back(data: Record) -> dict[str, float]:
    """Return the time of each kernel of TAKEN_BACK over that of the kernel as it is."""
    ms = {row["step"]: row["median_ms"] for row in data.rows() if row["series"] == TAKEN}
    return {what: ms[what] / ms[one.layer] for what, one in TAKEN_BACK.items()}


def taken_back_table(data: Record) -> str:
    """Return `taken_back` and the times as a table."""
    ratios = taken_back(data)
    ms = {row["step"]: row["median_ms"] for row in data.rows() if row["series"] == TAKEN}
    lines = [
        [_titled(what, TAKEN_BACK[what]), f"{ms[what]:.3f}", f"{ratio:.2f}"]
        for what, ratio in ratios.items()
    ]
    return tables.text(["10,000 images", "ms", "times the kernel as it is"], lines)


def reports_table(rows: Rows, reported: Iterable[Mapping[str, Any]]) -> str:
    """Return the reports' fastest kernels of both layers beside ours, 10,000 images, as a table."""
    lines = []
    rows_of = [r for r in reported if r["batch"] == LARGE and r["optimization"] != "streams"]
    for report in "ABC":
        of_report = [row for row in rows_of if row["report"] == report]
        best = min(of_report, key=lambda row: row["op1_ms"] + row["op2_ms"])
        total = best["op1_ms"] + best["op2_ms"]
        lines.append([f"report {report}, its fastest: {best['optimization']}", f"{total:.1f}"])
    for way in (UNITS, *WAYS):
        total = sum(rows[way, name, LARGE]["median_ms"] for name in LAYERS)
        lines.append([f"ours, {way} (another GPU)", f"{total:.2f}"])
    return tables.text(["10,000 images", "op times of both layers, ms"], lines)


@functools.cache
def bounds(layer: str, way: str) -> Bounds:
    """Return the bounds of a kernel of WAYS for 10,000 images, counted in the simulator."""
    where = f"{layer}, {LARGE:,} images, {way}"
    (timed,) = (one for one in bound_ratios.timed(NAME) if one.where == where)
    return bound_ratios.bounds_of(timed)


def useful_flops(layer: str) -> float:
    """Return the operations of the formula for an image."""
    return limits.conv2d(conv2d.shape_of(layer, 1)).flops


WARPGROUP_COLUMNS = 3 * 72 + 88  # of B, of an image: three tasks of 4 pairs of rows, and one of 5


def warpgroup_flops(parts: int) -> float:
    """Return the operations of conv2d_wgmma's products for an image of layer 2.

    A has 64 rows. A sum has 16 terms in each of four steps for each of four channels.
    """
    products = 3 if parts == 2 else 1
    return 2.0 * 64 * (16 * 4 * 4) * WARPGROUP_COLUMNS * products


# --------------------------------------------------------------------------------------------------
# Figures


def resources_figure() -> Figure:
    """Draw the resources that split halves keep busy in both layers, and the recorded times.

    Bounds are of an H200, so the times are those of the record, whatever GPU is here.
    """
    import matplotlib.pyplot as plt

    data = results.load(results.MEASURED / f"{NAME}.json")
    rows = times(data)
    figure, axes = plt.subplots(2, 1, figsize=(9.5, 6.4), layout="constrained")
    for ax, name in zip(axes, LAYERS, strict=True):
        found, ms = bounds(name, SPLIT), rows[SPLIT, name, LARGE]["median_ms"]
        title = (
            f"{name}: {found.largest.title} would be busy for "
            f"{100 * found.microseconds / (1e3 * ms):.0f} % of the time that {found.kernel} takes"
        )
        plotting.resource_bars(ax, found, most=6, title=title)
        ax.axvline(1e3 * ms, color=styles.INK, linestyle="--", linewidth=1.2)
        ax.annotate(
            f"measured: {1e3 * ms:.0f} µs", (1e3 * ms, 5), (-6, 0), textcoords="offset points",
            ha="right", va="center", fontsize="small",
        )  # fmt: skip
        ax.set_xlim(0, 1.15e3 * ms)
    plotting.caption(axes[-1], data)
    return figure


_NAMED = {"cuDNN, FP32": "cuDNN in FP32", UNITS: "the FP32 units"}


def layers_figure(data: Record) -> Figure:
    """Draw the time of each way for 10,000 images as dots, with the floors of the FP32 units."""
    import matplotlib.pyplot as plt

    rows = times(data)
    figure, axes = plt.subplots(2, 1, figsize=(11, 7.4), layout="constrained")
    for ax, name in zip(axes, LAYERS, strict=True):
        ways = [way for way, layer, batch in rows if (layer, batch) == (name, LARGE)]
        shown = [rows[way, name, LARGE] | {"series": way} for way in ways]
        ours = [way for way in ways if way.startswith(SPLIT)]
        best = min(ours, key=lambda way: rows[way, name, LARGE]["median_ms"])
        # PyTorch, and with it cuDNN, may be missing.
        other = next((way for way in ways if way == "cuDNN, FP32"), UNITS)
        ms, beside = (rows[way, name, LARGE]["median_ms"] for way in (best, other))
        title = f"{name}: {best} are {beside / ms:.1f} times as fast as {_NAMED[other]}"
        plotting.times(ax, shown, emphasize=ours, title=title)
        floor = limits.floor(limits.conv2d(conv2d.shape_of(name, LARGE)), data.device)
        for seconds, line, label in (
            (floor.memory_s, ":", "DRAM floor, FP32 in and out"),
            (floor.compute_s, "--", "floor of the FP32 units, direct sums"),
        ):
            text = f"{label}: {1e3 * seconds:.2f} ms"
            ax.axvline(1e3 * seconds, color=styles.INK, linestyle=line, zorder=0.5, label=text)
        styles.legend_beside(ax)
        medians = [1e3 * floor.memory_s, *(row["median_ms"] for row in shown)]
        low, high = 0.6 * min(medians), 2.5 * max(medians)
        ax.set_xlim(low, high)
        ax.set_xticks([digit * 10.0**k for k in range(-4, 4) for digit in (1, 2, 5)
                       if low <= digit * 10.0**k <= high])  # fmt: skip
        ax.set_xlabel("op time of 10,000 images (ms; a logarithmic axis)")
    plotting.caption(axes[-1], data)
    return figure


# Of the benchmark's layer 2: name -> (series, way), each with a look that is readable in grey.
_SHOWN = {
    "FP32 units": (PORTABLE, tensor_benchmark.UNITS, "s--"),
    "split halves, mma": (PAIRS, tensor_benchmark.SPLIT, "^-"),
    "split halves, wgmma": (WGMMA, tensor_benchmark.SPLIT, "o-"),
    "cuDNN, FP32": (cudnn.NAMES["FP32"], "", "x:"),
    "cuDNN, TF32": (cudnn.NAMES["TF32"], "", "D:"),
    "cuDNN, FP16": (cudnn.NAMES["FP16"], "", "v:"),
}


def _fastest(rows: Sequence[Row], layer: str, batch: int) -> dict[tuple[str, str], float]:
    """Return the shortest time (ms) of each (series, way) of the benchmark."""
    found: dict[tuple[str, str], float] = {}
    for row in rows:
        if (row["layer"], row["batch"]) == (layer, batch) and row.get("median_ms") is not None:
            key = row["series"], row.get("way", "")
            found[key] = min(found.get(key, np.inf), row["median_ms"])
    return found


def batches_figure(data: Record) -> Figure:
    """Draw layer 2 over the images: times as multiples of the time of a copy of its bytes."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter, NullLocator

    rows = data.rows()
    by_batch = {batch: _fastest(rows, "layer 2", batch) for batch in BATCHES}
    _, ax = plt.subplots(figsize=(9.5, 4.8), layout="constrained")
    for number, (label, (series, way, look)) in enumerate(_SHOWN.items()):
        shares = [found[series, way] / found[COPY, ""] for found in by_batch.values()]
        colour = "#4a4a4a" if label.startswith("cuDNN") else styles.COLOURS[number]
        ax.plot(BATCHES, shares, look, color=colour, label=label, markersize=7)
    gain = wgmma_gain(data)
    title = f"Layer 2, 10,000 images, split halves: wgmma is {gain:.2f} times as fast as mma"
    plotting.style(ax, title)
    ax.set(xscale="log", yscale="log", ylabel="time / time of a copy of its bytes")
    ax.set_xlabel("images (both axes logarithmic)")
    ax.set_xticks(BATCHES, [f"{batch:,}" for batch in BATCHES])
    ax.set_yticks((1, 2, 5, 10, 20))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(styles.tick_text))
    ax.set_ylim(0.9, 30)
    styles.legend_beside(ax)
    return styles.figure_of(plotting.caption(ax, data))


def wgmma_ms(data: Record) -> float:
    """Return the benchmark's time (ms) of conv2d_wgmma with FP32 accuracy, 10,000 images."""
    return _fastest(data.rows(), "layer 2", LARGE)[WGMMA, tensor_benchmark.SPLIT]


def wgmma_gain(data: Record) -> float:
    """Return how many times as fast conv2d_wgmma is as conv2d_mma_pairs in the benchmark."""
    pairs = _fastest(data.rows(), "layer 2", LARGE)[PAIRS, tensor_benchmark.SPLIT]
    return pairs / wgmma_ms(data)


def winners_table(data: Record) -> str:
    """Return for each layer and batch our fastest kernel of FP32 accuracy, and its yardsticks.

    The kernels on FP32 units count, too. The last columns: the time of cuDNN's fastest mode, FP16
    included, and of the copy, over ours.
    """
    rows, lines = data.rows(), []
    for layer in conv2d.LAYERS:
        for batch in BATCHES:
            found = _fastest(rows, layer, batch)
            exact = {
                series: ms for (series, way), ms in found.items()
                if way in (tensor_benchmark.UNITS, tensor_benchmark.SPLIT)
            }  # fmt: skip
            best = min(exact, key=lambda series: exact[series])
            vendor = {
                mode: found[name, ""] for mode, name in cudnn.NAMES.items() if (name, "") in found
            }
            mode = min(vendor, key=lambda one: vendor[one])
            over = [vendor[mode] / exact[best], found[COPY, ""] / exact[best]]
            ms = [exact[best], vendor[mode]]
            lines.append(
                [layer, f"{batch:,}", best, f"{ms[0]:.4f}", mode, f"{ms[1]:.4f}",
                 *(f"{value:.2f}" for value in over)]
            )  # fmt: skip
    head = ["layer", "images", "fastest of FP32 accuracy", "ms", "cuDNN's\nfastest", "\nms",
            "cuDNN\n/ ours", "copy\n/ ours"]  # fmt: skip
    return tables.text(head, lines, left=(0, 2, 4))


def roles_figure() -> Figure:
    """Draw what the three warpgroups of conv2d_wgmma do at the same time; nothing is measured."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(9.5, 2.9), layout="constrained")
    kinds = {
        "fills a slot": (styles.PALE, ""),
        "its products on the tensor cores": (styles.COLOURS[0], ""),
        "stores its outputs": (styles.LIGHT[1], "////"),
    }
    fill, multiply, store = kinds
    boxes = [(0, first, 4, fill) for first in range(0, 36, 5)]
    for row, first in ((1, 4), (2, 10)):
        for start in range(first, 36, 12):
            boxes += [(row, start, 6, multiply), (row, start + 6, 4, store)]
    for row, first, width, kind in boxes:
        colour, hatch = kinds[kind]
        ax.barh(row, width, left=first, height=0.6, color=colour, hatch=hatch, edgecolor=styles.INK)
    handles = [plt.Rectangle((0, 0), 1, 1, facecolor=colour, hatch=hatch, edgecolor=styles.INK)
               for colour, hatch in kinds.values()]  # fmt: skip
    below: styles.Look = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16)}
    ax.legend(handles, list(kinds), frameon=False, ncols=3, **below)
    ax.set_yticks(range(3), ["producer", "consumer 0", "consumer 1"])
    ax.set(ylim=(2.5, -0.5), xlim=(0, 38), xticks=[], xlabel="time (a drawing, not a measurement)")
    ax.tick_params(axis="y", length=0)
    plotting.style(ax, "While one consumer stores, the other one's products use the tensor cores")
    return figure
