"""A leaderboard of kernels for the convolution layer: it checks, counts, times and ranks them.

    board = leaderboard.Board(record)          # the kernels of the record's times
    print(board.enter(my_kernel))              # a %%kernel function; EntryError says what is wrong
    print(board.table())

An entry has the layer's signature, SIGNATURE, and is launched with blocks of TILE_WIDTH x
TILE_WIDTH threads. A block computes TILE_WIDTH rows of TILE_WIDTH * COLUMNS outputs, of MAPS output
maps; grid = (tiles of a map, groups of maps, images). -D options of the kernel set these constants;
their defaults are 16, 1 and 1. The launch gives no dynamic shared memory.

On a GPU, the time decides the rank. Elsewhere, a bound decides: what no H200 does faster, from
everything that a kernel asks for (helpers.simulator.bounds). A bound is not a time: a kernel may
take much longer, and of two kernels the one with the lower bound may be the slower.

Two kernels share a place if their totals differ by at most the factor TIE: two timings of one
kernel differ by as much.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import checking, kernel_cells, plotting, simulator, tables
from helpers.bench import layers, plan_bounds
from helpers.bench.results import Record
from helpers.limits import ConvShape
from helpers.plotting import styles
from helpers.problems import conv2d
from helpers.simulator import Profile
from helpers.simulator.bounds import Bounds
from helpers.simulator.compile.includes import without_comments

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LAYERS = conv2d.LENET
BATCH = 10_000
WIDTHS = (1, 2, 4, 7, 9, 15)  # filter widths of the hidden shapes
LAUNCH = {"TILE_WIDTH": 16, "COLUMNS": 1, "MAPS": 1}
BUDGET_S = 0.15  # of one timing
LIMIT_S = 30.0  # of one launch in the simulator
SMALL_BATCHES = (2, 3, 4)  # images of the larger of the two batches that are counted
TIE = 1.02  # totals up to this ratio share a place
SIGNATURE = (
    "(float* y, const float* x, const float* filter, int B, int C, int M, int H, int W, int K)"
)
ELSEWHERE = (
    "It is right on both layers, but it must be right on every shape: take all sizes from the "
    "arguments, and guard the last tile."
)


class EntryError(AssertionError):
    """A refused entry. The message says what is wrong, and on which shape."""

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows in place of a traceback."""
        return [f"{type(self).__name__}: {self}"]


@dataclass(frozen=True)
class Entry:
    """One kernel on the board.

    bound: in ms, of BATCH images, by layer: no H200 is faster. ms: op times of BATCH images, by
    layer; empty without a timing. mine: whether it is an entry of the user.
    """

    name: str
    bound: Mapping[str, float]
    ms: Mapping[str, float] = field(default_factory=dict)
    mine: bool = False

    @property
    def total_ms(self) -> float | None:
        """The op time of both layers in ms, None without a timing."""
        return sum(self.ms.values()) if len(self.ms) == len(LAYERS) else None

    @property
    def total_bound(self) -> float:
        """Both layers' bound: one is launched after the other."""
        return sum(self.bound.values())

    def total(self, by: str) -> float:
        """Return `total_ms` by "ms" and `total_bound` by "bound".

        Raises ValueError for "ms" without a timing.
        """
        if by != "ms":
            return self.total_bound
        if self.total_ms is None:
            raise ValueError(f"{self.name} was not timed: rank it by its bound")
        return self.total_ms


@dataclass(frozen=True)
class EntrySpec(conv2d.Conv2d):
    """The launch of an entry: that of conv2d_basic, with the entry's own text and options."""

    text: str = ""
    own_options: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        return self.text

    def options(self, shape: ConvShape) -> list[str]:
        return list(self.own_options)


def spec_of(kernel: Any) -> conv2d.Conv2d:
    """Return the launch of an entry. Raises EntryError for another signature and a size below 1."""
    _require_signature(kernel)
    try:
        width, columns, maps = kernel_cells.sizes(kernel.options, LAUNCH).values()
    except kernel_cells.CellError as error:
        raise EntryError(f"{kernel.name}: {error}") from None
    return EntrySpec(
        kernel.name,
        block=(width, width),
        tile=(width * columns, width, maps),
        text=kernel.source,
        own_options=tuple(kernel.options),
    )


def _require_signature(kernel: Any) -> None:
    code = without_comments(kernel.source)
    signature = re.search(rf"\b{re.escape(kernel.name)}\s*\(([^)]*)\)", code)
    right_types = [_type_of(parameter) for parameter in SIGNATURE[1:-1].split(",")]
    if signature and [_type_of(one) for one in signature[1].split(",")] != right_types:
        raise EntryError(
            f"{kernel.name} takes ({' '.join(signature[1].split())}).\n"
            f"An entry takes {SIGNATURE}, in this order."
        )
    if re.search(r"\bextern\s+__shared__", code):
        raise EntryError(
            f"{kernel.name} declares shared memory without a size, and the launch gives none: "
            "declare the array with a size (K is at most 15)."
        )


def _type_of(parameter: str) -> tuple[bool, list[str]]:
    """Return whether a pointer parameter points to const, and the words of a parameter's type."""
    words = re.findall(r"\w+|\*", parameter)
    return "const" in words and "*" in words, [
        word for word in words[:-1] if word not in ("const", "__restrict__", "__restrict")
    ]


def run(
    kernel: Any, shape: ConvShape, rng: np.random.Generator, hint: str = ""
) -> tuple[Profile, ...]:
    """Check an entry on random cells in the simulator; return the profiles of its launches.

    hint: the last line of the message. Raises EntryError for a finding and for a wrong output.
    """
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


def hidden_shapes(rng: np.random.Generator) -> list[ConvShape]:
    """Return random shapes for an entry, one for each of WIDTHS. The images may be as small as the
    filter.
    """
    shapes = []
    for K in WIDTHS:
        B, C, M, rows, columns = map(int, rng.integers((1, 1, 1, 0, 0), (3, 5, 10, 25, 40)))
        shapes.append(ConvShape(B, C, M, K + rows, K + columns, K))
    return shapes


def require_right(kernel: Any) -> int:
    """Check an entry on the hidden shapes and return their number. Raises as `run`."""
    rng = np.random.default_rng()
    shapes = hidden_shapes(rng)
    for shape in shapes:
        run(kernel, shape, rng, hint=ELSEWHERE)
    return len(shapes)


def bounds(kernel: Any) -> dict[str, Bounds]:
    """Return the bounds of an entry by layer of BATCH images, from two small batches.

    The batches' sizes are new ones each time. Raises as `run`, and EntryError for an entry that
    does less for each image in larger batches.
    """
    rng = np.random.default_rng()
    few = [1, *rng.choice(SMALL_BATCHES, 1).tolist()]
    found = {}
    for which in LAYERS:
        seen = {n: run(kernel, conv2d.shape_of(which, n), rng) for n in few}
        _require_proportion(kernel.name, which, seen)
        small, large = (one.counts for _, (one,) in sorted(seen.items()))
        assert small is not None and large is not None, "a launch without findings has counts"
        (wanted,) = spec_of(kernel).plan(conv2d.shape_of(which, BATCH))
        found[which] = simulator.bounds.bounds(small.at(large, wanted.grid), "H200")
    return found


def counted(kernel: Any) -> dict[str, float]:
    """Return the bound of an entry (ms) by layer. Raises as `bounds`."""
    return {which: 1e-3 * found.microseconds for which, found in bounds(kernel).items()}


def _require_proportion(name: str, which: str, seen: Mapping[int, Any]) -> None:
    """Raise EntryError unless each image takes as many instructions in every batch."""
    each = {n: sum(sum(one.instructions.values()) for one in seen[n]) / n for n in seen}
    (few, at_few), (many, at_many) = sorted(each.items())
    if max(at_few, at_many) > TIE * min(at_few, at_many):
        raise EntryError(
            f"{name} executes {at_few:,.0f} instructions for an image of {which} in a batch of "
            f"{few}, and {at_many:,.0f} in a batch of {many}. A bound of {BATCH:,} images is made "
            "of small batches: write a kernel that does as much for each image."
        )


@functools.cache
def bound_of(name: str, which: str) -> float:
    """Return the bound (ms) of a kernel of conv2d.CONV2D on BATCH images of a layer."""
    spec, shape = conv2d.conv2d_named(name), conv2d.shape_of(which, BATCH)
    return 1e-3 * plan_bounds.of_layer(spec, shape).microseconds


def timed(kernel: Any, batch: int = BATCH) -> dict[str, float]:
    """Check every output of an entry on the GPU, then return its op times (ms) by layer.

    Raises NotReadyError for wrong outputs, and EntryError if the compiled kernel takes too many
    registers for its block.
    """
    spec = spec_of(kernel)
    if (most := kernel.max_threads_per_block) < math.prod(spec.block):
        raise EntryError(
            f"{kernel.name} takes so many registers that a block can have only {most} threads, "
            f"not {math.prod(spec.block)}: take a smaller TILE_WIDTH, or fewer sums a thread"
        )
    return {row["layer"]: row["timing"].median for row in times_of((spec,), batch)}


def times_of(kernels: Sequence[str | conv2d.Conv2d], batch: int = BATCH) -> list[dict[str, Any]]:
    """Check every output of kernels of the layer, then return the rows of their op times."""
    rows = []
    for which in LAYERS:
        with layers.layer(which, batch).on_device() as there:
            for one in map(there.ready, kernels):
                timed = one.time(BUDGET_S)
                rows.append({"series": one.kernel.name, **there.problem.where, "timing": timed})
    return rows


class Board:
    """The kernels of a record, with bounds by the simulator, and the user's entries.

    record: with rows of `times_of`.

    The time decides the rank if all kernels have one. An entry gets a time only on the GPU on which
    the record was measured just now. If the record was recalled from a file, the bound decides.
    """

    def __init__(self, record: Record):
        self.record = record
        times: dict[str, dict[str, float]] = {}
        for row in record.rows():
            times.setdefault(row["series"], {})[row["layer"]] = row["median_ms"]
        self.entries = [
            Entry(name, {which: bound_of(name, which) for which in LAYERS}, ms)
            for name, ms in times.items()
        ]

    def enter(self, kernel: Any) -> str:
        """Check an entry, count it, time it on a GPU, and put it on the board; return its line.

        It replaces an earlier entry of the same name. Raises EntryError as `run` does, as `timed`
        does on a GPU, and for the name of one of the record's kernels. An error leaves the board
        unchanged.
        """
        if any(one.name == kernel.name and not one.mine for one in self.entries):
            raise EntryError(
                f"the board already has a kernel of its own named {kernel.name}: "
                "give yours another name"
            )
        bound, right = counted(kernel), require_right(kernel)
        ms = {} if self.record.recalled else timed(kernel)
        self.entries = [one for one in self.entries if one.name != kernel.name] + [
            Entry(kernel.name, bound, ms, mine=True)
        ]
        return (
            f"{kernel.name}: right on both layers and {right} drawn shapes; "
            f"{self.place(kernel.name)}"
        )

    def ranked(self, by: str = "bound") -> list[Entry]:
        """Return the entries by "bound" or "ms", the best first; by "ms" only those with a time."""
        ranked = [one for one in self.entries if by != "ms" or one.total_ms is not None]
        return sorted(ranked, key=lambda one: one.total(by))

    def places(self, by: str = "bound") -> dict[str, int]:
        """Return the place of each ranked kernel, 1 for the best.

        Kernels share a place if their totals are within TIE of the first one's.
        """
        places: dict[str, int] = {}
        place, first = 0, -math.inf
        for number, one in enumerate(self.ranked(by), 1):
            if one.total(by) > TIE * first:
                place, first = number, one.total(by)
            places[one.name] = place
        return places

    def place(self, name: str) -> str:
        """Return the places of a kernel in words. Raises KeyError for a kernel without a place."""
        texts = []
        for by, words in (("ms", "time"), ("bound", "bound")):
            places = self.places(by)
            if name in places:
                texts.append(f"place {_place(places, name)} of {len(places)} by {words}")
        if not texts:
            raise KeyError(f"{name} is not on the board")
        return ", ".join(texts)

    @property
    def rank(self) -> str:
        """The ranking of the board: "ms" if all kernels have a time, else "bound"."""
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
        """Draw a ranking as horizontal bars: entries hatched, other kernels solid."""
        ranked, places = self.ranked(by), self.places(by)
        values = [one.total(by) for one in ranked]
        for y, (one, value) in enumerate(zip(ranked, values, strict=True)):
            styles.bar(ax, y, value, "yours" if one.mine else "ours")
            styles.beside(ax, value, y, f"{value:.3g}", points=5)
        ax.set_yticks(
            range(len(ranked)), [f"{one.name}  {_place(places, one.name)}" for one in ranked]
        )
        ax.invert_yaxis()
        ax.set_xlim(0, 1.15 * max(values))
        what = "op time" if by == "ms" else "bound on an H200, no time,"
        wide = f"{what} of both layers, {BATCH:,} images (ms)"
        ax.set_xlabel(f"{wide}; shorter is better")
        if by == "ms":
            plotting.caption(ax, self.record)
        if any(one.mine for one in ranked):
            handle = next(bar for bar, one in zip(ax.containers, ranked, strict=True) if one.mine)
            ax.legend([handle], ["entered"], frameon=False, fontsize="small", loc="upper right")
        return plotting.style(ax, title)


def _place(places: Mapping[str, int], name: str) -> str:
    """Return a place in words: "2", "2=" for a shared place, "-" for none."""
    place = places.get(name)
    return "-" if place is None else f"{place}{'=' * (list(places.values()).count(place) > 1)}"
