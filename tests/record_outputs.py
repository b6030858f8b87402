"""The figures and tables of the labs, and the committed records that each of them is made from.

`OUTPUTS` is the registry that tests/helpers/test_record_outputs.py holds to one contract. A new
record, and a new function that returns a figure or a table, needs an entry here, or a reason in
`WITHOUT_OUTPUT` or `NO_OUTPUT`.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from helpers import bench, plotting, reference
from helpers.bench import gemms, hardware, loop_code, reports, results, sass, timing
from helpers.bench.times import Times
from helpers.exercises.content.at_work import choose_tool
from helpers.experiments import (
    at_work,
    broken,
    card_mistakes,
    channel_sums,
    coalescing,
    constant_memory,
    copies,
    cpu_programs,
    fastest_layer,
    first_launch,
    gemm_ladder,
    half_errors,
    half_instructions,
    half_ladder,
    half_precision,
    im2col_gemm,
    im2col_times,
    issue_orders,
    layer_constant,
    layer_ladder,
    layer_tiles,
    layer_times,
    leaderboard,
    network_stages,
    one_mma,
    overlap,
    register_tiles,
    row_too_many,
    several_gpus,
    sizes,
    split_error,
    sweep,
    tensor_cores,
    tile_widths,
    tiles,
    transforms,
    waiting,
    warpgroup_layer,
    wrong_card,
)
from helpers.plotting import fragments, styles
from helpers.plotting import several_gpus as cards_drawn
from helpers.problems import baselines, conv2d, streams
from tests.clock import timed
from tests.records import other_counts, slower, with_values

LAYERS = ("layer 1", "layer 2")
COUNTED = (  # by Nsight Compute, in whole numbers
    "instructions", "load_requests", "load_sectors", "load_sectors_hit", "l2_sectors_read",
    "dram_read_bytes", "l1_load_sectors", "l2_read_sectors",
)
Record = results.Record


@dataclass(frozen=True)
class Output:
    """A figure or a table. records: the names of the records that it is made from, in the order of
    the arguments of `call`, which by default is the function itself. given: makes its last
    argument, where it is made from more than records, such as what the simulator counts. other:
    another argument in place of the given one, for which the output must be another one. label:
    where a function has several entries. whole: the entries of a record that are measured and whole
    numbers, such as "right". change: a further edit of a record, where other numbers alone do not
    change the output. fixed: the heads of columns and the beginnings of rows that show numbers, and
    that no edit changes: sizes, names, and what the course's reports say. words: whether a picture
    shows the given argument in words, such as the numbers in its cells.
    """

    function: Callable[..., Any]
    records: tuple[str, ...] = ()
    call: Callable[..., Any] | None = None
    given: Callable[[], Any] | None = None
    other: Callable[[Any, int], Any] = other_counts
    label: str = ""
    whole: tuple[str, ...] = ()
    change: Callable[[Record], Record] | None = None
    fixed: tuple[str, ...] = ()
    words: bool = False

    @property
    def name(self) -> str:
        """The module and the function, and the label."""
        function = f"{self.function.__module__}.{self.function.__qualname__}"
        return ", ".join(filter(None, [function.removeprefix("helpers."), self.label]))

    def make(self, draw: int | None = None) -> Any:
        """Return the figure or the text, from the records as they are now.

        draw: which other argument is taken in place of the given one; None for the given one.
        """
        arguments = [results.recorded(name) for name in self.records]
        if self.given is not None:
            found = self.given()
            arguments.append(found if draw is None else self.other(found, draw))
        return (self.call or self.function)(*arguments)


def of(function: Callable[..., Any], *records: str, **more: Any) -> Output:
    """Return an entry of the registry. more: fields of Output."""
    return Output(function, records, **more)


def within(
    function: Callable[..., Axes],
    record: str,
    arguments: Callable[[Record], tuple[Any, ...]] = lambda record: (record,),
    **options: Any,
) -> Output:
    """Return an entry for a function that draws into axes what `arguments` makes of a record."""

    def call(read: Record) -> Any:
        figure, ax = plt.subplots(layout="constrained")
        function(ax, *arguments(read), title="A title of four words", **options)
        return figure

    return of(function, record, call=call)


def turned_round(record: Record) -> Record:
    """Return a record in which the fast rows are the slow ones."""
    return slower(record, lambda _, ms: 1 / ms)


def one_rejected(record: Record) -> Record:
    """Return a record of a search without its last row, and the first one is rejected."""
    shorter = dataclasses.replace(record, measurements=record.measurements[:-1])
    first = shorter.measurements[0]
    where = {"series": first.series, **first.parameters}
    return with_values(shorter, where, rejected="wrong outputs")


def drawn(
    function: Callable[..., Axes],
    given: Callable[[], Any],
    other: Callable[[Any, int], Any],
    call: Callable[..., Axes] | None = None,
    **more: Any,
) -> Output:
    """Return an entry for a function that draws what is given into axes, or for a call of it.

    more: fields of Output.
    """

    def make(found: Any) -> Any:
        figure, ax = plt.subplots(layout="constrained")
        (call or function)(ax, found)
        ax.set_title("A title of four words")
        return figure

    return of(function, call=make, given=given, other=other, **more)


def counted_by(
    function: Callable[..., Any],
    module: Any,
    name: str,
    other: Callable[[Any, int], Any],
    *records: str,
    call: Callable[..., Any] | None = None,
) -> Output:
    """Return an entry for a function that calls another one of a module for its counts. other:
    takes that one, and returns one of the same form that counts something else.
    """

    def make(*found: Any) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, name, found[-1])
            return (call or function)(*found[:-1])

    return of(function, *records, call=make, given=lambda: getattr(module, name), other=other)


def rows_of_4096(record: Record) -> tuple[list[dict[str, Any]]]:
    rows = [row for row in record.rows() if row["rows"] == 4096]
    return ([row for row in rows if row["series"] not in ("vectorised access", "no gap")],)


def beside_roofs(record: Record) -> tuple[Any, ...]:
    row = record.rows()[0]
    return [(row["series"], 0.75, 1e12 / row["median_ms"])], record.device


# --------------------------------------------------------------------------------------------------
# What the notebooks build from a record


@functools.cache
def layers(images: int = 10_000) -> Mapping[str, bench.Problem]:
    return {name: bench.layer(name, images=images) for name in LAYERS}


def times_of(record: Record, problem: Any, first: Any, *others: Any) -> Times:
    """Return the times of kernels over those of the first."""
    made = [problem.kernel(one) if isinstance(one, str) else one for one in (first, *others)]
    return Times.read(record, problem, made, made[0])


def of_layers(record: Record, *names: str) -> dict[str, Times]:
    """Return the times of kernels on both layers, over those of the first."""
    return {name: times_of(record, layer, *names) for name, layer in layers().items()}


def bars(record: str, problem: Any, *names: Any, **options: Any) -> Output:
    """Return an entry for bench.bars of a problem's kernels. problem: a function that makes it."""

    def call(read: Record) -> Any:
        one = problem()
        return bench.bars(times_of(read, one, *names), **options)

    return of(bench.bars, record, call=call, label=record)


def layer_bars(record: str, *names: str) -> Output:
    """Return an entry for bench.bars of kernels on both layers."""
    return of(
        bench.bars, record, call=lambda read: bench.bars(of_layers(read, *names)), label=record
    )


def counters(record: str, *columns: str, **where: Any) -> Output:
    """Return an entry for the table of Nsight Compute's counters."""

    def call(read: Record) -> str:
        return hardware.table(read.select(**where), *columns)

    return of(hardware.table, record, call=call, label=record, whole=COUNTED)


def ran_here() -> dict[str, cpu_programs.Here]:
    """Return one millisecond for each CPU program of lab 400."""
    return {
        key: cpu_programs.Here(program.name, 1.0) for key, program in baselines.conv1d().items()
    }


@functools.cache
def of_halves() -> bench.Counts:
    """Return the counts of a kernel that stands below ours, as a student's does."""
    return layers()["layer 1"].count("conv2d_half")


GOOD, BAD = "conv2d_basic", "conv2d_uncoalesced"
WIDE = "conv2d_basic, 32 x 8"


def coalesced(record: Record) -> dict[str, Times]:
    return {
        name: times_of(record, layer, *three(layer)) for name, layer in layers().items()
    }


def three(layer: Any) -> tuple[Any, ...]:
    return layer.kernel(GOOD), layer.kernel(GOOD, block=(32, 8), label=WIDE), layer.kernel(BAD)


@functools.cache
def counts_of_three() -> Mapping[str, bench.Counts]:
    return {name: layer.count(*three(layer)) for name, layer in layers().items()}


def shapes(record: Record) -> coalescing.Shapes:
    layer = layers()["layer 1"]
    blocks = [(width, 256 // width) for width in (8, 16, 32, 64)]
    made = [layer.kernel(GOOD, block=block) for block in blocks]
    return coalescing.Shapes(Times.read(record, layer, made))


def constant_times(record: Record) -> constant_memory.ByWidth:
    lines = {width: bench.conv1d(10**8, width) for width in constant_memory.ROLLED_WIDTHS}
    return {
        width: times_of(record, line, *constant_memory.KERNELS[:2]) for width, line in lines.items()
    }


def profiled(number: int) -> Any:
    """Return the profile of one of `three` kernels on layer 1."""
    return counts_of_three()["layer 1"][number].profile


@functools.cache
def look_ups() -> Mapping[int, bench.Counts]:
    cells = constant_memory.COUNTED_CELLS
    return {
        width: bench.conv1d(10**8, width, counted=cells).count(*constant_memory.KERNELS)
        for width in (3, 31)
    }


def shares_of_copy(tiled: Record, unrolled: Record) -> Any:
    best = {}
    for width in (3, 31):
        line = bench.conv1d(10**8, width)
        first = line.kernel("conv1d_constant", label="conv1d_constant" + ", unrolled" * (width > 3))
        others = [line.kernel(name) for name in ("conv1d_tiled_steps", "conv1d_vector")]
        best[width] = Times.read(unrolled, line, [first]) + Times.read(tiled, line, others)
    problem = bench.memcpy(10**8)
    copy = Times.read(tiled, problem, [problem.kernel(tiles.COPY)])[0]
    return tiles.shares_figure(best, copy)


def rungs(record: Record) -> dict[str, Times]:
    return {
        name: Times.read(record, layer, layer_ladder.rungs(layer))
        for name, layer in layers().items()
    }


def few_images(record: Record) -> dict[str, Times]:
    layer = bench.layer("layer 2", images=100)
    return {"100 images": Times.read(record, layer, layer_ladder.rungs(layer))}


@functools.cache
def counts_of_rungs() -> Mapping[str, bench.Counts]:
    def units(layer: Any) -> list[Any]:
        return [
            one
            for one in layer_ladder.rungs(layer)
            if layer_ladder.kind(one) == layer_ladder.UNITS
        ]

    return {name: layer.count(*units(layer)) for name, layer in layers().items()}


def fastest_times(record: Record) -> dict[str, Times]:
    ways = fastest_layer.WAYS["split halves"]
    return {
        name: Times.read(record, layer, [layer.kernel(ways[name])])
        for name, layer in layers().items()
    }


def end_times(record: Record) -> dict[str, Times]:
    def kinds(name: str) -> list[Any]:
        layer, way = layers()[name], fastest_layer.WAYS["split halves"][name]
        return [layer.kernel(fastest_layer.units(name)), layer.kernel(way)]

    return {name: Times.read(record, layers()[name], kinds(name)) for name in LAYERS}


def wmma_variants(record: Record) -> Times:
    layer = layers()["layer 1"]
    no_skew = layer.kernel("conv2d_wmma", skew=0, label="no skew")
    return times_of(record, layer, "conv2d_wmma", no_skew)


def widths(record: Record) -> dict[str, Times]:
    found = {}
    for name, layer in layers().items():
        made = [layer.kernel("conv2d_tiled", TILE_WIDTH=width) for width in tile_widths.WIDTHS]
        found[name] = Times.read(record, layer, made)
    return found


def of_blocks(record: Record) -> Times:
    layer, shapes = layers()["layer 2"], ((16, 16), (8, 8), (8, 32), (32, 8), (64, 4))
    return times_of(record, layer, *(layer.kernel("conv2d_basic", block=one) for one in shapes))


def room(record: Record) -> Times:
    layer = layers()["layer 2"]
    form = conv2d.register_2d(9, 17, 8, unroll=1)
    eight = layer.kernel(layer.kernel(form), MAPS=8)
    both = layer.kernel(conv2d.register_2d(**conv2d.REGISTER_2D["layer 2"]), label="both")
    return times_of(record, layer, eight, both, register_tiles.BEST)


def a_copy(record: Record, **settings: Sequence[int]) -> tuple[Times, Times]:
    """Return the times of lab 106's copies, and of the driver's."""
    copy = bench.memcpy()
    return (
        copy.sweep(waiting.COPY, record=record.name, **settings),
        copy.sweep(waiting.DRIVER, record=record.name),
    )


def channels(record: Record) -> Any:
    times = []
    for number in channel_sums.CHANNELS:
        image = channel_sums.small(number)
        names = (channel_sums.PLAIN, *channel_sums.SPLIT)
        each = [channel_sums.fitted_to(image, one) for one in names]
        times.append(Times.read(record, image, each, each[0]))
    return bench.across(times, "channels", title="One small image with more and more channels")


def crossover(record: Record) -> Any:
    lines = [bench.conv1d(10**7, width) for width in range(15, 512, 16)]
    direct, by_parts = "conv1d_vector", "conv1d_fft_overlap_add"
    times = [times_of(record, line, direct, by_parts) for line in lines]
    return bench.across(times, "filter_width", floor=True, title="Overlap-add over a direct sum")


def on_cards(record: Record) -> list[dict[str, Any]]:
    return [
        row
        for row in record.rows()
        if row["series"] == "host to host" and row["work"] == "layer 1" and row["pinned"]
    ]


def ran_on(*series: str) -> Callable[[Record], tuple[list[dict[str, Any]]]]:
    """Return a function that returns a record's rows of some series."""
    return lambda record: ([row for row in record.rows() if row["series"] in series],)


@functools.cache
def one_warp() -> bench.Counts:
    return bench.mma().count("mma_one_warp", "mma_ldmatrix")


def lanes(out_h: int, out_w: int, width: int) -> int:
    return -(-out_h // width) * -(-out_w // width) * 32 * -(-(width**2) // 32)


def drawn_board(record: Record) -> Any:
    figure, ax = plt.subplots(layout="constrained")
    leaderboard.Board(record).draw(ax, "ms", title="By time: the fastest kernel is first")
    return figure


def chains_without_a_clock(chain: cpu_programs.Chain) -> str:
    """Return the table of chains, as if each program took the milliseconds of their addition."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing, "time_cpu", lambda _, name, **more: timed(name, chain.addition))
        return cpu_programs.chain_table_here(chain, (3,))


def other_floors(floors: Callable[..., dict[str, float]], draw: int) -> Callable[..., Any]:
    """Return a function that returns other floors of a kernel, each by another factor."""
    return lambda *kernel: {
        name: (draw + k + 2) * ms for k, (name, ms) in enumerate(floors(*kernel).items())
    }


def other_code(code: Callable[..., Any], draw: int) -> Callable[..., Any]:
    """Return a function that returns the machine code of another kernel than the one asked for."""
    return lambda layer, _: code(layer, ("conv2d_basic", "conv2d_tiled", "conv2d_constant")[draw])


def longer_code(code_of: Callable[..., Any], draw: int) -> Callable[..., Any]:
    """Return a function that returns machine code with each instruction several times."""

    def longer(profile: Any) -> Any:
        blocks = code_of(profile).blocks
        each = [[one for one in block.instructions for _ in range(draw + 2)] for block in blocks]
        return SimpleNamespace(blocks=[SimpleNamespace(instructions=one) for one in each])

    return longer


def further_apart(distances: Callable[..., Counter[int]], draw: int) -> Callable[..., Any]:
    """Return a function that returns larger distances."""
    return lambda one: Counter({far + draw + 1: n for far, n in distances(one).items()})


def kernels_of(*names: str) -> dict[str, Any]:
    return {name: layers()["layer 1"].kernel(name) for name in names}


def patches(*maps: int) -> list[Any]:
    """Return forms of conv2d_register_2d for layer 2, whose threads have so many maps."""
    form = dataclasses.replace(
        conv2d.conv2d_named(register_tiles.BEST), patches=(9, 17, 1), staged=4, unroll=1
    )
    return [dataclasses.replace(form, patch=(4, 2, number)) for number in maps]


def of_another(*_: Any) -> bench.Counts:
    """Return the counts of another kernel than `of_halves`."""
    return layers()["layer 1"].count("conv2d_half2")


def some_rungs(record: Record, product: Any) -> Times:
    """Return the times of three rungs and of cuBLAS, over those of the first."""
    made = gemm_ladder.rungs(product)
    chosen = [made[name] for name in ("block tile", "thread tile 8 x 8", "steps of 32")]
    return times_of(record, product, *chosen, "cuBLAS")


def half_rungs(record: Record) -> list[Times]:
    """Return the times of the rungs for halves over cuBLAS, of each recorded product."""
    products = [bench.gemm(*sizes, halves=True) for sizes in gemms.SIZES]
    return [times_of(record, one, gemms.LIBRARY, *half_ladder.RUNGS) for one in products]


@functools.cache
def counts_of_ladder() -> bench.Counts:
    made = gemm_ladder.rungs(bench.gemm())
    return bench.gemm().count(*(made[name] for name in ("block tile", "thread tile 8 x 8")))


@functools.cache
def of_products() -> bench.Counts:
    return bench.gemm().count("gemm_basic", "gemm_tiled")


@functools.cache
def of_memories() -> bench.Counts:
    """Return the counts of kernels that load from global, shared and constant memory."""
    return layers()["layer 1"].count("conv2d_tiled", "conv2d_constant")


@functools.cache
def of_fragments() -> bench.Counts:
    return layers()["layer 1"].count("conv2d_wmma")


@functools.cache
def image() -> tuple[np.ndarray, np.ndarray]:
    """Return the cells and weights of one image of layer 1."""
    return conv2d.inputs("layer 1", 1)


errors = functools.cache(half_errors.errors)


def other_errors(found: half_errors.Errors, draw: int) -> half_errors.Errors:
    """Return errors that grow from one series to the next."""
    factors = (3.0 + draw + k for k in range(len(found.largest)))
    largest = {
        name: [factor * one for one in values]
        for factor, (name, values) in zip(factors, found.largest.items(), strict=True)
    }
    return dataclasses.replace(found, largest=largest)


def halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers as lab 304 splits them."""
    hi = x.astype(np.float16)
    return hi, (x - hi.astype(np.float32)).astype(np.float16)


def halves_towards_zero(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers split with the upper half rounded towards zero."""
    hi = (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return hi.astype(np.float16), (x - hi).astype(np.float16)


def first_bank(row: int, pitch: int) -> int:
    return row * pitch * 2 // 4 % 32


# --------------------------------------------------------------------------------------------------
# The registry

OF_RECORDS: tuple[Output, ...] = (
    of(first_launch.figure_of_ways, "114_timing_traps"),
    of(first_launch.figure_of_baselines, "114_timing_traps", "100_pinned"),
    of(first_launch.figure_of_sizes, "114_timing_traps"),
    of(first_launch.table_of_streams, "114_timing_traps", fixed=("report ",)),
    counters("100_caches", "sectors", "l1", "l2", "dram"),
    of(sizes.figure_of_times, "115_sizes", "115_pinned",
       call=lambda *both: sizes.figure_of_times(sizes.with_pinned(*both))),
    of(sizes.table_of_wins, "115_sizes", "115_pinned",
       call=lambda *both: sizes.table_of_wins(sizes.with_pinned(*both)), change=turned_round),
    of(sizes.steps_beside, "115_sizes", "115_pinned",
       call=lambda *both: sizes.steps_beside(
           lambda copies, kernel, cpu: 1 + (copies - kernel) // (cpu - kernel),
           sizes.with_pinned(*both),
       )),
    of(sizes.table_of_reports, "115_sizes", "115_pinned",
       call=lambda *both: sizes.table_of_reports(sizes.with_pinned(*both)), fixed=("report D",)),
    bars("102_deeper_loop", lambda: bench.conv1d(10**8, 3), *constant_memory.KERNELS[:2]),
    of(constant_memory.loops_table, "102_deeper_loop", "102_deeper_unrolled",
       call=lambda *both: constant_memory.loops_table(*map(constant_times, both))),
    of(constant_memory.beside_ncu, "counters",
       call=lambda _, counts: constant_memory.beside_ncu(counts), given=look_ups,
       whole=("idc__requests.sum",), fixed=("weights",)),
    of(tiles.shares_figure, "104_deeper_tiles", "104_unrolled", call=shares_of_copy),
    bars("104_unrolled", lambda: bench.conv1d(10**8, 3), "conv1d_constant", "conv1d_tiled_steps",
         floor=True),
    of(broken.table, "105_broken", whole=("values", "wrong_launches", "most_wrong_values")),
    of(waiting.latency_figure, "106_waiting"),
    of(waiting.copy_figure, "106_waiting"),
    of(waiting.flight_figure, "106_waiting"),
    of(waiting.speeds, "106_orders",
       call=lambda record: waiting.speeds(*a_copy(record, WARPS=(2, 4, 8, 16, 32, 64)))),
    of(layer_times.copies_figure, "107_layer",
       call=lambda record: layer_times.copies_figure(layer_times.LayerTimes(record))),
    of(layer_times.copies_table, "107_layer",
       call=lambda record: layer_times.copies_table(layer_times.LayerTimes(record)),
       fixed=("bytes of x and y",)),
    of(layer_times.cpu_table, "107_layer",
       call=lambda record: layer_times.cpu_table(layer_times.LayerTimes(record))),
    of(bench.bars, "107_blocks", label="107_blocks",
       call=lambda record: bench.bars(of_blocks(record))),
    counters("107_counters", "executed", "loads", "busy", "warps", "global"),
    of(coalescing.ratio_table, "108_coalescing",
       call=lambda record, counts: coalescing.ratio_table(coalesced(record), counts),
       given=counts_of_three),
    of(coalescing.ratio_figure, "108_coalescing",
       call=lambda record, counts: coalescing.ratio_figure(coalesced(record), counts, BAD),
       given=counts_of_three),
    of(coalescing.shapes_figure, "108_coalescing",
       call=lambda record: coalescing.shapes_figure(shapes(record)),
       change=lambda record: slower(record, 10.0, block="16 x 16")),
    of(coalescing.price_figure, "108_deeper",
       call=lambda record: coalescing.price_figure(shapes(record))),
    layer_bars("109_constant", "conv2d_basic", "conv2d_constant"),
    of(layer_constant.held_table, "109_blocks", "109_counters",
       whole=("shared_of_a_multiprocessor",)),
    of(row_too_many.answers_table, "110_answers", whole=("right",), fixed=("images",)),
    of(row_too_many.reported_table, "110_answers", whole=("right",),
       fixed=("report B", "unrolled")),
    layer_bars("110_deeper", "conv2d_basic", "conv2d_unrolled"),
    counters("110_counters", "executed", "busy", "l1 busy", "waits"),
    layer_bars("110_unrolling", "conv2d_basic", "conv2d_restrict", "conv2d_unrolled"),
    counters("111_caches", "l1", "instructions", "busy", "cycles", "waits", variant=""),
    of(bench.curve, "111_tiles", label="111_tiles",
       call=lambda record: bench.curve(
           {
               name: times_of(
                   record, layer, "conv2d_constant",
                   *(layer.kernel("conv2d_tiled_maps", MAPS=maps) for maps in (2, 4)),
               )
               for name, layer in layers().items()
           },
           by="maps",
       )),
    bars("111_reported", lambda: layers()["layer 1"], "conv2d_constant", "conv2d_tiled"),
    of(layer_tiles.warps_table, "111_deeper",
       call=lambda record: layer_tiles.warps_table(
           layers()["layer 1"].sweep(
               "conv2d_constant", "conv2d_tiled", TILE_WIDTH=(8, 16, 20, 32), record=record.name
           )
       ), whole=("registers",)),
    counters("112_constant_filter", "executed", "waits"),
    layer_bars("112_register", "conv2d_tiled_maps", "conv2d_register_tiled"),
    of(bench.roofline, "112_register", label="112_register",
       call=lambda record: bench.roofline(
           times_of(record, layers()["layer 1"], "conv2d_basic", "conv2d_register_tiled")
       )),
    of(bench.bars, "112_deeper_room", label="112_deeper_room",
       call=lambda record: bench.bars(room(record))),
    of(register_tiles.issue_table, "112_counters", "112_deeper", whole=("instructions",)),
    of(register_tiles.rates_table, "rates_h200", call=lambda _: register_tiles.rates_table()),
    of(register_tiles.warps_figure, "203_sweep_layer_2",
       call=lambda _: register_tiles.warps_figure()),
    of(overlap.copy_table, "113_streams", whole=("bytes",)),
    of(overlap.clock_table, "113_streams"),
    of(overlap.account, "113_streams"),
    of(overlap.reported_table, "113_streams", fixed=("report ", "whole program")),
    of(overlap.clock_figure, "113_streams"),
    of(overlap.timeline_figure, "113_streams"),
    of(overlap.sweep_figure, "113_streams"),
    of(overlap.end_to_end_figure, "113_streams"),
    of(im2col_times.one_image_table, "200_deeper", fixed=("blocks", "steps")),
    of(im2col_times.launches_figure, "200_deeper"),
    of(im2col_times.steps_figure, "200_deeper"),
    layer_bars("200_im2col_gemm", "conv2d_basic", "im2col_gemm"),
    of(bench.ladder, "201_deeper", label="201_deeper",
       call=lambda record: bench.ladder(
           some_rungs(record, bench.gemm()), yardstick="cuBLAS",
       )),
    of(gemm_ladder.sizes_figure, "201_deeper", call=lambda record: gemm_ladder.sizes_figure(
        {side: some_rungs(record, bench.gemm(side, side, side)) for side in (1024, 4096)}
    )),
    of(gemm_ladder.peak_table, "201_deeper", call=lambda record: gemm_ladder.peak_table(
        bench.gemm(), counts_of_ladder(), some_rungs(record, bench.gemm())
    ), fixed=("shared loads per multiply-add", "these allow")),
    layer_bars("202_fusion", "im2col_gemm", "conv2d_implicit_gemm"),
    of(tile_widths.space_table, *map(sweep.record_name, sweep.SIZES),
       call=lambda *_: tile_widths.space_table(), change=one_rejected, fixed=("products",)),
    of(tile_widths.sums_figure, *map(sweep.record_name, LAYERS),
       call=lambda *_: tile_widths.sums_figure()),
    of(tile_widths.searches_table, *map(sweep.record_name, LAYERS),
       call=lambda *_: tile_widths.searches_table()),
    of(tile_widths.searches_figure, *map(sweep.record_name, LAYERS),
       call=lambda *_: tile_widths.searches_figure()),
    of(tile_widths.widths_figure, "203_tiles",
       call=lambda record: tile_widths.widths_figure(widths(record), lanes)),
    of(tile_widths.choices_table, "203_tiles",
       call=lambda record: tile_widths.choices_table(lambda *_: 1, lanes, widths(record))),
    of(tile_widths.images_table, "benchmark_tensor", call=lambda _: tile_widths.images_table(),
       fixed=("images", "conv2d_register_tiled:", "conv2d_register_images:")),
    of(tile_widths.images_win, "benchmark_tensor", call=lambda _: tile_widths.images_win(),
       change=lambda record: slower(
           record, 100.0, series=tile_widths.IMAGES, layer="layer E2")),
    of(half_precision.time_table, "300_deeper"),
    of(half_precision.accuracy_table, "300_deeper", whole=("right",), fixed=("report A",)),
    counted_by(half_instructions.ratio_table, half_instructions, "over",
               lambda over, draw: lambda *kernels: (draw + 2) * over(*kernels), "300_deeper"),
    counters("300_counters", "executed", "loads", "l1 busy", "busy", "global", "dispatch"),
    layer_bars("300_half", "conv2d_basic", "conv2d_half_inside", "conv2d_half"),
    of(copies.flight_figure, "302_copies", "106_waiting"),
    layer_bars("303_deeper", "conv2d_register_tiled", "conv2d_wmma"),
    counted_by(tensor_cores.floor_table, tensor_cores, "floors", other_floors, "303_wmma",
               call=lambda record: tensor_cores.floor_table(wmma_variants(record))),
    of(tensor_cores.floor_figure, "303_wmma",
       call=lambda record: tensor_cores.floor_figure(
           [wmma_variants(record)], "The layers wait for shared memory"
       )),
    counters("305_counters", "executed", "busy", "tensor", "barrier", "shared", "fixed"),
    of(bench.bars, "305_deeper", label="305_deeper", call=lambda record: bench.bars(
        layers()["layer 2"].sweep("conv2d_mma_pairs", record=record.name))),
    of(fastest_layer.resources_figure, "305_fastest",
       call=lambda record: fastest_layer.resources_figure(fastest_times(record))),
    of(fastest_layer.end_figure, "305_fastest", "benchmark_tensor",
       call=lambda record, _: fastest_layer.end_figure(end_times(record))),
    of(fastest_layer.factors_table, "benchmark_tensor", fixed=("images",)),
    of(warpgroup_layer.rates_table, "benchmark_tensor",
       call=lambda _: warpgroup_layer.rates_table(warpgroup_layer.rates()),
       fixed=("mma, in a kernel", "useful")),
    of(warpgroup_layer.batches_figure, "benchmark_tensor",
       call=lambda _: warpgroup_layer.batches_figure()),
    of(warpgroup_layer.winners_table, "benchmark_tensor",
       call=lambda _: warpgroup_layer.winners_table(), fixed=("images",)),
    of(half_ladder.shares_figure, gemms.RECORD,
       call=lambda record: half_ladder.shares_figure(half_rungs(record))),
    of(half_ladder.rounds_table, gemms.RECORD,
       call=lambda record: half_ladder.rounds_table(half_rungs(record)),
       fixed=("tile", "rounds", "busy")),
    of(cpu_programs.convolutions_figure, "400_conv1d_baselines"),
    of(cpu_programs.here_table, "400_conv1d_baselines",
       call=lambda record, here: cpu_programs.here_table(here, record), given=ran_here,
       other=lambda here, draw: {
           key: cpu_programs.Here(one.name, 1.0 / (draw + k + 2))
           for k, (key, one) in enumerate(here.items())
       }),
    of(cpu_programs.widths_figure, "400_filter_width"),
    of(cpu_programs.network_table, "400_mlp", fixed=("threads",)),
    of(cpu_programs.threads_figure, "400_mlp"),
    of(cpu_programs.report_figure, "400_mlp"),
    of(bench.across, "401_channels", call=channels, label="401_channels"),
    counters("401_counters", "executed", "busy", "barrier", "units", "global", "shared", "fixed"),
    counters("402_counters", "executed", "busy", "l1 busy"),
    of(bench.across, "402_crossover", call=crossover, label="402_crossover"),
    of(transforms.yardstick_table, "402_fft"),
    of(transforms.layers_table, "402_fft", fixed=("K",)),
    of(transforms.layer_figure, "402_fft"),
    of(layer_ladder.figure, "500_ladder", call=lambda record: layer_ladder.figure(rungs(record))),
    of(layer_ladder.best_table, "500_ladder",
       call=lambda record: layer_ladder.best_table(rungs(record))),
    of(layer_ladder.best_table, "500_deeper", label="500_deeper",
       call=lambda record: layer_ladder.best_table(few_images(record))),
    of(layer_ladder.share_table, "500_ladder",
       call=lambda record: layer_ladder.share_table(rungs(record)),
       fixed=("products by", "floor, ms")),
    of(layer_ladder.steps_table, "500_ladder",
       call=lambda record: layer_ladder.steps_table(rungs(record))),
    of(layer_ladder.order_table, "500_ladder",
       call=lambda record, counts: layer_ladder.order_table(rungs(record), counts),
       given=counts_of_rungs),
    of(layer_ladder.best_counter, "500_ladder",
       call=lambda record, counts: layer_ladder.best_counter(rungs(record), counts),
       given=counts_of_rungs, change=turned_round),
    bars("501_fused", lambda: bench.pooled("layer 1", images=1_000), "apart", "lenet_conv_pool"),
    counted_by(leaderboard.Board.table, leaderboard, "bound_of",
               lambda bound, draw: lambda *kernel: bound(*kernel) + draw + 1, "501_leaderboard",
               call=lambda record: leaderboard.Board(record).table()),
    of(leaderboard.Board.draw, "501_leaderboard", call=drawn_board),
    of(network_stages.host_bounds, "501_lenet"),
    of(network_stages.stages_figure, "501_lenet"),
    of(network_stages.host_figure, "501_lenet"),
    of(network_stages.pytorch_table, "benchmark_lenet"),
    of(network_stages.batches_figure, "benchmark_lenet"),
    within(cards_drawn.buses, "502_several_gpus", ran_on("bus")),
    within(cards_drawn.between, "502_several_gpus", ran_on("peer")),
    within(cards_drawn.counts, "502_several_gpus", lambda record: (on_cards(record), {})),
    of(several_gpus.beyond, "502_several_gpus",
       call=lambda record: several_gpus.beyond(record.rows(), 0.4)),
    of(card_mistakes.misuse_table, "502_several_gpus",
       call=lambda record: card_mistakes.misuse_table(
           dict.fromkeys(wrong_card.CASES, "refused"), card_mistakes.answers(record.rows())
       ),
       change=lambda record: with_values(record, {"series": "misuse"}, answer="another answer")),
    of(at_work.table, "503_at_work"),
    of(at_work.details, "503_at_work",
       change=lambda record: with_values(record, {"series": "CUDA"}, ran="another way")),
    of(at_work.result, "503_at_work"),
    of(at_work.figure, "503_at_work"),
    of(at_work.choices, "503_at_work",
       call=lambda record: at_work.choices(record, choose_tool.reference, (1.0, 1.1, 5.0))),
    of(split_error.figure, "split_error"),
    of(split_error.said, "split_error",
       call=lambda record: split_error.said(record.rows(), 65_536)),
    within(plotting.speedup, "201_gemm", rows_of_4096, baseline="block tile"),
    within(plotting.times, "201_gemm", rows_of_4096),
    within(plotting.ladder, "201_gemm", rows_of_4096),
    within(plotting.scaling, "115_sizes"),
    within(plotting.roofline, "104_deeper_tiles", beside_roofs),
)

# Pictures of an idea, and numbers that the simulator counts: no record has a part in them.
DRAWINGS: tuple[Output, ...] = (
    of(broken.figure_of_blur, call=lambda pixels: broken.figure_of_blur(pixels, np.ones((8, 8))),
       given=lambda: np.eye(8), other=lambda pixels, draw: pixels + draw + 1),
    of(broken.figure_of_smooth, call=lambda cells: broken.figure_of_smooth(cells, np.ones(600)),
       given=lambda: np.zeros(600), other=lambda cells, draw: cells + draw + 2),
    of(channel_sums.access_figure),
    of(copies.turns_figure),
    of(cpu_programs.phases_figure_here, call=lambda: cpu_programs.phases_figure_here(1)),
    of(fastest_layer.window_figure),
    of(gemm_ladder.column_figure),
    of(gemm_ladder.patch_figure),
    of(gemm_ladder.block_figure),
    of(gemm_ladder.rungs_table),
    of(half_ladder.rungs_table),
    of(half_ladder.stores_figure),
    of(half_ladder.order_figure, given=lambda: {8: half_ladder.order(8)},
       other=lambda _, draw: {8: half_ladder.order(draw + 1)}),
    of(half_errors.error_figure, given=errors, other=other_errors),
    of(half_errors.error_table, given=errors, other=other_errors),
    of(half_instructions.rows_figure, given=of_halves, other=of_another,
       fixed=("Converting inside",)),
    of(im2col_gemm.unroll_figure),
    of(im2col_gemm.tiles_figure),
    of(issue_orders.schedule_figure, call=lambda pieces: issue_orders.schedule_figure(pieces, 4),
       given=lambda: [2, 1, 3], other=lambda pieces, _: pieces[::-1]),
    of(issue_orders.order_figure, call=lambda: issue_orders.order_figure(
        {"ours": issue_orders.simulated_order(streams.depth_first)})),
    of(layer_tiles.tile_figure),
    of(layer_times.tiles_figure, given=lambda: 16, other=lambda width, draw: 8 + draw),
    of(one_mma.layout_figure),
    of(one_mma.kernel_figure, given=lambda: one_warp()[0], other=lambda *_: one_warp()[1],
       words=True),
    of(one_mma.naming_figure),
    of(one_mma.cost_figure, given=one_warp),
    of(register_tiles.patch_figure),
    of(split_error.bits_figure, given=lambda: 3.1415927, other=lambda value, draw: value + draw),
    of(tensor_cores.gather_figure),
    of(tile_widths.cover_figure),
    of(tiles.tile_figure),
    of(tiles.ways_figure),
    of(transforms.segments_figure),
    of(transforms.stages_figure),
    of(waiting.schema_figure),
    of(waiting.thread_figure),
    of(warpgroup_layer.descriptor_figure),
    of(warpgroup_layer.swizzle_figure),
    of(warpgroup_layer.granules_figure),
    of(warpgroup_layer.roles_figure),
    drawn(plotting.access_map, lambda: profiled(0), lambda *_: profiled(2),
          lambda ax, seen: plotting.access_map(ax, seen, array="x")),
    drawn(plotting.bank_conflicts, lambda: "tile_x", lambda *_: "tile_a",
          lambda ax, array: plotting.bank_conflicts(ax, of_products()[1].profile, array=array)),
    drawn(plotting.cells, lambda: np.arange(4), lambda cells, draw: cells + draw + 1,
          lambda ax, values: plotting.cells(
              ax, [plotting.Cells("x", values)], plotting.Cells("y", values[:1], [(0,)])),
          words=True),
    drawn(plotting.grid_picture, lambda: (4, 3), lambda grid, draw: (grid[0] + draw + 1, 3),
          lambda ax, grid: plotting.grid_picture(ax, grid, (16, 4))),
    drawn(plotting.halo, lambda: 6, lambda width, draw: width + draw + 1,
          lambda ax, width: plotting.halo(ax, 20, width, 2)),
    drawn(plotting.resource_bars, lambda: profiled(0).bounds(), lambda *_: profiled(2).bounds()),
    drawn(plotting.timeline, lambda: 2.0, lambda end, draw: end + draw + 1,
          lambda ax, end: plotting.timeline(ax, [
              {"row": "H2D", "stream": 1, "piece": 0, "start": 0.0, "end": 1.0},
              {"row": "kernel", "stream": 1, "piece": 0, "start": 1.0, "end": end}])),
    drawn(fragments.fragment, lambda: 1, lambda lanes, draw: lanes + draw + 1,
          lambda ax, lanes: fragments.fragment(
              ax, (4, 4), lambda row, column: (row * lanes, column % 2)),
          words=True),
    of(at_work.effort_table),
    of(channel_sums.places_table),
    of(constant_memory.reported_table),
    of(fastest_layer.range_table),
    of(half_instructions.row_table, given=of_halves, other=of_another,
       fixed=half_instructions.KERNELS),
    of(im2col_gemm.padding_table),
    of(tile_widths.lanes_table, given=lambda: lanes,
       other=lambda few, draw: lambda *sizes: (draw + 2) * few(*sizes),
       fixed=("layer 1: tiles", "layer 2: tiles")),
    of(constant_memory.code_table, given=lambda: (3, 15), other=lambda *_: (31, 63)),
    of(cpu_programs.chain_table_here, call=chains_without_a_clock,
       given=lambda: cpu_programs.Chain(0.5, 2.0),
       other=lambda _, draw: cpu_programs.Chain(1.5 + draw, 7.0 + draw)),
    of(fastest_layer.reports_table,
       call=lambda ours: fastest_layer.reports_table(ours, reports.rows("course_reports")),
       given=lambda: {"split halves": 1.1}, other=lambda _, draw: {"split halves": 2.1 + draw},
       fixed=("report ",)),
    of(half_ladder.strips_table, given=lambda: {8: half_ladder.order(8)},
       other=lambda _, draw: {8: half_ladder.order(draw + 1)}),
    of(gemm_ladder.words_table, call=lambda seen: gemm_ladder.words_table(bench.gemm(), seen),
       given=of_products, fixed=("gemm_basic",)),
    of(half_precision.load_table, given=lambda: "layer 1", other=lambda *_: "layer 2"),
    of(half_precision.promise_table,
       call=lambda y: half_precision.promise_table({conv2d.conv2d_named(GOOD): y}, *image()),
       given=lambda: reference.conv2d(*image()),
       other=lambda y, draw: y * (1 + 10.0 ** (draw - 4))),
    of(layer_ladder.count_table, given=lambda: counts_of_three()["layer 1"]),
    of(layer_tiles.uniform_code_table,
       call=lambda kernels: layer_tiles.uniform_code_table(layers()["layer 1"], **kernels),
       given=lambda: kernels_of("conv2d_basic", "conv2d_constant"),
       other=lambda *_: kernels_of("conv2d_tiled", "conv2d_tiled_maps")),
    counted_by(register_tiles.constant_code_table, sass, "code", other_code,
               call=lambda: register_tiles.constant_code_table(layers()["layer 1"])),
    counted_by(fastest_layer.distances_table, fastest_layer, "distances", further_apart),
    of(register_tiles.loads_table, given=of_memories),
    of(register_tiles.registers_table,
       call=lambda specs: register_tiles.registers_table(specs, "layer 2"),
       given=lambda: patches(4, 8), other=lambda *_: patches(16, 2), fixed=("bytes of",)),
    of(split_error.split_table, given=lambda: halves, other=lambda *_: halves_towards_zero),
    of(tensor_cores.bank_table,
       call=lambda pitches: tensor_cores.bank_table(first_bank, pitches),
       given=lambda: (16, 24), other=lambda _, draw: (32, 40 + 8 * draw)),
    of(tensor_cores.product_table,
       call=lambda counts: tensor_cores.product_table(counts, layers()["layer 1"]),
       given=of_fragments),
    counted_by(tensor_cores.step_table, loop_code, "code_of", longer_code,
               call=lambda: tensor_cores.step_table(of_fragments(), layers()["layer 1"])),
    of(warpgroup_layer.swizzle_table, given=lambda: operator.xor,
       other=lambda _, draw: lambda row, piece: piece ^ row // (draw + 2), fixed=("in order",)),
)

_A_TOOL = "a table of evidence.benchmarks, see tests/helpers/test_benchmarks.py"
_A_CELL = "a notebook's own cell makes a table of it"

# Records that no figure and no table of the labs is made from, with the reason.
WITHOUT_OUTPUT: Mapping[str, str] = {
    "102_constant": _A_CELL,
    "102_unrolled": _A_CELL,
    "104_deeper": _A_CELL,
    "112_deeper_maps": _A_CELL,
    "112_issued": "numbers in the text of lab 112, deeper, held by their marks",
    "401_deeper": _A_CELL,
    "402_sizes": _A_CELL,
    "503_counters": _A_CELL,
    "benchmark_conv1d": _A_TOOL,
    "benchmark_conv2d": _A_TOOL,
    "benchmark_known_layers": _A_CELL,
    "bounds": "bounds beside times, see tests/helpers/test_bound_ratios.py",
    "counters_strangers": "counters beside the simulator's, see tests/simulator",
    "device_functions": "digests beside the simulator's, see tests/simulator",
    "sanitizer": "answers beside the simulator's, see tests/simulator",
}

_COUNTED = "a table of what the simulator counts or a reader's function answers"
_READ = "a name that a record has, or a word that follows it and has a test of its own"
_PART = "a part of a figure: its figures are in the registry"

# Functions with the look of an output that are none, or that no record has a part in.
NO_OUTPUT: Mapping[Callable[..., Any], str] = {
    **dict.fromkeys(
        (
            fastest_layer.pairs_table, tensor_cores.conflict_table,
        ),
        _COUNTED,
    ),
    **dict.fromkeys(
        (
            cpu_programs.cpu_of, network_stages.host_form, sizes.cpu_name,
            layer_constant.suspect_of, gemm_ladder.claim,
        ),
        _READ,
    ),
    **dict.fromkeys(
        (
            styles.caption, styles.figure_of, styles.finish, styles.style,
            plotting.timings.over_batches, fragments.registers,
        ),
        _PART,
    ),
}
