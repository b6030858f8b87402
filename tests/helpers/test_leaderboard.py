"""The leaderboard: wrong entries are refused, right ones are counted and ranked."""

import dataclasses
import re
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

from helpers import kernels
from helpers.bench import results
from helpers.bench.on_device import NotReadyError
from helpers.device import Device
from helpers.experiments import leaderboard
from helpers.experiments.leaderboard import Board, Entry, EntryError
from helpers.problems import conv2d
from tests import clock

# Their bounds, in ms by layer; that a bound is that of its kernel is tested on conv2d_restrict.
BOUNDS = {"conv2d_basic": (3.5, 12.3), "conv2d_register_tiled": (0.4, 1.4)}
NAMES = tuple(BOUNDS)
SLOW = kernels.source("conv2d_restrict").replace("conv2d_restrict", "slow")


def entry(source: str = SLOW, name: str = "slow", options: tuple[str, ...] = ()) -> SimpleNamespace:
    """What a %%kernel cell makes, as far as the simulator needs it."""
    return SimpleNamespace(name=name, source=source, options=list(options))


def record(recalled: bool = True) -> results.Record:
    """Times of two kernels, made up."""
    rows = [
        {"series": name, "layer": which, "ms": 1.0, "timing": None}
        for name in NAMES
        for which in leaderboard.LAYERS
    ]
    made = tuple(results._measurement(row) for row in rows)
    gpu = Device("gpu", "a GPU", (9, 0), 132, 49152, 1, 1.0, 1.0, "")
    return results.Record(
        "board", "501", "1999-01-01T00:00:00Z", gpu, {}, {}, made, recalled=recalled
    )


@pytest.fixture
def board(monkeypatch) -> Board:
    given = record()
    timed = [
        {**row, "median_ms": {"conv2d_basic": 12.0}.get(row["series"], 1.5)} for row in given.rows()
    ]
    monkeypatch.setattr(results.Record, "rows", lambda self: timed)
    with monkeypatch.context() as patch:
        place = leaderboard.LAYERS.index
        patch.setattr(leaderboard, "bound_of", lambda name, which: BOUNDS[name][place(which)])
        return Board(given)


def test_launches_follow_the_options():
    plain = leaderboard.spec_of(entry())
    assert plain.block == (16, 16) and plain.tile == (16, 16, 1) and not plain.strides
    wide = leaderboard.spec_of(
        entry(options=("-DTILE_WIDTH=8", "-DCOLUMNS=3", "-DMAPS=4", "-DOTHER=7"))
    )
    assert wide.block == (8, 8) and wide.tile == (24, 8, 4)
    assert wide.grid(conv2d.shape_of("layer 2", 5)) == (2 * 5, 4, 5)
    with pytest.raises(EntryError, match="must be 1 or more"):
        leaderboard.spec_of(entry(options=("-DMAPS=0",)))


def test_hidden_shapes_are_many_and_differ_by_seed():
    shapes, again, others = (
        leaderboard.hidden_shapes(np.random.default_rng(seed)) for seed in (22, 22, 23)
    )
    assert tuple(shape.K for shape in shapes) == leaderboard.WIDTHS
    assert shapes == again != others
    assert any(shape.M > 1 for shape in shapes) and any(shape.C > 1 for shape in shapes)


def test_a_right_entry_is_counted_as_the_kernel_that_it_is(monkeypatch):
    want = {which: leaderboard.bound_of("conv2d_restrict", which) for which in leaderboard.LAYERS}
    found = leaderboard.bounds(entry())
    monkeypatch.setattr(leaderboard, "bounds", lambda kernel: found)
    assert leaderboard.counted(entry()) == pytest.approx(want)
    assert all(one.largest.microseconds == one.microseconds for one in found.values())


def test_an_entry_that_does_more_in_small_batches_is_refused():
    # All batches would cost as much, and so 10,000 images would seem to cost nothing.
    step = 'asm volatile("add.s32 %0, %0, 1;" : "+r"(waste));'
    loop = f"int waste = 0; for (int i = 0; i < 400 / B; ++i) {{ {step} }}"
    assert "float sum" in SLOW
    with pytest.raises(EntryError, match="does as much for each image"):
        leaderboard.counted(entry(SLOW.replace("float sum", f"{loop} float sum")))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("q < K", "q < K - 1", "the last column of the filter is left out"),
        ("w < out_w)", "w < out_w - 1)", "unwritten"),  # off by one at the edge
        ("w < out_w)", "w < out_w + 1)", "race|out-of-bounds"),
        ("h < out_h && ", "", "race|out-of-bounds"),
        ("q < K", "q < 7", "(?s)K = 1:.*right on both layers, but it must be right on every shape"),
        ("b = blockIdx.z", "b = 0", "[234] images"),  # one image is no batch
        ("= sum;", '= h == 3 ? nanf("") : sum;', "NaN"),
        ("float sum", "__shared__ float all[1]; all[0] = h; float sum", "race"),
        ("++q", "q += 0", "runaway"),
    ],
)
def test_a_wrong_entry_is_refused(old, new, told, board, monkeypatch):
    if told == "runaway":
        monkeypatch.setattr(leaderboard, "LIMIT_S", 0.5)
    before = list(board.entries)
    with pytest.raises(EntryError, match=told) as error:
        board.enter(entry(SLOW.replace(old, new)))
    assert old in SLOW and "slow" in str(error.value) and board.entries == before
    assert error.value._render_traceback_() == [f"EntryError: {error.value}"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (", int K)", ")", "An entry takes"),
        ("const float* __restrict__ filter,", "", "An entry takes"),
        ("float* __restrict__ y", "double* y", r"slow takes \(double"),
        (
            "float* __restrict__ y, const float* __restrict__ x",
            "const float* y, float* x",
            "in this order",
        ),
        ("float sum", "extern __shared__ float tile[]; float sum", "declare the array with a size"),
    ],
)
def test_an_entry_that_could_not_be_launched_is_refused(old, new, told):
    assert old in SLOW
    with pytest.raises(EntryError, match=told):
        leaderboard.spec_of(entry(SLOW.replace(old, new)))


@pytest.mark.parametrize(
    "form",
    [
        "float *y, float const *x, const float *__restrict__ filter",
        "float* y, const float* x,\nconst float* filter",
    ],
)
def test_a_signature_may_be_written_in_other_ways(form):
    source = re.sub(r"slow\([^)]*\bint B", f"slow({form}, const int B", SLOW)
    assert form in source
    leaderboard.spec_of(entry(source))


def test_a_name_of_the_board_is_taken(board):
    taken = entry(SLOW.replace("slow", "conv2d_basic"), "conv2d_basic")
    with pytest.raises(EntryError, match="give yours another"):
        board.enter(taken)


def test_a_block_that_no_gpu_takes_is_refused(board):
    with pytest.raises(EntryError, match=r"slow: TILE_WIDTH can be at most 32: .* got 64"):
        board.enter(entry(options=("-DTILE_WIDTH=64",)))


def test_a_board_ranks_and_replaces(board):
    board.entries.append(mine := Entry("slow", dict.fromkeys(leaderboard.LAYERS, 0.1), mine=True))
    told = board.enter(entry())
    assert re.fullmatch(
        r"slow: right on both layers and 6 drawn shapes; place [23]=? of 3 by bound", told
    )
    (one,) = (one for one in board.entries if one.name == "slow")
    assert one.mine and one.total_bound > mine.total_bound
    # Slow has no time here.
    assert [one.name for one in board.ranked("ms")] == ["conv2d_register_tiled", "conv2d_basic"]
    assert board.ranked()[0].name == "conv2d_register_tiled"
    assert board.place("conv2d_basic").startswith("place 2 of 2 by time, ")
    with pytest.raises(KeyError, match="nobody is not on the board"):
        board.place("nobody")


def test_table_and_figure_show_every_entry(board):
    board.entries.append(Entry("slow", dict.fromkeys(leaderboard.LAYERS, 12.0), mine=True))
    lines = board.table().splitlines()
    assert len(lines) == 6 and sum("<- entered" in line for line in lines) == 1
    assert any(
        line.split()[1:3] == ["2", "conv2d_basic"] and line.endswith("24.000") for line in lines
    )
    axes = Figure().subplots()
    board.draw(axes, title="t")
    assert [label.get_text().split()[0] for label in axes.get_yticklabels()] == [
        one.name for one in board.ranked()
    ]
    assert axes.get_legend().get_texts()[0].get_text() == "entered"
    assert board.record.caption() not in {text.get_text() for text in axes.texts}
    by_time = board.draw(Figure().subplots(), "ms")
    assert board.record.caption() in {text.get_text() for text in by_time.texts}


def test_equal_totals_share_a_place_and_the_next_ones_are_counted_on(board):
    times = {"a": 1.0, "b": 1.015, "c": 1.021, "d": 1.04, "e": 2.0}
    board.entries = [
        Entry(name, dict.fromkeys(leaderboard.LAYERS, 1.0), dict.fromkeys(leaderboard.LAYERS, ms))
        for name, ms in times.items()
    ]
    # Within 2 % of the first of the place, not of the last.
    assert board.places("ms") == {"a": 1, "b": 1, "c": 3, "d": 3, "e": 5}
    assert set(board.places("bound").values()) == {1}
    assert board.place(
        "b"
    ) == "place 1= of 5 by time, place 1= of 5 by bound" and board.place("e").startswith(
        "place 5 of 5 by time"
    )
    # All have times: these rank.
    assert [line.split()[2] for line in board.table().splitlines()[2:-1]] == list(times)
    board.entries.append(Entry("f", dict.fromkeys(leaderboard.LAYERS, 0.1)))
    assert board.table().splitlines()[2].split()[:3] == ["1", "-", "f"]


def test_totals_are_sums_over_the_layers():
    one = Entry("k", {"layer 1": 1.0, "layer 2": 2.0}, {"layer 1": 0.5})
    assert one.total_bound == 3.0 and one.total("bound") == 3.0
    assert one.total_ms is None
    assert dataclasses.replace(one, ms={"layer 1": 0.5, "layer 2": 1.0}).total_ms == 1.5


def test_the_table_calls_a_bound_no_time(board):
    assert board.rank == "ms" and "no time" in board.table()
    board.entries.append(Entry("f", dict.fromkeys(leaderboard.LAYERS, 0.1)))
    assert board.rank == "bound"
    axes = board.draw(Figure().subplots(), board.rank)
    assert axes.get_xlabel().startswith("bound on an H200, no time")


def test_an_entry_is_timed_on_both_layers_once_it_is_right(monkeypatch):
    clock.install(monkeypatch)
    cell = entry()
    cell.max_threads_per_block = 1024
    assert set(leaderboard.timed(cell, 1)) == set(leaderboard.LAYERS)
    cell.source = SLOW.replace("sum +=", "sum -=")
    assert cell.source != SLOW
    with pytest.raises(NotReadyError, match="slow is wrong on this GPU, so it is not timed"):
        leaderboard.timed(cell, 1)
    cell.max_threads_per_block = 255
    with pytest.raises(EntryError, match="a block can have only 255 threads, not 256"):
        leaderboard.timed(cell, 1)
