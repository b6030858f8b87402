"""The measurement of the lab on tiles: its counters, what its record says, and its figures."""

import numpy as np
import pytest

from helpers import checking, launch, reference, simulator
from helpers.bench import results
from helpers.experiments import sass, tile_counts, tiles
from helpers.problems import conv1d


@pytest.fixture(scope="module")
def as_is():
    return results.load(results.MEASURED / "104_tiles.json")


@pytest.fixture(scope="module")
def changed():
    return results.load(results.MEASURED / "104_unrolled.json")


@pytest.fixture(scope="module")
def record(as_is, changed):
    return tiles.straight_times(as_is, changed)


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


@pytest.mark.parametrize("width", tiles.WIDTHS)
@pytest.mark.parametrize("name", [tiles.PLAIN, *tiles.TILED, tiles.STEPS_IF])
def test_the_loop_over_the_weights_is_written_out(name, width):
    (one,) = tiles.straight(name, width).plan(1, width)
    code = sass.assembled(one.name, one.options, source=one.source)
    # The cached halo has a multiply-add in each of two branches.
    assert code.count("multiply-adds") == width * (2 if name == tiles.CACHED else 1)
    kept = {n for n, widths in tiles.ROLLED_WIDTHS.items() if width in widths}
    (one,) = conv1d.conv1d_named(name.partition(",")[0]).plan(1, width)
    plain = sass.assembled(one.name, one.options, source=one.source)
    assert (plain.count("multiply-adds") < width) == (name in kept)


def test_an_if_in_place_of_a_loop_fills_the_same_tile():
    cells = np.random.default_rng(1).uniform(-1, 1, 1001).astype(np.float32)
    for width, filter in tiles.filters().items():
        P = np.full_like(cells, np.nan)
        arrays = {"P": P, "N": cells, "filter": filter}
        plan = tiles.filled_by_if().plan(cells.size, width)
        (findings,) = launch.simulate(plan, arrays, simulator.check)
        assert not findings
        checking.check(P, reference.conv1d(cells, filter), rtol=0, atol=1e-5, name="if")


def test_the_rows_of_loops_over_weights_are_replaced(as_is, changed, record):
    before, after = tiles.medians(as_is), tiles.medians(record)
    key = tiles.PLAIN, tiles.LARGE, 31
    assert after[key] < 0.9 * before[key]
    assert after[tiles.STEPS_IF, tiles.LARGE, 3] < after[tiles.STEPS, tiles.LARGE, 3]
    same = {key for key in before if before[key] == after[key]}
    rolled = {(n, tiles.LARGE, w) for n, widths in tiles.ROLLED_WIDTHS.items() for w in widths}
    assert before.keys() - same == rolled
    assert tiles.ratio_of(as_is, tiles.STEPS, 31)[0] < tiles.ratio_of(record, tiles.STEPS, 31)[1]
    assert len(tiles.changes_table(changed).splitlines()) == 2 + 1 + 2 + 4


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
