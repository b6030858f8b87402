"""The layer's filter in constant memory: chunks, what a multiprocessor holds, and titles."""

from __future__ import annotations

import pytest

from helpers.bench import results
from helpers.experiments import layer_constant
from helpers.experiments.layer_constant import BASIC, CONSTANT
from helpers.limits import CONSTANT_BYTES, RESERVED_SHARED_BYTES
from tests.records import with_values


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


@pytest.mark.parametrize("blocks", layer_constant.HELD_BLOCKS)
def test_unused_shared_memory_holds_so_many_blocks(blocks):
    each = layer_constant.shared_bytes(blocks) + RESERVED_SHARED_BYTES
    assert layer_constant.HOLDING // each == blocks
    assert each % layer_constant.SHARED_UNIT == 0 and each > RESERVED_SHARED_BYTES


def test_with_equally_many_warps_constant_memory_wins_where_it_loses_alone():
    """The lab says so of layer E2: its registers cost it warps, and nothing else does."""
    held = results.load(results.MEASURED / "109_blocks.json")
    counted = results.load(results.MEASURED / "109_counters.json")
    ratio = {row["blocks"]: row["ratio"] for row in held.select(series="held", layer="layer E2")}
    warps = {(row["kernel"], row["blocks"]): row["warps_active"]
             for row in counted.select(layer="layer E2")}
    many, few = max(ratio), min(ratio)
    assert ratio[many] < 1 < ratio[few]
    assert warps[BASIC, many] > 1.2 * warps[CONSTANT, many]
    assert warps[BASIC, few] == pytest.approx(warps[CONSTANT, few], rel=0.05)


@pytest.mark.parametrize(
    ("with_most_room", "with_least_room", "suspect"),
    [
        (0.92, 1.05, layer_constant.FEWER_WARPS),
        (0.92, 0.93, layer_constant.MISSING_READS),
        (1.02, 1.05, "no loss here"),
    ],
)
def test_the_suspect_follows_the_times(with_most_room, with_least_room, suspect):
    held = results.load(results.MEASURED / "109_blocks.json")
    assert layer_constant.suspect_of(held) == layer_constant.FEWER_WARPS
    blocks = sorted(layer_constant.HELD_BLOCKS)
    for room, ratio in ((blocks[-1], with_most_room), (blocks[0], with_least_room)):
        values = {"ratio": ratio, "low": ratio - 0.001, "high": ratio + 0.001}
        held = with_values(held, {"series": "held", "blocks": room}, **values)
    assert layer_constant.suspect_of(held) == suspect
