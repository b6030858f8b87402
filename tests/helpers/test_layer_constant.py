"""The layer's filter in constant memory: chunks, what a multiprocessor holds, and titles."""

from __future__ import annotations

import dataclasses

import pytest
from matplotlib import pyplot as plt

from helpers.bench import results
from helpers.experiments import layer_constant
from helpers.experiments.layer_constant import BASIC, CONSTANT, MANY
from helpers.limits import CONSTANT_BYTES


@pytest.fixture(scope="module")
def record() -> results.Record:
    return results.load(results.MEASURED / "109_constant.json")


def with_ratios(record: results.Record, ratio: float, **where) -> results.Record:
    """The record with another ratio, and an interval of 1 % to both sides, in the rows `where`."""
    changed = {"ratio": ratio, "low": 0.99 * ratio, "high": 1.01 * ratio}

    def fits(m):
        return "ratio" in m.parameters and where.items() <= m.parameters.items()

    return dataclasses.replace(
        record,
        measurements=tuple(
            dataclasses.replace(m, parameters={**m.parameters, **changed}) if fits(m) else m
            for m in record.measurements
        ),
    )


@pytest.mark.parametrize(
    ("layer", "launches"),
    [((4, 1, 7), 1), ((32, 16, 7), 2), ((33, 16, 7), 2), ((3, 400, 7), 6), ((1, 1, 127), 1)],
)
def test_chunks_fit_and_cover_each_map_and_channel_once(layer, launches):
    maps, channels, width = layer
    parts = list(layer_constant.chunks(*layer))
    assert len(parts) == launches
    assert all(4 * width**2 * some * of_each <= CONSTANT_BYTES for _, some, _, of_each in parts)
    pairs = [
        (m, c)
        for first_map, some, first, of_each in parts
        for m in range(first_map, first_map + some)
        for c in range(first, first + of_each)
    ]
    assert sorted(pairs) == [(m, c) for m in range(maps) for c in range(channels)]


def test_the_counters_are_the_derived_ones():
    for layer, channels in (("layer 1", 1), ("layer 2", 4)):
        basic, constant = (layer_constant.profile(name, layer) for name in (BASIC, CONSTANT))
        warps = basic.global_store_requests
        assert basic.global_load_requests == 98 * channels * warps
        assert constant.global_load_requests == 49 * channels * warps
        assert constant.constant_load_requests == 49 * channels * warps
        assert constant.constant_load_replays == 0


@pytest.mark.parametrize("blocks", layer_constant.HELD_BLOCKS)
def test_unused_shared_memory_holds_so_many_blocks(blocks):
    each = layer_constant.shared_bytes(blocks) + layer_constant.DRIVER_BYTES
    assert layer_constant.HOLDING // each == blocks
    assert each % layer_constant.SHARED_UNIT == 0 and each > layer_constant.DRIVER_BYTES


def test_shares_of_the_counters():
    counted = results.load(results.MEASURED / "111_caches.json")
    lines = layer_constant.caches_table(counted).splitlines()
    (line,) = (one for one in lines if one.startswith(f"layer 2, {CONSTANT}"))
    (row,) = (
        one
        for one in counted.rows()
        if (one["series"], one["layer"], one["variant"]) == (CONSTANT, "layer 2", "")
    )
    missed = row["constant_misses"] / (row["constant_hits"] + row["constant_misses"])
    assert f"{missed:.2%}" in line.split()
    without = dataclasses.replace(counted, measurements=counted.measurements[1:])
    with pytest.raises(ValueError, match="not enough values"):
        layer_constant.caches_table(without)


def test_titles_follow_the_record(record):
    def title(of):
        return layer_constant.layers_figure(of).axes[0].get_title(loc="left")

    assert "slower for layer E2" in title(record)
    assert "slower" not in title(with_ratios(record, 1.2, layer="layer E2"))
    assert "no measurable difference for layer 1" in title(
        with_ratios(record, 1.0, layer="layer 1")
    )
    mixed = title(with_ratios(record, 0.8, layer="layer 2", batch=MANY))
    assert "depends on the images for layer 2" in mixed
    swept = layer_constant.sweep_figure(with_ratios(record, 1.3, width=11, channels=12))
    assert "11 x 11: faster in 1 of 5, slower in 4" in swept.axes[0].get_title(loc="left")
    plt.close("all")


def test_an_interval_around_one_is_no_difference(record):
    row = layer_constant.ratios_of(with_ratios(record, 1.0, layer="layer 1"))["layer 1", MANY]
    assert layer_constant.says(row) == "no measurable difference"


def test_with_equally_many_warps_constant_memory_wins_where_it_loses_alone():
    """The lab says so of layer E2: its registers cost it warps, and nothing else does."""
    held = results.load(results.MEASURED / "109_blocks.json")
    counted = results.load(results.MEASURED / "109_counters.json")
    ratio = {row["blocks"]: row["ratio"] for row in layer_constant._rows(held, "held")
             if row["layer"] == "layer E2"}  # fmt: skip
    warps = {(row["kernel"], row["blocks"]): row["warps_active"] for row in counted.rows()
             if row["layer"] == "layer E2"}  # fmt: skip
    many, few = max(ratio), min(ratio)
    assert ratio[many] < 1 < ratio[few]
    assert warps[BASIC, many] > 1.2 * warps[CONSTANT, many]
    assert warps[BASIC, few] == pytest.approx(warps[CONSTANT, few], rel=0.05)
    assert len(layer_constant.held_table(held, counted).splitlines()) == 2 + len(ratio)


def test_the_machine_code_of_both_kernels():
    plain, constant = (line.split()[-6:] for line in layer_constant.code_table().splitlines()[-2:])
    assert int(plain[0]) == 2 * int(constant[0]), "LDG: the weights' half is gone"
    assert plain[2] == constant[2], "as many multiply-adds"
