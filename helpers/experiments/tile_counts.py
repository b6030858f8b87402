"""What the simulator counts in the tiles of a 1D convolution, and pictures of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from helpers import plotting, tables
from helpers.experiments import ncu
from helpers.plotting.styles import INK
from helpers.problems import conv1d

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.simulator.profile import Profile


WARP = 32


def counts(spec: conv1d.Conv1d, profile: Profile, n: int) -> dict[str, float]:
    """Return the counters for 32 outputs, the work of a warp with one output in each lane.

    idle: the percentage of outputs that the threads of the launch could make and do not.
    """
    warps = n / WARP
    waves = profile.shared_load_wavefronts + profile.shared_store_wavefronts
    made = profile.blocks * spec.threads * (spec.outputs or 1)
    return {
        "load requests": profile.global_load_requests / warps,
        "load sectors": profile.global_load_sectors / warps,
        "shared waves": waves / warps,
        "barriers": profile.barriers / warps,
        "idle %": 100 * (1 - n / made),
    }


def table(
    specs: Sequence[conv1d.Conv1d], cells: np.ndarray, weights: Mapping[int, np.ndarray]
) -> str:
    """Return a table of `counts` for each kernel and each filter, by width."""
    body, head = [], []
    for spec in specs:
        for width, filter in weights.items():
            counted = counts(spec, conv1d.conv1d_profile(spec, cells, filter), cells.size)
            name = f"{spec.name}, {spec.outputs} outputs" if spec.outputs else spec.name
            body.append((name, str(width), *(f"{value:.2f}" for value in counted.values())))
            head = list(counted)
    return tables.text(("per 32 outputs", "width", *head), body)


def instructions(spec: conv1d.Conv1d, cells: np.ndarray, filter: np.ndarray) -> float:
    """Return the instructions that warps execute for 32 outputs.

    They are counted in PTX, before ptxas makes machine code of it.
    """
    return sum(conv1d.conv1d_profile(spec, cells, filter).instructions.values()) / (
        cells.size / WARP
    )


# Counter of a Profile -> what the column is called.
_BESIDE = {
    "global_load_requests": "load requests",
    "global_load_sectors": "load sectors",
    "shared_load_wavefronts": "shared load waves",
    "shared_store_wavefronts": "shared store waves",
}
COUNTED_CELLS = 10_007  # the n of the launches that data/measured/counters.json has


def beside_ncu(names: Sequence[str], cells: np.ndarray, filter: np.ndarray) -> str:
    """Return a table of counters, "simulator / Nsight Compute", for the kernels `names`.

    cells: `COUNTED_CELLS` of them. Nsight Compute's numbers are those of
    data/measured/counters.json; "-" stands for a kernel that has changed since they were read.
    Raises KeyError for launches of which none is in it.
    """
    launches, _ = ncu.recorded()
    sizes = f"n = {cells.size}, filter of {filter.size}"
    if not any(f"{name}, {sizes}" in launches for name in names):
        raise KeyError(f"no launch of these kernels with {sizes} is in the record")
    body = []
    for name in names:
        label = f"{name}, {sizes}"
        seen = conv1d.conv1d_profile(conv1d.conv1d_named(name), cells, filter).counters()
        there = launches.get(label)
        counted = {key: f"{there[key]:,}" if there else "-" for key in _BESIDE}
        body.append((name, *(f"{seen[key]:,} / {counted[key]}" for key in _BESIDE)))
    return tables.text((f"filter of {filter.size}", *_BESIDE.values()), body)


def ways_figure() -> Figure:
    """Draw the three ways to fill a tile, for 12 cells, a filter of 3 and blocks of 5 threads."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 1, figsize=(9, 8), layout="constrained")
    plotting.halo(
        axes[0], 12, 5, 1, block=1,
        title="In steps: 5 threads make 5 outputs and stage 7 cells, so they load twice",
    )  # fmt: skip
    plotting.halo(axes[1], 12, 5, 0, block=1)
    for cell, x, align in ((4, 3.9, "right"), (10, 11.1, "left")):
        axes[1].add_patch(
            plt.Rectangle((cell, 2), 1, 1, facecolor="#fff4c2", edgecolor=INK, hatch="...")
        )
        behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        axes[1].text(
            cell + 0.5, 2.5, str(cell), ha="center", va="center", fontsize="x-small", bbox=behind
        )
        axes[1].annotate(
            "read from\nglobal memory", (cell + 0.5, 2), (x, 0.5), ha=align, va="center",
            fontsize="small", arrowprops={"arrowstyle": "<-", "color": INK},
        )  # fmt: skip
    plotting.style(
        axes[1],
        "Cached halo: 5 threads make 5 outputs and stage 5 cells, but not the cells 4 and 10",
    )
    plotting.halo(
        axes[2], 12, 3, 1, block=1,
        title="Input tile: 5 threads stage 5 cells and make 3 outputs; two threads make none",
    )  # fmt: skip
    for ax in axes:
        ax.set_xlim(-1.3, 13.3)
    return figure


def access_figure(plain: Profile, tiled: Profile) -> Figure:
    """Draw which cells a warp asks for without a tile and with one, on one axis."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 1, figsize=(9, 7), layout="constrained", sharex=True)
    many = len([r for r in plain.requests if (r.array, r.kind) == ("N", "load")])
    plotting.access_map(
        axes[0], plain, array="N", title=f"No tile: {many} requests, and nearly every cell in each"
    )
    plotting.access_map(
        axes[1], tiled, array="N", requests=[1], title="Tile, first loading step: each cell once"
    )
    axes[0].set_xlabel("")
    axes[0].tick_params(labelbottom=True)
    return figure


def banks_figure(profiles: Mapping[str, Profile]) -> Figure:
    """Draw the banks of a load of the tile for two kernels, by name, and compare their counters."""
    import matplotlib.pyplot as plt

    (one, before), (two, after) = profiles.items()
    figure, axes = plt.subplot_mosaic(
        [[one, two], ["counts"] * 2], figsize=(9, 7.4), height_ratios=(3, 1), layout="constrained"
    )
    for name, seen in profiles.items():
        plotting.bank_conflicts(axes[name], seen, array="tile", title=name)
    counters = ("shared_load_requests", "shared_load_wavefronts", "shared_load_conflicts")
    many, few = before.shared_load_conflicts, after.shared_load_conflicts
    title = f"{two}: {few:,} conflicts in place of {many:,}"
    plotting.compare(
        axes["counts"], before, after, counters=counters, names=(one, two), title=title
    )
    return figure
