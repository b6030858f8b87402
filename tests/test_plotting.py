"""Figures: the right numbers in the right places, told apart without colour, on an opaque background."""

from __future__ import annotations

import io

import numpy as np
import pytest
from matplotlib import image
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from helpers import limits, plotting
from helpers.device import Device
from helpers.results import Measurement, Record
from helpers.simulator.report import Profile, Request
from helpers.timing import Timing

H200 = Device("gpu", "NVIDIA H200", (9, 0), 132, 49152, 50 * 2**20, 4.8e12, 67e12, "found a GPU")


def timing(series: str, median: float, low: float, high: float) -> Timing:
    return Timing(series, (low, median, high), median, low, high, 3, "kernel", "cold", "NVIDIA H200", None)


def record(*rows: tuple[str, int, float, float, float], recalled: bool = False) -> Record:
    """Rows: (series, n, median, low, high), times in ms."""
    made = tuple(Measurement(s, {"n": n}, timing(s, m, low, high)) for s, n, m, low, high in rows)
    return Record("speedups", "04_conv1d_tiles", "2026-11-21T10:00:00Z", H200, {}, {}, made, recalled=recalled)


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


# ------------------------------------------------------------------------------------------------------------ speedup

THREE = record(
    ("C++, one core", 100, 8.0, 7.0, 9.0), ("conv1d_basic", 100, 2.0, 1.8, 2.5), ("conv1d_tiled", 100, 16.0, 15.0, 18.0)
)  # fmt: skip


def test_speedup_is_baseline_time_over_series_time(ax):
    assert plotting.speedup(ax, THREE, baseline="C++, one core", title="Basic is four times faster") is ax
    widths = {name: bar.get_width() for name, bar in bars(ax).items()}
    assert widths == {"C++, one core": 1.0, "conv1d_basic": 4.0, "conv1d_tiled": 0.5}
    assert {"1× (baseline)", "4×", "0.5×"} <= texts(ax)
    assert ax.get_xlabel() == "speedup over C++, one core (times; longer is faster)"
    assert ax.get_title(loc="left") == "Basic is four times faster"


def test_speedup_whiskers_span_the_intervals(ax):
    plotting.speedup(ax, THREE, baseline="C++, one core")
    ends = [container.lines[2][0].get_segments()[0][:, 0] for container in ax.containers if hasattr(container, "lines")]
    assert np.allclose(ends, [[7 / 2.5, 9 / 1.8], [7 / 18, 9 / 15]])


def test_baseline_is_hatched_and_others_are_not(ax):
    plotting.speedup(ax, THREE, baseline="conv1d_basic")
    assert {name: bool(bar.get_hatch()) for name, bar in bars(ax).items()} == {
        "C++, one core": False,
        "conv1d_basic": True,
        "conv1d_tiled": False,
    }


def test_far_apart_speedups_get_a_logarithmic_axis_around_one(ax):
    far = record(("a", 1, 100.0, 99.0, 101.0), ("b", 1, 10.0, 9.9, 10.1), ("c", 1, 1.0, 0.9, 1.1))
    plotting.speedup(ax, far, baseline="b")
    assert ax.get_xscale() == "log"
    assert [bar.get_x() for bar in bars(ax).values()] == [1, 1, 1]
    assert np.allclose([bar.get_x() + bar.get_width() for bar in bars(ax).values()], [0.1, 1, 10])


def test_where_chooses_rows(ax):
    two_sizes = record(("a", 10, 1, 1, 1), ("b", 10, 2, 2, 2), ("a", 20, 4, 4, 4), ("b", 20, 2, 2, 2))
    plotting.speedup(ax, two_sizes, baseline="a", where={"n": 20})
    assert bars(ax)["b"].get_width() == 2.0


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ([], {}, "no rows"),
        (THREE, {"baseline": "NumPy"}, "no series 'NumPy' to compare with; there is: C\\+\\+, one core, conv1d_basic"),
        (THREE, {"where": {"n": 5}}, r"no row has \{'n': 5\}. In the record there is n: \['100'\]"),
        (record(("a", 10, 1, 1, 1), ("a", 20, 1, 1, 1)), {}, "several rows for a; they differ in n. Choose by `where`"),
        (record(("a", 10, 1, 1, 1), ("a", 10, 2, 2, 2)), {}, "several rows for a; they have the same parameters"),
        ([{"series": "a", "sectors": 3}], {}, "has no time"),
    ],
)
def test_speedup_refuses(ax, data, options, message):
    with pytest.raises(ValueError, match=message):
        plotting.speedup(ax, data, **{"baseline": "a", **options})


# ------------------------------------------------------------------------------------------------------------ scaling

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


def test_scaling_as_throughput_turns_the_interval_round(ax):
    plotting.scaling(ax, SWEEP, bytes_of=lambda n: 8 * n)
    line, _, (whiskers,) = lines(ax)["conv1d_basic"].lines
    assert np.allclose(line.get_ydata(), [8e3 / 1e-5 / 1e9, 8e6 / 2e-5 / 1e9])
    assert np.allclose(whiskers.get_segments()[1][:, 1], [8e6 / 4e-5 / 1e9, 8e6 / 1e-5 / 1e9])
    assert ax.get_ylabel() == "throughput (GB/s)"


def floor_line(ax):
    return next(line for line in ax.lines if line.get_label().startswith("roofline"))


def test_floor_is_the_roofline_of_the_device(ax):
    plotting.scaling(ax, SWEEP, floor=lambda n: limits.floor(limits.conv1d(n, 3), H200).seconds)
    expected = [[n, (2 * n + 3) * 4 / 4.8e12 * 1e3] for n in (10**3, 10**6)]
    assert np.allclose(floor_line(ax).get_xydata(), expected)
    assert [text.get_text() for text in ax.get_legend().get_texts()][-1].startswith("roofline floor")


def test_floor_as_throughput_is_the_bandwidth(ax):
    work = {n: limits.conv1d(n, 3) for n in (10**3, 10**6)}
    plotting.scaling(
        ax, SWEEP, floor=lambda n: limits.floor(work[n], H200).seconds, bytes_of=lambda n: work[n].bytes
    )  # fmt: skip
    assert np.allclose(floor_line(ax).get_ydata(), 4.8e12 / 1e9)


def test_neighbouring_series_differ_in_grey():
    grey = [np.dot(to_rgba(colour)[:3], (0.299, 0.587, 0.114)) for colour in plotting.COLOURS]
    assert (np.abs(np.diff(grey)) > 0.15).all()


def test_series_differ_without_colour(ax):
    plotting.scaling(ax, record(*((f"s{i}", n, 1.0 + i, 1, 9) for i in range(8) for n in (1, 2))))
    drawn = [container.lines[0] for container in ax.containers]
    assert len({line.get_marker() for line in drawn}) == 8
    assert len({str(line._unscaled_dash_pattern) for line in drawn}) == 8


def test_lines_named_by_several_columns(ax):
    plotting.scaling(ax, SWEEP, by=("series", "cache"))
    assert set(lines(ax)) == {"conv1d_basic, cold", "conv1d_tiled, cold"}


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (SWEEP, {"x": "width"}, "a row of conv1d_basic has no 'width'; it has: series, n, median_ms"),
        (SWEEP, {"by": "cache"}, "several rows for cold at n = 1000; they differ in series"),
        ((), {}, "no rows"),
    ],
)
def test_scaling_refuses(ax, data, options, message):
    with pytest.raises(ValueError, match=message):
        plotting.scaling(ax, data, **options)


# --------------------------------------------------------------------------------------------------------- access map


def request(*offsets: int, size: int = 4, kind: str = "load", array: str = "N", line: int = 12) -> Request:
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
    assert ax.get_xlabel() == "byte of N (a band: one sector of 32 bytes; 5 touched)"


def test_access_map_counts_sectors_and_not_what_lies_between(ax):
    plotting.access_map(ax, profile(request(*(128 * lane for lane in range(32)))), array="N")
    assert bands(ax) == [128 * lane for lane in range(32)]
    assert "32 touched" in ax.get_xlabel()


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
    assert len(legend(ax)) == plotting.MOST_REQUESTS + 1
    assert legend(ax)[-1] == "the others, to request 31"
    assert len(ax.collections) == 31


def test_access_map_chooses_array_and_kind(ax):
    mixed = profile(request(0), request(64, array="P", kind="store"), request(96, array="P"))
    plotting.access_map(ax, mixed, array="P", kind="store")
    assert bands(ax) == [64]
    with pytest.raises(ValueError, match=r"no global store of 'N'; it made: load of N \(global\), load of P"):
        plotting.access_map(ax, mixed, array="N", kind="store")


# --------------------------------------------------------------------------------------------------------------- halo


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


@pytest.mark.parametrize(
    ("sizes", "options", "message"),
    [
        ((0, 4, 1), {}, "give at least 1, 1 and 0"),
        ((8, 0, 1), {}, "give at least 1, 1 and 0"),
        ((8, 4, -1), {}, "give at least 1, 1 and 0"),
        ((1000, 256, 1), {}, "at most 64 cells, and this has 1002: draw a smaller example"),
        ((8, 4, 1), {"block": 2}, "block 2 has no tile: 8 cells in tiles of 4 make blocks 0 to 1"),
    ],
)
def test_halo_refuses(ax, sizes, options, message):
    with pytest.raises(ValueError, match=message):
        plotting.halo(ax, *sizes, **options)


# ------------------------------------------------------------------------------------------------------------- launch


def test_grid_picture_shows_blocks_threads_and_warps(ax):
    assert plotting.grid_picture(ax, (4, 3), (16, 4), chosen=(1, 2)) is ax
    assert len(ax.patches) == 4 * 3 + 64
    assert {"0,0", "3,2", "grid: 4 x 3 = 12 blocks", "block (1, 2): 16 x 4 = 64 threads, 2 warps"} <= texts(ax)
    assert {"warp 0", "warp 1"} <= texts(ax)
    shades = [patch.get_facecolor() for patch in ax.patches[12:]]
    assert len(set(shades[:32])) == 1 and len(set(shades[32:])) == 1 and shades[0] != shades[32]


def test_grid_picture_folds_a_flat_block_into_warps_and_cuts_a_long_grid(ax):
    plotting.grid_picture(ax, (3907,), (256,))
    assert len(ax.patches) == plotting.MOST_BLOCKS + 256
    assert {"...", "grid: 3907 x 1 = 3,907 blocks", "block (0, 0): 256 x 1 = 256 threads, 8 warps"} <= texts(ax)


@pytest.mark.parametrize(
    ("grid", "block", "options", "message"),
    [
        ((0, 1), (32,), {}, "every axis has at least 1"),
        ((1,), (32, 1, 2), {}, "give a z of 1"),
        ((1,), (33, 32), {}, "1,056 threads; CUDA allows 1,024"),
        ((2, 2), (32,), {"chosen": (2, 0)}, "not among the blocks drawn"),
    ],
)
def test_grid_picture_refuses(ax, grid, block, options, message):
    with pytest.raises(ValueError, match=message):
        plotting.grid_picture(ax, grid, block, **options)


# --------------------------------------------------------------------------------------------------------- all of them

DRAW = {
    "speedup": lambda ax: plotting.speedup(ax, THREE, baseline="C++, one core", title="A claim"),
    "scaling": lambda ax: plotting.scaling(ax, SWEEP, title="A claim"),
    "access_map": lambda ax: plotting.access_map(ax, profile(request(*range(0, 128, 4))), array="N", title="A claim"),
    "halo": lambda ax: plotting.halo(ax, 12, 4, 1, block=1, title="A claim"),
    "grid_picture": lambda ax: plotting.grid_picture(ax, (3,), (64,), title="A claim"),
}


@pytest.mark.parametrize("name", DRAW)
def test_background_is_opaque_white_whatever_the_theme(ax, name):
    ax.figure.set_facecolor("none")
    ax.set_facecolor("none")
    assert pixels(ax)[0, 0, 3] == 0  # transparent before
    plotting.caption(DRAW[name](ax), THREE)
    picture = pixels(ax)
    assert (picture[..., 3] == 1).all()
    assert (picture[[0, 0, -1, -1], [0, -1, 0, -1], :3] == 1).all()


@pytest.mark.parametrize("name", DRAW)
def test_nothing_is_cut_off(ax, name):
    plotting.caption(DRAW[name](ax), THREE)
    picture = pixels(ax)[..., :3]
    for edge in (picture[0], picture[-1], picture[:, 0], picture[:, -1]):
        assert (edge == 1).all(), "ink at the edge of the figure"


def test_caption_says_whether_the_numbers_are_recorded(ax):
    plotting.caption(plotting.speedup(ax, THREE, baseline="conv1d_basic"), THREE)
    assert "Measured on NVIDIA H200, 2026-11-21" in texts(ax)
    plotting.caption(ax, record(("a", 1, 1, 1, 1), recalled=True))
    assert "Recorded on NVIDIA H200, 2026-11-21 (no GPU here)" in texts(ax)
