"""The sum over channels, split over threads: what it adds, what it takes, and whether bits repeat.

`measure` times the plain loop and the three kernels that split it on both layers of the network,
and on one small image with 1 to 256 channels (record "401_channels"). `repeats` counts the outputs
whose bits differ between runs. `counter_table` and `access_figure` count in the simulator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import checking, kernels, plotting, simulator, tables
from helpers.bench import layers, results
from helpers.limits import ConvShape
from helpers.problems import conv2d

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record
    from helpers.simulator import Profile

Row = Mapping[str, Any]

PLAIN = "conv2d_basic"
ATOMICS, TREE, SHUFFLE = SPLIT = (
    "conv2d_channels_atomics",
    "conv2d_channels_tree",
    "conv2d_channels_shuffle",
)
KERNELS = (PLAIN, *SPLIT)
LAYERS = ("layer 1", "layer 2")
COUNTS = (100, 1_000, 10_000)  # images of the two layers
BATCH = COUNTS[-1]
CHANNELS = (1, 2, 4, 16, 64, 256)  # of the small image
SIDE, MAPS, WIDTH = 11, 24, 7  # of the small image: its rows and columns, output maps, filter
OUT = SIDE - WIDTH + 1  # its rows and columns of outputs
MOST_THREADS = 32  # threads, or lanes, that share one output's channels
REPEATED_IMAGES, RUNS = 100, 10  # for the count of bits that differ


def random_layer(
    B: int, C: int, M: int, H: int, W: int, K: int, seed: int = 15
) -> tuple[np.ndarray, np.ndarray]:
    """Return random images (B, C, H, W) and a filter (M, C, K, K), float32."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (B, C, H, W)).astype(np.float32)
    return x, rng.uniform(-1, 1, (M, C, K, K)).astype(np.float32)


def small_shape(C: int) -> ConvShape:
    """Return the shape of the small image with C channels."""
    return ConvShape(1, C=C, M=MAPS, H=SIDE, W=SIDE, K=WIDTH)


def fitted(name: str, C: int) -> conv2d.Conv2d:
    """Return a kernel's launch for the small image: no thread without an output if possible.

    Tree and shuffle get a thread for each channel, up to MOST_THREADS, and a power of two.
    """
    threads = min(MOST_THREADS, 1 << (C - 1).bit_length())
    if name == TREE:
        return conv2d.channels_tree(OUT, threads)
    if name == SHUFFLE:
        return conv2d.channels_shuffle(threads, OUT)
    return conv2d.conv2d_named(name).with_tile(OUT)


# --------------------------------------------------------------------------------------------------
# Counting


@cache
def profile(name: str, layer: str, images: int = 1) -> tuple[Profile, ConvShape]:
    """Run images of a layer in the simulator; return the profile and the shape."""
    x, filter = conv2d.inputs(layer, images)
    _, (seen,) = conv2d.simulate(name, x, filter, checks=False)
    return seen, conv2d.shape_for(x, filter)


def idle_share(name: str, layer: str) -> float:
    """Return the share of launched threads that have no product to compute."""
    seen, shape = profile(name, layer)
    spec = conv2d.conv2d_named(name)
    for_channels = {TREE: spec.block[-1], SHUFFLE: spec.block[1], ATOMICS: shape.C}.get(name, 1)
    launched = seen.blocks * int(np.prod(spec.threads(shape)))
    return 1 - shape.outputs * min(for_channels, shape.C) / launched


def tree_steps(threads: int) -> list[int]:
    """Return how many threads add in each step of a tree over `threads`, a power of two."""
    steps = []
    while threads > 1:
        threads //= 2
        steps.append(threads)
    return steps


def counter_table(layer: str) -> str:
    """Return the counters of the four kernels on one image of a layer, per 32 outputs.

    The stores of the atomics contain the zeros that have to be in y before the launch.
    """
    head = (
        f"{layer}, per 32 outputs", "load\nrequests", "load\nsectors", "stores and\natomics",
        "shared\nwavefronts", "barriers", "idle\nthreads",
    )  # fmt: skip
    rows = []
    for name in KERNELS:
        seen, shape = profile(name, layer)
        zeros = shape.outputs / 32 if conv2d.conv2d_named(name).zeroed else 0
        counts = (
            seen.global_load_requests,
            seen.global_load_sectors,
            seen.global_store_requests + seen.global_atomic_requests + zeros,
            seen.shared_load_wavefronts + seen.shared_store_wavefronts,
            seen.barriers,
        )
        cells = (f"{32 * count / shape.outputs:.1f}" for count in counts)
        rows.append((name, *cells, f"{idle_share(name, layer):.0%}"))
    return tables.text(head, rows)


def access_figure(lanes: Sequence[int] = (4, 32)) -> Figure:
    """Draw the first load of x of a warp, for several numbers of lanes that share an output."""
    import matplotlib.pyplot as plt

    few = random_layer(1, MOST_THREADS, 1, SIDE, SIDE, WIDTH)
    figure, axes = plt.subplots(len(lanes), 1, figsize=(9, 3.5 * len(lanes)), layout="constrained")
    for ax, count in zip(axes, lanes, strict=True):
        _, (seen,) = conv2d.simulate(conv2d.channels_shuffle(count, OUT), *few)
        request = next(r for r in seen.requests if (r.array, r.kind) == ("x", "load"))
        sectors = {offset // 32 for offset in request.offsets}
        title = (
            f"{count} lanes share an output: the {len(request.offsets)} lanes with an output ask "
            f"for {len(sectors)} sectors"
        )
        plotting.access_map(ax, seen, array="x", first=1, title=title)
    return figure


def broken(name: str, old: str, new: str, layer: tuple[np.ndarray, np.ndarray]) -> str:
    """Return what the simulator finds in a kernel with `old` replaced, and its check's verdict.

    layer: images and filter. Raises ValueError if the kernel does not contain `old`.
    """
    source = kernels.source(name)
    if old not in source:
        raise ValueError(f"{name}.cu has no {old!r} to replace: it has changed since")
    changed = {name: (name, source.replace(old, new, 1))}
    y, (findings,) = conv2d.simulate(name, *layer, entry=simulator.check, instead=changed)
    try:
        verdict = str(conv2d.check(y, *layer, name="its outputs"))
    except checking.CheckError as error:
        verdict = str(error).splitlines()[0]
    return "\n".join([*map(str, findings), verdict])


def repeats(name: str, images: int, runs: int) -> dict[str, Any]:
    """Launch a kernel `runs` times on layer 2; count outputs that get other bits than at first.

    Returns outputs, outputs_differ, runs, and `largest`: the largest difference over the largest
    output.
    """
    x, filter = conv2d.inputs("layer 2", images)
    first, *others = (conv2d.convolve(name, x, filter) for _ in range(runs))
    changed = np.zeros(first.shape, bool)
    for other in others:
        changed |= other.view(np.uint32) != first.view(np.uint32)
    largest = max(np.abs(other - first).max() for other in others) / np.abs(first).max()
    return {
        "outputs": first.size,
        "outputs_differ": int(changed.sum()),
        "runs": runs,
        "largest": float(largest),
    }


# --------------------------------------------------------------------------------------------------
# Measuring


def _time_layer(layer: str, batch: int) -> Iterator[Row]:
    with layers.layer(layer, batch).on_device() as there:
        for name in KERNELS:
            timed = there.ready(name).time(0.3)
            yield {"series": name, "layer": layer, "batch": batch, "timing": timed}


def _time_channels(C: int) -> Iterator[Row]:
    with layers.layer(shape=small_shape(C), images=1).on_device() as there:
        plain = there.ready(fitted(PLAIN, C))
        yield {"series": PLAIN, "channels": C, "timing": plain.time(0.2, cache="hot")}
        for name in SPLIT:
            pair = there.ready(fitted(name, C)).beside(plain, 0.4, cache="hot")
            yield {"series": name, "channels": C, "timing": pair.a}
            ratio = {"ratio": pair.ratio, "low": pair.low, "high": pair.high}
            where = {"series": f"{name} over {PLAIN}", "kernel": name, "channels": C}
            yield {**where, **ratio, "timing": None}


def measure() -> Iterator[Row]:
    """Yield the rows of the record "401_channels", measured on the selected GPU.

    Series by kernel: op times by layer and batch (cold), or by channels of the small image (warm
    caches). "KERNEL over conv2d_basic": ratio, low, high by channels. "differ": the
    outputs whose bits differ between runs, by kernel.
    """
    for layer in LAYERS:
        for batch in COUNTS:
            yield from _time_layer(layer, batch)
    for C in CHANNELS:
        yield from _time_channels(C)
    for name in KERNELS:
        repeated = repeats(name, REPEATED_IMAGES, RUNS)
        yield {"series": "differ", "kernel": name, **repeated, "timing": None}


# --------------------------------------------------------------------------------------------------
# Reading the record


def layer_times(record: Record, layer: str) -> dict[str, Row]:
    """Return the rows of a layer with BATCH images, by kernel."""
    rows = (row for row in record.rows() if row.get("layer") == layer)
    return {row["series"]: row for row in rows if row["batch"] == BATCH}


def speed(record: Record, layer: str, name: str) -> float:
    """Return a kernel's speed on a layer over that of the plain loop."""
    rows = layer_times(record, layer)
    return rows[PLAIN]["median_ms"] / rows[name]["median_ms"]


def fastest(record: Record, layer: str) -> str:
    """Return the fastest of the three kernels that split the channels."""
    return max(SPLIT, key=lambda name: speed(record, layer, name))


def ratio_rows(record: Record) -> dict[tuple[int, str], Row]:
    """Return the ratios of time to the plain loop's, by channels of the small image and kernel."""
    rows = (row for row in record.rows() if "ratio" in row)
    return {(row["channels"], row["kernel"]): row for row in rows}


def wins_from(record: Record) -> int | None:
    """Return from how many channels on all three kernels beat the loop on the small image.

    None if they do not with the most channels. With one channel nothing is split.
    """
    ratios = ratio_rows(record)
    first = None
    for C in sorted({C for C, _ in ratios if C > 1}, reverse=True):
        if any(ratios[C, name]["high"] >= 1 for name in SPLIT):
            break
        first = C
    return first


def wins_in_words(record: Record) -> str:
    """Return `wins_from` in words."""
    first = wins_from(record)
    most = max(C for C, _ in ratio_rows(record))
    return (
        f"for no number of channels up to {most}" if first is None else f"from {first} channels on"
    )


def per_channel(record: Record) -> tuple[float, float]:
    """Return the us of the loop for each further channel, and the us that it takes besides."""
    loop = {C: 1000 * row["median_ms"] for (C, name), row in _small_times(record) if name == PLAIN}
    *_, before, most = sorted(loop)
    each = (loop[most] - loop[before]) / (most - before)
    return each, loop[1] - each


def _small_times(record: Record) -> Iterator[tuple[tuple[int, str], Row]]:
    for row in record.rows():
        if row.get("channels") and "median_ms" in row:
            yield (row["channels"], row["series"]), row


def channels_table(record: Record) -> str:
    """Return the speeds over the plain loop on the small image, by the number of channels."""
    ratios = ratio_rows(record)
    rows = []
    for C in sorted({C for C, _ in ratios}):
        cells = []
        for name in SPLIT:
            row = ratios[C, name]
            same = row["low"] <= 1 <= row["high"]
            cells.append("no difference" if same else f"{1 / row['ratio']:.2f}")
        rows.append((str(C), *cells))
    head = ("channels", *(name.removeprefix("conv2d_channels_") for name in SPLIT))
    return tables.text(head, rows, left=())


def repeats_table(record: Record) -> str:
    """Return how many outputs had other bits in later runs, by kernel."""
    rows = []
    for row in record.rows():
        if row["series"] == "differ":
            share = f"{row['outputs_differ']:,} of {row['outputs']:,}"
            rows.append((row["kernel"], share, f"{row['largest']:.1e}"))
    head = (f"{RUNS} runs", "outputs with other bits", "largest difference\nover largest output")
    return tables.text(head, rows)


# Report, its optimization, what it builds on.
REPORTED = (
    ("B", "channel reduction tree", "baseline"),
    ("C", "channel reduction atomics", "tiled shared memory"),
    ("C", "channel reduction tree", "constant memory"),
)


def reported_table(record: Record) -> str:
    """Return the time with the channels split over the time without: reported, and ours."""
    reported = {
        (row["report"], row["optimization"]): row
        for row in results.reported("course_reports")
        if row["batch"] == BATCH
    }
    rows = []
    for report, split, before in REPORTED:
        pair = reported[report, split], reported[report, before]
        ratios = (f"{pair[0][op] / pair[1][op]:.2f}" for op in ("op1_ms", "op2_ms"))
        rows.append((f"report {report}, {split} over {before}", *ratios))
    for name in SPLIT:
        ratios = (f"{1 / speed(record, layer, name):.2f}" for layer in LAYERS)
        rows.append((f"ours, {name} over {PLAIN}", *ratios))
    return tables.text(("time with channels split over time without", *LAYERS), rows)


# --------------------------------------------------------------------------------------------------
# Figures


def layers_figure(record: Record) -> Figure:
    """Draw the speeds over the plain loop on both layers."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 1, figsize=(9, 6), layout="constrained")
    for ax, layer in zip(axes, LAYERS, strict=True):
        rows = layer_times(record, layer)
        C = conv2d.shape_of(layer, 1).C
        best = fastest(record, layer)
        title = (
            f"{layer}, {C} channel{'s' * (C > 1)}, {BATCH:,} images: the best of the three has "
            f"{speed(record, layer, best):.3g} times the loop's speed"
        )
        plotting.speedup(ax, list(rows.values()), baseline=PLAIN, title=title)
    plotting.caption(axes[1], record)
    return figure


def channels_figure(record: Record) -> Figure:
    """Draw the times on the small image over the number of channels."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullLocator

    rows = [row for _, row in _small_times(record)]
    shown = sorted({row["channels"] for row in rows})
    figure, ax = plt.subplots(figsize=(9, 4.5), layout="constrained")
    title = (
        f"One image of {SIDE} x {SIDE}, {MAPS} output maps: all three ways to split the channels "
        f"win {wins_in_words(record)}"
    )
    plotting.scaling(ax, rows, x="channels", xlabel="input channels", title=title)
    ax.set_xticks(shown, [str(C) for C in shown])
    ax.xaxis.set_minor_locator(NullLocator())
    plotting.caption(ax, record)
    return figure


def places_table() -> str:
    """Return how many outputs each of the lab's problems has, in places for threads of the GPU.

    An H200 has 132 multiprocessors, each with places for 64 warps of 32 threads.
    """
    places = 132 * 64 * 32
    problems = {
        f"{layer}, {BATCH:,} images": conv2d.shape_of(layer, BATCH).outputs for layer in LAYERS
    }
    problems[f"one image of {SIDE} x {SIDE}"] = small_shape(1).outputs
    rows = [(name, f"{count:,}", f"{count / places:,.3g}") for name, count in problems.items()]
    return tables.text(("", "outputs", f"outputs over {places:,} places"), rows)
