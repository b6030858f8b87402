"""The pictures of the front page: a replay of a launch, two access maps, and times.

    LAB_DEVICE=simulator python -m helpers.tools.front_page [FOLDER]

The replay and the maps come from the simulator, so that they show what a reader sees; the times
come from records. No GPU is needed. Run this again when the words of a replay change with the
simulator, and when lab 104 or the layers have a new record. A test compares them.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from helpers import bench
from helpers.bench import results
from helpers.bench.times import Times
from helpers.experiments import tiles
from helpers.simulator.explain.pictures import Replay, Window
from helpers.simulator.explain.replays import replay_of
from helpers.simulator.explain.scenes import Frame, Order
from helpers.simulator.explain.words import end_of

FOLDER = Path(__file__).resolve().parents[2] / "data/pictures"
MAPS, SHARES = "access_maps.png", "share_of_copy.png"
LAYERS, REPLAY = "layers.png", "replay.gif"
# Of benchmark_tensor.json: what a user would compare, and our fastest kernel of equal accuracy.
PAIRS = {
    "FP32": ("cuDNN (PyTorch, FP32)", ("FP32 units", "FP32 accuracy")),
    "halves": ("cuDNN (PyTorch, FP16)", ("FP16 in and out",)),
}
PIXELS_PER_INCH = 150
TEXT = "Description"  # the key of a picture's metadata that holds its words

# A mean of three cells, as a student might write it: no barrier stands between filling the tile and
# reading it. One block of four threads is small enough to be seen whole.
KERNEL = """\
extern "C" __global__ void smooth(float* P, const float* N)
{
    __shared__ float tile[6];
    const int t = threadIdx.x;
    tile[t + 1] = N[t];
    if (t == 0) tile[0] = 0.0f;
    if (t == 3) tile[5] = 0.0f;

    P[t] = (tile[t] + tile[t + 1] + tile[t + 2]) / 3.0f;
}
"""
SECONDS, LAST_SECONDS = 1.8, 4.0  # that a frame stands, and the last one of an order
MONOSPACE: Mapping[str, Any] = {"family": "monospace", "va": "center"}
COLOURS = {"cuDNN": "#9a9a9a", "ours": "#1d5fae"}
IMAGES = 10_000
PAPER, INK, GREY, RED, AMBER = "#fbfaf7", "#222222", "#8a8a8a", "#b3261e", "#9a6700"
RED_BAND, AMBER_BAND = "#fbdcd9", "#fbe9c6"


def replayed() -> Replay:
    """Return one launch of `KERNEL` step by step, in two orders."""
    cells, means = np.array([3, 6, 9, 12], np.float32), np.zeros(4, np.float32)
    return replay_of(KERNEL, "smooth", means, cells, grid=(1,), block=(4,))


def frames_of(replay: Replay) -> list[tuple[Figure, str]]:
    """Return the frames of both orders, drawn and in words: the lines that read or write something,
    and how the order ends.
    """
    made = []
    for order in replay.orders:
        is_first = order is replay.orders[0]
        for k, frame in enumerate(order.frames):
            if frame.accesses:
                # Where all threads go together the values are right, and the race is no news.
                shown = dataclasses.replace(frame, races=()) if is_first else frame
                made.append(_drawn(replay, order, k, shown, replay.words_of(shown)))
        end = "The end: right, by luck." if is_first else end_of(order)
        made.append(_drawn(replay, order, len(order.frames), Frame(0, ()), end))
    return made


def _drawn(replay: Replay, order: Order, at: int, frame: Frame, said: str) -> tuple[Figure, str]:
    figure = plt.figure(figsize=(9, 3.9), facecolor=PAPER)
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    ax.set(xlim=(0, 100), ylim=(15, 0))
    is_first = order is replay.orders[0]
    title = "All threads go together" if is_first else "Another order, as allowed on a GPU"
    ax.text(2, 1, f"{order.name}   {title}", color=INK, fontsize=12, weight="bold", va="center")
    colour = RED_BAND if frame.races else AMBER_BAND
    for number, line in enumerate(replay.source, 1):
        if number == frame.line:
            ax.add_patch(plt.Rectangle((0, number + 1.5), 59, 1, color=colour, linewidth=0))
        ax.text(3, number + 2, f"{number}", ha="right", color=GREY, fontsize=8.5, **MONOSPACE)
        ax.text(4.5, number + 2, line, color=INK, fontsize=8.5, **MONOSPACE)
    threads = Window("threads", "", (1, len(replay.threads)), tuple(range(len(replay.threads))))
    _cells(ax, 3, threads, {thread: AMBER_BAND for thread in frame.threads})
    racing = {(race.array, race.cell) for race in frame.races}
    for row, window in enumerate(replay.memory_after(order.frames[: at + 1])):
        now = dict.fromkeys(_written([frame], window.name), AMBER_BAND)
        hot = {cell: RED_BAND for name, cell in racing if name == window.name}
        written = _written(order.frames[: at + 1], window.name)
        _cells(ax, 5.6 + 2.6 * row, window, now | hot, written)
    ax.axhline(12.9, color=GREY, linewidth=0.8)
    ax.text(2, 13.9, said, color=RED if frame.races else INK, fontsize=10, va="center")
    return figure, f"{order.name}: {said}"


def _written(frames: Sequence[Frame], array: str) -> set[int]:
    """Return the cells of an array that the frames have written."""
    return {
        cell
        for frame in frames
        for access in frame.accesses
        if (access.array, access.kind) == (array, "w")
        for cell in access.cells
        if cell is not None
    }


def _cells(
    ax: Axes, top: float, window: Window, colours: Mapping[int, str], written: Container[int] = ()
) -> None:
    """Draw an array as a row of cells: a dot where nobody has written, a question mark where what
    was written had no value.
    """
    ax.text(66, top + 0.9, window.name, ha="right", color=GREY, fontsize=9, va="center")
    for k, value in enumerate(window.values):
        box = plt.Rectangle(
            (67.5 + 5.2 * k, top), 5, 1.8, facecolor=colours.get(k, "white"), edgecolor=GREY
        )
        ax.add_patch(box)
        nothing = "?" if k in written else "·"
        said = nothing if value is None else f"{value:g}"
        ax.text(70 + 5.2 * k, top + 0.95, said, ha="center", va="center", fontsize=9.5, color=INK)


def animate(frames: Sequence[tuple[Figure, str]], path: Path) -> None:
    """Write frames as one moving picture with their words in it."""
    images, seconds = [], []
    for k, (figure, said) in enumerate(frames):
        canvas = FigureCanvasAgg(figure)
        figure.set_dpi(100)
        canvas.draw()
        images.append(Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3]))
        is_last = k + 1 == len(frames) or frames[k + 1][1][0] != said[0]
        seconds.append(LAST_SECONDS if is_last else SECONDS)
        plt.close(figure)
    # One palette for all frames: that of a picture in which they stand one below the other.
    palette = Image.fromarray(np.vstack([np.asarray(one) for one in images])).quantize(64)
    first, *others = (one.quantize(palette=palette, dither=Image.Dither.NONE) for one in images)
    first.save(
        path,
        save_all=True,
        append_images=others,
        duration=[int(1000 * each) for each in seconds],
        loop=0,
        comment=" ".join(said for _, said in frames),
    )


def shares() -> tuple[Figure, str]:
    """Draw the speeds of the 1D kernels beside a copy's, by deeper 104's record; return its words.

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
        each += problem.sweep(*others, record="104_deeper_tiles")
        # The page is no lab that asks whether there is a GPU here.
        record = dataclasses.replace(each.record, recalled=False)
        times[width] = Times(record, each.problem, list(each), each.over)
    copy = bench.memcpy(10**8).sweep(tiles.COPY, record="104_deeper_tiles")[0]
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
    ticks: list[tuple[float, str]] = []
    words: list[str] = []
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
    kernels = bench.layer("layer 1").count("conv2d_basic", "conv2d_uncoalesced")
    maps = kernels.picture("x", first=1)
    maps.savefig(folder / MAPS, dpi=PIXELS_PER_INCH, bbox_inches="tight")
    speeds, words = shares()
    speeds.savefig(folder / SHARES, metadata={TEXT: words})
    times, words = layers()
    times.savefig(folder / LAYERS, dpi=PIXELS_PER_INCH, metadata={TEXT: words})
    animate(frames_of(replayed()), folder / REPLAY)
    print(*(folder / name for name in (REPLAY, MAPS, SHARES, LAYERS)), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
