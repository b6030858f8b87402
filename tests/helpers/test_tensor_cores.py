"""Lab 303's module: banks, products, floors, and the order of a step."""

from __future__ import annotations

import pytest

from helpers import bench, exercises, kernel_cells
from helpers.bench import hardware
from helpers.experiments import tensor_cores

RECORD = "303_wmma"
LAYERS = ("layer 1", "layer 2")


def variants(layer):
    other = 16 if layer.title == "layer 1" else 8
    return (
        "conv2d_wmma",
        "conv2d_register_tiled",
        layer.kernel("conv2d_wmma", skew=0, label="no skew"),
        layer.kernel("conv2d_wmma", rows=other, label=f"{other} rows"),
    )


def mine(layer, pitch=24):
    text = exercises.find("conv2d_tensor").solution
    cell = kernel_cells.parse(text.replace("PITCH = 16; ", f"PITCH = {pitch}; "))
    return layer.kernel(cell, like="conv2d_wmma", label="yours")


def test_a_bank_table_says_how_many_wavefronts_a_pitch_takes():
    lines = tensor_cores.bank_table(lambda lane, pitch: lane * pitch // 2 % 32).splitlines()
    waves = {line.split()[0]: line.split()[-1] for line in lines[2:]}
    assert waves == {"16": "8", "24": "4", "32": "16", "40": "4", "48": "8"}


def test_a_wrong_bank_is_named():
    assert tensor_cores.bank_table(lambda lane, pitch: ...) == "yours: not yet"
    words = tensor_cores.bank_table(lambda lane, pitch: lane * pitch % 32)  # halves, not words
    assert "lane 1" in words and "bank 8, and you say 16" in words


@pytest.mark.parametrize("pitch", [16, 24, 32])
def test_the_simulator_counts_the_wavefronts_of_the_bank_table(pitch):
    # Two stores of a step, for each of 13 steps of 37 times 32 outputs; sums are stored elsewhere.
    seen = bench.layer("layer 2").count(mine(bench.layer("layer 2"), pitch))[0]
    table = tensor_cores.bank_table(lambda lane, pitch: lane * pitch // 2 % 32)
    row = next(line for line in table.splitlines() if line.split()[0] == str(pitch))
    stores = 2 * 13 * 37
    assert seen.total("requests", "shared", "store", "columns") == stores
    assert seen.total("wavefronts", "shared", "store", "columns") == stores * int(row.split()[-1])


def conflicts(pitch):
    """The conflicts of a student's kernel, per 32 outputs, by array and access."""
    layer = bench.layer("layer 2")
    table = tensor_cores.conflict_table(layer.count(mine(layer, pitch))[0])
    rows = [line.split() for line in table.splitlines()[2:]]
    return {(array, access): float(number) for array, access, number in rows}


def test_with_a_gap_only_the_stores_of_sums_conflict():
    assert [where for where, number in conflicts(24).items() if number] == [("sums", "store")]
    without = {where for where, number in conflicts(16).items() if number}
    assert without == {("columns", "load"), ("columns", "store"), ("sums", "store")}


def test_a_kernel_that_has_not_passed_has_no_conflicts_yet():
    layer = bench.layer("layer 2")
    stub = layer.kernel(bench.yours("conv2d_tensor"), like="conv2d_wmma", label="yours")
    assert tensor_cores.conflict_table(layer.count(stub)[0]) == "yours: not yet"


def test_a_students_kernel_has_our_launch_and_no_dynamic_shared_memory():
    for name in LAYERS:
        layer = bench.layer(name)
        (launch,) = layer.plan(mine(layer))
        (ours,) = layer.plan(layer.kernel("conv2d_wmma"))
        assert (launch.grid, launch.block, launch.shared) == (ours.grid, ours.block, 0)
        assert f"-DCHANNELS={layer.shape.C}" in launch.options
        assert ours.shared > 0
        assert layer.check(mine(layer))


def test_products_of_a_layer_by_hand():
    layer = bench.layer("layer 1")
    counts = layer.count(*(k for k in variants(layer) if k != "conv2d_register_tiled"))
    # 200 times 32 outputs, 4 steps, one product of 8 x 32 x 16; two of 16 rows and 16 columns.
    assert [one.executed(tensor_cores.PRODUCT) for one in counts] == [800, 800, 1600]
    table = tensor_cores.product_table(counts, layer)
    assert "38%" in table and "19%" in table


@pytest.mark.parametrize("name", LAYERS)
def test_no_floor_is_above_its_time_and_shared_memory_is_the_highest(name):
    layer = bench.layer(name)
    times = layer.compare(*variants(layer), record=RECORD)
    for one in times:
        least = tensor_cores.floors(layer, one.kernel)
        assert 0 < max(least.values()) <= 1.02 * one.ms
        if one.kernel.name == "conv2d_wmma":
            assert max(least, key=least.get) == tensor_cores.SHARED
            assert max(least.values()) > 0.7 * one.ms
    table = tensor_cores.floor_table(times)
    assert table.count("shared memory") == 3


def test_floors_of_a_missing_kernel_are_not_yet():
    layer = bench.layer("layer 1")
    missing = layer.kernel(bench.yours("conv2d_tensor"), like="conv2d_wmma", label="yours")
    times = layer.compare("conv2d_wmma", missing, record=RECORD)
    assert "yours: not yet" in tensor_cores.floor_table(times)
    figure = tensor_cores.floor_figure([times], "A title")
    assert [one.get_text() for one in figure.axes[0].get_yticklabels()][-1] == "yours: not yet"


def test_the_next_step_is_gathered_while_this_one_is_multiplied():
    # 16 cells and 2 stores of the next step stand behind the first of the 4 products. The second
    # buffer saves one of the waits, which stands in front of the last cell that is gathered.
    layer = bench.layer("layer 2")
    single = layer.kernel("conv2d_wmma", buffers=1, label="one buffer")
    for one, waits in zip(layer.count("conv2d_wmma", single), (1, 2), strict=True):
        part = tensor_cores.step_order(one)
        assert part.startswith("FFFM")
        behind = part[part.index("M") :]
        assert behind.count("g") == 16 and behind.count("S") == 2
        assert part.count("M") == 4 and part.count("|") == waits


@pytest.mark.parametrize(("name", "multiply"), [("layer 1", 2), ("layer 2", 4)])
def test_a_step_gathers_each_term(name, multiply):
    layer = bench.layer(name)
    row = tensor_cores.step_table(layer.count("conv2d_wmma"), layer).splitlines()[-1].split()[1:]
    steps = -(-layer.shape.terms // 16)
    terms = layer.shape.terms / steps
    assert [float(one) for one in row] == pytest.approx(
        [terms, -(-layer.shape.terms // 2) / steps, 2, 3, multiply], abs=0.06
    )


def test_counters_stand_beside_those_of_the_hardware():
    seen = bench.layer("layer 2").count("conv2d_wmma")[0].profile
    lines = hardware.beside(seen, "conv2d_wmma, layer 2", hardware.SHARED, "metric").splitlines()
    stores = next(line for line in lines if "wavefronts_mem_shared_op_st" in line)
    assert len(set(stores.split()[1:])) == 1  # both count the same
