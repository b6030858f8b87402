"""The measurement of the lab on tiles: its counters, what its record says, and its figures."""

import numpy as np
import pytest

from helpers.bench import results
from helpers.experiments import tile_counts, tiles
from helpers.problems import conv1d


@pytest.fixture(scope="module")
def record():
    return results.load(results.MEASURED / "104_tiles.json")


@pytest.fixture(scope="module")
def cells():
    return np.random.default_rng(0).uniform(0.5, 1.5, 4608).astype(np.float32)


def test_counts_are_per_warp_of_outputs(cells):
    spec = conv1d.conv1d_named("conv1d_tiled_steps")
    counted = tile_counts.counts(
        spec, conv1d.conv1d_profile(spec, cells, tiles.filters()[3]), cells.size
    )
    # 258 cells for 256 outputs: 8 requests of the first step and one of the second.
    assert counted["load requests"] == 9 / 8
    assert counted["barriers"] == 1
    assert counted["idle %"] == 0


def test_threads_of_an_input_tile_without_outputs_are_idle():
    cells = np.ones(254 * 4, np.float32)
    spec = conv1d.conv1d_named("conv1d_tiled_input")
    counted = tile_counts.counts(
        spec, conv1d.conv1d_profile(spec, cells, tiles.filters()[3]), cells.size
    )
    assert counted["idle %"] == pytest.approx(100 * 2 / 256)


def test_two_questions_a_weight_are_more_instructions(cells):
    filter = tiles.filters()[31]
    steps, cached = (
        tile_counts.instructions(conv1d.conv1d_named(name), cells, filter)
        for name in tiles.TILED[:2]
    )
    assert cached > 2 * steps


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.99, 1.01, "no measurable difference"),
        (1.001, 1.2, "slower than no tile"),
        (0.5, 0.999, "faster than no tile"),
    ],
)
def test_a_verdict_says_nothing_where_the_interval_holds_1(low, high, words):
    assert tiles.verdict(low, high) == words


def test_a_share_is_the_copys_time_over_the_kernels(record):
    rows = tiles.rows_of(record)
    copy = rows[tiles.COPY, tiles.LARGE, None]["median_ms"]
    kernel = rows[tiles.PLAIN, tiles.LARGE, 31]["median_ms"]
    assert tiles.copy_share(record, tiles.PLAIN, 31) == pytest.approx(100 * copy / kernel)
    assert tiles.copy_share(record, tiles.PLAIN, 31) < tiles.copy_share(record, tiles.PLAIN, 3)


def test_every_kernel_of_the_lab_was_counted_by_nsight_compute():
    cells = np.ones(tile_counts.COUNTED_CELLS, np.float32)
    table = tile_counts.beside_ncu(tiles.KERNELS, cells, tiles.filters()[31])
    assert "9,703 / 9,703" in table
    with pytest.raises(KeyError, match="n = 9, filter of 31"):
        tile_counts.beside_ncu(tiles.KERNELS, cells[:9], tiles.filters()[31])


def test_figures_are_linear_and_their_bars_begin_at_zero(record):
    for figure in (tiles.widths_figure(record), tiles.shares_figure(record)):
        (ax,) = figure.axes
        assert ax.get_yscale() == ax.get_xscale() == "linear"
        assert all(bar.get_x() == 0 for bar in ax.patches)
    (ax,) = tiles.widths_figure(record).axes
    assert ax.get_ylim()[0] == 0


def test_cells_that_the_cached_halo_reads_are_marked():
    marked = tile_counts.ways_figure().axes[1]
    assert sorted(cell.get_x() for cell in marked.patches if cell.get_hatch() == "...") == [4, 10]
