"""Patches in registers: loads, registers, broken kernels, and what is read off the records."""

from __future__ import annotations

import dataclasses

import pytest

from helpers import bench
from helpers.bench import results, sass
from helpers.experiments import register_tiles
from helpers.experiments.register_tiles import BEST, PATCH
from helpers.limits import ConvShape
from helpers.problems import conv2d

RAGGED = ConvShape(2, 3, 5, 21, 30, 4)
WALKED = dataclasses.replace(
    conv2d.conv2d_named(BEST), patch=(4, 2, 8), patches=(9, 17, 1), staged=4, unroll=1
)


@pytest.fixture(scope="module")
def times() -> results.Record:
    return results.load(results.MEASURED / "112_deeper.json")


def test_the_filter_in_constant_memory_computes_the_same_layer():
    layer = bench.layer(images=RAGGED.B, shape=RAGGED)
    kernel = register_tiles.constant_filter(layer)
    assert layer.check(kernel)
    (seen,) = layer.count(kernel)
    assert not seen.findings
    assert seen.profile.constant_load_requests > 0
    assert seen.total("requests", "global", "load", "filter") == 0


def test_loads_are_those_of_the_formula():
    counts = bench.layer("layer 1").count("conv2d_basic", PATCH)
    lines = register_tiles.loads_table(counts).splitlines()
    basic, patch = (line.split()[-4:] for line in lines[-2:])
    assert basic == ["2.000", "0.000", "0.000", "2.000"]
    assert float(patch[0]) == pytest.approx((10 + 28) / 112, abs=1e-3)
    assert patch[1:3] == ["0.000"] * 2


def test_a_kernel_that_is_not_there_has_no_row_of_numbers():
    layer = bench.layer("layer 1")
    mine = bench.yours("conv2d_register_2d")
    last = register_tiles.loads_table(layer.count(PATCH, mine)).splitlines()[-1]
    assert last.split() == ["yours:", "not", "yet", *"----"]
    assert sass.compared(layer, PATCH, mine).splitlines()[-1] == "yours: not yet"


def test_loops_that_stay_loops_take_local_memory():
    layer = bench.layer("layer 1")
    rolled = layer.kernel("conv2d_register_2d").changed(
        "#pragma unroll\n            for (int q",
        "#pragma unroll 1\n            for (int q",
        label="rolled",
    )
    table = sass.compared(layer, "conv2d_register_2d", rolled, opcodes=("LDL", "STL"))
    as_it_is, rolled_line = (line.split()[-2:] for line in table.splitlines()[-2:])
    assert as_it_is == ["0", "0"] and all(int(number) > 0 for number in rolled_line)


def test_a_patch_of_fixed_size_has_maps_to_choose_and_no_width():
    form = conv2d.register_2d(9, 17, 8)
    assert form.with_tile(36, 2).tile == (36, 34, 2) and form.with_tile(36).block == (9, 17)
    with pytest.raises(conv2d.LayerError, match="got 16"):
        form.with_tile(16)


def test_more_sums_leave_room_for_fewer_warps():
    few, many = (dataclasses.replace(WALKED, patch=(4, 2, maps)) for maps in (4, 16))
    lines = register_tiles.registers_table([few, many], "layer 2").splitlines()[-2:]
    warps = [int(line.split()[-2]) for line in lines]
    assert warps[0] > warps[1] > 0


def test_the_sweep_is_read_with_the_warps_that_fit():
    found = register_tiles.swept("layer 2")
    assert [one.ms for one in found] == sorted(one.ms for one in found)
    for one in found:
        assert 0 < one.warps <= register_tiles.MOST_WARPS
        assert one.warps * 32 * one.registers <= 65_536
    assert found[0].sums > found[-1].sums


def test_the_shares_of_the_issue_slots_multiply_to_the_share_of_the_peak(times):
    counters = results.recorded("112_counters")
    table = register_tiles.issue_table(counters, times)
    lines = [line.split() for line in table.splitlines() if line.startswith("layer")]
    assert len(lines) == len(counters.rows())
    for words in lines:
        used, useful, product, clock, *_ = (float(word.rstrip("%")) / 100 for word in words[3:])
        assert product == pytest.approx(used * useful, abs=0.02)
        assert clock == pytest.approx(product, abs=0.08)
