"""A leaderboard of kernels for the convolution layer: checked on drawn shapes, counted, timed, ranked.

    board = leaderboard.Board(record)          # with the kernels that the record has times of
    print(board.enter(my_kernel))              # a %%kernel function; EntryError says what is wrong
    print(board.table())

An entry has the layer's signature, SIGNATURE, and is launched with blocks of TILE_WIDTH x
TILE_WIDTH threads that make TILE_WIDTH rows of TILE_WIDTH * COLUMNS outputs, of MAPS output maps;
grid = (tiles of a map, groups of maps, images). -D options of these names say so; without them 16,
1 and 1. There is no dynamic shared memory.

On a GPU the rank is by time. Elsewhere it is by a bound: what no H200 does faster, from everything
that a kernel asks for (helpers.simulator.bounds). A bound is not a time: a kernel may take much
longer than its bound, and of two kernels the one of the lower bound may be the slower.

Two kernels whose totals are within TIE of each other share a place: two timings of one kernel
differ by as much.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import checking, plotting, tables, timing
from helpers.experiments import ladder, layer_bounds
from helpers.limits import ConvShape
from helpers.problems import conv2d, datasets
from helpers.problems.lenet import pipeline
from helpers.results import Record
from helpers.simulator import Profile
from helpers.simulator.includes import without_comments

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LAYERS = ("layer 1", "layer 2")
BATCH = 10_000
WIDTHS = (1, 2, 4, 7, 9, 15)  # of the filters of the hidden shapes
LAUNCH = {"TILE_WIDTH": 16, "COLUMNS": 1, "MAPS": 1}
BUDGET_S = 0.15  # of one timing
LIMIT_S = 30.0  # of one launch in the simulator
SMALL_BATCHES = (2, 3, 4)  # images of the larger of the two batches that are counted
TIE = 1.02  # totals up to this ratio share a place
SIGNATURE = (
    "(float* y, const float* x, const float* filter, int B, int C, int M, int H, int W, int K)"
)
ELSEWHERE = (
    "It is right on both layers, and must be on every shape: take all sizes from the "
    "arguments, and guard the last tile."
)


class EntryError(AssertionError):
    """An entry that is refused; the message says what is wrong, and on which shape."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of a traceback."""
        return [f"{type(self).__name__}: {self}"]


@dataclass(frozen=True)
class Entry:
    """One kernel on the board. bound: in ms, by layer of BATCH images: no H200 is faster; ms: op
    times, likewise, empty where it was not timed; mine: whether it was entered.
    """

    name: str
    bound: Mapping[str, float]
    ms: Mapping[str, float] = field(default_factory=dict)
    mine: bool = False

    @property
    def total_ms(self) -> float | None:
        """Both layers' op time, None where it was not timed."""
        return sum(self.ms.values()) if len(self.ms) == len(LAYERS) else None

    @property
    def total_bound(self) -> float:
        """Both layers' bound: one is launched after the other."""
        return sum(self.bound.values())

    def total(self, by: str) -> float:
        """`total_ms` by "ms", `total_bound` by "bound". Raises ValueError for the former where it
        was not timed."""
        if by != "ms":
            return self.total_bound
        if self.total_ms is None:
            raise ValueError(f"{self.name} was not timed: rank it by its bound")
        return self.total_ms


@dataclass(frozen=True)
class EntrySpec(conv2d.Conv2d):
    """How an entry is launched: as conv2d_basic, with the text and options that it came with."""

    text: str = ""
    given: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        return self.text

    def options(self, shape: ConvShape) -> list[str]:
        return list(self.given)


def spec_of(kernel: Any) -> conv2d.Conv2d:
    """Return how an entry is launched. Raises EntryError for another signature than the layer's, and a size below 1."""
    _require_signature(kernel)
    sizes = dict(LAUNCH)
    for option in kernel.options:
        found = re.fullmatch(rf"-D({'|'.join(LAUNCH)})=(\d+)", option)
        if found:
            sizes[found[1]] = int(found[2])
    if min(sizes.values()) < 1:
        raise EntryError(f"{kernel.name}: {', '.join(LAUNCH)} must be 1 or more, not {sizes}")
    width = sizes["TILE_WIDTH"]
    return EntrySpec(
        kernel.name,
        block=(width, width),
        tile=(width * sizes["COLUMNS"], width, sizes["MAPS"]),
        text=kernel.source,
        given=tuple(kernel.options),
    )


def _require_signature(kernel: Any) -> None:
    code = without_comments(kernel.source)
    found = re.search(rf"\b{re.escape(kernel.name)}\s*\(([^)]*)\)", code)
    if found and [*map(_type_of, found[1].split(","))] != [
        *map(_type_of, SIGNATURE[1:-1].split(","))
    ]:
        raise EntryError(
            f"{kernel.name} takes ({' '.join(found[1].split())}).\nAn entry takes {SIGNATURE}, "
            "in this order."
        )
    if re.search(r"\bextern\s+__shared__", code):
        raise EntryError(
            f"{kernel.name} leaves the size of its shared memory to the launch, which gives none: "
            "declare the array with a size (K is at most 15)."
        )


def _type_of(parameter: str) -> tuple[bool, list[str]]:
    """Whether a parameter, or what it points to, is const; and its type."""
    words = re.findall(r"\w+|\*", parameter)
    return "const" in words and "*" in words, [
        word for word in words[:-1] if word not in ("const", "__restrict__", "__restrict")
    ]


def run(kernel: Any, shape: ConvShape, rng: np.random.Generator, hint: str = "") -> ladder.Counters:
    """Check one launch of an entry on random cells in the simulator; return its counters.

    Raises EntryError for a finding, or where an output is wrong; hint: what its message ends with.
    """
    return ladder.counters_of(_profiles(kernel, shape, rng, hint), shape)


def _profiles(
    kernel: Any, shape: ConvShape, rng: np.random.Generator, hint: str = ""
) -> tuple[Profile, ...]:
    """As `run`; returns the launches' profiles."""
    x, filter = (
        rng.uniform(-1, 1, size).astype(np.float32) for size in (shape.x_shape, shape.filter_shape)
    )
    try:
        y, launches = conv2d.simulate(spec_of(kernel), x, filter, time_limit=LIMIT_S)
        if launches[0].findings:
            raise EntryError(f"{kernel.name} is refused. On {shape}:\n{launches[0].findings[0]}")
        conv2d.check(y, x, filter, name=f"{kernel.name} on {shape}")
    except (EntryError, checking.CheckError, conv2d.LayerError, TypeError) as error:
        raise EntryError(f"{error}\n{hint}".rstrip()) from error
    return launches


def hidden_shapes(seed: int | None) -> list[ConvShape]:
    """Shapes for an entry to be right on, drawn: one for each of WIDTHS, images down to the size of the filter."""
    rng = np.random.default_rng(seed)
    shapes = []
    for K in WIDTHS:
        B, C, M, rows, columns = map(int, rng.integers((1, 1, 1, 0, 0), (3, 5, 10, 25, 40)))
        shapes.append(ConvShape(B, C, M, K + rows, K + columns, K))
    return shapes


def require_right(kernel: Any, seed: int | None = None) -> int:
    """Return how many hidden shapes there are, if an entry that is right on both layers is right on these. Raises as `run`."""
    rng, shapes = np.random.default_rng(seed), hidden_shapes(seed)
    for shape in shapes:
        run(kernel, shape, rng, hint=ELSEWHERE)
    return len(shapes)


def counted(kernel: Any, seed: int | None = None) -> dict[str, float]:
    """Return the bound of an entry (ms) by layer of BATCH images, from two small batches, on which
    it must be right. seed: draws their sizes, so that no entry can do less work on just these."""
    rng = np.random.default_rng(seed)
    few = [1, *rng.choice(SMALL_BATCHES, 1).tolist()]
    found = {}
    for which in LAYERS:
        seen = {n: _profiles(kernel, conv2d.shape_of(which, n), rng) for n in few}
        _require_proportion(kernel.name, which, seen)
        of_batch = layer_bounds.of_batch(spec_of(kernel), which, seen, BATCH)
        found[which] = 1e-3 * of_batch.microseconds
    return found


def _require_proportion(name: str, which: str, seen: Mapping[int, Any]) -> None:
    """Raise EntryError unless each image takes as many instructions in every batch."""
    each = {n: sum(sum(one.instructions.values()) for one in seen[n]) / n for n in seen}
    (few, at_few), (many, at_many) = sorted(each.items())
    if max(at_few, at_many) > TIE * min(at_few, at_many):
        raise EntryError(
            f"{name} executes {at_few:,.0f} instructions for an image of {which} in a batch of "
            f"{few}, and {at_many:,.0f} in a batch of {many}. A bound of {BATCH:,} images is made "
            "of small batches, and needs a kernel that does as much for each image."
        )


@functools.cache
def bound_of(name: str, which: str) -> float:
    """Return the bound (ms) of a kernel of conv2d.CONV2D on BATCH images of a layer."""
    seen = {}
    for images in (1, 2):
        shape = conv2d.shape_of(which, images)
        rng = np.random.default_rng(conv2d.SEED)
        sizes = shape.x_shape, shape.filter_shape
        x, filter = (rng.uniform(-1, 1, size).astype(np.float32) for size in sizes)
        _, seen[images] = conv2d.simulate(name, x, filter)
    spec = conv2d.conv2d_named(name)
    return 1e-3 * layer_bounds.of_batch(spec, which, seen, BATCH).microseconds


@functools.cache
def inputs(which: str, batch: int = BATCH) -> tuple[np.ndarray, np.ndarray]:
    """Return (x, filter) of a layer as `conv2d.inputs` does; layer 2's x is made on the selected device."""
    weights = datasets.lenet_weights()
    if which == LAYERS[0]:
        pixels = datasets.images_at_hand(batch).repeated(batch)
        return datasets.network_input(pixels), weights.conv1
    with pipeline.Network(weights, batch) as net:
        net.load(inputs(LAYERS[0], batch)[0])
        net.launch()
        return net.read("pool 1"), weights.conv2


def timed(kernel: Any, batch: int = BATCH) -> dict[str, float]:
    """Return the op times (ms) of an entry by layer, on the GPU, every output checked before. Raises as conv2d.Problem.check, and
    EntryError where the compiled kernel takes too many registers for its block."""
    spec, found = spec_of(kernel), {}
    if (most := kernel.max_threads_per_block) < math.prod(spec.block):
        raise EntryError(
            f"{kernel.name}, as compiled, takes so many registers that a block "
            f"can have {most} threads, not {math.prod(spec.block)}: take a smaller TILE_WIDTH, "
            "or fewer sums a thread"
        )
    for name in LAYERS:
        shape = conv2d.shape_of(name, batch)
        with conv2d.Problem(shape, *inputs(name, batch)) as problem:
            compiled = conv2d.compile(spec, shape)
            launch = functools.partial(compiled.launch, problem.y, problem.x, problem.filter)

            found[name] = _time(launch, problem, kernel.name).median
            compiled.free()
    return found


def times_of(names: tuple[str, ...], batch: int = BATCH) -> list[dict[str, Any]]:
    """Return the rows of a record: op times of kernels of conv2d.CONV2D on both layers, every output checked before."""
    rows = []
    for which in LAYERS:
        with conv2d.Problem(conv2d.shape_of(which, batch), *inputs(which, batch)) as problem:
            for name in names:
                compiled = conv2d.compile(name, problem.shape)

                def launch(stream: Any, compiled: conv2d.Compiled = compiled) -> None:
                    compiled.launch(problem.y, problem.x, problem.filter, stream)

                rows.append(
                    {
                        "series": name,
                        "layer": which,
                        "batch": batch,
                        "timing": _time(launch, problem, name),
                    }
                )
                compiled.free()
    return rows


def _time(launch: Any, problem: conv2d.Problem, name: str) -> timing.Timing:
    problem.poison()
    launch(None)
    return timing.time_gpu(launch, verdict=problem.check(name), name=name, budget_s=BUDGET_S)


class Board:
    """The kernels of a record (as `times_of` makes its rows), bounded by the simulator, and what is entered beside them.

    Times rank where all have one: those of an entry are measured on a GPU, and only stand beside
    the record's where the record is of the same device and has not been recalled. Elsewhere the
    bounds rank. seed: of the drawn shapes; a new one each time where it is None.
    """

    def __init__(self, record: Record, seed: int | None = None):
        self.record, self.seed = record, seed
        times: dict[str, dict[str, float]] = {}
        for row in record.rows():
            times.setdefault(row["series"], {})[row["layer"]] = row["median_ms"]
        self.entries = [
            Entry(name, {which: bound_of(name, which) for which in LAYERS}, ms)
            for name, ms in times.items()
        ]

    def enter(self, kernel: Any) -> str:
        """Check an entry, count it, time it where there is a GPU, and put it on the board; return its line.

        An earlier entry of the same name is replaced. Raises EntryError, as `run` does, and for a
        name that one of the record's kernels has; on a GPU as `timed`. The board then stays as it
        was.
        """
        if any(one.name == kernel.name and not one.mine for one in self.entries):
            raise EntryError(
                f"{kernel.name} is the name of a kernel that the board came with: "
                "give yours another"
            )
        bound, right = counted(kernel, self.seed), require_right(kernel, self.seed)
        ms = {} if self.record.recalled else timed(kernel)
        self.entries = [one for one in self.entries if one.name != kernel.name] + [
            Entry(kernel.name, bound, ms, mine=True)
        ]
        return (
            f"{kernel.name}: right on both layers and {right} drawn shapes; "
            f"{self.place(kernel.name)}"
        )

    def ranked(self, by: str = "bound") -> list[Entry]:
        """Return the entries, the best first, by "bound" or by "ms"; those without a time are left out of the latter."""
        ranked = [one for one in self.entries if by != "ms" or one.total_ms is not None]
        return sorted(ranked, key=lambda one: one.total(by))

    def places(self, by: str = "bound") -> dict[str, int]:
        """Return the place of each ranked kernel, 1 for the best. Those within TIE of the first of a place share it."""
        found: dict[str, int] = {}
        place, first = 0, -math.inf
        for number, one in enumerate(self.ranked(by), 1):
            if one.total(by) > TIE * first:
                place, first = number, one.total(by)
            found[one.name] = place
        return found

    def place(self, name: str) -> str:
        """Return in words where a kernel stands, by each ranking that it is in. Raises KeyError for one that is not there."""
        told = []
        for by, words in (("ms", "time"), ("bound", "bound")):
            places = self.places(by)
            if name in places:
                told.append(f"place {_place(places, name)} of {len(places)} by {words}")
        if not told:
            raise KeyError(f"{name} is not on the board")
        return ", ".join(told)

    @property
    def rank(self) -> str:
        """What decides: "ms" where all kernels have a time, else "bound"."""
        return "ms" if all(one.total_ms is not None for one in self.entries) else "bound"

    def table(self) -> str:
        """Return the board as text, in the order of `rank`. 2= is a shared second place."""
        by = self.rank
        bounds, times = self.places("bound"), self.places("ms")
        columns = (*LAYERS, "both")
        head = ["place by\nbound", "\ntime", "\nkernel", *(f"bound\n{name}" for name in columns)]
        head += [*(f"ms\n{name}" for name in columns), ""]
        rows = []
        for one in self.ranked(by):
            counts = [
                f"{value:.3f}"
                for value in (*(one.bound[which] for which in LAYERS), one.total_bound)
            ]
            values = (*map(one.ms.get, LAYERS), one.total_ms)
            ms = ["-" if value is None else f"{value:.3f}" for value in values]
            places = [_place(bounds, one.name), _place(times, one.name)]
            rows.append([*places, one.name, *counts, *ms, "<- entered" * one.mine])
        units = f"bound: ms in which no H200 does {BATCH:,} images, no time; ms: their op time"
        return f"{tables.text(head, rows, left=(2, len(head) - 1))}\n{units}"

    def draw(self, ax: Axes, by: str = "bound", title: str = "") -> Axes:
        """Draw a ranking as horizontal bars with the places in front, what was entered solid, the others hatched."""
        ranked, places = self.ranked(by), self.places(by)
        values = [one.total(by) for one in ranked]
        for y, (one, value) in enumerate(zip(ranked, values, strict=True)):
            look: dict[str, Any] = (
                {"color": plotting.COLOURS[0]} if one.mine else {"color": "white", "hatch": "///"}
            )
            ax.barh(y, value, height=0.6, edgecolor="#222222", linewidth=0.8, **look)
            ax.annotate(
                f"{value:.3g}",
                (value, y),
                (5, 0),
                textcoords="offset points",
                va="center",
                fontsize="small",
            )
        ax.set_yticks(
            range(len(ranked)), [f"{one.name}  {_place(places, one.name)}" for one in ranked]
        )
        ax.invert_yaxis()
        ax.set_xlim(0, 1.15 * max(values))
        what = "op time" if by == "ms" else "bound on an H200, no time,"
        wide = f"{what} of both layers, {BATCH:,} images (ms)"
        ax.set_xlabel(f"{wide}; shorter is better")
        if any(one.mine for one in ranked):
            handle = next(bar for bar, one in zip(ax.containers, ranked, strict=True) if one.mine)
            ax.legend([handle], ["entered"], frameon=False, fontsize="small", loc="upper right")
        return plotting.style(ax, title)


def _place(places: Mapping[str, int], name: str) -> str:
    """A place in words: "2", "2=" where it is shared, "-" where there is none."""
    place = places.get(name)
    return "-" if place is None else f"{place}{'=' * (list(places.values()).count(place) > 1)}"
