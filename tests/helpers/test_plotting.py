"""Figures: the right numbers in the right places, told apart without colour, on an opaque
background.
"""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from matplotlib import image
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from helpers import kernels, limits, plotting, simulator
from helpers.bench.results import Measurement, Record
from helpers.bench.timing import Timing
from helpers.device import Device
from helpers.plotting import boxes, launches, memory, styles
from helpers.plotting.styles import BARS
from helpers.simulator import Profile, Request
from helpers.simulator.bounds import Bounds, Share

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


def bars(ax) -> dict[str, Rectangle]:
    names = [label.get_text() for label in ax.get_yticklabels()]
    return dict(zip(names, (p for p in ax.patches if isinstance(p, Rectangle)), strict=True))


def texts(ax) -> set[str]:
    return {text.get_text() for text in ax.texts}


def pixels(ax) -> np.ndarray:
    buffer = io.BytesIO()
    ax.figure.savefig(buffer, format="png", dpi=60)
    buffer.seek(0)
    return image.imread(buffer)


def dots(ax) -> list[float]:
    """The values of the dots, from top to bottom."""
    return [float(line.get_xdata()[0]) for line in _dots(ax)]


def hollow_dots(ax) -> list[bool]:
    return [line.get_markerfacecolor() == "white" for line in _dots(ax)]


def _dots(ax) -> list:
    return sorted(
        (line for line in ax.lines if line.get_marker() == "o"),
        key=lambda line: line.get_ydata()[0],
    )


# --------------------------------------------------------------------------------------------------
# speedup

THREE_NAMES = ("C++, one core", "conv1d_basic", "conv1d_tiled")
THREE = record(
    ("C++, one core", 100, 8.0, 7.0, 9.0),
    ("conv1d_basic", 100, 2.0, 1.8, 2.5),
    ("conv1d_tiled", 100, 16.0, 15.0, 18.0),
)


def test_speedup_is_baseline_time_over_series_time(ax):
    assert (
        plotting.speedup(ax, THREE, baseline="C++, one core", title="Basic is four times faster")
        is ax
    )
    widths = {name: bar.get_width() for name, bar in bars(ax).items()}
    assert widths == {"C++, one core": 1.0, "conv1d_basic": 4.0, "conv1d_tiled": 0.5}
    assert {"1× (baseline)", "4×", "0.5×"} <= texts(ax)
    assert ax.get_xlabel() == "speedup over C++, one core (times; longer is faster)"
    assert ax.get_title(loc="left") == "Basic is four times faster"


def test_speedup_whiskers_span_the_intervals(ax):
    plotting.speedup(ax, THREE, baseline="C++, one core")
    ends = [
        container.lines[2][0].get_segments()[0][:, 0]
        for container in ax.containers
        if hasattr(container, "lines")
    ]
    assert np.allclose(ends, [[7 / 2.5, 9 / 1.8], [7 / 18, 9 / 15]])


def kinds(ax) -> dict[str, str]:
    """The kind of each bar, by its colour and hatch."""
    looks = {(to_rgba(look["color"]), look.get("hatch")): kind for kind, look in BARS.items()}
    return {name: looks[bar.get_facecolor(), bar.get_hatch()] for name, bar in bars(ax).items()}


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


def test_baseline_is_pale_and_others_are_not(ax):
    plotting.speedup(ax, THREE, baseline="conv1d_basic")
    assert kinds(ax) == {"C++, one core": "ours", "conv1d_basic": "aside", "conv1d_tiled": "ours"}


def test_far_apart_speedups_get_a_logarithmic_axis_around_one(ax):
    far = record(("a", 1, 100.0, 99.0, 101.0), ("b", 1, 10.0, 9.9, 10.1), ("c", 1, 1.0, 0.9, 1.1))
    plotting.speedup(ax, far, baseline="b")
    assert ax.get_xscale() == "log" and not ax.patches, "no bars: a logarithmic axis has no zero"
    assert ax.get_xlabel() == "speedup over b (times; a logarithmic axis; right is faster)"
    assert np.allclose(dots(ax), [0.1, 1, 10])
    assert hollow_dots(ax) == [False, True, False]


# --------------------------------------------------------------------------------------------------
# scaling

SWEEP = record(
    ("conv1d_basic", 10**6, 0.02, 0.01, 0.04), ("conv1d_basic", 10**3, 0.01, 0.01, 0.01),
    ("conv1d_tiled", 10**3, 0.02, 0.02, 0.02), ("conv1d_tiled", 10**6, 0.01, 0.01, 0.01),
)  # fmt: skip


def lines(ax) -> dict:
    return {container.get_label(): container for container in ax.containers}


def test_scaling_draws_sorted_points_with_intervals(ax):
    assert plotting.scaling(ax, SWEEP, xlabel="n (cells)") is ax
    line, _, (whiskers,) = lines(ax)["conv1d_basic"].lines
    assert line.get_xydata().tolist() == [[10**3, 0.01], [10**6, 0.02]]
    assert np.allclose(whiskers.get_segments()[1][:, 1], [0.01, 0.04])
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("n (cells)", "time (ms)")


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


def floor_line(ax):
    return next(line for line in ax.lines if line.get_label().startswith("roofline"))


def test_floor_is_the_roofline_of_the_device(ax):
    plotting.scaling(ax, SWEEP, floor=lambda n: limits.floor(limits.conv1d(n, 3), H200).seconds)
    expected = [[n, (2 * n + 3) * 4 / 4.8e12 * 1e3] for n in (10**3, 10**6)]
    assert np.allclose(floor_line(ax).get_xydata(), expected)
    assert [text.get_text() for text in ax.get_legend().get_texts()][-1].startswith(
        "roofline floor"
    )


def test_neighbouring_series_differ_in_grey():
    grey = [np.dot(to_rgba(colour)[:3], (0.299, 0.587, 0.114)) for colour in plotting.COLOURS]
    assert (np.abs(np.diff(grey)) > 0.15).all()


def test_series_differ_without_colour(ax):
    plotting.scaling(ax, record(*((f"s{i}", n, 1.0 + i, 1, 9) for i in range(8) for n in (1, 2))))
    drawn = [container.lines[0] for container in ax.containers]
    assert len({line.get_marker() for line in drawn}) == 8
    assert len({str(line._unscaled_dash_pattern) for line in drawn}) == 8


def test_a_column_names_the_lines(ax):
    plotting.scaling(ax, SWEEP.rows()[:2], by="cache")
    assert set(lines(ax)) == {"cold"}


# --------------------------------------------------------------------------------------------------
# resources


def share(resource: str, microseconds: float) -> Share:
    return Share(resource, f"{resource} units", microseconds, "things", 1e6, "it is so")


def resources(*microseconds: float) -> Bounds:
    shares = tuple(share(f"r{k}", value) for k, value in enumerate(microseconds))
    return Bounds("H200", "conv1d_basic", "cold", shares)


def test_resource_bars_start_at_zero_and_the_longest_is_the_bound(ax):
    assert plotting.resource_bars(ax, resources(200.0, 50.0, 10.0, 1.0)) is ax
    bars = [patch for patch in ax.patches if patch.get_width()]
    assert [bar.get_width() for bar in bars] == [200.0, 50.0, 10.0]  # 1 is below a hundredth
    assert all(bar.get_x() == 0 for bar in bars) and ax.get_xlim()[0] == 0
    pale = to_rgba(BARS["aside"]["color"])
    assert [bar.get_facecolor() == pale for bar in bars] == [False, True, True]
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["200 µs, the bound", "50 µs, 25 %", "10 µs, 5 %"]
    title = ax.get_title(loc="left")
    assert title.startswith("No H200 runs conv1d_basic in less than 200 µs: its r0 units would")
    assert "at least" in ax.get_xlabel() and "time" not in title.split(":")[0]


def test_long_bounds_are_in_milliseconds_and_few_bars_can_be_asked_for(ax):
    plotting.resource_bars(ax, resources(1.5e6, 1.2e6, 1e6), most=2, title="A claim")
    assert [text.get_text() for text in ax.texts] == ["1,500 ms, the bound", "1,200 ms, 80 %"]
    assert ax.get_title(loc="left") == "A claim"
    with pytest.raises(ValueError, match="one bar or more"):
        plotting.resource_bars(ax, resources(1.0), most=0)


# --------------------------------------------------------------------------------------------------
# access map


def request(
    *offsets: int, size: int = 4, kind: str = "load", array: str = "N", line: int = 12
) -> Request:
    return Request(kind, "global", array, line, tuple(range(len(offsets))), offsets, size)


def profile(*requests: Request) -> Profile:
    return Profile("conv1d_basic", (1, 1, 1), (32, 1, 1), (), True, 1, 1, (), requests)


def bands(ax) -> list[float]:
    return sorted(patch.get_x() for patch in ax.patches)


def legend(ax) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_access_map_shifted_reads(ax):
    reads = [request(*(4 * (lane + tap) for lane in range(32))) for tap in range(3)]
    assert plotting.access_map(ax, profile(*reads), array="N") is ax
    assert bands(ax) == [0, 32, 64, 96, 128]
    assert legend(ax) == [f"request {i}, line 12: {s} sectors" for i, s in ((1, 4), (2, 5), (3, 5))]
    first = ax.collections[0].get_offsets()
    assert np.allclose(first, [[4 * lane + 2, lane] for lane in range(32)])
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # lane 0 on top
    assert ax.get_xlabel() == "byte of N (each band: a sector of 32 bytes)"


def test_access_maps_of_one_array_share_their_bytes_while_a_band_can_be_seen(ax):
    near, far = (
        profile(request(*(step * lane for lane in range(32)))) for step in (4, 32)
    )
    maps = [memory.touched(one, "N") for one in (near, far)]
    assert maps == [range(0, 128, 32), range(0, 1024, 32)]
    assert memory.shared_bytes(maps) == [maps[1], maps[1]]
    thin = [maps[0], range(0, 4096, 32)]
    assert memory.shared_bytes(thin) == thin
    plotting.access_map(ax, near, array="N", shown=maps[1])
    assert bands(ax) == [0, 32, 64, 96]
    assert ax.get_xlim()[1] > 1024 and 1024 in ax.get_xticks()


def test_access_map_counts_sectors_and_not_what_lies_between(ax):
    plotting.access_map(ax, profile(request(*(128 * lane for lane in range(32)))), array="N")
    assert bands(ax) == [128 * lane for lane in range(32)]


def test_access_that_crosses_a_sector_touches_both(ax):
    plotting.access_map(ax, profile(request(24, size=16)), array="N")
    assert bands(ax) == [0, 32]
    assert legend(ax) == ["request 1, line 12: 2 sectors"]


def test_access_map_of_one_sector_says_sector(ax):
    plotting.access_map(ax, profile(request(*[0] * 32)), array="N")
    assert legend(ax) == ["request 1, line 12: 1 sector"]


def test_access_map_has_a_short_legend_for_many_requests(ax):
    reads = [request(*(4 * (lane + tap) for lane in range(32))) for tap in range(31)]
    plotting.access_map(ax, profile(*reads), array="N")
    assert legend(ax) == ["requests 1 to 31"]
    assert len(ax.collections) == 31


def test_access_map_chooses_array_and_kind(ax):
    mixed = profile(request(0), request(64, array="P", kind="store"), request(96, array="P"))
    plotting.access_map(ax, mixed, array="P", kind="store")
    assert bands(ax) == [64]
    with pytest.raises(
        ValueError, match=r"no global store of 'N'; it made: load of N \(global\), load of P"
    ):
        plotting.access_map(ax, mixed, array="N", kind="store")


# --------------------------------------------------------------------------------------------------
# halo


def looks(ax) -> dict[str, list[tuple[float, float]]]:
    """(x, y) of the cells by look: hatched is halo, dashed is ghost, shaded is the tile's own."""
    found: dict[str, list[tuple[float, float]]] = {"own": [], "halo": [], "ghost": [], "plain": []}
    for cell in ax.patches:
        if cell.get_hatch():
            look = "halo"
        elif cell.get_linestyle() == "--":
            look = "ghost"
        else:
            look = "plain" if cell.get_facecolor() == to_rgba("white") else "own"
        found[look].append(cell.get_xy())
    return found


def test_halo_of_a_block_in_the_middle(ax):
    assert plotting.halo(ax, 14, 6, 2, block=1) is ax
    cells = looks(ax)
    assert sorted(cells["own"]) == sorted((x, y) for x in range(6, 12) for y in (0, 2))
    assert sorted(cells["halo"]) == sorted((x, y) for x in (4, 5, 12, 13) for y in (0, 2))
    assert sorted(cells["ghost"]) == [(-2, 2), (-1, 2), (14, 2), (15, 2)]
    assert cells["plain"] == [(x, 2) for x in range(4)]
    assert {"tile 0", "tile 1", "tile 2"} <= texts(ax)


def test_halo_of_a_last_partial_block_reaches_beyond_the_array(ax):
    plotting.halo(ax, 14, 6, 2, block=2)
    cells = looks(ax)
    assert [xy for xy in cells["own"] if xy[1] == 0] == [(12, 0), (13, 0)]
    assert [xy for xy in cells["ghost"] if xy[1] == 0] == [(x, 0) for x in range(14, 20)]
    assert ax.get_xlim()[1] > 20


def test_halo_without_a_tile_has_the_outputs_of_the_block(ax):
    plotting.halo(ax, 12, 5, 1, block=2, staged=False)
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "array (cell)",
        "outputs of\nblock 2",
    ]
    assert {"block 0", "block 1", "block 2"} <= texts(ax)
    assert len(ax.patches) == 14 + 2, "cells -1 to 12, and the outputs 10 and 11"
    read = [
        patch.get_x()
        for patch in ax.patches[:14]
        if patch.get_hatch() or patch.get_linestyle() == "--"
    ]
    assert read == [-1, 9, 12], "both ghosts of the array, and the cell of block 1"


# --------------------------------------------------------------------------------------------------
# launch


def test_grid_picture_shows_blocks_threads_and_warps(ax):
    assert plotting.grid_picture(ax, (4, 3), (16, 4), chosen=(1, 2)) is ax
    assert len(ax.patches) == 4 * 3 + 64
    assert {
        "0,0",
        "3,2",
        "grid: 4 x 3 = 12 blocks",
        "block (1, 2): 16 x 4 = 64 threads, 2 warps",
    } <= texts(ax)
    assert {"warp 0", "warp 1"} <= texts(ax)
    shades = [patch.get_facecolor() for patch in ax.patches[12:]]
    assert len(set(shades[:32])) == 1 and len(set(shades[32:])) == 1 and shades[0] != shades[32]


def test_grid_picture_folds_a_flat_block_into_warps_and_cuts_a_long_grid(ax):
    plotting.grid_picture(ax, (3907,), (256,))
    assert len(ax.patches) == launches.MOST_BLOCKS + 256
    assert {
        "...",
        "grid: 3907 x 1 = 3,907 blocks",
        "block (0, 0): 256 x 1 = 256 threads, 8 warps",
    } <= texts(ax)


def test_grid_picture_hatches_threads_without_an_element(ax):
    plotting.grid_picture(ax, (4,), (256,), chosen=(3, 0), elements=1000)
    threads = ax.patches[4:]
    assert [bool(patch.get_hatch()) for patch in threads] == [False] * 232 + [True] * 24
    assert any("24 threads without an element" in text for text in texts(ax))


@pytest.mark.parametrize(("elements", "idle"), [(1024, 0), (768, 256)])
def test_grid_picture_of_a_block_that_is_full_or_empty(ax, elements, idle):
    plotting.grid_picture(ax, (4,), (256,), chosen=(3, 0), elements=elements)
    assert sum(bool(patch.get_hatch()) for patch in ax.patches[4:]) == idle
    assert any("without an element" in text for text in texts(ax)) == bool(idle)


# --------------------------------------------------------------------------------------------------
# times and shares


def test_large_ratios_are_written_out(ax):
    far = record(
        ("a", 1, 86_600.0, 86_600.0, 86_600.0),
        ("b", 1, 1.0, 1.0, 1.0),
        ("c", 1, 100.0, 100.0, 100.0),
    )
    plotting.speedup(ax, far, baseline="a")
    assert {"86,600×", "866×"} <= texts(ax)
    assert not any("e+" in text for text in texts(ax))


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


def test_times_are_dots_on_a_logarithmic_axis(ax):
    assert plotting.times(ax, THREE, emphasize="conv1d_basic") is ax
    assert ax.get_xscale() == "log" and "ms" in ax.get_xlabel()
    assert {"8 ms", "2 ms", "16 ms"} <= texts(ax)
    assert not ax.patches and dots(ax) == [8, 2, 16]
    assert hollow_dots(ax) == [True, False, True]
    assert [label.get_text() for label in ax.get_yticklabels()] == list(THREE_NAMES)


# --------------------------------------------------------------------------------------------------
# requests, banks and lines


def test_access_map_of_the_first_requests(ax):
    reads = profile(*(request(32 * tap) for tap in range(9)))
    plotting.access_map(ax, reads, array="N", first=2)
    assert [label[:9] for label in legend(ax)] == ["request 1", "request 2"]


def elsewhere(space: str, *offsets: int, kind: str = "load", size: int = 4) -> Request:
    return Request(kind, space, "filter", 7, tuple(range(len(offsets))), offsets, size)


def test_access_map_of_constant_memory_counts_words(ax):
    plotting.access_map(
        ax, profile(elsewhere("constant", 0, 4, 0, 8)), array="filter", space="constant"
    )
    assert legend(ax) == ["request 1, line 7: 3 different words"]
    assert bands(ax) == [0, 4, 8]
    assert ax.get_xlabel() == "byte of filter (each band: a word of 4 bytes)"


def test_access_map_of_atomics(ax):
    seen = profile(request(0, 0, 4, kind="atomic", array="bins"), request(64, array="bins"))
    plotting.access_map(ax, seen, array="bins", kind="atomic")
    assert bands(ax) == [0]


def column(stride: int, size: int = 4) -> Profile:
    return profile(elsewhere("shared", *(stride * lane for lane in range(32)), size=size))


def numbers(ax) -> list[int]:
    return [int(text.get_text()) for text in ax.texts if text.get_fontsize() == 6]


def test_bank_conflicts_of_a_column(ax):
    assert plotting.bank_conflicts(ax, column(128), array="filter") is ax
    assert numbers(ax) == list(range(1, 33))
    assert "32 wavefronts, 31 for conflicts" in ax.get_title(loc="left")
    framed = [patch for patch in ax.patches if not patch.get_fill()]
    assert [patch.get_x() for patch in framed] == [-0.5]
    shades = [patch.get_facecolor()[0] for patch in ax.patches if patch.get_fill()]
    assert shades == sorted(shades, reverse=True) and shades[0] - shades[-1] > 0.5


@pytest.mark.parametrize("stride", [0, 4, 132])
def test_no_conflict_where_each_bank_gives_one_word(ax, stride):
    plotting.bank_conflicts(ax, column(stride), array="filter")
    assert set(numbers(ax)) == {1}
    assert "1 wavefront, 0 for conflicts" in ax.get_title(loc="left")
    assert all(patch.get_fill() for patch in ax.patches)


def test_wide_accesses_take_a_wavefront_for_each_half_or_quarter():
    for size, least in ((8, 2), (16, 4)):
        cells, wavefronts, needed = memory._wavefronts(column(size, size).requests[0])
        assert (wavefronts, needed, len(cells)) == (least, least, 32 * size // 4)


def test_two_words_in_a_bank_are_two_wavefronts():
    cells, wavefronts, needed = memory._wavefronts(elsewhere("shared", 0, 128, 0, 4))
    assert (wavefronts, needed) == (2, 1)
    assert cells == {(0, 0): 1, (1, 0): 2, (2, 0): 1, (3, 1): 1}


def test_bank_conflicts_shows_the_worst_request_unless_told(ax):
    both = profile(*column(4).requests, *column(64).requests, *column(128).requests)
    plotting.bank_conflicts(ax, both, array="filter")
    assert "32 wavefronts" in ax.get_title(loc="left")
    ax.clear()
    plotting.bank_conflicts(ax, both, array="filter", request=2)
    assert "16 wavefronts, 15 for conflicts" in ax.get_title(loc="left")
    with pytest.raises(ValueError, match="made 3 shared loads of filter"):
        plotting.bank_conflicts(ax, both, array="filter", request=4)
    with pytest.raises(ValueError, match="no shared load of 'N'"):
        plotting.bank_conflicts(ax, both, array="N")


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


def test_ladder_climbs_from_the_slowest_to_the_fastest(ax):
    assert plotting.ladder(ax, THREE, title="A claim") is ax
    assert {name: bar.get_width() for name, bar in bars(ax).items()} == {
        "conv1d_tiled": 16,
        "C++, one core": 8,
        "conv1d_basic": 2,
    }
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "conv1d_tiled",
        "C++, one core",
        "conv1d_basic",
    ]
    assert ax.yaxis_inverted(), "the slowest is on top"
    assert texts(ax) == {"16 ms", "8 ms   2× as fast as above", "2 ms   4× as fast as above"}
    assert (
        ax.get_xlabel() == "time (ms; shorter is faster)"
        and ax.get_xscale() == "linear"
        and ax.get_xlim()[0] == 0
    )
    ends = [
        container.lines[2][0].get_segments()[0][:, 0].tolist()
        for container in ax.containers
        if hasattr(container, "lines")
    ]
    assert np.allclose(ends, [[15, 18], [7, 9], [1.8, 2.5]])


def test_ladder_has_a_floor_and_a_yardstick_that_is_no_step(ax):
    plotting.ladder(ax, THREE, floor_ms=0.8, yardstick="C++, one core")
    assert kinds(ax) == {
        "conv1d_tiled": "ours", "conv1d_basic": "ours", "C++, one core": "library",
    }  # fmt: skip
    mine = Figure().subplots()
    plotting.ladder(mine, THREE, yardstick="C++, one core", yours=["conv1d_tiled"])
    assert kinds(mine) == {**kinds(ax), "conv1d_tiled": "yours"}
    assert list(bars(ax))[-1] == "C++, one core"
    assert texts(ax) == {
        "16 ms", "2 ms   8× as fast as above", "8 ms   the last step has 400 % of its speed",
    }  # fmt: skip
    assert floor_line(ax).get_xdata() == [0.8, 0.8]
    assert legend(ax) == ["roofline floor: 800 µs (the last step has 40 % of its speed)"]


def test_ladder_compares_each_step_with_the_one_before_it_in_a_given_order(ax):
    """The steps stand as they were made, although one is slower; the others have no gain."""
    plotting.ladder(ax, THREE, order=["conv1d_basic", "C++, one core"], floor_ms=0.8)
    assert list(bars(ax)) == ["conv1d_basic", "C++, one core", "conv1d_tiled"]
    assert texts(ax) == {"2 ms", "8 ms   0.25× as fast as above", "16 ms"}
    assert legend(ax) == ["roofline floor: 800 µs (the last step has 10 % of its speed)"]
    with pytest.raises(ValueError, match="no row 'tiled' for the step"):
        plotting.ladder(ax, THREE, order=["tiled"])


def test_ladder_is_logarithmic_where_steps_are_far_apart(ax):
    plotting.ladder(ax, THREE, floor_ms=0.1)
    assert ax.get_xscale() == "log" and "a logarithmic axis" in ax.get_xlabel()
    assert not ax.patches and dots(ax) == [16, 8, 2]
    assert ax.get_xlim()[0] < 0.1
    ax.clear()
    plotting.ladder(ax, THREE)
    assert ax.get_xscale() == "linear"


def step(**changes) -> dict:
    return {"series": "a", "median_ms": 2.0, "low_ms": 1.0, "high_ms": 3.0, **changes}


POINTS = [
    ("tiled", 0.75, 3.0e12),
    ("constant", 0.75, 1.9e12),
    ("basic", 0.75, 1.9e12),
    ("matmul", 60.0, 33.5e12),
]


def test_roofline_is_bandwidth_times_intensity_up_to_the_peak(ax):
    assert plotting.roofline(ax, POINTS, H200) is ax
    roof = max(ax.lines, key=lambda line: line.get_linewidth()).get_xydata()
    ridge = 67e12 / 4.8e12
    assert (
        np.allclose(roof[1], [ridge, 67])
        and np.allclose(roof[0][1], 4.8 * roof[0][0])
        and roof[2][1] == 67
    )
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert [mark.get_offsets()[0].tolist() for mark in ax.collections] == [
        [0.75, 3.0],
        [0.75, 1.9],
        [0.75, 1.9],
        [60.0, 33.5],
    ]
    assert {
        "tiled  83 %",
        "constant  53 %",
        "matmul  50 %",
        "67 Tflop/s",
        "DRAM 4.8 TB/s",
        "14 flop/byte",
    } <= texts(ax)
    assert (
        ax.get_xlabel().startswith("arithmetic intensity (flop per byte")
        and "Tflop/s" in ax.get_ylabel()
    )


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


def test_timeline_has_a_box_for_each_work_in_its_row(ax):
    assert plotting.timeline(ax, SPANS, title="A claim") is ax
    boxes = [
        (p.get_x(), p.get_x() + p.get_width(), round(p.get_y() + p.get_height() / 2))
        for p in ax.patches
    ]
    assert boxes == [(0, 2, 0), (2, pytest.approx(2.01), 1), (2.5, 5, 2), (2, 4, 0)]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["H2D", "kernel", "D2H"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["stream 1", "stream 2"]
    # The short one has no room.
    assert sorted(text.get_text() for text in ax.texts) == ["0", "0", "1"]
    assert ax.get_xlabel() == "time since the first began (ms)"


def test_timeline_shows_what_waits(ax):
    plotting.timeline(ax, SPANS)
    (line,) = ax.lines
    assert list(line.get_xdata()) == [0, 2]


def test_timeline_of_an_order_says_that_it_is_no_time(ax):
    plotting.timeline(ax, SPANS, order=True)
    assert "not a time" in ax.get_xlabel()


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


DRAW = {
    "speedup": lambda ax: plotting.speedup(ax, THREE, baseline="C++, one core", title="A claim"),
    "scaling": lambda ax: plotting.scaling(ax, SWEEP, title="A claim"),
    "access_map": lambda ax: plotting.access_map(
        ax, profile(request(*range(0, 128, 4))), array="N", title="A claim"
    ),
    "halo": lambda ax: plotting.halo(ax, 12, 4, 1, block=1, title="A claim"),
    "times": lambda ax: plotting.times(ax, THREE, emphasize="conv1d_basic", title="A claim"),
    "bank_conflicts": lambda ax: plotting.bank_conflicts(
        ax, column(8), array="filter", title="A claim"
    ),
    "ladder": lambda ax: plotting.ladder(
        ax, THREE, floor_ms=1.0, yardstick="conv1d_basic", title="A claim"
    ),
    "ladder, logarithmic": lambda ax: plotting.ladder(ax, THREE, floor_ms=0.01, title="A claim"),
    "roofline": lambda ax: plotting.roofline(ax, POINTS, H200, title="A claim"),
    "timeline": lambda ax: plotting.timeline(ax, SPANS, title="A claim"),
    "timeline of steps": lambda ax: plotting.timeline(ax, SPANS, order=True, title="A claim"),
    "grid_picture": lambda ax: plotting.grid_picture(ax, (3,), (64,), title="A claim"),
}


@pytest.fixture
def clear(ax):
    """Axes of a theme that leaves the background transparent."""
    ax.figure.set_facecolor("none")
    ax.set_facecolor("none")
    return ax


def test_a_theme_can_leave_the_background_transparent(clear):
    assert pixels(clear)[0, 0, 3] == 0


@pytest.mark.parametrize("name", DRAW)
def test_background_is_opaque_white_and_nothing_is_cut_off_whatever_the_theme(clear, name):
    plotting.caption(DRAW[name](clear), THREE)
    assert_white_edges(clear)


def assert_white_edges(ax):
    picture = pixels(ax)
    assert (picture[..., 3] == 1).all()
    for edge in (picture[0], picture[-1], picture[:, 0], picture[:, -1]):
        assert (edge[..., :3] == 1).all(), "ink at the edge of the figure"


def test_caption_says_whether_the_numbers_are_recorded(ax):
    plotting.caption(plotting.speedup(ax, THREE, baseline="conv1d_basic"), THREE)
    assert "Measured on NVIDIA H200, 2026-11-21" in texts(ax)
    plotting.caption(ax, record(("a", 1, 1, 1, 1), recalled=True))
    assert "Recorded on NVIDIA H200, 2026-11-21 (no GPU here)" in texts(ax)


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
