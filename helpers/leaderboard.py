"""A leaderboard of kernels for the convolution layer: checked on shapes that their author does not see, counted, timed, ranked.

    board = leaderboard.Board(record)          # with the kernels that the record has times of
    print(board.enter(my_kernel))              # a %%kernel function; raises where it is wrong
    print(board.table())

An entry has the layer's signature, `(float* y, const float* x, const float* filter, int B, int C, int M, int H, int W, int K)`,
and is launched with blocks of TILE_WIDTH x TILE_WIDTH threads that make TILE_WIDTH rows of TILE_WIDTH * COLUMNS outputs, of MAPS
output maps; grid = (tiles of a map, groups of maps, images). -D options of these names say so; without them 16, 1 and 1.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import datasets, device, ladder, layer, lenet, plotting, timing
from helpers.limits import ConvShape
from helpers.results import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LAYERS = ("layer 1", "layer 2")
BATCH = 10_000
WIDTHS = (1, 2, 4, 7, 9, 15)  # of the filters of the hidden shapes
LAUNCH = {"TILE_WIDTH": 16, "COLUMNS": 1, "MAPS": 1}
BUDGET_S = 0.15  # of one timing


class EntryError(AssertionError):
    """An entry that the simulator finds something wrong with; the message is the finding's."""


@dataclass(frozen=True)
class Entry:
    """One kernel on the board. passes: of L1 and shared memory per 32 multiply-adds, by layer, as `ladder.Counters` counts them;
    ms: op times by layer of BATCH images, empty where it was not timed; mine: whether it was entered."""

    name: str
    passes: Mapping[str, float]
    ms: Mapping[str, float] = field(default_factory=dict)
    mine: bool = False

    @property
    def total_ms(self) -> float | None:
        """Both layers' op time, None where it was not timed."""
        return sum(self.ms.values()) if len(self.ms) == len(LAYERS) else None

    @property
    def total_passes(self) -> float:
        """Passes per 32 multiply-adds of both layers together."""
        weight = {name: layer.shape_of(name, 1).outputs * layer.shape_of(name, 1).terms for name in LAYERS}
        return sum(self.passes[name] * weight[name] for name in LAYERS) / sum(weight.values())


def spec_of(kernel: Any) -> layer.Conv2d:
    """Return how an entry is launched: a record that stands in for conv2d_basic's. Raises LayerError for a size below 1."""
    sizes = dict(LAUNCH)
    for option in kernel.options:
        found = re.fullmatch(rf"-D({'|'.join(LAUNCH)})=(\d+)", option)
        if found:
            sizes[found[1]] = int(found[2])
    if min(sizes.values()) < 1:
        raise layer.LayerError(f"{kernel.name}: {', '.join(LAUNCH)} must be 1 or more, not {sizes}")
    width = sizes["TILE_WIDTH"]
    tile = (width * sizes["COLUMNS"], width, sizes["MAPS"])
    return dataclasses.replace(layer.conv2d_named("conv2d_basic"), block=(width, width), tile=tile, strides=False)


def run(kernel: Any, shape: ConvShape, rng: np.random.Generator) -> ladder.Counters:
    """Check one launch of an entry on random cells in the simulator; return its counters.

    Raises EntryError for a finding, checking.CheckError where an output is wrong.
    """
    x, filter = (rng.uniform(-1, 1, size).astype(np.float32) for size in (shape.x_shape, shape.filter_shape))
    own = {"instead": {"conv2d_basic": (kernel.name, kernel.source)}, "options": kernel.options}
    y, launches = layer.simulate(spec_of(kernel), x, filter, **own)
    if launches[0].findings:
        raise EntryError(f"{kernel.name} on {shape}: {launches[0].findings[0]}")
    layer.check(y, x, filter, name=f"{kernel.name} on {shape}")
    return ladder.counters_of(launches, shape)


def hidden_shapes(seed: int) -> list[ConvShape]:
    """Shapes for an entry to be right on: one for each of WIDTHS, images down to the size of the filter."""
    rng = np.random.default_rng(seed)
    shapes = []
    for K in WIDTHS:
        B, C, M, rows, columns = map(int, rng.integers((1, 1, 1, 0, 0), (3, 5, 10, 25, 40)))
        shapes.append(ConvShape(B, C, M, K + rows, K + columns, K))
    return shapes


def require_right(kernel: Any, seed: int = 22) -> int:
    """Return on how many hidden shapes an entry is right: all of them. Raises as `run` for the first that it is not."""
    rng, shapes = np.random.default_rng(seed), hidden_shapes(seed)
    for shape in shapes:
        run(kernel, shape, rng)
    return len(shapes)


def counted(kernel: Any) -> dict[str, float]:
    """Return the passes of an entry by layer, for one image of each, which it must be right on."""
    return {name: run(kernel, layer.shape_of(name, 1), np.random.default_rng(layer.SEED)).passes for name in LAYERS}


@functools.cache
def inputs(which: str, batch: int = BATCH) -> tuple[np.ndarray, np.ndarray]:
    """Return (x, filter) of a layer as `layer.inputs` does; layer 2's x is made on the selected device."""
    weights = datasets.lenet_weights()
    if which == LAYERS[0]:
        return datasets.network_input(datasets.fashion_mnist("test", batch).pixels), weights.conv1
    with lenet.Network(weights, batch) as net:
        net.load(inputs(LAYERS[0], batch)[0])
        net.launch()
        return net.read("pool 1"), weights.conv2


def timed(kernel: Any, batch: int = BATCH) -> dict[str, float]:
    """Return the op times (ms) of an entry by layer, on the GPU, every output checked before. Raises as layer.Problem.check."""
    spec, found = spec_of(kernel), {}
    for name in LAYERS:
        shape = layer.shape_of(name, batch)
        spec.require(shape, device.select())
        with layer.Problem(shape, *inputs(name, batch)) as problem:
            arguments = spec.arguments(*map(np.uintp, (problem.y, problem.x, problem.filter)), shape)
            where = {"block": spec.threads(shape), "grid": spec.grid(shape)}
            found[name] = _time(lambda stream, a=arguments, w=where: kernel(*a, **w, stream=stream), problem, kernel.name).median
    return found


def times_of(names: tuple[str, ...], batch: int = BATCH) -> list[dict[str, Any]]:
    """Return the rows of a record: op times of kernels of layer.CONV2D on both layers, every output checked before."""
    rows = []
    for which in LAYERS:
        with layer.Problem(layer.shape_of(which, batch), *inputs(which, batch)) as problem:
            for name in names:
                compiled = layer.compile(name, problem.shape)

                def launch(stream: Any, compiled: layer.Compiled = compiled) -> None:
                    compiled.launch(problem.y, problem.x, problem.filter, stream)

                rows.append({"series": name, "layer": which, "batch": batch, "timing": _time(launch, problem, name)})
                compiled.free()
    return rows


def _time(launch: Any, problem: layer.Problem, name: str) -> timing.Timing:
    problem.poison()
    launch(None)
    return timing.time_gpu(launch, verdict=problem.check(name), name=name, budget_s=BUDGET_S)


class Board:
    """The kernels of a record (as `times_of` makes its rows), counted in the simulator, and what is entered beside them.

    The counters of the simulator rank everywhere. Times rank where all have one: those of an entry are measured on a GPU, and
    only stand beside the record's where the record is of the same device and has not been recalled.
    """

    def __init__(self, record: Record):
        self.record = record
        times: dict[str, dict[str, float]] = {}
        for row in record.rows():
            times.setdefault(row["series"], {})[row["layer"]] = row["median_ms"]
        self.entries = [
            Entry(name, {which: ladder.counted(name, which).passes for which in LAYERS}, ms) for name, ms in times.items()
        ]

    def enter(self, kernel: Any) -> str:
        """Check an entry, count it, time it where there is a GPU, and put it on the board; return its line.

        One of the same name is replaced. Raises as `require_right`, and as layer.Problem.check on a GPU.
        """
        right, passes = require_right(kernel), counted(kernel)
        ms = {} if self.record.recalled else timed(kernel)
        self.entries = [one for one in self.entries if one.name != kernel.name] + [Entry(kernel.name, passes, ms, mine=True)]
        return f"{kernel.name}: right on {right} hidden shapes and both layers; {self.place(kernel.name)}"

    def ranked(self, by: str = "passes") -> list[Entry]:
        """Return the entries, the best first, by "passes" or by "ms"; those without a time are left out of the latter."""
        if by == "ms":
            return sorted((one for one in self.entries if one.total_ms is not None), key=lambda one: one.total_ms)
        return sorted(self.entries, key=lambda one: one.total_passes)

    def place(self, name: str) -> str:
        """Return in words where a kernel stands, by each ranking that it is in. Raises KeyError for one that is not there."""
        told = []
        for by in ("passes", "ms"):
            names = [one.name for one in self.ranked(by)]
            if name in names:
                told.append(f"place {names.index(name) + 1} of {len(names)} by {'time' if by == 'ms' else by}")
        if not told:
            raise KeyError(f"{name} is not on the board")
        return ", ".join(told)

    def table(self) -> str:
        """Return the board as text, ranked by passes."""
        lines = [f"{'':4}{'passes per 32 multiply-adds':32}{'both':>8}{LAYERS[0]:>10}{LAYERS[1]:>10}{'ms, both':>10}"]
        for place, one in enumerate(self.ranked(), 1):
            passes = "".join(f"{one.passes[which]:10.2f}" for which in LAYERS)
            ms = "-" if one.total_ms is None else f"{one.total_ms:.2f}"
            lines.append(f"{place:2}  {one.name:32}{one.total_passes:8.2f}{passes}{ms:>10}{'  <- entered' * one.mine}")
        return "\n".join(lines)

    def draw(self, ax: Axes, by: str = "passes", title: str = "") -> Axes:
        """Draw a ranking as horizontal bars, what was entered solid, the others hatched."""
        ranked = self.ranked(by)
        values = [one.total_ms if by == "ms" else one.total_passes for one in ranked]
        for y, (one, value) in enumerate(zip(ranked, values, strict=True)):
            look = {"color": plotting.COLOURS[0]} if one.mine else {"color": "white", "hatch": "///"}
            ax.barh(y, value, height=0.6, edgecolor="#222222", linewidth=0.8, **look)
            ax.annotate(f"{value:.3g}", (value, y), (5, 0), textcoords="offset points", va="center", fontsize="small")
        ax.set_yticks(range(len(ranked)), [one.name for one in ranked])
        ax.invert_yaxis()
        ax.set_xlim(0, 1.15 * max(values))
        wide = "op time of both layers, 10,000 images (ms)" if by == "ms" else "passes of L1 and shared memory per 32 multiply-adds"
        ax.set_xlabel(f"{wide}; shorter is better")
        return plotting.style(ax, title)
