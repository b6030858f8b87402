"""Coalescing: sectors by hand, ratios of counters, and titles that follow the record."""

from __future__ import annotations

import pytest

from helpers import bench
from helpers.bench import results
from helpers.experiments import coalescing
from tests import records

GOOD, BAD, WIDE = "conv2d_basic", "conv2d_uncoalesced", "conv2d_basic, 32 x 8"
LAYERS, BATCHES = ("layer 1", "layer 2"), (100, 1_000, 10_000)


@pytest.fixture(scope="module")
def record() -> results.Record:
    return results.load(results.MEASURED / "108_deeper.json")


def three(layer: bench.Problem) -> list[bench.Kernel]:
    """The kernels of lab 108; the first one is the baseline."""
    wide = layer.kernel(GOOD, block=(32, 8), label=WIDE)
    return [layer.kernel(GOOD), wide, layer.kernel(BAD)]


def times_of(record: results.Record) -> coalescing.ByLayer:
    layers = {(name, b): bench.layer(name, images=b) for name in LAYERS for b in BATCHES}
    return {
        key: bench.Times.read(record, layer, three(layer), layer.kernel(GOOD))
        for key, layer in layers.items()
    }


@pytest.fixture(scope="module")
def seen() -> dict[str, bench.Counts]:
    return {name: bench.layer(name).count(*three(bench.layer(name))) for name in LAYERS}


def with_ratio(record: results.Record, label: str, ratio: float) -> results.Record:
    """The record with another ratio, and an interval of 1 % to both sides."""
    where = {"series": label, "over": GOOD}
    return records.with_values(record, where, ratio=ratio, low=0.99 * ratio, high=1.01 * ratio)


@pytest.mark.parametrize(
    ("patch", "want"),
    [
        ((8, 1, 0, 0), 1),  # eight floats from the first byte of a sector
        ((8, 1, 4, 0), 2),  # one float further: they reach into the next
        ((1, 4, 0, 344), 4),  # a column: a sector each
        ((1, 4, 0, 8), 1),  # rows so short that four of them lie in one sector
        ((2, 2, 28, 32), 3),  # the rows share the sector in the middle
    ],
)
def test_sectors_of_a_patch(patch, want):
    assert coalescing.sectors(*patch) == want


def test_the_counters_are_the_derived_ones(seen):
    good, wide, bad = seen["layer 1"]
    assert good.each("x") == pytest.approx(6 - 2 / 7)
    assert bad.each("x") == pytest.approx(16 * (1 + 3 / 28))
    assert bad.over(good, "global_load_requests") == 1
    assert wide.over(good, "global_load_requests") == pytest.approx(1.2)


@pytest.mark.parametrize(
    ("ratio", "want"), [(1.5, "slower"), (0.7, "faster"), (1.004, "no measurable difference")]
)
def test_the_table_follows_the_interval(record, seen, ratio, want):
    table = coalescing.ratio_table(times_of(with_ratio(record, WIDE, ratio)), seen)
    (row,) = (line for line in table.splitlines() if line.startswith(f"layer 2, {WIDE}"))
    requests = seen["layer 2"][WIDE].over(seen["layer 2"][GOOD], "global_load_requests")
    assert want in row and row.split()[-2] == f"{requests:.2f}"


def test_the_fastest_shape_is_that_of_the_shortest_time():
    blocks = [(width, 256 // width) for width in (8, 16, 32, 64)]
    sweep = bench.layer("layer 1").sweep(GOOD, block=blocks, record="108_deeper")
    shapes = coalescing.Shapes(sweep)
    assert shapes.ms[shapes.fastest] == min(shapes.ms.values())
    assert shapes.per_request(coalescing.SQUARE)[1] == 1
    shapes.ms["64 x 4"] = 0.5 * shapes.ms[shapes.fastest]
    assert shapes.fastest == "64 x 4"
