"""Lab 306: what a descriptor says, swizzled tiles, and the layers by products of warpgroups.

    warpgroup_layer.descriptor_figure(tap=1)
    warpgroup_layer.swizzle_table(place)              # of a student's function
    warpgroup_layer.check(("old text", "new text"))   # conv2d_implicit_wgmma in the simulator
    warpgroup_layer.batches_figure()                  # layer 2, from the recorded benchmark
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import bench, checking, device, kernels, launch, plotting, reference, simulator, tables
from helpers.bench import contenders, cudnn
from helpers.bench.counts import NOT_YET
from helpers.experiments import fastest_layer
from helpers.limits import ConvShape
from helpers.plotting import boxes, styles, timings
from helpers.plotting.boxes import Phase
from helpers.problems import conv2d
from helpers.problems.precision import HALF_UNIT
from helpers.quantities import percent
from helpers.simulator.bounds import resources

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BATCHES = (100, 1_000, 10_000)
LARGE = BATCHES[-1]
PAIRS, WGMMA = "conv2d_mma_pairs", "conv2d_wgmma"
ANY_SHAPE = "conv2d_implicit_wgmma"
COPY = contenders.COPY[False]

# --------------------------------------------------------------------------------------------------
# Where the pieces of a matrix lie

COLUMNS, TAPS = 32, 3  # of B in the drawing, and of the filter
CELLS = COLUMNS + TAPS - 1


def descriptor_figure(tap: int = 1) -> Figure:
    """Draw the octets of a row of cells in shared memory, and what B's descriptor says of them."""
    figure, ax = styles.subplots(13, 2.7)
    for half in range(2):
        for cell in range(CELLS):
            inside = tap <= cell < tap + COLUMNS
            piece = (cell - tap) // 8 % 2
            fill = "white" if not inside else (styles.PALE, styles.LIGHT[1])[piece]
            boxes.box(ax, cell, 2.2 * half, f"{cell}", facecolor=fill)
        ax.text(-0.4, 2.2 * half + 0.5, f"channels {8 * half} to {8 * half + 7}", ha="right",
                va="center", fontsize="small")
    arrow: dict[str, Any] = {"arrowstyle": "->", "color": styles.INK, "linewidth": 1.4}
    ax.annotate("", (tap + 8.5, -0.1), (tap + 0.5, -0.1),
                arrowprops={**arrow, "connectionstyle": "arc3,rad=-0.25"})
    ax.text(tap + 4.5, -1.35, "next_eight: 8 octets = 128 bytes", ha="center", fontsize="small")
    ax.annotate("", (tap + 0.5, 2.2), (tap + 0.5, 1.0), arrowprops=arrow)
    ax.text(tap + 0.9, 1.6, f"other_half: {CELLS} octets = {16 * CELLS} bytes", va="center",
            fontsize="small")
    ax.annotate(f"address: cell {tap}", (tap + 0.5, -0.05), (tap - 2.5, -1.1), fontsize="small",
                arrowprops=arrow, ha="center")
    ax.set(xlim=(-6, CELLS + 0.5), ylim=(3.4, -1.9), aspect="equal")
    ax.axis("off")
    plotting.style(ax, f"Tap {tap}: column w of B is cell w + {tap}, and nothing is moved for it")
    return figure


PIECES = 8  # of 16 bytes in a row of 128 bytes


def _swizzled(row: int, piece: int) -> int:
    return piece ^ row % 8


def swizzle_table(place: Callable[[int, int], Any]) -> str:
    """Return the wavefronts in which one piece of eight rows is read, with a student's places.

    place: of a row and a piece, where in its row of 128 bytes the piece lies. Until it is right,
    the answer says what is not.
    """
    places = [[place(row, piece) for piece in range(PIECES)] for row in range(8)]
    if any(one is None or one is ... for row in places for one in row):
        return NOT_YET
    for row, found in enumerate(places):
        if sorted(found) != list(range(PIECES)):
            return f"not yet: the pieces of row {row} lie at {found}; each must have its own place"
    rows = []
    for name, where in (("in order", lambda row, piece: piece), ("yours", place)):
        most = max(
            max(np.bincount([where(row, piece) for row in range(8)])) for piece in range(PIECES)
        )
        rows.append((name, ", ".join(str(where(row, 2)) for row in range(8)), str(most)))
    text = tables.text(("", "piece 2 of rows 0 to 7 lies at", "wavefronts"), rows, left=(0, 1))
    if rows[1][2] != "1":
        return f"{text}\nnot yet: in eight rows a piece must lie at eight places"
    if any(place(row, piece) != _swizzled(row, piece) for row in range(8) for piece in range(8)):
        return f"{text}\nno conflicts, but the hardware expects the places piece ^ row % 8"
    return text


def swizzle_figure() -> Figure:
    """Draw where the pieces of eight rows lie, in order and swizzled over 128 bytes."""
    figure, axes = styles.subplots(11, 4.4, columns=2)
    for ax, title, where in (
        (axes[0], "in order", lambda row, piece: piece),
        (axes[1], "swizzled over 128 bytes", _swizzled),
    ):
        for row in range(8):
            for piece in range(PIECES):
                fill = styles.LIGHT[1] if piece == 2 else "white"
                boxes.box(ax, where(row, piece), row, f"{piece}", facecolor=fill)
        ax.set(xlim=(0, 8), ylim=(8, 0), aspect="equal", ylabel="row")
        ax.set_xticks([0.5 + k for k in range(8)], [f"{4 * k}" for k in range(8)])
        ax.set_yticks([0.5 + row for row in range(8)], [str(row) for row in range(8)])
        ax.set_xlabel("first bank of the piece")
        ax.tick_params(length=0)
        ax.set_title(title, loc="left", fontsize="medium")
    figure.suptitle(
        "Piece 2 of eight rows lies in four banks, or, swizzled, in all 32", x=0.01, ha="left",
        fontsize="medium",
    )
    return figure


# --------------------------------------------------------------------------------------------------
# conv2d_implicit_wgmma in the simulator

SMALL = ConvShape(1, C=32, M=64, H=10, W=10, K=3)
SIZES = conv2d.WarpgroupSizes((4, 8), 1, 2)


def check(*changes: tuple[str, str]) -> str:
    """Return PASS or FAIL of conv2d_implicit_wgmma with changed lines, on SMALL; and whether the
    result is that of the transposed filter.

    The simulator runs it with products in plain code (kernels/plain_products.cuh). The last columns
    of B have no outputs, and may read cells that nothing has written: this is no fault here.
    """
    device.select()
    spec = replace(conv2d.implicit_wgmma(), sizes=SIZES, blocks=2)
    (one,) = spec.plan(SMALL)
    source = kernels.changed(ANY_SHAPE, *changes) if changes else one.source
    one = replace(one, source=source, options=(*one.options, "-DPLAIN_PRODUCTS=1"))
    rng = np.random.default_rng(6)
    x = rng.uniform(-1, 1, SMALL.x_shape).astype(np.float16)
    filter = rng.uniform(-1, 1, SMALL.filter_shape).astype(np.float32)
    y = np.full(SMALL.y_shape, np.nan, np.float16)
    (found,) = launch.simulate((one,), {"y": y, "x": x, "filter": filter}, simulator.check)
    faults = [finding for finding in found if finding.kind != "uninitialised"]
    if faults:
        return f"FAIL {ANY_SHAPE}: {faults[0].brief()}"
    cells = x.astype(np.float32)
    want = reference.conv2d(cells, spec.precision.rounded(filter))
    atol = spec.precision.sum_atol(cells, filter)
    turned = reference.conv2d(cells, spec.precision.rounded(filter.swapaxes(2, 3)))
    suspects = {"the filter is transposed": turned}
    y = y.astype(np.float32)
    try:
        done = checking.check(y, want, rtol=HALF_UNIT, atol=atol, name=ANY_SHAPE, suspects=suspects)
    except checking.CheckError as error:
        cause = f"\n{error.diagnosis.text}" if error.diagnosis.kind == "suspect" else ""
        return str(error).partition("\n")[0] + cause
    return f"PASS {ANY_SHAPE}: {done.count:,} values within the rounding of halves"


# --------------------------------------------------------------------------------------------------
# What the records say

WARPGROUP_COLUMNS = 3 * 72 + 88  # of B, of an image: three tasks of 4 pairs of rows, and one of 5


def warpgroup_flops(parts: int) -> float:
    """Return the operations of conv2d_wgmma's products for an image of layer 2.

    A has 64 rows. A sum has 16 terms in each of four steps for each of four channels.
    """
    products = 3 if parts == 2 else 1
    return 2.0 * 64 * (16 * 4 * 4) * WARPGROUP_COLUMNS * products


def useful() -> float:
    """Return which part of conv2d_wgmma's products the formula of layer 2 needs."""
    return fastest_layer.useful_flops("layer 2") / warpgroup_flops(1)


def ms(kernel: str) -> float:
    """Return the benchmark's time (ms) of a kernel with FP32 accuracy, layer 2, 10,000 images."""
    return fastest_layer.fastest("layer 2")[kernel, contenders.SPLIT]


def rates() -> dict[str, tuple[float, float]]:
    """Return the products in a second of mma at its best and of conv2d_wgmma, in flop/s, each with
    the useful part of them, 0 to 1.
    """
    of_pairs = fastest_layer.useful(bench.layer("layer 2").count(PAIRS)[0])
    return {
        "mma": (resources.rates().by_resource["tensor_half"].per_second, of_pairs),
        "wgmma": (warpgroup_flops(2) * LARGE / (1e-3 * ms(WGMMA)), useful()),
    }


def rates_table(found: Mapping[str, tuple[float, float]]) -> str:
    """Return `rates()` as a table."""
    titles = {
        "mma": "mma, in a kernel that does nothing else",
        "wgmma": "wgmma, conv2d_wgmma in layer 2",
    }
    lines = [
        (title, f"{rate / 1e12:.0f}", percent(share), f"{share * rate / 1e12:.0f}")
        for title, (rate, share) in ((titles[name], found[name]) for name in titles)
    ]
    return tables.text(("", "Tflop/s", "useful", "useful Tflop/s"), lines)


# Of the benchmark's layer 2: name -> (series, way), each with a look that is readable in grey.
_SHOWN = {
    "FP32 units": (fastest_layer.PORTABLE, contenders.UNITS, styles.PRODUCTS["FP32 units"]),
    "split halves, mma": (PAIRS, contenders.SPLIT, styles.PRODUCTS["split halves"]),
    "split halves, wgmma": (WGMMA, contenders.SPLIT, styles.PRODUCTS["split halves, improved"]),
    "cuDNN, FP32": (cudnn.NAMES["FP32"], "", styles.library("x")),
    "cuDNN, TF32": (cudnn.NAMES["TF32"], "", styles.library("D")),
    "cuDNN, FP16": (cudnn.NAMES["FP16"], "", styles.library("*")),
}


def batches_figure() -> Figure:
    """Draw layer 2 over the images: times as multiples of the time of a copy of its bytes."""
    by_batch = [fastest_layer.fastest("layer 2", batch) for batch in BATCHES]
    lines = {
        label: (look, [found[series, way] / found[COPY, ""] for found in by_batch])
        for label, (series, way, look) in _SHOWN.items()
    }
    ylabel, ticks = "time / time of a copy of its bytes", (1, 2, 5, 10, 20)
    ax = timings.over_batches(lines, BATCHES, ylabel=ylabel, yticks=ticks)
    ax.set_ylim(0.9, 30)
    gain = ms(PAIRS) / ms(WGMMA)
    title = f"Layer 2, 10,000 images, split halves: wgmma is {gain:.2f} times as fast as mma"
    return plotting.finish(ax, title, fastest_layer.benchmark())


def winners_table() -> str:
    """Return for each layer and batch our fastest kernel of FP32 accuracy, and its yardsticks.

    The kernels on FP32 units count, too. The last columns: the time of cuDNN's fastest mode, FP16
    included, and of the copy, over ours.
    """
    lines = []
    exactly = contenders.UNITS, contenders.SPLIT
    for layer in conv2d.LAYERS:
        for batch in BATCHES:
            found = fastest_layer.fastest(layer, batch)
            exact = {series: time for (series, way), time in found.items() if way in exactly}
            best = min(exact, key=lambda series: exact[series])
            mode, vendor = next(iter(fastest_layer.vendor(layer, batch).items()))
            over = [vendor / exact[best], found[COPY, ""] / exact[best]]
            lines.append(
                [layer, f"{batch:,}", best, f"{exact[best]:.4f}", mode, f"{vendor:.4f}",
                 *(f"{value:.2f}" for value in over)]
            )
    head = ["layer", "images", "fastest of FP32 accuracy", "ms", "cuDNN's\nfastest", "\nms",
            "cuDNN\n/ ours", "copy\n/ ours"]
    return tables.text(head, lines, left=(0, 2, 4))


def granules_figure() -> Figure:
    """Draw the windows of two neighbouring quads in rows 2 and 3 of an image, and the granules that
    conv2d_wgmma stores for them. The numbers in the boxes are columns of the image.
    """
    across, columns = 17, (3, 4)  # column pairs of an image, and those that are drawn
    first, last = 2 * columns[0], 2 * columns[-1] + 8
    figure, (image, planes) = styles.subplots(11, 2.1, columns=2, width_ratios=(13, 17))
    for row in range(2):
        for cell in range(first - 1, last + 1):
            inside = first <= cell < last
            shared = first + 2 <= cell < last - 2
            fill = styles.LIGHT[1] if shared else styles.PALE if inside else "white"
            boxes.box(image, cell, row, str(cell), facecolor=fill)
    for k, column in enumerate(columns):
        y = 2.3 + 0.45 * k
        image.plot([2 * column, 2 * column + 8], [y, y], color=styles.COLOURS[k], linewidth=4)
        image.text(2 * column + 8.2, y, f"quad {across + column}", va="center", fontsize="small")
    image.set(xlim=(first - 1, last + 3), ylim=(3.2, 0), aspect="equal")
    image.set(yticks=(0.5, 1.5), yticklabels=("row 2", "row 3"), xticks=())
    plotting.style(image, "In the image the windows overlap")
    for plane in range(2):
        for k, column in enumerate(columns):
            for cell in range(8):
                number = 2 * column + cell
                shared = first + 2 <= number < last - 2
                fill = styles.LIGHT[1] if shared else styles.PALE
                boxes.box(planes, 8.5 * k + cell, 1.6 * plane, str(number), facecolor=fill)
            if plane == 0:
                planes.text(8.5 * k, -0.3, f"granule {across + column}", fontsize="small")
    planes.set(xlim=(-0.1, 16.6), ylim=(3.2, -0.9), aspect="equal")
    planes.set(yticks=(0.5, 2.1), yticklabels=("even rows", "odd rows"), xticks=())
    plotting.style(planes, "In shared memory each granule has its own 16 bytes")
    for ax in (image, planes):
        ax.tick_params(length=0)
        ax.spines[["left", "bottom"]].set_visible(False)
    return figure


def roles_figure() -> Figure:
    """Draw what the three warpgroups of conv2d_wgmma do at the same time; nothing is measured."""
    figure, ax = styles.subplots(9.5, 2.9)
    looks: dict[str, styles.Look] = {
        "fills a slot": {"facecolor": styles.PALE},
        "its products on the tensor cores": {"facecolor": styles.COLOURS[0]},
        "stores its outputs": {"facecolor": styles.LIGHT[1], "hatch": "////"},
    }
    fill, multiply, store = looks
    drawn = [Phase(0, first, 4, fill) for first in range(0, 36, 5)]
    for row, first in ((1, 4), (2, 10)):
        for start in range(first, 36, 12):
            drawn += [Phase(row, start, 6, multiply), Phase(row, start + 6, 4, store)]
    boxes.phases(ax, ("producer", "consumer 0", "consumer 1"), drawn, looks, 38)
    boxes.legend_of(figure, looks)
    plotting.style(ax, "While one consumer stores, the other one's products use the tensor cores")
    return figure
