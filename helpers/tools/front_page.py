"""The pictures of the front page: a finding of the simulator, two access maps, and times.

    LAB_DEVICE=simulator python -m helpers.tools.front_page [FOLDER]

The finding and the maps come from the simulator, so that they show what a reader sees; the times
come from the record of lab 104. No GPU is needed. Run this again when the words of a finding change
with the simulator, and when lab 104 has a new record. A test compares both.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from helpers import bench, simulator
from helpers.bench import results
from helpers.bench.times import Times
from helpers.experiments import tiles
from helpers.simulator.findings import Finding

FOLDER = Path(__file__).resolve().parents[2] / "data/pictures"
FINDING, MAPS, SHARES = "finding.png", "access_maps.png", "share_of_copy.png"
LAYERS = "layers.png"
# Of benchmark_tensor.json: what a user would compare, and our fastest kernel of equal accuracy.
PAIRS = {
    "FP32": ("cuDNN (PyTorch, FP32)", ("FP32 units", "FP32 accuracy")),
    "halves": ("cuDNN (PyTorch, FP16)", ("FP16 in and out",)),
}
PIXELS_PER_INCH = 150
TEXT = "Description"  # the key of a picture's metadata that holds its words

# A mean of three cells, as a student might write it: no barrier stands between filling the tile and
# reading it.
KERNEL = """\
extern "C" __global__ void smooth(float* P, const float* N, int n)
{
    __shared__ float tile[258];
    const int t = threadIdx.x;
    const int i = blockIdx.x * 256 + t;
    tile[t + 1] = i < n ? N[i] : 0.0f;
    if (t == 0)   tile[0]   = i > 0     ? N[i - 1] : 0.0f;
    if (t == 255) tile[257] = i + 1 < n ? N[i + 1] : 0.0f;

    if (i < n)
        P[i] = (tile[t] + tile[t + 1] + tile[t + 2]) / 3.0f;
}
"""
MONOSPACE: Mapping[str, Any] = {"family": "monospace", "va": "center"}
COLOURS = {"cuDNN": "#9a9a9a", "ours": "#1d5fae"}
IMAGES = 10_000
PAPER, INK, GREY, RED, AMBER = "#fbfaf7", "#222222", "#8a8a8a", "#b3261e", "#9a6700"
RED_BAND, AMBER_BAND = "#fbdcd9", "#fbe9c6"


def race() -> Finding:
    """Return the first finding in `KERNEL`."""
    n = 1000
    cells, means = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    found = simulator.check(KERNEL, "smooth", means, cells, np.int32(n), grid=(4,), block=(256,))
    return found[0]


def picture_of(finding: Finding) -> Figure:
    """Draw `KERNEL` with the finding's two lines marked, and the finding below it."""
    code, words = KERNEL.splitlines(), str(finding).splitlines()
    rows = len(code) + len(words) + 2
    figure = plt.figure(figsize=(9, 0.235 * rows), facecolor=PAPER)
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    ax.set(xlim=(0, 100), ylim=(rows, 0))
    bands = {finding.other_line: AMBER_BAND, finding.line: RED_BAND}
    for number, line in enumerate(code, 1):
        if number in bands:
            ax.axhspan(number - 0.5, number + 0.5, color=bands[number], linewidth=0)
        ax.text(4, number, f"{number}", ha="right", color=GREY, fontsize=10, **MONOSPACE)
        ax.text(6, number, line, color=INK, fontsize=10, **MONOSPACE)
    below = len(code) + 1
    ax.axhline(below, color=GREY, linewidth=0.8)
    for k, line in enumerate(words, 1):
        colour = RED if k == 1 else INK
        ax.text(2, below + k, line, color=colour, fontsize=9.5, **MONOSPACE)
    return figure


def shares() -> tuple[Figure, str]:
    """Draw the speeds of the 1D kernels beside a copy's, from lab 104's record; return its words.

    The words are the title and the caption.
    """
    plain, loop = "conv1d_constant", "        for (int j = 0; j < FILTER_WIDTH; ++j) {\n"
    others = (
        "conv1d_tiled_steps",
        "conv1d_tiled_cached_halo",
        "conv1d_tiled_input",
        "conv1d_outputs",
        "conv1d_vector",
    )
    times = {}
    for width in (3, 31):
        problem = bench.conv1d(n=10**8, filter_width=width)
        first = problem.kernel(plain)
        if width == 31:
            unrolled = "        #pragma unroll\n" + loop
            first = first.changed(loop, unrolled, label=f"{plain}, unrolled")
        each = problem.sweep(first, record="104_unrolled")
        each += problem.sweep(*others, record="104_tiles")
        # The page is no lab that asks whether there is a GPU here.
        record = dataclasses.replace(each.record, recalled=False)
        times[width] = Times(record, each.problem, list(each), each.over)
    copy = bench.memcpy(10**8).sweep(tiles.COPY, record="104_tiles")[0]
    figure = tiles.shares_figure(times, copy)
    return figure, f"{figure.axes[0].get_title(loc='left')}. {times[3].record.caption()}"


def layers() -> tuple[Figure, str]:
    """Draw the least times of two layers, ours beside cuDNN's, from the record of the layers on
    tensor cores; return the figure's words.
    """
    record = results.load(results.MEASURED / "benchmark_tensor.json")
    rows = [row for row in record.rows() if row.get("batch") == IMAGES and "median_ms" in row]

    def least(layer: str, **of: str | tuple[str, ...]) -> float:
        (name, wanted), *_ = of.items()
        return min(
            row["median_ms"] for row in rows if row["layer"] == layer and row.get(name) in wanted
        )

    figure, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
    ticks, words = [], []
    for layer in ("layer 1", "layer 2"):
        for numbers, (library, ours) in PAIRS.items():
            at = 2.6 * len(ticks)
            times = {"cuDNN": least(layer, series=(library,)), "ours": least(layer, way=ours)}
            for k, (name, ms) in enumerate(times.items()):
                ax.barh(at + k, ms, height=0.9, color=COLOURS[name], label=name if not at else "")
                ax.text(ms + 0.06, at + k, f"{ms:.2f}", va="center", fontsize=9)
            ticks.append((at + 0.5, f"{layer}, {numbers}"))
            words.append(
                f"{layer}, {numbers}: cuDNN {times['cuDNN']:.2f} ms, ours {times['ours']:.2f} ms"
            )
    ax.set_yticks(*zip(*ticks, strict=True))
    ax.invert_yaxis()
    ax.set_xlabel(f"ms for {IMAGES:,} images (less is better)")
    ax.set_xlim(left=0)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower right")
    ax.set_title(
        "Our kernels, made for these two layers, beside cuDNN's fastest way",
        loc="left",
        fontsize=11,
    )
    figure.supxlabel(record.caption(), fontsize=8, color=GREY)
    return figure, f"{'; '.join(words)}. {record.caption()}"


def main(argv: Sequence[str] | None = None) -> int:
    """Draw the pictures into a folder."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.tools.front_page", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    folder = parser.parse_args(argv).folder
    folder.mkdir(parents=True, exist_ok=True)
    finding = race()
    picture_of(finding).savefig(
        folder / FINDING, dpi=PIXELS_PER_INCH, metadata={TEXT: str(finding)}
    )
    kernels = bench.layer("layer 1").count("conv2d_basic", "conv2d_uncoalesced")
    maps = kernels.picture("x", first=1)
    maps.savefig(folder / MAPS, dpi=PIXELS_PER_INCH, bbox_inches="tight")
    speeds, words = shares()
    speeds.savefig(folder / SHARES, metadata={TEXT: words})
    times, words = layers()
    times.savefig(folder / LAYERS, dpi=PIXELS_PER_INCH, metadata={TEXT: words})
    print(*(folder / name for name in (FINDING, MAPS, SHARES, LAYERS)), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
