"""The pictures of the front page: a finding of the simulator, and two access maps.

    python -m helpers.tools.front_page [FOLDER]

Both come from the simulator, so that they show what a reader sees; no GPU is needed. The words of a
finding change with the simulator: run this again when they do. A test compares them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from helpers import bench, simulator
from helpers.simulator.findings import Finding

FOLDER = Path(__file__).resolve().parents[2] / "data/pictures"
FINDING, MAPS = "finding.png", "access_maps.png"
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
PAPER, INK, GREY, RED, AMBER = "#fbfaf7", "#222222", "#8a8a8a", "#b3261e", "#9a6700"
RED_BAND, AMBER_BAND = "#fbdcd9", "#fbe9c6"


def race() -> Finding:
    """Return the first finding in `KERNEL`."""
    n = 1000
    cells, means = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    found = simulator.check(
        KERNEL, "smooth", means, cells, np.int32(n), grid=(4,), block=(256,)
    )
    return found[0]


def picture_of(finding: Finding, source: str = KERNEL) -> Figure:
    """Draw a source with the finding's two lines marked, and the finding below it."""
    code, words = source.splitlines(), str(finding).splitlines()
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


def main(argv: Sequence[str] | None = None) -> int:
    """Draw both pictures into a folder."""
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
    print(f"{folder / FINDING}\n{folder / MAPS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
