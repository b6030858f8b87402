"""Half precision in the convolution layer: promises, loads, times, accuracies.

`measure` yields the rows of the record "300_deeper". `half_instructions` counts what a warp
executes for one row of a filter, and `half_errors` how far the sums of each kernel are from exact
ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import checking, tables
from helpers.bench import layers, reports
from helpers.bench.on_device import Ready
from helpers.problems import conv2d, datasets, precision, resizing
from helpers.problems.lenet import network, trained_weights

if TYPE_CHECKING:
    from helpers.bench.results import Record
    from helpers.problems.precision import Precision
    from helpers.simulator import Profile

RECORD = "300_deeper"
LAYERS = conv2d.LENET
BATCH = 10_000
COUNTS = (100, 1_000, BATCH)  # images that a network classifies
WARP_SIZE = 32

BASIC, PATCH = "conv2d_basic", "conv2d_register"
INSIDE, HALF, PAIRS = "conv2d_half_inside", "conv2d_half", "conv2d_half2"
KERNELS = (BASIC, INSIDE, HALF, PATCH, PAIRS)
ALL_IN_HALF = conv2d.half2(chain="all")
SPECS = (*map(conv2d.conv2d_named, KERNELS), ALL_IN_HALF)
ERROR_SPECS = (conv2d.conv2d_named(HALF), conv2d.conv2d_named(PAIRS), ALL_IN_HALF)
# What is timed against what: (kernel, its part, the kernel in float32 of the same form).
PAIRED = (
    (INSIDE, "whole", BASIC),
    (HALF, "convolution", BASIC),
    (HALF, "whole", BASIC),
    (PAIRS, "convolution", PATCH),
    (PAIRS, "whole", PATCH),
)
Row = Mapping[str, Any]


def title(spec: conv2d.Conv2d) -> str:
    """Return the name of a kernel, with a remark where all of its sums are in half."""
    return spec.name + (", all in half" if spec.precision is precision.HALF_SUMS else "")


# --------------------------------------------------------------------------------------------------
# What the kernels promise, and what they load

PROMISES: Mapping[str, Precision] = {
    "float32": precision.FLOAT,
    "half,\nfloat sums": precision.HALF,
    "half,\nrows in half": precision.HALF_ROWS,
    "half,\nall in half": precision.HALF_SUMS,
}


def keeps(y: np.ndarray, x: np.ndarray, filter: np.ndarray, promise: Precision) -> bool:
    """Return whether outputs pass the check of a precision."""
    try:
        conv2d.check(y, x, filter, precision=promise)
    except checking.CheckError:
        return False
    return True


def promise_table(
    outputs: Mapping[conv2d.Conv2d, np.ndarray], x: np.ndarray, filter: np.ndarray
) -> str:
    """Return which kernel's outputs pass the check of which precision."""
    rows = [
        (title(spec), *("yes" if keeps(y, x, filter, promise) else "no"
                        for promise in PROMISES.values()))
        for spec, y in outputs.items()
    ]
    return tables.text(("passes the check of", *PROMISES), rows)


@cache
def profile(kernel: str, layer: str) -> Profile:
    """Return the profile of a kernel's convolution, without its conversion, for one image."""
    x, filter = conv2d.inputs(layer, 1)
    return conv2d.simulate(kernel, x, filter, checks=False)[1][-1]


def load_table(layer: str) -> str:
    """Return what each kernel loads from global memory: a thread for one output of a layer, and
    warps for WARP_SIZE outputs."""
    head = (
        layer, "loads for\none output", "bytes for\none output",
        f"requests for\n{WARP_SIZE} outputs", f"sectors for\n{WARP_SIZE} outputs",
    )
    outputs = conv2d.shape_of(layer, 1).outputs
    rows = []
    for kernel in KERNELS:
        seen = profile(kernel, layer)
        lanes, size = (seen.total(what, "global", "load") for what in ("lanes", "bytes_used"))
        requests, sectors = seen.global_load_requests, seen.global_load_sectors
        amounts = lanes, size, WARP_SIZE * requests, WARP_SIZE * sectors
        rows.append((kernel, *(f"{amount / outputs:,.1f}" for amount in amounts)))
    return tables.text(head, rows)


# --------------------------------------------------------------------------------------------------
# Measuring


def _parts(kernel: str, one: Ready) -> dict[str, Ready]:
    """Return a kernel, whole and, where it converts its inputs first, in parts."""
    parts = {"whole": one}
    if isinstance(one.kernel.spec, conv2d.HalfInputs):
        parts |= {"conversion": one.only("to_half"), "convolution": one.only(kernel)}
    return parts


def measure() -> Iterator[Row]:
    """Yield the rows of the record "300_deeper", measured on the selected GPU.

    Times: series (the kernel), part ("whole", "conversion", "convolution"), layer, batch and
    relative_error. Series "ratio": a kernel's part over the float32 kernel of the same form.
    Series "accuracy": right answers of a network whose convolutions a kernel computes.
    """
    for layer in LAYERS:
        yield from _time_layer(layer)
    yield from _accuracies()


def _time_layer(layer: str) -> Iterator[Row]:
    with layers.layer(layer, BATCH).on_device() as there:
        parts = {kernel: _parts(kernel, there.ready(kernel)) for kernel in KERNELS}
        for kernel, each in parts.items():
            for part, one in each.items():
                where = {"series": kernel, "part": part, "layer": layer, "batch": BATCH}
                yield {**where, "relative_error": one.error, "timing": one.time(0.25)}
        for kernel, part, other in PAIRED:
            ratio = parts[kernel][part].over(parts[other]["whole"], 0.3).to_row()
            where = {"series": "ratio", "kernel": kernel, "part": part, "over": other}
            yield {**where, "layer": layer, **ratio}


def _accuracies() -> Iterator[Row]:
    images = datasets.images_at_hand(BATCH)
    x = resizing.network_input(images.pixels)
    for weights in trained_weights.at_hand():
        for spec in (SPECS[0], *ERROR_SPECS):
            conv = partial(conv2d.convolve, spec)
            classes = [
                network.classify(network.forward(part, weights, conv)) for part in np.split(x, 2)
            ]
            right = np.concatenate(classes) == images.labels
            where = {"with": title(spec), "network": weights.name}
            yield from network.right_rows(right, COUNTS, RECORD, **where)


# --------------------------------------------------------------------------------------------------
# Reading the record


def time_rows(record: Record) -> dict[tuple[str, str, str], Row]:
    """Return the times by kernel, layer and part."""
    rows = (row for row in record.rows() if "median_ms" in row)
    return {(row["series"], row["layer"], row["part"]): row for row in rows}


def time_table(record: Record) -> str:
    """Return the times of the kernels' parts and the errors of their outputs."""
    rows, lines = time_rows(record), []
    for kernel, layer, part in rows:
        if layer == LAYERS[0]:
            pair = [rows[kernel, name, part] for name in LAYERS]
            errors = (f"{row['relative_error']:.0e}" for row in pair)
            lines.append(
                (f"{kernel}, {part}", *(f"{row['median_ms']:.3f}" for row in pair), *errors)
            )
    head = (f"{BATCH:,} images", "layer 1\n(ms)", "layer 2\n(ms)", "error\n(layer 1)",
            "error\n(layer 2)")
    return tables.text(head, lines)


def accuracy_table(record: Record) -> str:
    """Return report A's accuracies, and those of the networks in a record."""
    right = record.select(series="accuracy")
    counts = sorted({row["images"] for row in right})
    lines: list[tuple[str, ...]] = []
    for words, key in (("float32", "baseline"), ("FP16", "fp16")):
        published = (reports.kernel("A", key, n)["accuracy"] for n in counts)
        lines.append((f"report A, {words}", "", *(f"{one:.4f}" for one in published)))
    shares = {
        (row["network"], row["with"], row["images"]): row["right"] / row["images"] for row in right
    }
    for name, kernel in dict.fromkeys((row["network"], row["with"]) for row in right):
        values = (shares.get((name, kernel, n)) for n in counts)
        lines.append((kernel, name, *("" if one is None else f"{one:.4f}" for one in values)))
    head = ("share of right answers", "network", *(f"{n:,}" for n in counts))
    return tables.text(head, lines, left=(0, 1))


def moved_outputs(weights: trained_weights.Weights) -> tuple[float, float]:
    """Return by how much rounding moves an output of the network, at most, and the median lead of
    the largest output of an image over the second, of 300 images."""

    def rounded(x: np.ndarray, filter: np.ndarray) -> np.ndarray:
        return network.conv2d(precision.HALF.rounded(x), precision.HALF.rounded(filter))

    images = datasets.fashion_mnist("test", 300)
    plain = network.logits(images, weights, conv=network.conv2d)
    moved = network.logits(images, weights, conv=rounded)
    return float(np.abs(moved - plain).max()), float(np.median(network.margins(plain)))
