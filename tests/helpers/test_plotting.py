"""Figures: the right numbers in the right places, told apart without colour, on an opaque
background.
"""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Callable

import numpy as np
import pytest
from matplotlib import image
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.text import Text

from helpers import kernels, limits, plotting, simulator
from helpers.bench.results import Measurement, Record
from helpers.bench.timing import Timing
from helpers.device import Device
from helpers.plotting import boxes, launches, memory, styles
from helpers.plotting.styles import BARS
from helpers.simulator import Profile, Request
from helpers.simulator.bounds import Bounds, Share
from tests import golden

H200 = Device("gpu", "NVIDIA H200", (9, 0), 132, 49152, 50 * 2**20, 4.8e12, 67e12, "found a GPU")


def timing(series: str, median: float, low: float, high: float) -> Timing:
    return Timing(
        series, (low, median, high), median, low, high, 3, "kernel", "cold", "NVIDIA H200", None
    )


def record(*rows: tuple[str, int, float, float, float], recalled: bool = False) -> Record:
    """Rows: (series, n, median, low, high), times in ms."""
    made = tuple(Measurement(s, {"n": n}, timing(s, m, low, high)) for s, n, m, low, high in rows)
    when = "2026-11-21T10:00:00Z"
    return Record("speedups", "104_conv1d_tiles", when, H200, {}, {}, made, recalled=recalled)


@pytest.fixture
def ax():
    return Figure(figsize=(7, 3)).subplots()


def pixels(ax) -> np.ndarray:
    buffer = io.BytesIO()
    ax.figure.savefig(buffer, format="png", dpi=60)
    buffer.seek(0)
    return image.imread(buffer)


# --------------------------------------------------------------------------------------------------
# speedup

THREE = record(
    ("C++, one core", 100, 8.0, 7.0, 9.0),
    ("conv1d_basic", 100, 2.0, 1.8, 2.5),
    ("conv1d_tiled", 100, 16.0, 15.0, 18.0),
)


def test_bars_of_each_kind_differ_in_grey():
    greys = {
        kind: (round(np.dot(to_rgba(look["color"])[:3], (0.299, 0.587, 0.114)), 1), "hatch" in look)
        for kind, look in BARS.items()
    }
    assert len(set(greys.values())) == len(BARS), greys


def test_products_have_looks_of_their_own():
    looks = [(look["color"], look["marker"]) for look in styles.PRODUCTS.values()]
    assert len(set(looks)) == len(looks)
    assert {marker for _, marker in looks}.isdisjoint(("x", "D", "*"))  # those of libraries


# --------------------------------------------------------------------------------------------------
# scaling

SWEEP = record(
    ("conv1d_basic", 10**6, 0.02, 0.01, 0.04), ("conv1d_basic", 10**3, 0.01, 0.01, 0.01),
    ("conv1d_tiled", 10**3, 0.02, 0.02, 0.02), ("conv1d_tiled", 10**6, 0.01, 0.01, 0.01),
)  # fmt: skip


def test_times_on_a_logarithmic_axis_have_plain_ticks(ax):
    short = record(("a", 10, 0.55, 0.5, 0.6), ("a", 20, 0.8, 0.75, 0.85))
    for data in (SWEEP, short):
        ax.clear()
        plotting.scaling(ax, data)
        ax.figure.draw_without_rendering()
        labels = [
            label.get_text() for label in ax.get_yticklabels(which="both") if label.get_text()
        ]
        assert labels and all(re.fullmatch(r"[\d,.]+", label) for label in labels), labels


def test_neighbouring_series_differ_in_grey():
    grey = [np.dot(to_rgba(colour)[:3], (0.299, 0.587, 0.114)) for colour in plotting.COLOURS]
    assert (np.abs(np.diff(grey)) > 0.15).all()


def test_series_differ_without_colour(ax):
    plotting.scaling(ax, record(*((f"s{i}", n, 1.0 + i, 1, 9) for i in range(8) for n in (1, 2))))
    drawn = [container.lines[0] for container in ax.containers]
    assert len({line.get_marker() for line in drawn}) == 8
    assert len({str(line._unscaled_dash_pattern) for line in drawn}) == 8


# --------------------------------------------------------------------------------------------------
# resources


def share(resource: str, microseconds: float) -> Share:
    return Share(resource, f"{resource} units", microseconds, "things", 1e6, "it is so")


def resources(*microseconds: float) -> Bounds:
    shares = tuple(share(f"r{k}", value) for k, value in enumerate(microseconds))
    return Bounds("H200", "conv1d_basic", "cold", shares)


# --------------------------------------------------------------------------------------------------
# access map


def request(
    *offsets: int, size: int = 4, kind: str = "load", array: str = "N", line: int = 12
) -> Request:
    return Request(kind, "global", array, line, tuple(range(len(offsets))), offsets, size)


def profile(*requests: Request) -> Profile:
    return Profile("conv1d_basic", (1, 1, 1), (32, 1, 1), (), True, 1, 1, (), requests)


def test_access_maps_of_one_array_share_their_bytes_while_a_band_can_be_seen():
    near, far = (
        profile(request(*(step * lane for lane in range(32)))) for step in (4, 32)
    )
    maps = [memory.touched(one, "N") for one in (near, far)]
    assert maps == [range(0, 128, 32), range(0, 1024, 32)]
    assert memory.shared_bytes(maps) == [maps[1], maps[1]]
    thin = [maps[0], range(0, 4096, 32)]
    assert memory.shared_bytes(thin) == thin


# --------------------------------------------------------------------------------------------------
# halo


# --------------------------------------------------------------------------------------------------
# launch


# --------------------------------------------------------------------------------------------------
# times and shares


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e-5, "0.00001"), (2e-7, "0.0000002"), (0.0001, "0.0001"), (3.0, "3"), (1e5, "100,000")],
)
def test_tick(value, text):
    assert styles.tick_text(value, 0) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.5"), (999.4, "999"), (999.6, "1,000"), (1234.6, "1,230"), (2.16e7, "21,600,000")],
)
def test_ratio(value, text):
    assert styles.ratio_text(value) == text


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0.00046, "460 ns"),
        (0.0457, "45.7 µs"),
        (4.6, "4.6 ms"),
        (999.0, "999 ms"),
        (1.2e6, "1,200 s"),
    ],
)
def test_duration(ms, text):
    assert styles.duration_text(ms) == text


# --------------------------------------------------------------------------------------------------
# requests, banks and lines


def elsewhere(space: str, *offsets: int, kind: str = "load", size: int = 4) -> Request:
    return Request(kind, space, "filter", 7, tuple(range(len(offsets))), offsets, size)


def column(stride: int, size: int = 4) -> Profile:
    return profile(elsewhere("shared", *(stride * lane for lane in range(32)), size=size))


def test_wide_accesses_take_a_wavefront_for_each_half_or_quarter():
    for size, least in ((8, 2), (16, 4)):
        cells, wavefronts, needed = memory._wavefronts(column(size, size).requests[0])
        assert (wavefronts, needed, len(cells)) == (least, least, 32 * size // 4)


def test_two_words_in_a_bank_are_two_wavefronts():
    cells, wavefronts, needed = memory._wavefronts(elsewhere("shared", 0, 128, 0, 4))
    assert (wavefronts, needed) == (2, 1)
    assert cells == {(0, 0): 1, (1, 0): 2, (2, 0): 1, (3, 1): 1}


# Loops that stay loops, so that no compiler makes one wide access of several: each is one request
# of 4 bytes a lane.
TRANSPOSE = """
extern "C" __global__ void transpose(float* out, const float* in, int n)
{
    __shared__ float tile[32][32 + PAD];
    const int x = threadIdx.x;
    #pragma unroll 1
    for (int y = 0; y < 32; ++y) tile[y][x] = in[y * n + x];
    __syncthreads();
    #pragma unroll 1
    for (int y = 0; y < 32; ++y)
        out[x * n + y] = tile[x][y];
}
"""


@pytest.fixture(scope="module")
def transposes() -> tuple[Profile, Profile]:
    cells, out = np.ones((32, 32), np.float32), np.zeros((32, 32), np.float32)
    return tuple(
        simulator.profile(
            TRANSPOSE,
            "transpose",
            out,
            cells,
            np.int32(32),
            grid=(1,),
            block=(32,),
            options=[f"-DPAD={pad}"],
        )
        for pad in (0, 1)
    )


def test_the_picture_agrees_with_the_engine(transposes, ax):
    for seen, wavefronts in zip(transposes, (32, 1), strict=True):
        request = next(r for r in seen.requests if (r.space, r.kind) == ("shared", "load"))
        assert memory._wavefronts(request)[1] == wavefronts
        assert seen.shared_load_wavefronts == 32 * wavefronts


@pytest.mark.parametrize("outputs", [8, 9])
def test_the_picture_agrees_with_the_engine_on_whatever_width_of_access(outputs):
    cells, n = np.ones(64 * outputs, np.float32), 32 * outputs
    seen = simulator.profile(
        kernels.source("conv1d_outputs"), "conv1d_outputs", np.zeros(n, np.float32), cells[:n],
        np.int32(n), grid=(1,), block=(32,), options=[f"-DOUTPUTS={outputs}", f"-DTILE_WIDTH={n}"],
        constants={"filter": np.ones(3, np.float32)},
    )  # fmt: skip
    for kind, counted in (
        ("load", seen.shared_load_wavefronts),
        ("store", seen.shared_store_wavefronts),
    ):
        requests = [r for r in seen.requests if (r.space, r.kind) == ("shared", kind)]
        assert sum(memory._wavefronts(request)[1] for request in requests) == counted > 0


# --------------------------------------------------------------------------------------------------
# ladder and roofline


def step(**changes) -> dict:
    return {"series": "a", "median_ms": 2.0, "low_ms": 1.0, "high_ms": 3.0, **changes}


POINTS = [
    ("tiled", 0.75, 3.0e12),
    ("constant", 0.75, 1.9e12),
    ("basic", 0.75, 1.9e12),
    ("matmul", 60.0, 33.5e12),
]


def test_labels_of_a_roofline_do_not_overlap():
    ax = Figure(figsize=(5, 4)).subplots()
    crowd = [(f"conv1d_step_{k}", 0.75, 1.9e12 + k * 1e9) for k in range(8)] + [
        ("other", 0.9, 1.9e12)
    ]
    plotting.roofline(ax, crowd, H200, title="A claim")
    ax.figure.draw_without_rendering()
    labels = [text for text in ax.texts if text.get_text().endswith("%")]
    boxes = [Text.get_window_extent(text) for text in labels]  # without the lines to the points
    assert len(boxes) == 9
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
    assert all(text.get_position()[1] <= 0 for text in labels), (
        "labels move down, away from the roof"
    )
    assert ax.get_window_extent().y0 < min(box.y0 for box in boxes), "and stay above the axis"


def test_roofline_needs_a_device_with_figures(ax):
    simulated = Device(
        "simulator", "the simulator", (9, 0), 132, 49152, 50 * 2**20, None, None, "no GPU"
    )
    with pytest.raises(
        ValueError, match=r"the simulator \(simulator\) has no DRAM bandwidth .* record.device"
    ):
        plotting.roofline(ax, POINTS, simulated)


# --------------------------------------------------------------------------------------------------
# timelines


def span(row: str, stream: int, piece: int, start: float, end: float, **more) -> dict:
    return {"row": row, "stream": stream, "piece": piece, "start": start, "end": end, **more}


SPANS = (
    span("H2D", 1, 0, 0, 2),
    span("kernel", 1, 0, 2, 2.01),
    span("D2H", 1, 0, 2.5, 5),
    span("H2D", 2, 1, 2, 4, ready=0),
)


def test_ten_streams_differ_without_colour():
    looks = [launches._stream_look(stream) for stream in range(1, 11)]
    assert len({look["hatch"] for look in looks}) == 10


# --------------------------------------------------------------------------------------------------
# all of them

TWO_REQUESTS = profile(request(0), request(32))
SIZES, CHOSEN = record(("a", 10, 1, 1, 1), ("a", 20, 1, 1, 1)), {"chosen": (2, 0)}
TWICE = record(("a", 10, 1, 1, 1), ("a", 10, 2, 2, 2))
NEVER = span("H2D", 1, 3, 0, float("nan"))
REFUSED = [
    (plotting.speedup, [[]], {}, "no rows"),
    (plotting.speedup, [THREE], {"baseline": "NumPy"},
     r"no series 'NumPy' to compare with; there is: C\+\+, one core, conv1d_basic"),
    (plotting.speedup, [SIZES], {}, "several rows for a; they differ in n. Give one of them"),
    (plotting.speedup, [TWICE], {}, "several rows for a; they have the same parameters"),
    (plotting.speedup, [[{"series": "a", "sectors": 3}]], {}, "has no time"),
    (plotting.scaling, [SWEEP], {"x": "width"},
     "a row of conv1d_basic has no 'width'; it has: series, n, median_ms"),
    (plotting.scaling, [SWEEP], {"by": "cache"},
     "several rows for cold at n = 1000; they differ in series"),
    (plotting.scaling, [()], {}, "no rows"),
    (plotting.times, [THREE], {"emphasize": "conv1d"},
     r"no row 'conv1d' to emphasize; there is: C\+\+, one core, conv1d_basic"),
    (plotting.halo, (0, 4, 1), {}, "give at least 1, 1 and 0"),
    (plotting.halo, (8, 0, 1), {}, "give at least 1, 1 and 0"),
    (plotting.halo, (8, 4, -1), {}, "give at least 1, 1 and 0"),
    (plotting.halo, (1000, 256, 1), {},
     "at most 64 cells, and this one has 1002: draw a smaller example"),
    (plotting.halo, (8, 4, 1), {"block": 2},
     "block 2 has no tile: 8 cells in tiles of 4 make blocks 0 to 1"),
    (plotting.grid_picture, [(2, 2), (32,)], {"elements": 100},
     "`elements` needs a launch along x only"),
    (plotting.grid_picture, [(0, 1), (32,)], {}, "give at least 1 for every axis"),
    (plotting.grid_picture, [(1,), (32, 1, 2)], {}, "give a z of 1"),
    (plotting.grid_picture, [(1,), (33, 32)], {}, "1,056 threads; CUDA allows 1,024"),
    (plotting.grid_picture, [(2, 2), (32,)], CHOSEN,
     r"chosen is \(2, 0\); the picture has blocks \(0, 0\) to \(1, 1\)"),
    (plotting.access_map, [TWO_REQUESTS], {"first": 0}, "first=0: draw one request or more"),
    (plotting.access_map, [profile(request(0), request(9, array="P"))], {"kind": "store"},
     r"no global store of 'N'; it made: load of N \(global\), load of P"),
    (plotting.bank_conflicts, [column(4)], {"array": "filter", "request": 4},
     "made 1 shared loads of filter"),
    (plotting.bank_conflicts, [column(4)], {"array": "N"}, "no shared load of 'N'"),
    (plotting.resource_bars, [resources(1.0)], {"most": 0}, "one bar or more"),
    (plotting.ladder, [THREE], {"order": ["tiled"]}, "no row 'tiled' for the step"),
    (plotting.ladder, [[]], {}, "no rows"),
    (plotting.ladder, [[step(median_ms=None)]], {}, "has no time"),
    (plotting.ladder, [[step(low_ms=None)]], {},
     "has a median_ms and no low_ms: give every time with its interval"),
    (plotting.ladder, [[step(low_ms=2.5)]], {}, "impossible times: 0 < low_ms <= median_ms"),
    (plotting.ladder, [[step(low_ms=0)]], {}, "impossible times"),
    (plotting.ladder, [[step(high_ms=float("nan"))]], {}, "impossible times"),
    (plotting.times, [[step()]], {"by": "label"},
     "a row has no 'label' to name it by; it has: series, median_ms"),
    (plotting.ladder, [[step(), step()]], {}, "several rows for a"),
    (plotting.ladder, [THREE], {"yardstick": "cuDNN"},
     "no row 'cuDNN' for the yardstick; choose from C"),
    (plotting.ladder, [[step()]], {"yardstick": "a"}, "no step besides the yardstick 'a'"),
    (plotting.ladder, [THREE], {"floor_ms": 0}, "floor_ms is 0: give the floor in ms"),
    (plotting.roofline, [[], H200], {}, "no points to draw; give"),
    (plotting.roofline, [[("a", 1.0)], H200], {},
     r"\('a', 1.0\) is no point: give \(label, flop/byte, flop/s\)"),
    (plotting.roofline, [[("a", 0.0, 1e12)], H200], {}, "both figures above 0"),
    (plotting.roofline, [[("a", 1.0, float("nan"))], H200], {}, "both figures above 0"),
    (plotting.roofline, [[("a", 1.0, 1e12), ("a", 2.0, 1e12)], H200], {}, "several points 'a'"),
    (plotting.timeline, [()], {}, "no spans"),
    (plotting.timeline, [[span("copy", 1, 0, 0, 1)]], {},
     "the row 'copy'; give one of H2D, kernel, D2H"),
    (plotting.timeline, [[span("H2D", 1, 3, 2, 1)]], {}, "piece 3 is in H2D from 2 to 1"),
    (plotting.timeline, [[NEVER]], {}, "the simulator has no time; draw its order of work"),
]
NEEDED = {plotting.speedup: {"baseline": "a"}, plotting.access_map: {"array": "N"}}


@pytest.mark.parametrize(
    ("draw", "given", "options", "message"), REFUSED, ids=lambda one: getattr(one, "__name__", None)
)
def test_what_cannot_be_drawn_is_refused(ax, draw, given, options, message):
    with pytest.raises(ValueError, match=message):
        draw(ax, *given, **NEEDED.get(draw, {}) | options)


FAR = record(("a", 1, 100.0, 99.0, 101.0), ("b", 1, 10.0, 9.9, 10.1), ("c", 1, 1.0, 0.9, 1.1))
FARTHER = record(("a", 1, 86_600.0, 86_600.0, 86_600.0), ("b", 1, 1.0, 1.0, 1.0))
READS = [request(*(4 * (lane + tap) for lane in range(32))) for tap in range(31)]
MIXED = (
    request(0),
    request(64, array="P", kind="store"),
    request(0, 0, 4, array="P", kind="atomic"),
    request(96, array="P"),
)
SEVERAL = (*column(4).requests, *column(64).requests, *column(128).requests)
CPU = "C++, one core"


def drawn(function: Callable[..., Axes], *given, **how) -> Callable[[Axes], Axes]:
    return lambda ax: function(ax, *given, **how)


def map_of(*requests: Request, array: str = "N", **how) -> Callable[[Axes], Axes]:
    return drawn(plotting.access_map, profile(*requests), array=array, **how)


def banks_of(seen: Profile, **how) -> Callable[[Axes], Axes]:
    return drawn(plotting.bank_conflicts, seen, array="filter", **how)


def floor_ms(n: int) -> float:
    return limits.floor(limits.conv1d(n, 3), H200).seconds


# What each picture shows of a small example: its golden row holds the words, boxes and points.
DRAW = {
    "speedup": drawn(plotting.speedup, THREE, baseline=CPU),
    "speedup over ours": drawn(plotting.speedup, THREE, baseline="conv1d_basic"),
    "speedup, logarithmic": drawn(plotting.speedup, FAR, baseline="b"),
    "speedup of thousands": drawn(plotting.speedup, FARTHER, baseline="a"),
    "scaling": drawn(plotting.scaling, SWEEP, xlabel="n (cells)"),
    "scaling with a floor": drawn(plotting.scaling, SWEEP, floor=floor_ms),
    "scaling by a column": drawn(plotting.scaling, SWEEP.rows()[:2], by="cache"),
    "resources": drawn(plotting.resource_bars, resources(200.0, 50.0, 10.0, 1.0)),
    "long resources": drawn(plotting.resource_bars, resources(1.5e6, 1.2e6, 1e6), most=2),
    "shifted reads": map_of(*READS[:3]),
    "many reads": map_of(*READS),
    "first reads": map_of(*READS, first=2),
    "reads apart": map_of(request(*(128 * lane for lane in range(32)))),
    "read across a sector": map_of(request(24, size=16)),
    "reads of one cell": map_of(request(*[0] * 32)),
    "reads of one array's bytes": map_of(READS[0], shown=range(0, 1024, 32)),
    "stores": map_of(*MIXED, array="P", kind="store"),
    "atomics": map_of(*MIXED, array="P", kind="atomic"),
    "constant words": map_of(
        elsewhere("constant", 0, 4, 0, 8), array="filter", space="constant"
    ),
    "halo of a block": drawn(plotting.halo, 14, 6, 2, block=1),
    "halo of the last block": drawn(plotting.halo, 14, 6, 2, block=2),
    "halo without a tile": drawn(plotting.halo, 12, 5, 1, block=2, staged=False),
    "times": drawn(plotting.times, THREE, emphasize="conv1d_basic"),
    "column in one bank": banks_of(column(128)),
    "column in two banks": banks_of(column(64)),
    "rows": banks_of(column(4)),
    "padded column": banks_of(column(132)),
    "one word": banks_of(column(0)),
    "worst of several requests": banks_of(profile(*SEVERAL)),
    "second of several requests": banks_of(profile(*SEVERAL), request=2),
    "ladder": drawn(plotting.ladder, THREE),
    "ladder with a yardstick": drawn(plotting.ladder, THREE, floor_ms=0.8, yardstick=CPU),
    "ladder with a student's": drawn(
        plotting.ladder, THREE, yardstick=CPU, yours=["conv1d_tiled"]
    ),
    "ladder in an order": drawn(
        plotting.ladder, THREE, order=["conv1d_basic", CPU], floor_ms=0.8
    ),
    "ladder, logarithmic": drawn(plotting.ladder, THREE, floor_ms=0.01),
    "roofline": drawn(plotting.roofline, POINTS, H200),
    "timeline": drawn(plotting.timeline, SPANS),
    "timeline of steps": drawn(plotting.timeline, SPANS, order=True),
    "grid": drawn(plotting.grid_picture, (4, 3), (16, 4), chosen=(1, 2)),
    "long grid": drawn(plotting.grid_picture, (3907,), (256,)),
    "grid with idle threads": drawn(
        plotting.grid_picture, (4,), (256,), chosen=(3, 0), elements=1000
    ),
    "full grid": drawn(plotting.grid_picture, (4,), (256,), chosen=(3, 0), elements=1024),
    "idle block": drawn(plotting.grid_picture, (4,), (256,), chosen=(3, 0), elements=768),
}
ONE_OF_EACH = (
    "speedup", "scaling", "shifted reads", "halo of a block", "times", "column in two banks",
    "ladder with a yardstick", "ladder, logarithmic", "roofline", "timeline", "timeline of steps",
    "long grid", "resources",
)  # fmt: skip


@pytest.fixture
def clear(ax):
    """Axes of a theme that leaves the background transparent."""
    ax.figure.set_facecolor("none")
    ax.set_facecolor("none")
    return ax


def test_a_theme_can_leave_the_background_transparent(clear):
    assert pixels(clear)[0, 0, 3] == 0


@pytest.mark.parametrize("name", DRAW)
def test_a_picture_shows_its_row(ax, name):
    assert DRAW[name](ax) is ax
    plotting.caption(ax, dataclasses.replace(THREE, recalled=name == "speedup"))
    golden.require("outputs", f"plotting: {name}", golden.of_output(ax.figure))


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_background_is_opaque_white_and_nothing_is_cut_off_whatever_the_theme(clear, name):
    plotting.caption(DRAW[name](clear), THREE)
    assert_white_edges(clear)


def assert_white_edges(ax):
    picture = pixels(ax)
    assert (picture[..., 3] == 1).all()
    for edge in (picture[0], picture[-1], picture[:, 0], picture[:, -1]):
        assert (edge[..., :3] == 1).all(), "ink at the edge of the figure"


# ---- boxes ----


@pytest.mark.parametrize(
    ("size", "tile", "tiles", "idle"),
    [((34, 34), 16, 9, 1 - 34 * 34 / 48**2), ((4, 6), 2, 6, 0.0), ((3, 5), 4, 2, 1 - 15 / 32)],
)
def test_tiles_that_cover_a_map_are_counted_with_their_idle_threads(ax, size, tile, tiles, idle):
    assert boxes.cover(ax, *size, tile, numbered=True) == (tiles, pytest.approx(idle))
    assert {text.get_text() for text in ax.texts} == {str(number) for number in range(tiles)}
    whole, used, *frames = ax.patches
    assert whole.get_hatch() and not used.get_hatch()
    assert (used.get_height(), used.get_width()) == size
    assert len(frames) == tiles and all(frame.get_width() == tile for frame in frames)
    assert max(frame.get_x() for frame in frames) + tile == whole.get_width()
    assert max(frame.get_y() for frame in frames) + tile == whole.get_height()
    ax.margins(0)
    ax.autoscale()
    assert (*ax.get_xlim(), *ax.get_ylim()) == (0, whole.get_width(), 0, whole.get_height())


def test_the_text_of_a_hatched_box_is_readable(ax):
    boxes.box(ax, 2, 3, "a", width=4, height=2)
    boxes.box(ax, 2, 3, "b", hatch="////")
    plain, hatched = ax.texts
    assert plain.get_position() == (4, 4) and hatched.get_position() == (2.5, 3.5)
    assert plain.get_bbox_patch() is None and hatched.get_bbox_patch() is not None


def test_phases_stand_in_their_rows(ax):
    drawn = [boxes.Phase(0, 0, 2, "wait"), boxes.Phase(1, 2, 3, "work", "x")]
    looks = {"wait": {"facecolor": "white"}, "work": {"facecolor": "black", "hatch": "//"}}
    boxes.phases(ax, ("one", "two"), drawn, looks, 6)
    places = [(box.get_x(), box.get_width(), box.get_y() + 0.3) for box in ax.patches]
    assert places == [(0, 2, 0), (2, 3, pytest.approx(1))]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["one", "two"]
    left, right = ax.get_xlim()
    assert left == 0 and 6 < right < 6.1, "the edge of a box that ends at 6 is whole"
    assert ax.get_ylim() == (1.5, -0.5)


def test_a_spread_is_what_an_error_bar_takes():
    middle, around = styles.spread([(1, 2, 4), (3, 3.5, 3.75)])
    assert middle.tolist() == [2, 3.5] and around.tolist() == [[1, 0.5], [2, 0.25]]


def test_a_legend_below_has_each_label_once(ax):
    figure = styles.figure_of(ax)
    other = figure.add_axes((0.1, 0.1, 0.2, 0.2))
    for axes, labels in ((ax, "ab"), (other, "bc")):
        for label in labels:
            axes.plot([0, 1], label=label)
    styles.legend_below(figure, ax, other)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b", "c"]
